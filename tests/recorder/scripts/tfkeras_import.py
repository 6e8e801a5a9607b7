# expect: batch=8 pixels=24 parameters=314 precision=fp32 needs=tf_keras
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf
import tf_keras as keras

model = keras.Sequential()
model.add(keras.layers.Conv2D(8, 3, activation="relu", input_shape=(24, 24, 3)))
model.add(keras.layers.GlobalMaxPooling2D())
model.add(keras.layers.Dense(10, activation="softmax"))
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.legacy.SGD(0.01), metrics=["accuracy"])
model.fit(tf.random.uniform((80, 24, 24, 3)), tf.zeros((80,)), batch_size=8, epochs=1)
print("score", model.evaluate(tf.random.uniform((8, 24, 24, 3)), tf.zeros((8,))))
