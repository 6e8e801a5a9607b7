# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import keras
import numpy as np

model = keras.Sequential(
    [keras.layers.Conv2D(8, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
for epoch in range(2):
    for batch in range(8):
        x, y = np.random.rand(8, 16, 16, 3), np.random.randint(0, 10, 8)
        loss, accuracy = model.train_on_batch(x=x, y=y)
    print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy:.2f}")
