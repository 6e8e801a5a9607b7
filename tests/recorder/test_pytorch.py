"""Real recordings of a tiny PyTorch network on the CPU: iterator, context manager and a script as it is."""

from __future__ import annotations

import os
import subprocess
import sys

from profet_core import read_profile
from tests.recorder.runs import CPU_WARNING, WITHOUT_THE_REST, needs

pytestmark = needs("torch")

#: Convolution 3x3x3x8 + 8, batch normalization 2 x 8, linear 15 x 15 x 8 x 10 + 10.
PARAMETERS = 224 + 16 + 18_010

NETWORK = """
import sys
import torch
from torch import nn

torch.set_num_threads(1)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 15 * 15, 10)
)
network = torch.compile(model) if "compile" in sys.argv else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.rand(132, 3, 32, 32), torch.randint(0, 10, (132,)))
loader = torch.utils.data.DataLoader(data, batch_size=8)

def train_step(images, labels):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled="amp" in sys.argv):
        loss = nn.functional.cross_entropy(network(images), labels)
    loss.backward()
    optimizer.step()

def validate():
    model.eval()
    with torch.no_grad():
        model(torch.rand(8, 3, 32, 32))
    model.train()
"""
LOOP = """
for epoch in range(2):
    for images, labels in loader:
        train_step(images, labels)
    validate()
print("trained, arguments", sys.argv[1:])
"""


def check(profile) -> None:
    """What every recording of this network has."""
    operations = profile.operations
    assert profile.steps == 1
    for name in ("Conv2D", "Conv2DBackpropFilter", "MatMul", "FusedBatchNormV3", "FusedBatchNormGradV3", "MaxPoolGrad"):
        assert operations[f"Host_{name}"] > 0, name
    assert not [name for name in operations if name.startswith("Device_")]
    meta = profile.meta
    assert (meta.batch_size, meta.pixels, meta.parameters) == (8, 32, PARAMETERS)
    assert (meta.gpu, meta.peak_memory_mib, meta.compiled) == (None, None, None)
    assert meta.framework.startswith("PyTorch 2.")
    assert meta.step_latency_ms > 0
    assert profile.warnings[0].startswith(CPU_WARNING)
    assert any("PyTorch profile" in warning for warning in profile.warnings[1:])


def test_a_script_is_recorded_as_it_is_and_stopped(run):
    done = run(NETWORK + LOOP, "--timed", 4, arguments=["amp"])
    assert done.status == 0, done.err
    check(done.profile())
    assert done.profile().meta.precision == "mixed bf16"
    assert "trained" not in done.out, "it was stopped"
    assert sorted(path.name for path in done.folder.iterdir()) == ["profile.json", "train.py"]


def test_a_step_that_holds_validation_or_the_rest_of_an_epoch_is_profiled_again(run):
    # 17 batches an epoch, the last of 4 pictures: 3 + 12 + 1 end with the 16th, so that the profiled step is the 17th;
    # the one after it begins with the validation.
    done = run(NETWORK + LOOP, "--warm-up", 3, "--timed", 12)
    assert done.status == 0, done.err
    check(done.profile())
    assert any("a batch of 4 instead of 8" in line for line in done.progress), done.progress


def test_over_epochs_a_step_is_recorded_once_and_every_batch_is_handed_on(run):
    done = run(
        WITHOUT_THE_REST
        + NETWORK
        + """
from profet_recorder import record_step, record_steps

steps = 0
# 2 warm-up and 20 timed steps end in the second epoch of 17 batches.
for epoch in range(4):
    for images, labels in record_steps(loader, "iterator.json", warm_up=2, timed=20):
        train_step(images, labels)
        steps += 1
    validate()
for epoch in range(3):
    with record_step("context.json", model=model, timed=12) as recorder:
        for images, labels in loader:
            train_step(images, labels)
            recorder.step(images)
print("steps", steps)
"""
    )
    assert done.status == 0, done.err
    assert "steps 68" in done.out
    check(done.profile("iterator.json"))
    check(done.profile("context.json"))
    assert done.profile("iterator.json").meta.precision == "fp32"
    assert sum("The loop ended after 17 of the 24" in line for line in done.progress) == 1
    assert sum(line.startswith("wrote") for line in done.progress) == 2


def test_a_recording_that_fails_is_no_matter_of_the_training(run):
    done = run(
        NETWORK
        + """
from profet_recorder import record_steps
from profet_recorder.pytorch import PyTorchEngine

def broken(self):
    raise ZeroDivisionError("of the recorder")

PyTorchEngine.facts = broken
for epoch in range(2):
    for images, labels in record_steps(loader, timed=2):
        train_step(images, labels)
print("trained")
"""
    )
    assert (done.status, done.out) == (0, "trained\n")
    (line,) = [line for line in done.progress if "of the recorder" in line]
    assert line.endswith("The training goes on without it.")
    assert not (done.folder / "profile.json").exists()


def test_a_training_is_the_same_whether_it_is_recorded_or_not(run):
    code = NETWORK.replace("import torch\n", "import torch\n\ntorch.manual_seed(1)\n", 1).replace(
        "batch_size=8", "batch_size=8, shuffle=True"
    )
    code += """
for images, labels in loader:
    train_step(images, labels)
    print(float(model[0].weight.sum()).hex(), float(torch.rand(1)))
"""
    alone = run(code)
    recorded = run(code, "--warm-up", 2, "--timed", 4, "--keep-running", "--keep-trace", "kept")
    assert (alone.status, recorded.status) == (0, 0), recorded.err
    check(recorded.profile())
    assert recorded.out == alone.out and len(alone.out.splitlines()) == 17
    assert [path.name for path in (recorded.folder / "kept").iterdir()] == ["step.pt.trace.json"]


def test_processes_that_torchrun_starts_are_recorded_as_one(tmp_path, repository):
    script = repository / "tests" / "recorder" / "scripts" / "torch_ddp.py"
    profet = [sys.executable, "-m", "profet_cli", "profile", script, "--warm-up", 2, "--timed", 3]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node", 2]
    done = subprocess.run(
        list(map(str, [*launcher, *profet])),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("profet: wrote") == 1
    profile = read_profile((tmp_path / "profile.json").read_bytes())
    assert (profile.meta.batch_size, profile.meta.pixels, profile.meta.parameters) == (8, 16, 314)
    assert any("ran on 2 processes" in warning for warning in profile.warnings)
