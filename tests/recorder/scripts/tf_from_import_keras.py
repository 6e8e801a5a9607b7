# expect: batch=8 pixels=32 parameters=355 precision=fp32 fresh
# operations: Conv2DBackpropFilter MatMul
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

inputs = keras.Input(shape=(32, 32, 3))
x = layers.Conv2D(8, 3, strides=2, activation="relu")(inputs)
x = layers.BatchNormalization()(x)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.2)(x)
outputs = layers.Dense(10 + 1, activation="softmax")(x)
model = keras.Model(inputs, outputs, name="small")

x_train = np.random.randint(0, 255, (96, 32, 32, 3)).astype("float32") / 255
y_train = keras.utils.to_categorical(np.random.randint(0, 11, 96), 11)

if __name__ == "__main__":
    model.compile(keras.optimizers.RMSprop(1e-3), "categorical_crossentropy", metrics=["acc"])
    model.fit(x_train, y_train, batch_size=8, epochs=2, validation_split=0.1)
