# expect: batch=8 pixels=28 parameters=9341 precision=fp32
# operations: Conv2DBackpropFilter MatMul
# warns: 2 optimizers update
import numpy as np
from keras import Sequential
from keras.layers import Conv2D, Dense, Flatten, Input, LeakyReLU, Reshape
from keras.optimizers import Adam

latent_dim, batch_size = 10, 8

discriminator = Sequential(
    [Input((28, 28, 1)), Conv2D(4, 3, strides=2), LeakyReLU(0.2), Flatten(), Dense(1, activation="sigmoid")]
)
discriminator.compile(loss="binary_crossentropy", optimizer=Adam(2e-4, 0.5), metrics=["accuracy"])
generator = Sequential([Input((latent_dim,)), Dense(28 * 28, activation="tanh"), Reshape((28, 28, 1))])
gan = Sequential([Input((latent_dim,)), generator, discriminator])
gan.compile(loss="binary_crossentropy", optimizer=Adam(2e-4, 0.5))

real_images = np.random.rand(200, 28, 28, 1)
for step in range(16):
    noise = np.random.normal(0, 1, (batch_size, latent_dim))
    real = real_images[np.random.randint(0, 200, batch_size)]
    discriminator.trainable = True
    d_loss_real = discriminator.train_on_batch(real, np.ones((batch_size, 1)))
    d_loss_fake = discriminator.train_on_batch(generator.predict(noise, verbose=0), np.zeros((batch_size, 1)))
    discriminator.trainable = False
    g_loss = gan.train_on_batch(noise, np.ones((batch_size, 1)))
    print(step, d_loss_real[0], d_loss_fake[0], g_loss)
