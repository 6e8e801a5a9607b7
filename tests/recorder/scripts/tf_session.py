# expect: status=0
# says: trains in a session of TensorFlow 1
# prints: trained
# silent: record_step
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
images = tf.placeholder(tf.float32, [None, 28, 28, 1])
labels = tf.placeholder(tf.int64, [None])
filters = tf.Variable(tf.random.normal([3, 3, 1, 8]))
weights = tf.Variable(tf.random.normal([8, 10]))
features = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(images, filters, 1, "SAME")), [1, 2])
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(features, weights))
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(loss))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(20):
        feed = {images: np.random.rand(8, 28, 28, 1), labels: np.random.randint(0, 10, 8)}
        session.run(train, feed)
print("trained")
