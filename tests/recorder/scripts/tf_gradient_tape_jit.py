# expect: batch=8 pixels=16 parameters=314 precision=fp32 compiled
# says: jit_compile
import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.layers.Conv2D(8, 3), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(10)]
)
model.build((None, 16, 16, 3))
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)


@tf.function(jit_compile=True)
def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for _ in range(12):
    train_step(tf.random.uniform((8, 16, 16, 3)), tf.zeros((8,), tf.int32))
