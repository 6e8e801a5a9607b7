# expect: batch=32 pixels=16 parameters=754 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import keras
import numpy as np

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(np.random.rand(320, 16, 16, 1), np.random.randint(0, 10, 320), epochs=1)
