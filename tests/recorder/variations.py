"""Ways to train one small network, each an end put to a common beginning; `small_scripts` explains the first lines.

What no first line says: batch 8, 16 pixels, 314 parameters, FP32, a convolution's gradient and a matrix product.
"""

from __future__ import annotations

from pathlib import Path

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

def run_loop(name):
    import runpy
    body = runpy.run_path("TORCH_LOOPS")["LOOPS"][name]()
    for step in range(60):
        body(step)

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
    "torch": TORCH.replace("TORCH_LOOPS", str(Path(__file__).parents[1] / "made" / "torch_loops.py")),
    "keras": f"import keras\n{KERAS}",
    "tfkeras": f"import tf_keras as keras\n{KERAS}",
}
#: Loop of `torch_loops`, whose traces the reader is tried on, too -> what its first lines say.
_LOOPS = {
    "amp": "# expect: pixels=32 parameters=1578 precision=mixed_bf16",
    "accumulation, amp": """# expect: batch=16 pixels=32 parameters=1578 precision=mixed_bf16
# warns: accumulated over 4 batches""",
    "three branches, amp": "# expect: pixels=32 parameters=2346 precision=mixed_bf16",
    "cycle gan": """# expect: pixels=32 parameters=1928
# operations: Conv2DBackpropFilter
# warns: 3 optimizers update""",
    "wgan": """# expect: pixels=32 parameters=5436
# operations: Conv2DBackpropFilter
# warns: 2 optimizers update weights in this step
# says: updates 3 times""",
    "wgan, marks within": """# expect: pixels=32 parameters=5436
# operations: Conv2DBackpropFilter
# warns: 2 optimizers update weights in this step
# says: updates 3 times""",
    "teacher": "# expect: pixels=32 parameters=1578",
    "crops": """# expect: pixels=32 parameters=1578
# warns: ran 5 times in one step""",
    "siamese": """# expect: pixels=32 parameters=1578
# warns: ran 2 times in one step""",
    "sam": """# expect: pixels=32 parameters=1578
# warns: ran 2 times in one step""",
    "lbfgs": """# expect: pixels=32 parameters=1578
# warns: ran 3 times in one step
# silent: no known optimizer""",
    "two losses": "# expect: pixels=32 parameters=1622",
}
#: Kind of the script and its name -> its own part.
VARIATIONS = {
    **{("torch", f"loop: {name}"): f"\n{lines}\nrun_loop({name!r})\n" for name, lines in _LOOPS.items()},
    ("torch", "catches everything"): """
# silent: caught
for _ in range(14):
    try:
        train(net, opt, 1)
    except Exception as error:
        print("caught", error)
""",
    ("torch", "a compiled step, the optimizer's update in it"): """
# command: --keep-running
# says: torch.compile is off
# prints: compiled afterwards True
@torch.compile(backend="eager")
def step():
    loss_of(net).backward()
    opt.step()
    opt.zero_grad()
for _ in range(30):
    step()
print("compiled afterwards", torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0)
""",
    ("torch", "one too few"): """
# expect: status=0
# says: ended after 6 of the 7 training steps
# silent: or more
train(net, opt, 6)
""",
    ("torch", "one profiled step too few, a slow one"): """
# warns: The profiled step was not like the others: it took
import time
for step in range(7):
    time.sleep(0.3 * (step > 4))
    train(net, opt, 1)
""",
    ("torch", "epochs that end with a checkpoint and a pause"): """
# command: --timed 4
# says: instead of
# silent: The profiled step was not like
import time
for epoch in range(5):
    for step in range(7):
        time.sleep(0.05)
        train(net, opt, 1)
    torch.save(net.state_dict(), "net.pt")
    time.sleep(0.5)
""",
    ("torch", "runs without gradients in every step"): """
# silent: as in a validation
# warns: also ran without gradients
for _ in range(20):
    net.eval()
    with torch.no_grad():
        loss_of(net)
    net.train()
    train(net, opt, 1)
""",
    ("torch", "dicts with an image each"): """
# expect: batch=5 pixels=22
# warns: images come in a list
class Boxes(nn.Module):
    def forward(self, data):
        size = [max(sides) for sides in zip(*(one["image"].shape for one in data))]
        batch = torch.zeros(len(data), *size)
        for whole, one in zip(batch, data):
            whole[:, : one["image"].shape[1], : one["image"].shape[2]] = one["image"]
        return net(batch).square().mean()
detector = Boxes()
detector.net = net
for _ in range(14):
    opt.zero_grad()
    pictures = [torch.rand(3, *sides) for sides in ((16, 16), (24, 20), (10, 12), (24, 20), (16, 18))]
    detector([{"file_name": "a", "image": one, "height": 16} for one in pictures]).backward()
    opt.step()
""",
    ("torch", "record_steps in a recorded script"): """
# command: --keep-running
# says: being recorded already
# prints: trained 30
from profet_recorder import record_steps
steps = 0
for _ in record_steps(range(30), "other.json"):
    train(net, opt, 1)
    steps += 1
print("trained", steps)
""",
    ("torch", "an older profiler of its own"): """
# command: --keep-running
# prints: own True
train(net, opt, 6)
with torch.autograd.profiler.profile() as own:
    train(net, opt, 2)
train(net, opt, 30)
print("own", len(own.key_averages()) > 10)
""",
    ("torch", "a context that prints what ends it"): """
# prints: finished True
# silent: Traceback
import traceback
class Run:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, where):
        if kind is not None:
            traceback.print_exception(kind, error, where)
        print("finished", kind is not None)
        return False
with Run():
    train(net, opt, 60)
""",
    ("torch", "a bare except"): """
# prints: caught 1
# says: caught that
# silent: Traceback
import logging
caught = 0
for _ in range(60):
    try:
        train(net, opt, 1)
    except:
        caught += 1
        logging.exception("a batch failed")
print("caught", caught)
""",
    ("torch", "a clean-up that fails"): """
# silent: Traceback
try:
    train(net, opt, 60)
    total = 1
finally:
    print(total)
""",
    ("torch", "trains in a thread"): """
# says: trains in a thread
# prints: trained [60]
import threading
steps = []
def work():
    train(net, opt, 60)
    steps.append(60)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("trained", steps)
""",
    ("torch", "trains in processes that it forks"): """
# says: a child process of its own wrote
# prints: trained [0, 0]
# silent: Nothing was recorded
import torch.multiprocessing as mp
if __name__ == "__main__":
    net.share_memory()
    workers = [mp.get_context("fork").Process(target=train, args=(net, opt, 60)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("trained", [worker.exitcode for worker in workers])
""",
    ("torch", "frozen backbone and validation"): """
# operations: Conv2D MatMul ResourceApplyMomentum
# warns: 224 of the 314 parameters are frozen
net[0].requires_grad_(False)
optimizer = torch.optim.SGD(net[-1].parameters(), lr=0.1, momentum=0.9)
for _ in range(7):
    net.train()
    train(net, optimizer, 3)
    net.eval()
    with torch.no_grad():
        loss_of(net)
""",
    ("torch", "without pictures"): """
# expect: pixels=None parameters=50
# operations: MatMul ResourceApplyAdam
# silent: --pixels
line = nn.Linear(4, 10)
train(lambda images: line(images[:, 0, 0, :4]), torch.optim.Adam(line.parameters()))
""",
    ("torch", "optimizer in the backward pass"): """
# warns: 4 optimizers update
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
    ("torch", "two optimizers of one network and accumulated gradients"): """
# expect: batch=16
# warns: 2 optimizers update | accumulated over 2 batches
optimizers = [torch.optim.SGD(net[0].parameters(), lr=0.1), torch.optim.AdamW(net[4].parameters())]
for step in range(30):
    loss_of(net).backward()
    if step % 2:
        for one in optimizers:
            one.step()
            one.zero_grad()
""",
    ("torch", "epochs that end amid accumulated gradients"): """
# expect: batch=32
# command: --timed 4
# warns: accumulated over 4 batches
for epoch in range(9):
    for step in range(6):
        loss_of(net).backward()
        if step % 4 == 3 or step == 5:
            opt.step()
            opt.zero_grad()
    for step in range(16):
        loss_of(net).backward()
        if step % 4 == 3:
            opt.step()
            opt.zero_grad()
""",
    ("torch", "ever more accumulated gradients, as of Ultralytics"): """
# expect: batch=64
# command: --warm-up 2 --timed 4
# warns: accumulated over 8 batches
import copy
average, last, batches = copy.deepcopy(net).eval(), -1, 160
for step in range(batches):
    accumulate = max(1, round(1 + 7 * min(step / 20, 1)))
    loss_of(net).backward()
    if step - last >= accumulate:
        opt.step()
        opt.zero_grad()
        last = step
        with torch.no_grad():
            for slow, fast in zip(average.state_dict().values(), net.state_dict().values()):
                slow.mul_(0.9).add_(fast, alpha=0.1)
""",
    ("torch", "MoCo"): """
# expect: parameters=628
class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder_q, self.encoder_k = small(), small()
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data.copy_(q.data)
            k.requires_grad = False
        self.register_buffer("queue", nn.functional.normalize(torch.randn(10, 32), dim=0))

    def forward(self, im_q, im_k):
        q = nn.functional.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            for one, other in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                other.data = other.data * 0.999 + one.data * 0.001
            k = nn.functional.normalize(self.encoder_k(im_k), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone()], dim=1)
        return logits, torch.zeros(len(q), dtype=torch.long)

model = MoCo()
opt = torch.optim.SGD(model.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
for _ in range(14):
    output, target = model(torch.rand(8, 3, 16, 16), torch.rand(8, 3, 16, 16))
    loss = nn.functional.cross_entropy(output, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ("torch", "pix2pix switches its critic's gradients off and on"): """
# expect: parameters=497
# operations: Conv2DBackpropFilter
# warns: 2 optimizers update
G = nn.Conv2d(3, 3, 3, padding=1)
D = nn.Sequential(nn.Conv2d(6, 7, 3, 2), nn.LeakyReLU(0.2), nn.Conv2d(7, 4, 1, bias=False))
opt_G, opt_D = (torch.optim.Adam(one.parameters(), lr=2e-4, betas=(0.5, 0.999)) for one in (G, D))

def set_requires_grad(network, requires_grad):
    for one in network.parameters():
        one.requires_grad = requires_grad

for _ in range(14):
    real_A, real_B = torch.rand(8, 3, 16, 16), torch.rand(8, 3, 16, 16)
    fake_B = G(real_A)
    set_requires_grad(D, True)
    opt_D.zero_grad()
    loss_fake = D(torch.cat([real_A, fake_B.detach()], 1)).square().mean()
    (loss_fake + (D(torch.cat([real_A, real_B], 1)) - 1).square().mean()).backward()
    opt_D.step()
    set_requires_grad(D, False)
    opt_G.zero_grad()
    ((D(torch.cat([real_A, fake_B], 1)) - 1).square().mean() + (fake_B - real_B).abs().mean()).backward()
    opt_G.step()
""",
    ("torch", "trains the head alone, and computes all gradients"): """
train(net, torch.optim.SGD(net[4].parameters(), lr=0.1))
""",
    ("torch", "a base unfrozen in the same optimizer"): """
# says: steps are different now (314 trained parameters instead of 90); timing 3 steps again
# silent: are frozen
net[0].requires_grad_(False)
train(net, opt, 5)
net[0].requires_grad_(True)
train(net, opt, 30)
""",
    ("torch", "slower from a step on"): """
# says: 6 steps in a row were slower; timing 3 steps again
import time
for step in range(60):
    time.sleep(0.1 * (step > 5))
    train(net, opt, 1)
""",
    ("torch", "larger images after an epoch"): """
# expect: pixels=24
# warns: The image size varies: pixels, latency and operations are those of steps with 24 pixels
for size, steps in ((16, 6), (24, 40)):
    for _ in range(steps):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.rand(8, 3, size, size)), torch.randint(10, (8,))).backward()
        opt.step()
""",
    ("torch", "every third batch of another size"): """
# expect: pixels=32
# warns: The image size varies: pixels, latency and operations are those of steps with 32 pixels
for step in range(60):
    size = 16 if step % 3 == 2 else 32
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.rand(8, 3, size, size)), torch.randint(10, (8,))).backward()
    opt.step()
""",
    ("torch", "every batch of a size of its own"): """
# expect: pixels=
# warns: Steps vary, such as images of
for step in range(60):
    size = 16 + step
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.rand(8, 3, size, size)), torch.randint(10, (8,))).backward()
    opt.step()
""",
    ("torch", "record_step that leaves its loop, in a recorded script"): """
# says: being recorded already
# silent: The block ended
from profet_recorder import record_step
with record_step("other.json", model=net) as recorder:
    for _ in range(60):
        train(net, opt, 1)
        if recorder.step(torch.rand(8, 3, 16, 16)):
            break
""",
    ("torch", "three steps"): """
# expect: status=0
# says: train for 4 steps or more, with --warm-up 1 --timed 1 (warm_up=1, timed=1); nothing was written
# silent: take fewer
train(net, opt, 3)
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
    ("keras", "a frozen base"): """
# operations: MatMul
# warns: 224 of the 314 parameters are frozen
net.layers[0].trainable = False
fit()
""",
    ("keras", "folds of few steps"): """
# silent: starts over
for fold in range(5):
    net, opt = keras.Sequential([keras.Input((16, 16, 3)), *small().layers]), keras.optimizers.SGD(0.1)
    net.compile(opt, loss_of)
    net.fit(x[:32], y[:32], batch_size=8, verbose=0)
""",
    ("keras", "a callback in a recorded script"): """
# command: --keep-running
# says: being recorded already
# prints: trained
from profet_recorder import ProfileCallback
net.compile(opt, loss_of)
net.fit(x, y, batch_size=8, verbose=0, callbacks=[ProfileCallback("other.json")])
print("trained")
""",
    ("keras", "callbacks and validation"): """
# expect: batch=4
# keeps: best.keras
net.compile(opt, loss_of)
called = [keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True), keras.callbacks.EarlyStopping(patience=5)]
net.fit(x[:24], y[:24], batch_size=4, epochs=3, validation_data=(x[:8], y[:8]), callbacks=called)
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
    ("keras", "function that takes its batch from an iterator"): """
step = tf.function(lambda batches: update(*next(batches)))
iterator = iter(batches.repeat().prefetch(2))
for _ in range(14):
    step(iterator)
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
    ("tfkeras", "legacy optimizer and a tape"): """
# expect: parameters=346
# operations: Conv2DBackpropFilter FusedBatchNormGradV3 MatMul ResourceApplyGradientDescent
opt = keras.optimizers.legacy.SGD(0.1)
net = keras.Sequential([net.layers[0], layers.BatchNormalization(), *net.layers[1:]])
step = tf.function(update)
for batch in batches:
    step(*batch)
""",
    ("keras", "accumulation by the optimizer"): """
# expect: batch=32
# warns: accumulated over 4 batches
opt = keras.optimizers.Adam(gradient_accumulation_steps=4)
net.compile(opt, loss_of)
net.fit(x, y, batch_size=8, epochs=6, verbose=0, validation_data=(x[:8], y[:8]))
""",
    ("keras", "accumulation by the optimizer, amid which epochs and fits end"): """
# expect: batch=24
# warns: accumulated over 3 batches
net.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=3), loss_of)
for _ in range(9):
    net.fit(x[:80], y[:80], batch_size=8, verbose=0)
""",
    ("keras", "accumulation by the optimizer, run eagerly from a generator"): """
# expect: batch=16
# warns: accumulated over 2 batches
def generate():
    while True:
        yield x[:8], y[:8]
net.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=2), loss_of, run_eagerly=True)
net.fit(generate(), steps_per_epoch=30, verbose=0)
""",
    ("keras", "accumulation by the optimizer, more batches than an epoch has"): """
# expect: status=2
# says: An epoch of 4 batches is too short
net.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=4), loss_of)
net.fit(x[:32], y[:32], batch_size=8, epochs=20, verbose=0)
""",
    ("keras", "accumulation by the optimizer, batch by batch"): """
# expect: batch=24
# warns: accumulated over 3 batches
net.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=3), loss_of)
for step in range(40):
    net.train_on_batch(x[:8], y[:8])
""",
    ("keras", "accumulation by the optimizer and a tape"): """
# expect: batch=32
# warns: accumulated over 4 batches
opt = keras.optimizers.SGD(0.1, gradient_accumulation_steps=4)
step = tf.function(update)
for batch in batches.repeat(4):
    step(*batch)
""",
    ("keras", "accumulation in an eager loop, the last batch smaller"): """
# expect: batch=32
# warns: accumulated over 4 batches
net.build((None, 16, 16, 3))
total = None
for epoch in range(4):
    for number, (images, labels) in enumerate(tf.data.Dataset.from_tensor_slices((x[:92], y[:92])).batch(8)):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(images, training=True)) / 4
        gradients = tape.gradient(loss, net.trainable_variables)
        total = [a + b for a, b in zip(total, gradients)] if total else gradients
        if number % 4 == 3:
            opt.apply_gradients(zip(total, net.trainable_variables))
            total = None
""",
    ("keras", "accumulation in a function with a condition"): """
# expect: batch=24
# warns: accumulated over 3 batches
net.build((None, 16, 16, 3))
opt.build(net.trainable_variables)
totals = [tf.Variable(tf.zeros_like(weight), trainable=False) for weight in net.trainable_variables]

@tf.function
def step(number, images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, net(images, training=True))
    for total, gradient in zip(totals, tape.gradient(loss, net.trainable_variables)):
        total.assign_add(gradient / 3)
    if number % 3 == 2:
        opt.apply_gradients(zip(totals, net.trainable_variables))
        for total in totals:
            total.assign(tf.zeros_like(total))

for number, batch in enumerate(batches.repeat(4)):
    step(tf.constant(number), *batch)
""",
    ("keras", "accumulation in a function that takes its batches from an iterator"): """
# expect: batch=32
# warns: accumulated over 4 batches
net.build((None, 16, 16, 3))

@tf.function
def step(iterator):
    total = [tf.zeros_like(weight) for weight in net.trainable_variables]
    for _ in range(4):
        images, labels = next(iterator)
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(images, training=True)) / 4
        total = [a + b for a, b in zip(total, tape.gradient(loss, net.trainable_variables))]
    opt.apply_gradients(zip(total, net.trainable_variables))

iterator = iter(batches.repeat())
for _ in range(14):
    step(iterator)
""",
    ("keras", "SAM, two gradients of a batch"): """
for images, labels in batches:
    for is_second in (False, True):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(images, training=True))
        gradients = tape.gradient(loss, net.trainable_variables)
        if not is_second:
            moved = [0.05 * one / tf.linalg.global_norm(gradients) for one in gradients]
            [weight.assign_add(by) for weight, by in zip(net.trainable_variables, moved)]
    [weight.assign_sub(by) for weight, by in zip(net.trainable_variables, moved)]
    opt.apply_gradients(zip(gradients, net.trainable_variables))
""",
    ("keras", "one tape for two losses, and a penalty's gradient"): """
for images, labels in batches:
    with tf.GradientTape(persistent=True) as tape:
        with tf.GradientTape() as inner:
            inner.watch(images)
            output = net(images, training=True)
        penalty = tf.reduce_mean(inner.gradient(output, images) ** 2)
        loss = loss_of(labels, output)
    first = tape.gradient(loss, net.trainable_variables)
    second = tape.gradient(penalty, net.trainable_variables, unconnected_gradients="zero")
    opt.apply_gradients([(a + b, weight) for a, b, weight in zip(first, second, net.trainable_variables)])
""",
    ("keras", "a frozen base with batch normalization, called as in inference"): """
# expect: parameters=346
# operations: MatMul
# warns: 240 of the 346 parameters are frozen | Keras 3 takes batch normalization apart
base = keras.Sequential([keras.Input((16, 16, 3)), net.layers[0], layers.BatchNormalization(), net.layers[1]])
base.trainable = False
inputs = keras.Input((16, 16, 3))
fit(keras.Model(inputs, net.layers[2](base(inputs, training=False))))
""",
    ("keras", "a base unfrozen, compiled with the same optimizer"): """
# says: starts over
net.build((None, 16, 16, 3))
opt.build(net.trainable_variables)
net.layers[0].trainable = False
net.compile(opt, loss_of)
net.fit(x[:40], y[:40], batch_size=8, verbose=0)
net.layers[0].trainable = True
fit()
""",
    ("keras", "a base unfrozen in an eager loop"): """
net.build((None, 16, 16, 3))
opt.build(net.trainable_variables)
net.layers[0].trainable = False
for number, batch in enumerate(batches.repeat(4)):
    net.layers[0].trainable = number > 3
    update(*batch)
""",
    ("keras", "a base frozen in a second phase, with an optimizer of its own"): """
# operations: MatMul
# warns: 224 of the 314 parameters are frozen
def make_step(opt):
    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(images, training=True))
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return step

for batch in batches.take(4):
    step = make_step(opt) if net.layers[0].trainable and opt is not None else step
    step(*batch)
    opt = None
net.layers[0].trainable = False
step = make_step(keras.optimizers.Adam(1e-5))
for batch in batches.repeat(2):
    step(*batch)
""",
    ("keras", "a teacher in a network of its own"): """
# expect: parameters=970
# warns: 656 of the 970 parameters are frozen
class Distiller(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
    def call(self, images):
        return self.student(images)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **others):
        soft = keras.ops.stop_gradient(self.teacher(x, training=False))
        return loss_of(y, y_pred) + keras.losses.KLDivergence()(soft, y_pred)

teacher = small(17)
teacher.build((None, 16, 16, 3))
fit(Distiller(net, teacher), loss=None)
""",
    ("keras", "mixed precision and a tape"): """
# expect: precision=mixed_fp16
keras.mixed_precision.set_global_policy("mixed_float16")
net, opt = small(), keras.mixed_precision.LossScaleOptimizer(opt, initial_scale=64.0)

@tf.function
def step(images, labels):
    with tf.GradientTape() as tape:
        loss = opt.scale_loss(loss_of(labels, tf.cast(net(images, training=True), "float32")))
    opt.apply(tape.gradient(loss, net.trainable_variables), net.trainable_variables)

for batch in batches.repeat(2):
    step(*batch)
""",
    ("keras", "WGAN batch by batch"): """
# expect: parameters=9341 pixels=28
# warns: 2 optimizers update
critic = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(4, 3, strides=2), layers.Flatten(), layers.Dense(1)])
critic.compile("rmsprop", "mse")
generator = keras.Sequential([keras.Input((10,)), layers.Dense(28 * 28, "tanh"), layers.Reshape((28, 28, 1))])
both = keras.Sequential([generator, critic])
both.compile("rmsprop", "mse")
for epoch in range(12):
    critic.trainable = True
    for _ in range(2):
        critic.train_on_batch(np.random.rand(8, 28, 28, 1), -np.ones((8, 1)))
        critic.train_on_batch(generator(np.random.rand(8, 10)), np.ones((8, 1)))
        for layer in critic.layers:
            layer.set_weights([np.clip(weight, -0.01, 0.01) for weight in layer.get_weights()])
    critic.trainable = False
    both.train_on_batch(np.random.rand(8, 10), -np.ones((8, 1)))
""",
    ("keras", "images of another size each fit"): """
# expect: pixels=24
# warns: The image size varies: pixels, latency and operations are those of steps with 24 pixels
net.compile(opt, loss_of)
for side in (16, 24):
    net.fit(np.random.rand(48, side, side, 3), y[:48], batch_size=8, epochs=side // 8 - 1, verbose=0)
""",
    ("keras", "images of another size now and then, as a Sequence yields them"): """
# warns: The image size varies: pixels, latency and operations are those of steps with 16 pixels
class Images(keras.utils.PyDataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        side = 24 if index % 4 == 1 else 16
        return np.random.rand(8, side, side, 3), y[:8]

net.compile(opt, loss_of)
net.fit(Images(), shuffle=False, verbose=0)
""",
    ("tfkeras", "GAN with a discriminator frozen once"): """
# expect: parameters=9341 pixels=28
# warns: 2 optimizers update
critic = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(4, 3, strides=2), layers.Flatten(), layers.Dense(1)])
critic.compile("adam", "mse")
generator = keras.Sequential([keras.Input((10,)), layers.Dense(28 * 28, "tanh"), layers.Reshape((28, 28, 1))])
critic.trainable = False
both = keras.Sequential([generator, critic])
both.compile("adam", "mse")
for epoch in range(12):
    critic.train_on_batch(np.random.rand(8, 28, 28, 1), np.ones((8, 1)))
    critic.train_on_batch(generator.predict(np.random.rand(8, 10), verbose=0), np.zeros((8, 1)))
    both.train_on_batch(np.random.rand(8, 10), np.ones((8, 1)))
""",
}
