# expect: batch=16 pixels=28 parameters=2661 precision=fp32
# operations: Conv2DBackpropFilter Conv2DBackpropInput MatMul
import keras
import numpy as np
import tensorflow as tf
from keras import layers

latent_dim = 2
inputs = keras.Input(shape=(28, 28, 1))
x = layers.Conv2D(4, 3, activation="relu", strides=4, padding="same")(inputs)
x = layers.Flatten()(x)
encoder = keras.Model(inputs, [layers.Dense(latent_dim)(x), layers.Dense(latent_dim)(x)])
latent_inputs = keras.Input(shape=(latent_dim,))
x = layers.Dense(7 * 7 * 8, activation="relu")(latent_inputs)
x = layers.Reshape((7, 7, 8))(x)
x = layers.Conv2DTranspose(8, 3, activation="relu", strides=4, padding="same")(x)
decoder = keras.Model(latent_inputs, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x))


class VAE(keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def train_step(self, data):
        with tf.GradientTape() as tape:
            z_mean, z_log_var = self.encoder(data)
            z = z_mean + tf.exp(0.5 * z_log_var) * tf.random.normal(tf.shape(z_mean))
            error = tf.reduce_mean(keras.losses.binary_crossentropy(data, self.decoder(z)))
            kl = -0.5 * (1 + z_log_var - tf.square(z_mean) - tf.exp(z_log_var))
            loss = error + tf.reduce_mean(tf.reduce_sum(kl, axis=1))
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        return {"loss": loss}


digits = np.random.rand(160, 28, 28, 1).astype("float32")
vae = VAE(encoder, decoder)
vae.compile(optimizer=keras.optimizers.Adam())
vae.fit(digits, epochs=2, batch_size=16)
