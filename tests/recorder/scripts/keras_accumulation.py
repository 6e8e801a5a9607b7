# expect: batch=32 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
# warns: accumulated over 4 batches
import keras
import numpy as np
import tensorflow as tf


class GAModel(keras.Model):
    def __init__(self, n_gradients, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.n_gradients = tf.constant(n_gradients, dtype=tf.int32)
        self.n_acum_step = tf.Variable(0, dtype=tf.int32, trainable=False)
        self.gradient_accumulation = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.trainable_variables]

    def train_step(self, data):
        self.n_acum_step.assign_add(1)
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred)
        gradients = tape.gradient(loss, self.trainable_variables)
        for i in range(len(self.gradient_accumulation)):
            self.gradient_accumulation[i].assign_add(gradients[i])
        tf.cond(tf.equal(self.n_acum_step, self.n_gradients), self.apply_accu_gradients, lambda: None)
        return {"loss": loss}

    def apply_accu_gradients(self):
        self.optimizer.apply_gradients(zip(self.gradient_accumulation, self.trainable_variables))
        self.n_acum_step.assign(0)
        for i in range(len(self.gradient_accumulation)):
            self.gradient_accumulation[i].assign(tf.zeros_like(self.trainable_variables[i]))


inputs = keras.Input((16, 16, 3))
x = keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(8, 3)(inputs))
model = GAModel(n_gradients=4, inputs=inputs, outputs=keras.layers.Dense(10, activation="softmax")(x))
model.compile(keras.optimizers.Adam(), "sparse_categorical_crossentropy")
model.fit(np.random.rand(360, 16, 16, 3), np.zeros(360), batch_size=8, verbose=0)
