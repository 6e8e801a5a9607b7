# expect: status=2
# says: steps_per_execution=1
import keras
import numpy as np

model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])
model.compile("sgd", "mse", steps_per_execution=4)
model.fit(np.random.rand(80, 4, 4, 3), np.zeros((80, 10)), batch_size=8, verbose=0)
print("trained to the end")
