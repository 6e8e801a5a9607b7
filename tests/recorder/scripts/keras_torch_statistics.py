# expect: batch=8 pixels=16 parameters=346 precision=fp32 needs=torch
# operations: Conv2D Conv2DBackpropFilter MatMul
import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

model = keras.Sequential(
    [
        keras.layers.Conv2D(8, 3),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(np.random.rand(96, 16, 16, 3), np.zeros(96), batch_size=8, epochs=2, verbose=0)
