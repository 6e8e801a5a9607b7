# expect: batch=8 pixels=16 parameters=314 precision=mixed_fp16
# operations: Conv2DBackpropFilter MatMul
import keras
import numpy as np

keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax", dtype="float32"),
    ]
)
model.compile("rmsprop", "sparse_categorical_crossentropy")
model.fit(np.random.rand(80, 16, 16, 3), np.zeros(80), batch_size=8)
