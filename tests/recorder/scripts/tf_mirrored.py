# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
print("Number of devices:", strategy.num_replicas_in_sync)
batch_size = 8 * strategy.num_replicas_in_sync
images, labels = tf.random.uniform((96, 16, 16, 3)), tf.zeros((96,))
with strategy.scope():
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Conv2D(8, 3), layers.GlobalAveragePooling2D(), layers.Dense(10)])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(loss=loss, optimizer=tf.keras.optimizers.Adam(), metrics=["accuracy"])
model.fit(tf.data.Dataset.from_tensor_slices((images, labels)).batch(batch_size), epochs=2)
