# expect: batch=8 pixels=16 parameters=314 precision=fp32
# command: --keep-running
# operations: Conv2DBackpropFilter MatMul
# says: a profiler of its own
# prints: trained, traces 2
import glob

import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.layers.Conv2D(8, 3), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(10)]
)
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for step in range(24):
    if step == 4:
        tf.profiler.experimental.start("logs/early")
    if step == 12:
        # The recorder profiles from the end of the 12th step on.
        tf.profiler.experimental.start("logs/late")
    train_step(tf.random.uniform((8, 16, 16, 3)), tf.zeros((8,), tf.int32))
    if step in (10, 15):
        tf.profiler.experimental.stop()
print("trained, traces", len(glob.glob("logs/*/plugins/profile/*/*.xplane.pb")))
