# expect: batch=8 pixels=16 parameters=314 precision=fp32 plain
# operations: Conv2DBackpropFilter MatMul
# prints: trained [2, 2]
import keras
import tensorflow as tf

from profet_recorder import ProfileCallback

layers = keras.layers


class Unbuilt(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv, self.pool, self.out = layers.Conv2D(8, 3), layers.GlobalAveragePooling2D(), layers.Dense(10)

    def call(self, images, training=False):
        return self.out(self.pool(self.conv(images)))


model = Unbuilt()
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
callback = ProfileCallback("profile.json", warm_up=2, timed=3)
x, y = tf.random.uniform((96, 16, 16, 3)), tf.zeros((96,))
first = model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[callback])
second = model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[callback])
print("trained", [len(one.history["loss"]) for one in (first, second)])
