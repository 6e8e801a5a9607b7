# expect: batch=8 pixels=32 parameters=898 precision=fp32
# operations: Conv2DBackpropFilter MatMul
# silent: optimizers update
import keras
import numpy as np

images, labels = np.random.rand(96, 32, 32, 3).astype("float32"), np.random.randint(0, 10, 96)
base = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
    ]
)
inputs = keras.Input((32, 32, 3))
model = keras.Model(inputs, keras.layers.Dense(10, activation="softmax")(base(inputs, training=False)))

base.trainable = False
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy")
model.fit(images[:32], labels[:32], batch_size=8, verbose=0)

base.trainable = True
model.compile(keras.optimizers.Adam(1e-5), "sparse_categorical_crossentropy")
model.fit(images, labels, batch_size=8, epochs=2, verbose=0)
