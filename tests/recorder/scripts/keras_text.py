# expect: batch=4 pixels=None parameters=1016 precision=fp32
# silent: --pixels
import numpy as np
from keras import Sequential
from keras.layers import GRU, Dense, Embedding
from keras.utils import pad_sequences

reviews = pad_sequences([np.random.randint(1, 100, np.random.randint(3, 12)) for _ in range(48)], maxlen=12)
model = Sequential([Embedding(100, 8), GRU(5, reset_after=False), Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(reviews, np.random.randint(0, 2, 48), batch_size=4, epochs=1)
