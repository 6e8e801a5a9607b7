# expect: batch=2 pixels=None parameters=233 precision=fp32
# operations: Conv3D
# silent: --pixels
import keras
import numpy as np
from keras import layers

model = keras.Sequential(
    [
        keras.Input((8, 8, 8, 1)),
        layers.Conv3D(8, 3, activation="relu"),
        layers.GlobalAveragePooling3D(),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer="adam")
model.fit(np.random.rand(20, 8, 8, 8, 1), np.random.randint(0, 2, 20), batch_size=2)
