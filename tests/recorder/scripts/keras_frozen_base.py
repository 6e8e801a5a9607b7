# expect: batch=8 pixels=16 parameters=898 precision=fp32
# operations: MatMul
import keras
import numpy as np
from keras import layers

base = keras.Sequential([keras.Input((16, 16, 3)), layers.Conv2D(8, 3), layers.ReLU(), layers.Conv2D(8, 3)])
base.trainable = False
inputs = keras.Input((16, 16, 3))
outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(base(inputs, training=False)))
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(np.random.rand(80, 16, 16, 3), np.zeros(80), batch_size=8, verbose=2)
