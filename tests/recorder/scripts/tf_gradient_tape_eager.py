# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf

model = tf.keras.Sequential(
    [
        tf.keras.Input((16, 16, 3)),
        tf.keras.layers.Conv2D(8, 3),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10),
    ]
)
optimizer = tf.keras.optimizers.SGD(learning_rate=1e-3)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_dataset = (
    tf.data.Dataset.from_tensor_slices(
        (tf.random.uniform((96, 16, 16, 3)), tf.random.uniform((96,), maxval=10, dtype=tf.int32))
    )
    .shuffle(buffer_size=96)
    .batch(8)
)

for epoch in range(2):
    for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
        with tf.GradientTape() as tape:
            logits = model(x_batch_train, training=True)
            loss_value = loss_fn(y_batch_train, logits)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply(grads, model.trainable_weights)
        if step % 5 == 0:
            print(f"Training loss at step {step}: {float(loss_value):.4f}")
