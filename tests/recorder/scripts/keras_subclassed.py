# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import keras
import tensorflow as tf


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv = keras.layers.Conv2D(8, 3, activation="relu")
        self.pool = keras.layers.GlobalAveragePooling2D()
        self.out = keras.layers.Dense(10)

    def call(self, x, training=False):
        return self.out(self.pool(self.conv(x)))


model = Net()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
data = tf.data.Dataset.from_tensor_slices((tf.random.uniform((64, 16, 16, 3)), tf.zeros((64,), tf.int32)))
model.fit(data.batch(8), epochs=2, verbose=0)
