# expect: batch=8 pixels=12 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import keras
import numpy as np

model = keras.Sequential(
    [keras.layers.Conv2D(8, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, activation="softmax")]
)
model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
model.fit(np.random.rand(80, 12, 12, 3), np.zeros(80), batch_size=8, verbose=0)
