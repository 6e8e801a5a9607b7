# expect: batch=16 pixels=None parameters=212 precision=fp32
# operations: MatMul
# silent: --pixels
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(10, activation="relu"), keras.layers.Dense(2)])
model.compile(loss="mse", optimizer="sgd")
model.fit(np.random.rand(160, 18), np.random.rand(160, 2), batch_size=16)
