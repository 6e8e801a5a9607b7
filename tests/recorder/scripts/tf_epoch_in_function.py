# expect: status=2
# says: tf.function
import tensorflow as tf

w = tf.keras.layers.Dense(2)
w.build((None, 4))
optimizer = tf.keras.optimizers.SGD()
optimizer.build(w.trainable_variables)


@tf.function
def train(dataset):
    for x in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(w(x) ** 2)
        grads = tape.gradient(loss, w.trainable_variables)
        optimizer.apply_gradients(zip(grads, w.trainable_variables))


for epoch in range(20):
    train(tf.data.Dataset.from_tensor_slices(tf.random.uniform((32, 4))).batch(8))
print("trained to the end")
