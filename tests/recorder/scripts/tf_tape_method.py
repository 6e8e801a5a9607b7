# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2DBackpropFilter MatMul
import tensorflow as tf


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
        self.loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(self, iterator):
        images, labels = next(iterator)
        with tf.GradientTape() as tape:
            loss = self.loss(labels, self.model(images, training=True))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def train(self, dataset, steps):
        iterator = iter(dataset)
        for step in range(steps):
            loss = self.step(iterator)
        return float(loss)


data = tf.data.Dataset.from_tensor_slices((tf.random.uniform((32, 16, 16, 3)), tf.zeros((32,), tf.int32)))
net = tf.keras.Sequential(
    [tf.keras.layers.Conv2D(8, 3), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(10)]
)
print(Trainer(net).train(data.repeat().batch(8, drop_remainder=True), 12))
