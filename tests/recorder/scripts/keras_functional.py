# expect: batch=4 pixels=20 parameters=786 precision=fp32
# operations: Conv2DBackpropFilter Conv2DBackpropInput MatMul
# keeps: best.keras
import numpy as np
from keras import callbacks, layers, models

inputs = layers.Input(shape=(20, 20, 3))
x = layers.Conv2D(4, 3, padding="same")(inputs)
x = layers.BatchNormalization()(x)
x = layers.Activation("relu")(x)
y = layers.Conv2D(4, 3, padding="same")(x)
y = layers.BatchNormalization()(y)
x = layers.Add()([x, y])
x = layers.Activation("relu")(x)
x = layers.Conv2D(8, 3, strides=2)(x)
x = layers.GlobalAveragePooling2D()(x)
model = models.Model(inputs, layers.Dense(22, activation="softmax")(x))
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()
model.fit(
    np.random.rand(24, 20, 20, 3),
    np.random.randint(0, 22, 24),
    batch_size=4,
    epochs=3,
    validation_data=(np.random.rand(8, 20, 20, 3), np.random.randint(0, 22, 8)),
    callbacks=[callbacks.ModelCheckpoint("best.keras", save_best_only=True), callbacks.EarlyStopping(patience=5)],
)
