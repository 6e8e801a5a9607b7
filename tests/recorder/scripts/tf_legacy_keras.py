# expect: batch=8 pixels=32 parameters=346 precision=fp32 needs=tf_keras fresh
# operations: Conv2DBackpropFilter FusedBatchNormV3 FusedBatchNormGradV3 MatMul
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf

train = tf.data.Dataset.from_tensor_slices(
    (tf.random.uniform((100, 32, 32, 3)), tf.random.uniform((100,), maxval=10, dtype=tf.int32))
)
train = train.shuffle(100).batch(8).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, input_shape=(32, 32, 3)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.ReLU(),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10),
    ]
)
model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=2, verbose=2)
