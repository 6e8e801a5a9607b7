# expect: batch=8 pixels=32 parameters=346 precision=fp32 needs=tf_keras
# operations: Conv2DBackpropFilter FusedBatchNormV3 FusedBatchNormGradV3 MatMul
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf

images, labels = tf.random.uniform((100, 32, 32, 3)), tf.random.uniform((100,), maxval=10, dtype=tf.int32)
train = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(100).batch(8).prefetch(tf.data.AUTOTUNE)
layers = tf.keras.layers
model = tf.keras.Sequential(
    [layers.Conv2D(8, 3), layers.BatchNormalization(), layers.ReLU(), layers.GlobalAveragePooling2D(), layers.Dense(10)]
)
model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=2, verbose=2)
