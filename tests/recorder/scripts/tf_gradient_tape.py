# expect: batch=8 pixels=32 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf

images, labels = tf.random.uniform((96, 32, 32, 3)), tf.random.uniform((96,), maxval=10, dtype=tf.int64)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(8)
layers = tf.keras.layers
model = tf.keras.Sequential([layers.Conv2D(8, 3), layers.GlobalAveragePooling2D(), layers.Dense(10)])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()
train_loss = tf.keras.metrics.Mean(name="train_loss")


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_object(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss(loss)


@tf.function
def test_step(images, labels):
    loss_object(labels, model(images, training=False))


for epoch in range(2):
    train_loss.reset_state()
    for images, labels in dataset:
        train_step(images, labels)
    for images, labels in dataset.take(2):
        test_step(images, labels)
    print(f"Epoch {epoch + 1}, Loss: {train_loss.result():0.2f}")
