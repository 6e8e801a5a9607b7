"""What is recorded of a script beside what its framework's own profiler tells of it: the same share in every class."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import pytest

from profet_core import read_profile
from profet_core.features.operations import kind_of
from profet_core.profiles.pytorch.translations import load_translations
from profet_core.profiles.record import IDLE_OPERATIONS, UNKNOWN
from tests.recorder.runs import needs

#: Part of the step by which any class may differ.
TOLERANCE = 0.05
#: On a busy machine what interrupts one operation is spread over many steps, and a bad run is done again.
STEPS, ATTEMPTS = 20, 3

KERAS = """
import os
import sys

# As `profet profile` sets it: oneDNN's convolutions take other times.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
layers = tf.keras.layers
model = tf.keras.Sequential(
    [
        tf.keras.Input((32, 32, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(10),
    ]
)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
batch = tf.random.uniform((16, 32, 32, 3)), tf.zeros((16,), tf.int32)
dataset = tf.data.Dataset.from_tensors(batch).repeat(80)
first, last = (20, 20 + STEPS) if "own" in sys.argv else (-1, -1)

def before(step):
    if step == first:
        tf.profiler.experimental.start("own")
    if step == last:
        tf.profiler.experimental.stop()
"""
FIT = """
class Own(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        before(batch)

model.compile("sgd", loss_of, jit_compile=False)
model.fit(dataset, verbose=0, callbacks=[Own()])
"""
TAPE = """
optimizer = tf.keras.optimizers.SGD()

@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

for step, (images, labels) in enumerate(dataset):
    before(step)
    train_step(images, labels)
"""
TORCH = """
import json
import sys
import torch
from torch import nn

torch.set_num_threads(1)
network = nn.Sequential(
    nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(16 * 14 * 14, 10)
)
data = torch.utils.data.TensorDataset(torch.rand(16 * 80, 3, 32, 32), torch.randint(10, (16 * 80,)))
loader = torch.utils.data.DataLoader(data, batch_size=16)

optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
own = None
if "own" in sys.argv:
    schedule = torch.profiler.schedule(wait=19, warmup=1, active=STEPS)
    own = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule)
    own.start()
for step, (images, labels) in enumerate(loader):
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(images), labels).backward()
    optimizer.step()
    if own and step < 20 + STEPS:
        own.step()
if own:
    own.stop()
    print(json.dumps({one.key: one.self_cpu_time_total for one in own.key_averages()}))
"""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(KERAS + FIT, id="Keras fit", marks=needs("tensorflow", "keras")),
        pytest.param(KERAS + TAPE, id="GradientTape", marks=needs("tensorflow", "keras")),
        pytest.param(TORCH, id="PyTorch loop", marks=needs("torch")),
    ],
)
def test_the_shares_are_those_of_the_frameworks_own_profiler(run, script):
    script = script.replace("STEPS", str(STEPS))
    differences = []
    for _ in range(ATTEMPTS):
        recorded = run(script, "--warm-up", 10, "--timed", 5, "--profiled", STEPS, "--force")
        assert recorded.status == 0, recorded.err
        own = run('import sys\nsys.argv.append("own")\n' + script, name="own.py")
        assert own.status == 0, own.err
        found = shares(recorded.profile().operations)
        told = shares(own_times(own))
        classes = found.keys() | told.keys()
        assert {"convolution", "convolution gradient", "matrix product"} <= classes
        differences.append(max(abs(found[one] - told[one]) for one in classes))
        if differences[-1] <= TOLERANCE:
            return
    pytest.fail(f"a class differs by {min(differences):.1%} of the step: {found} {told}")


def own_times(done) -> Mapping[str, float]:
    """Operation type -> time, by the framework's own profiler."""
    traces = sorted((done.folder / "own").rglob("*.xplane.pb"))
    if traces:
        return read_profile(traces[-1].read_bytes()).operations
    times: Counter[str] = Counter()
    for name, us in json.loads(done.out.splitlines()[-1]).items():
        types = load_translations().find(name).types
        for kind in types if UNKNOWN not in types else ():
            times[kind] += us / len(types)
    return times


def shares(times_us: Mapping[str, float]) -> Counter[str]:
    """Class -> part of all time but idle time."""
    classes: Counter[str] = Counter()
    for name, us in times_us.items():
        if name not in IDLE_OPERATIONS:
            kind = kind_of(name)
            classes[_class(kind.name if kind else name)] += us
    whole = sum(classes.values())
    return Counter({name: us / whole for name, us in classes.items()})


def _class(kind: str) -> str:
    return "convolution gradient" if kind.startswith("convolution ") else kind
