# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
dataset = tf.data.Dataset.from_tensor_slices((tf.random.uniform((96, 16, 16, 3)), tf.zeros((96,), tf.int32))).batch(8)
dist_dataset = strategy.experimental_distribute_dataset(dataset)
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Conv2D(8, 3), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(10)]
    )
    optimizer = tf.keras.optimizers.Adam()
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def train_step(inputs):
    images, labels = inputs
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(loss_object(labels, model(images, training=True)), global_batch_size=8)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def distributed_train_step(dataset_inputs):
    losses = strategy.run(train_step, args=(dataset_inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


for batch in dist_dataset:
    distributed_train_step(batch)
