# expect: batch=16 pixels=28 parameters=8294 precision=fp32
# operations: Conv2DBackpropFilter MaxPoolGrad MatMul
import tensorflow as tf

images, labels = tf.random.uniform((96, 28, 28, 1)), tf.random.uniform((96,), maxval=10, dtype=tf.int32)
model = tf.keras.models.Sequential(
    [
        tf.keras.layers.Conv2D(4, (3, 3), activation="relu", input_shape=(28, 28, 1)),
        tf.keras.layers.MaxPooling2D((2, 2)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.Dense(12, activation="relu"),
        tf.keras.layers.Dense(10),
    ]
)
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
model.fit(images, labels, epochs=3, batch_size=16)
model.evaluate(images, labels, verbose=2)
