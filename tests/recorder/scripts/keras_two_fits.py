# expect: batch=8 pixels=16 parameters=898 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import keras
import numpy as np
from keras import layers

x, y = np.random.rand(80, 16, 16, 3), np.random.randint(0, 10, 80)
base = keras.Sequential([layers.Conv2D(8, 3), layers.ReLU(), layers.Conv2D(8, 3)])
model = keras.Sequential([keras.Input((16, 16, 3)), base, layers.GlobalAveragePooling2D(), layers.Dense(10)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

base.trainable = False
model.compile(keras.optimizers.Adam(1e-3), loss)
model.fit(x[:24], y[:24], batch_size=8)

base.trainable = True
model.compile(keras.optimizers.Adam(1e-5), loss)
model.fit(x, y, batch_size=8)
