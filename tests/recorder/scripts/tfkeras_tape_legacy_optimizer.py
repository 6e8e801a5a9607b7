# expect: batch=8 pixels=16 parameters=346 precision=fp32 needs=tf_keras
# operations: Conv2DBackpropFilter FusedBatchNormGradV3 MatMul ResourceApplyGradientDescent
import tensorflow as tf
import tf_keras as keras

model = keras.Sequential(
    [
        keras.layers.Conv2D(8, 3),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ]
)
optimizer = keras.optimizers.legacy.SGD(0.1)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for _ in range(12):
    step(tf.random.uniform((8, 16, 16, 3)), tf.zeros((8,), tf.int32))
