# expect: batch=8 pixels=32 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf

dataset = tf.data.Dataset.from_tensor_slices(
    (tf.random.uniform((96, 32, 32, 3)), tf.random.uniform((96,), maxval=10, dtype=tf.int64))
).batch(8)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10),
    ]
)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()
train_loss = tf.keras.metrics.Mean(name="train_loss")


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = loss_object(labels, predictions)
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
    for test_images, test_labels in dataset.take(2):
        test_step(test_images, test_labels)
    print(f"Epoch {epoch + 1}, Loss: {train_loss.result():0.2f}")
