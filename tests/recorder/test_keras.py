"""Real recordings of a tiny Keras network on the CPU: callback, context manager, iterator and a script as it is."""

from __future__ import annotations

import pytest

from profet_core import read_profile
from tests.recorder.runs import CPU_WARNING, WITHOUT_THE_REST, Run, needs

#: Convolution 3x3x3x8 + 8, batch normalization 4 x 8, dense 15 x 15 x 8 x 10 + 10.
PARAMETERS = 224 + 32 + 18_010

NETWORK = """
import sys
import numpy as np
import {keras} as keras

model = keras.Sequential(
    [
        keras.layers.Input((32, 32, 3)),
        keras.layers.Conv2D(8, 3, activation="relu", name="secret_layer"),
        keras.layers.BatchNormalization(),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
images = np.random.rand(132, 32, 32, 3).astype("float32")
labels = np.random.randint(0, 10, 132)
"""
FIT = """
model.compile(optimizer="sgd", loss=loss, jit_compile="jit" in sys.argv)
history = model.fit(images, labels, batch_size=8, epochs=2, verbose=0)
print("trained", len(history.history["loss"]), "epochs, XLA", model.jit_compile, "arguments", sys.argv[1:])
"""


def check(profile, keras_name: str) -> None:
    """What every recording of this network has."""
    operations = profile.operations
    assert (profile.steps, profile.steps_basis, profile.refusal) == (1, "stated", "")
    assert not [name for name in operations if "Mkl" in name], "what oneDNN's names add is no part of the operation"
    convolution = [us for name, us in operations.items() if name in ("Host_Conv2D", "Host__FusedConv2D")]
    assert len(convolution) == 1 and convolution[0] > 0
    for name in ("Host_Conv2DBackpropFilter", "Host_MaxPool", "Host_MaxPoolGrad", "Host_Dataset", "Host_IDLE"):
        assert operations[name] > 0, name
    assert not [name for name in operations if name.startswith("Device_") or "SyncDevice" in name]
    meta = profile.meta
    assert (meta.batch_size, meta.pixels, meta.parameters) == (8, 32, PARAMETERS)
    assert (meta.gpu, meta.peak_memory_mib, meta.precision) == (None, None, "fp32")
    assert meta.onednn in (True, False)
    assert meta.framework.startswith("TensorFlow 2.") and keras_name in meta.framework
    assert meta.step_latency_ms > 0
    assert profile.warnings[0].startswith(CPU_WARNING)


def recorded_steps(done: Run) -> tuple[int, str]:
    """How many steps the kept trace covers, and how that is known."""
    profile = read_profile((done.folder / "kept" / "step.xplane.pb").read_bytes())
    return profile.steps, profile.steps_basis


@needs("tensorflow", "keras")
def test_a_callback_records_and_the_training_goes_on(run):
    code = (
        NETWORK.format(keras="keras")
        + "from profet_recorder import ProfileCallback\n"
        + FIT.replace("verbose=0", 'verbose=0, callbacks=[ProfileCallback("profile.json", timed=4)]')
    )
    done = run(WITHOUT_THE_REST + code)
    assert done.status == 0, done.err
    check(done.profile(), "Keras 3.")
    assert "trained 2 epochs" in done.out
    assert any("tf_keras" in warning for warning in done.profile().warnings), "Keras 3 hides FusedBatchNormV3"
    text = (done.folder / "profile.json").read_text()
    assert "secret_layer" not in text and str(done.folder) not in text


@needs("tensorflow", "keras")
@pytest.mark.parametrize("onednn", [True, False], ids=["oneDNN", "without oneDNN"])
def test_with_onednn_or_without_the_operations_are_the_same_and_the_profile_says_which(run, onednn):
    switch = f"import os\nos.environ['TF_ENABLE_ONEDNN_OPTS'] = '{int(onednn)}'\n"
    done = run(switch + NETWORK.format(keras="keras") + FIT, "--timed", 2, "--keep-trace", "kept")
    assert done.status == 0, done.err
    assert "trained" not in done.out, "it was stopped"
    assert sorted(path.name for path in done.folder.iterdir()) == ["kept", "profile.json", "train.py"]
    profile = done.profile()
    check(profile, "Keras 3.")
    assert profile.meta.onednn is onednn
    assert f"oneDNN is {'on' if onednn else 'off'}: the profile says so" in done.progress
    named_otherwise = b"_MklNative" in (done.folder / "kept" / "step.xplane.pb").read_bytes()
    assert named_otherwise or not onednn, "oneDNN calls its kernels otherwise"
    for name in ("Host__FusedConv2D", "Host__FusedMatMul", "Host_MatMul", "Host_ReluGrad"):
        assert profile.operations[name] > 0, name


@needs("tensorflow", "keras")
def test_a_context_manager_and_an_iterator_record_a_custom_loop(run):
    done = run(
        NETWORK.format(keras="keras")
        + """
import tensorflow as tf
from profet_recorder import record_step, record_steps

optimizer = keras.optimizers.SGD(0.1)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(8)

@tf.function
def train_step(pictures, classes):
    with tf.GradientTape() as tape:
        value = loss(classes, model(pictures, training=True))
    optimizer.apply_gradients(zip(tape.gradient(value, model.trainable_variables), model.trainable_variables))

with record_step("context.json", model=model, timed=4) as recorder:
    for pictures, classes in dataset:
        train_step(pictures, classes)
        if recorder.step(pictures):
            break
steps = 0
for pictures, classes in record_steps(dataset, "iterator.json", model=model, timed=4):
    train_step(pictures, classes)
    steps += 1
print("steps", steps)
"""
    )
    assert done.status == 0, done.err
    check(done.profile("context.json"), "Keras 3.")
    check(done.profile("iterator.json"), "Keras 3.")
    assert "steps 17" in done.out, "the iterator hands every batch on"


@needs("tensorflow", "keras")
def test_a_script_that_may_go_on_ends_as_it_would_have_with_xla_on_again(run):
    done = run(
        NETWORK.format(keras="keras") + FIT,
        *("--timed", 4, "--keep-running", "--keep-trace", "kept", "-o", "mine.json", "--batch-size", 9),
        arguments=["jit"],
    )
    assert done.status == 0, done.err
    assert "trained 2 epochs, XLA True arguments ['jit']" in done.out
    assert any("XLA (jit_compile) is off" in line for line in done.progress)
    profile = done.profile("mine.json")
    assert profile.meta.batch_size == 9, "an option is believed"
    assert not [name for name in profile.operations if "Xla" in name]
    assert [path.name for path in (done.folder / "kept").iterdir()] == ["step.xplane.pb"], "without the machine's name"
    assert b"secret_layer" in (done.folder / "kept" / "step.xplane.pb").read_bytes()


@needs("tensorflow", "keras")
def test_a_training_that_ends_too_early_says_how_many_steps_it_saw(run):
    done = run(NETWORK.format(keras="keras") + FIT, "--timed", 100)
    assert done.status == 0 and "trained 2 epochs" in done.out, "it is no failure of the script's"
    # 17 batches an epoch, of which the last, smaller one is skipped.
    assert "34 of the 108" in done.progress[-1]
    assert not (done.folder / "profile.json").exists()


@needs("tensorflow", "keras")
def test_epochs_too_short_for_the_profiled_steps_are_refused(run):
    done = run(NETWORK.format(keras="keras") + FIT, "--profiled", 17)
    assert done.status == 2
    assert done.progress[-1].startswith("An epoch of 17 batches")


@needs("tensorflow", "tf_keras")
def test_the_marks_of_tf_keras_are_no_further_steps(run):
    # In the second epoch tf_keras' numbers of the steps are others than the recording's.
    done = run(NETWORK.format(keras="tf_keras") + FIT, "--timed", 13, "--profiled", 3, "--keep-trace", "kept")
    assert done.status == 0, done.err
    assert recorded_steps(done) == (3, "marked")
    check(done.profile(), "tf_keras 2.")
    assert done.profile().operations["Host_FusedBatchNormV3"] > 0


@needs("tensorflow", "keras")
def test_a_training_is_the_same_whether_it_is_recorded_or_not(run):
    seed = "keras.utils.set_random_seed(1)\n\nmodel ="
    code = (
        NETWORK.format(keras="keras")
        .replace("model =", seed, 1)
        .replace("keras.layers.Flatten()", "keras.layers.Dropout(0.5), keras.layers.Flatten()")
    )
    code += """
import tensorflow as tf

tf.config.experimental.enable_op_determinism()
model.compile(optimizer="adam", loss=loss, jit_compile=False)
history = model.fit(images, labels, batch_size=8, epochs=2, verbose=0, validation_split=0.1)
print([value.hex() for value in history.history["loss"] + history.history["val_loss"]])
optimizer = keras.optimizers.SGD(0.01)

@tf.function
def train_step(pictures, classes):
    with tf.GradientTape() as tape:
        value = loss(classes, model(pictures, training=True))
    optimizer.apply_gradients(zip(tape.gradient(value, model.trainable_variables), model.trainable_variables))
    return value

for step in range(40):
    print(float(train_step(images[:8], labels[:8])).hex())
"""
    switch = "import os\nos.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'\n"
    alone = run(switch + code)
    # In fit, and where that is too short in the loop that follows.
    for timed in (4, 30):
        recorded = run(switch + code, "--warm-up", 2, "--timed", timed, "--keep-running", "--force")
        assert (alone.status, recorded.status) == (0, 0), recorded.err
        assert recorded.profile().meta.parameters == PARAMETERS
        assert recorded.out == alone.out and len(alone.out.splitlines()) == 41
