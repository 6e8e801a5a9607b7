# expect: status=2
# says: tf.function
import tensorflow as tf

dense, optimizer = tf.keras.layers.Dense(2), tf.keras.optimizers.SGD()
dense.build((None, 4))
optimizer.build(dense.trainable_variables)


@tf.function
def train(dataset):
    for x in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(dense(x) ** 2)
        grads = tape.gradient(loss, dense.trainable_variables)
        optimizer.apply_gradients(zip(grads, dense.trainable_variables))


for epoch in range(20):
    train(tf.data.Dataset.from_tensor_slices(tf.random.uniform((32, 4))).batch(8))
print("trained to the end")
