# expect: batch=8 pixels=16 parameters=314 precision=fp32 plain
# operations: Conv2DBackpropFilter MatMul
# prints: trained [2, 2]
import keras
import tensorflow as tf

from profet_recorder import ProfileCallback


class Unbuilt(keras.Model):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, self.network(x, training=True)))
        weights = self.network.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


network = keras.Sequential(
    [keras.layers.Conv2D(8, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, activation="softmax")]
)
model = Unbuilt(network)
model.compile("adam")
callback = ProfileCallback("profile.json", warm_up=2, timed=3)
x, y = tf.random.uniform((96, 16, 16, 3)), tf.zeros((96,))
first = model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[callback])
second = model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[callback])
print("trained", [len(one.history["loss"]) for one in (first, second)])
