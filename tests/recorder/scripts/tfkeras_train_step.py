# expect: batch=8 pixels=16 parameters=314 precision=fp32 needs=tf_keras
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf
import tf_keras as keras


class Wrapped(keras.Model):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self.network(x, training=True))
        self.optimizer.minimize(loss, self.network.trainable_variables, tape=tape)
        return {"loss": loss}


network = keras.Sequential(
    [keras.layers.Conv2D(8, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, activation="softmax")]
)
model = Wrapped(network)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(tf.random.uniform((96, 16, 16, 3)), tf.zeros((96,)), batch_size=8, verbose=0)
