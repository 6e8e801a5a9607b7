# expect: batch=8 pixels=32 parameters=11644 precision=fp32
# operations: Conv2DBackpropFilter Conv2DBackpropInput MatMul
# says: optimizers
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

latent_dim = 8
discriminator = keras.Sequential(
    [keras.Input((32, 32, 3)), layers.Conv2D(4, 4, strides=2), layers.LeakyReLU(), layers.Flatten(), layers.Dense(1)]
)
generator = keras.Sequential(
    [
        keras.Input((latent_dim,)),
        layers.Dense(8 * 8 * 16),
        layers.Reshape((8, 8, 16)),
        layers.Conv2DTranspose(4, 4, strides=4, padding="same"),
        layers.Conv2D(3, 5, padding="same", activation="sigmoid"),
    ]
)


class GAN(keras.Model):
    def __init__(self, discriminator, generator, latent_dim):
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.latent_dim = latent_dim

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer
        self.loss_fn = loss_fn

    def train_step(self, real_images):
        batch_size = tf.shape(real_images)[0]
        generated = self.generator(tf.random.normal((batch_size, self.latent_dim)))
        combined = tf.concat([generated, real_images], axis=0)
        labels = tf.concat([tf.ones((batch_size, 1)), tf.zeros((batch_size, 1))], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(combined))
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights))
        with tf.GradientTape() as tape:
            predictions = self.discriminator(self.generator(tf.random.normal((batch_size, self.latent_dim))))
            g_loss = self.loss_fn(tf.zeros((batch_size, 1)), predictions)
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights))
        return {"d_loss": d_loss, "g_loss": g_loss}


gan = GAN(discriminator, generator, latent_dim)
gan.compile(
    d_optimizer=keras.optimizers.Adam(1e-4),
    g_optimizer=keras.optimizers.Adam(1e-4),
    loss_fn=keras.losses.BinaryCrossentropy(from_logits=True),
)
gan.fit(tf.data.Dataset.from_tensor_slices(tf.random.uniform((96, 32, 32, 3))).batch(8), epochs=1)
