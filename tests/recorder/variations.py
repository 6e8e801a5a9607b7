"""Ways to train one small network, each an end put to a common beginning; `small_scripts` explains the first lines.

What no first line says: batch 8, 16 pixels, 314 parameters, FP32, a convolution's gradient and a matrix product.
"""

from __future__ import annotations

TORCH = """
import torch
from torch import nn

def small(width=8):
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))

def loss_of(network, size=8):
    return nn.functional.cross_entropy(network(torch.rand(size, 3, 16, 16)), torch.randint(10, (size,)))

def train(network, optimizer, steps=14):
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(network).backward()
        optimizer.step()

net = small()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
KERAS = """
import numpy as np
import tensorflow as tf

layers = keras.layers

def small(width=8):
    ends = [layers.GlobalAveragePooling2D(), layers.Dense(10, activation="softmax")]
    return keras.Sequential([layers.Conv2D(width, 3), *ends])

net, opt = small(), keras.optimizers.SGD(0.1)
loss_of = keras.losses.SparseCategoricalCrossentropy()
x, y = np.random.rand(96, 16, 16, 3).astype("float32"), np.random.randint(0, 10, 96)
batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)

def update(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, net(images, training=True))
    gradients = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(gradients, net.trainable_variables))
    return loss

def fit(network=net, loss=loss_of, **options):
    network.compile(opt, loss, **options)
    network.fit(x, y, batch_size=8, verbose=0)
"""
PREFIXES = {
    "torch": TORCH,
    "keras": f"import keras\n{KERAS}",
    "tfkeras": f"import tf_keras as keras\n{KERAS}",
}
GAN = """
generator = keras.Sequential([layers.Dense(16 * 16 * 3), layers.Reshape((16, 16, 3))])
other = keras.optimizers.Adam()

def gan_step(images):
    for optimizer, part, sign in ((opt, net, 1), (other, generator, -1)):
        with tf.GradientTape() as tape:
            made = generator(tf.random.normal((8, 4)), training=True)
            loss = sign * tf.reduce_mean(net(tf.concat([images, made], 0), training=True)[:, 0])
        weights = part.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss
"""
#: Kind of the script and its name -> its own part.
VARIATIONS = {
    ("torch", "accumulation"): """
# expect: batch=4
# says: ran 4 times in one step
for step in range(48):
    (loss_of(net, 4) / 4).backward()
    if step % 4 == 3:
        opt.step()
        opt.zero_grad()
""",
    ("torch", "bfloat16"): """
# expect: precision=bf16
network = net.to(torch.bfloat16)
train(lambda images: network(images.bfloat16()), opt)
""",
    ("torch", "autocast with a scaler"): """
# expect: precision=mixed_bf16
scaler = torch.amp.GradScaler("cpu", enabled=False)
for _ in range(14):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_of(net)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
""",
    ("torch", "catches everything"): """
# silent: caught
for _ in range(14):
    try:
        train(net, opt, 1)
    except Exception as error:
        print("caught", error)
""",
    ("torch", "compiled"): """
# says: torch.compile is off
train(torch.compile(net, backend="eager"), opt)
""",
    # 2 to warm up, 3 timed, 1 for the profiler to start and 1 profiled.
    ("torch", "exactly enough"): """
train(net, opt, 2 + 3 + 2)
""",
    ("torch", "one too few"): """
# expect: status=2
# says: ended after 6 of the 7 training steps
train(net, opt, 6)
""",
    ("torch", "frozen backbone and validation"): """
# operations: Conv2D MatMul ResourceApplyMomentum
net[0].requires_grad_(False)
optimizer = torch.optim.SGD(net[-1].parameters(), lr=0.1, momentum=0.9)
for _ in range(7):
    net.train()
    train(net, optimizer, 3)
    net.eval()
    with torch.no_grad():
        loss_of(net)
""",
    ("torch", "functional"): """
# expect: parameters=296
kernel, weight = torch.randn(8, 3, 3, 3, requires_grad=True), torch.randn(10, 8, requires_grad=True)
functions = nn.functional
train(lambda images: functions.linear(functions.conv2d(images, kernel).mean((2, 3)), weight),
      torch.optim.SGD([kernel, weight], lr=0.1))
""",
    ("torch", "without pictures"): """
# expect: pixels=None parameters=50
# operations: MatMul ResourceApplyAdam
# silent: --pixels
line = nn.Linear(4, 10)
train(lambda images: line(images[:, 0, 0, :4]), torch.optim.Adam(line.parameters()))
""",
    ("torch", "optimizer in the backward pass"): """
optimizers = {one: torch.optim.SGD([one], lr=0.1) for one in net.parameters()}

def step_and_free(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()

for one in net.parameters():
    one.register_post_accumulate_grad_hook(step_and_free)
for _ in range(14):
    loss_of(net).backward()
""",
    ("torch", "profiles itself now and then"): """
# command: --keep-running
# prints: done 2
from torch.profiler import ProfilerActivity, profile
traces = 0
for _ in range(2):
    train(net, opt, 4)
    with profile(activities=[ProfilerActivity.CPU]) as own:
        train(net, opt, 3)
    traces += len(own.key_averages()) > 10
train(net, opt, 8)
print("done", traces)
""",
    ("torch", "update of its own"): """
# says: backward pass
for _ in range(40):
    net.zero_grad()
    loss_of(net).backward()
    with torch.no_grad():
        for one in net.parameters():
            one -= 0.05 * one.grad
""",
    ("torch", "raises"): """
# expect: status=1
# says: RuntimeError: Given groups=1
# silent: profet_recorder
train(net, opt, 2)
net(torch.rand(8, 4, 16, 16))
""",
    ("torch", "SAM"): """
# says: ran 2 times in one step
class SAM(torch.optim.Optimizer):
    def __init__(self, weights):
        super().__init__(weights, {})
        self.inner = torch.optim.SGD(self.param_groups, lr=0.1)

    @torch.no_grad()
    def step(self, closure):
        torch.enable_grad()(closure)()
        self.inner.step()

def closure():
    optimizer.zero_grad()
    loss_of(net).backward()

optimizer = SAM(net.parameters())
for _ in range(14):
    closure()
    optimizer.step(closure)
""",
    ("torch", "child process"): """
# expect: status=2
# says: torchrun --no-python
import subprocess, sys
subprocess.run([sys.executable, "-c", "import torch; torch.ones(4, requires_grad=True).sum().backward()"], check=True)
""",
    ("torch", "teacher inside"): """
# silent: validation ran
class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.student, self.teacher = small(), small(64).requires_grad_(False).eval()

    def forward(self, images):
        return self.student(images)

model = Distilled()
optimizer = torch.optim.SGD(model.student.parameters(), lr=0.1)
for _ in range(14):
    with torch.no_grad():
        model.teacher(torch.rand(8, 3, 16, 16))
    train(model, optimizer, 1)
""",
    ("torch", "two phases"): """
# operations: Conv2DBackpropFilter MatMul ResourceApplyAdam
train(net, torch.optim.SGD(net[-1].parameters(), lr=0.1), 3)
train(net, torch.optim.Adam(net.parameters()), 12)
""",
    ("torch", "loader with a worker process"): """
class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 120

    def __getitem__(self, index):
        return torch.rand(3, 16, 16), index % 10

for images, labels in torch.utils.data.DataLoader(Pictures(), batch_size=8, num_workers=1):
    opt.zero_grad()
    nn.functional.cross_entropy(net(images), labels).backward()
    opt.step()
""",
    ("keras", "run eagerly"): """
fit(run_eagerly=True)
""",
    ("keras", "several steps per execution"): """
# expect: status=2
# says: steps_per_execution=1
fit(steps_per_execution=4)
""",
    ("keras", "mixed precision"): """
# expect: precision=mixed_fp16
keras.mixed_precision.set_global_policy("mixed_float16")
fit(small())
""",
    ("keras", "without pictures"): """
# expect: batch=16 pixels=None parameters=5
# operations: MatMul
# silent: --pixels
line = keras.Sequential([layers.Dense(1)])
line.compile("sgd", "mse")
line.fit(x[:, 0, :4, 0].repeat(2, 0), y.repeat(2), batch_size=16)
""",
    ("keras", "loader of its own"): """
class Pictures(keras.utils.PyDataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return x[:8], y[:8]

net.compile(opt, loss_of)
net.fit(Pictures(workers=2, use_multiprocessing=False), verbose=0)
""",
    ("keras", "two fits, the first of a frozen base"): """
net.layers[0].trainable = False
net.compile("sgd", loss_of)
net.fit(x[:24], y[:24], batch_size=8)
net.layers[0].trainable = True
fit()
""",
    ("keras", "callbacks and validation"): """
# expect: batch=4
# keeps: best.keras
net.compile(opt, loss_of)
called = [keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True), keras.callbacks.EarlyStopping(patience=5)]
net.fit(x[:24], y[:24], batch_size=4, epochs=3, validation_data=(x[:8], y[:8]), callbacks=called)
""",
    ("keras", "teacher in a train_step"): """
class Distiller(keras.Model):
    def __init__(self):
        super().__init__()
        self.student, self.teacher = net, small(32)

    def train_step(self, data):
        self.teacher(data[0], training=False)
        return {"loss": update(*data)}

fit(Distiller())
""",
    ("keras", "GAN in a train_step"): f"""
# expect: parameters=4154
# operations: Conv2DBackpropFilter Conv2DBackpropInput MatMul
# says: optimizers
{GAN}
class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.net, self.generator = net, generator

    def train_step(self, data):
        return {{"loss": gan_step(data[0])}}

fit(Gan())
""",
    ("keras", "GAN with a tape"): f"""
# expect: parameters=4154
# operations: Conv2DBackpropFilter Conv2DBackpropInput MatMul
# says: optimizers
{GAN}
train_step = tf.function(gan_step)
for optimizer, part, shape in ((opt, net, (None, 16, 16, 3)), (other, generator, (None, 4))):
    part.build(shape)
    optimizer.build(part.trainable_variables)
for images, _ in batches:
    train_step(images)
""",
    ("keras", "eager tape"): """
for batch in batches:
    update(*batch)
""",
    ("keras", "compiled tape"): """
# expect: compiled
# operations:
# says: jit_compile
net.build((None, 16, 16, 3))
opt.build(net.trainable_variables)
step = tf.function(update, jit_compile=True)
for batch in batches:
    step(*batch)
""",
    # The recorder profiles from the end of the 12th step on.
    ("keras", "profiles itself now and then"): """
# command: --keep-running
# says: a profiler of its own
# prints: trained, traces 2
import glob
step = tf.function(update)
for number, batch in enumerate(batches.repeat(2)):
    if number in (4, 12):
        tf.profiler.experimental.start(f"logs/{number}")
    step(*batch)
    if number in (10, 15):
        tf.profiler.experimental.stop()
print("trained, traces", len(glob.glob("logs/*/plugins/profile/*/*.xplane.pb")))
""",
    ("keras", "update of its own"): """
# expect: pixels=None parameters=None precision=None
# operations: MatMul
# says: backward pass
weight = tf.Variable(tf.random.normal((4, 2)))

@tf.function
def step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((rows @ weight) ** 2)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))

for _ in range(40):
    step(tf.random.uniform((8, 4)))
""",
    ("keras", "loop in a strategy"): """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    net, opt = small(), keras.optimizers.Adam()
    loss_of = keras.losses.SparseCategoricalCrossentropy(reduction="none")

def update_of_replica(images, labels):
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(loss_of(labels, net(images, training=True)), global_batch_size=8)
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

step = tf.function(lambda batch: strategy.run(update_of_replica, args=batch))
for batch in strategy.experimental_distribute_dataset(batches):
    step(batch)
""",
    ("keras", "method that takes an iterator"): """
class Trainer:
    @tf.function
    def step(self, iterator):
        return update(*next(iterator))

trainer, iterator = Trainer(), iter(batches.unbatch().batch(8, drop_remainder=True))
for _ in range(12):
    trainer.step(iterator)
""",
    ("tfkeras", "layer with a condition"): """
class Damped(layers.Layer):
    def call(self, images):
        # AutoGraph makes a graph's condition of this.
        if tf.reduce_mean(images) > 0.5:
            images = images * 0.5
        return images

net = keras.Sequential([net.layers[0], Damped(), *net.layers[1:]])
step = tf.function(update)
for batch in batches:
    step(*batch)
""",
    ("tfkeras", "legacy optimizer"): """
opt = keras.optimizers.legacy.SGD(0.01)
fit(metrics=["accuracy"])
""",
    ("tfkeras", "legacy optimizer and a tape"): """
# expect: parameters=346
# operations: Conv2DBackpropFilter FusedBatchNormGradV3 MatMul ResourceApplyGradientDescent
opt = keras.optimizers.legacy.SGD(0.1)
net = keras.Sequential([net.layers[0], layers.BatchNormalization(), *net.layers[1:]])
step = tf.function(update)
for batch in batches:
    step(*batch)
""",
    ("tfkeras", "train_step that minimizes"): """
class Wrapped(keras.Model):
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(data[1], net(data[0], training=True))
        self.optimizer.minimize(loss, net.trainable_variables, tape=tape)
        return {"loss": loss}

wrapped = Wrapped()
wrapped.network = net
fit(wrapped)
""",
}
