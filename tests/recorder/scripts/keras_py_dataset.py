# expect: batch=6 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import keras
import numpy as np


class Pictures(keras.utils.PyDataset):
    def __init__(self):
        super().__init__(workers=2, use_multiprocessing=False)

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return np.random.rand(6, 16, 16, 3).astype("float32"), np.random.randint(0, 10, 6)


model = keras.Sequential(
    [keras.layers.Conv2D(8, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(Pictures(), epochs=1, verbose=0)
