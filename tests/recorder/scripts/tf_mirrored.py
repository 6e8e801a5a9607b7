# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
print("Number of devices:", strategy.num_replicas_in_sync)
batch_size = 8 * strategy.num_replicas_in_sync
train_dataset = tf.data.Dataset.from_tensor_slices((tf.random.uniform((96, 16, 16, 3)), tf.zeros((96,)))).batch(
    batch_size
)

with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, activation="relu", input_shape=(16, 16, 3)),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10),
        ]
    )
    model.compile(
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=tf.keras.optimizers.Adam(),
        metrics=["accuracy"],
    )
model.fit(train_dataset, epochs=2)
