# expect: batch=8 pixels=None parameters=None
# operations: MatMul
# says: backward pass
import tensorflow as tf

w, b = tf.Variable(tf.random.normal((4, 2))), tf.Variable(tf.zeros(2))


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w + b - y) ** 2)
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * dw)
    b.assign_sub(0.1 * db)
    return loss


for _ in range(40):
    step(tf.random.uniform((8, 4)), tf.ones((8, 2)))
