# expect: batch=8 pixels=16 parameters=314 precision=fp32 needs=tf_keras
# operations: Conv2DBackpropFilter MatMul

import tensorflow as tf
import tf_keras as keras


class Damped(keras.layers.Layer):
    def call(self, x):
        # AutoGraph makes a graph's condition of this.
        if tf.reduce_mean(x) > 0.5:
            x = x * 0.5
        return x


model = keras.Sequential(
    [
        keras.layers.Conv2D(8, 3, activation="relu"),
        Damped(),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
optimizer = keras.optimizers.SGD()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = keras.losses.sparse_categorical_crossentropy(y, model(x, training=True))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))


for _ in range(12):
    step(tf.random.uniform((8, 16, 16, 3)), tf.zeros((8,), tf.int32))
