# expect: batch=8 pixels=28 parameters=170 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import keras
import numpy as np
import tensorflow as tf
from keras import layers


def network(width):
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(width, 3, strides=2),
            layers.LeakyReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )


class Distiller(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.teacher = teacher
        self.student = student

    def compile(self, optimizer, student_loss_fn, distillation_loss_fn, alpha=0.1, temperature=3):
        super().compile(optimizer=optimizer)
        self.student_loss_fn = student_loss_fn
        self.distillation_loss_fn = distillation_loss_fn
        self.alpha = alpha
        self.temperature = temperature

    def train_step(self, data):
        x, y = data
        teacher_predictions = self.teacher(x, training=False)
        with tf.GradientTape() as tape:
            student_predictions = self.student(x, training=True)
            student_loss = self.student_loss_fn(y, student_predictions)
            distillation_loss = self.distillation_loss_fn(
                tf.nn.softmax(teacher_predictions / self.temperature, axis=1),
                tf.nn.softmax(student_predictions / self.temperature, axis=1),
            )
            loss = self.alpha * student_loss + (1 - self.alpha) * distillation_loss
        gradients = tape.gradient(loss, self.student.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.student.trainable_variables))
        return {"student_loss": student_loss, "distillation_loss": distillation_loss}


distiller = Distiller(student=network(8), teacher=network(32))
distiller.compile(
    optimizer=keras.optimizers.Adam(),
    student_loss_fn=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    distillation_loss_fn=keras.losses.KLDivergence(),
)
distiller.fit(np.random.rand(80, 28, 28, 1), np.random.randint(0, 10, 80), batch_size=8, epochs=1)
