"""What several commands read alike: a trace, its number of steps, and whether anything can be predicted from it."""

from __future__ import annotations

import pytest

from profet_core.artifacts.samples import Sample
from profet_core.profiles.record import NO_DEVICE
from tests.cli.cases import CPU_ONLY, covering, written

BUSY = {"Device_Conv2D": 90_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}
#: Command -> what it asks for beside a trace.
READERS = {
    "predict": ("--anchor", "p2.xlarge"),
    "cost": ("--anchor", "p2.xlarge", "--images", 9),
    "advise": ("--anchor", "p2.xlarge", "--images", 9),
    "inspect": (),
    "convert": ("-o", "-"),
}


@pytest.fixture
def whole(samples) -> Sample:
    """A sample that TensorFlow did not cut."""
    return samples["vgg16-224px-b16-g3s"]


def test_the_steps_given_are_those_of_every_command(document, whole, tmp_path):
    one, four = (covering(tmp_path, whole, steps, batch_size=16) for steps in (1, 4))
    for command in ("predict", "cost", "advise"):
        asked = ("--anchor", whole.anchor, *READERS[command][2:])
        found = [document(command, path, *asked, "--steps", steps) for path, steps in ((one, 1), (four, 4))]
        if command == "predict":
            assert [(each.pop("steps"), each.pop("steps_basis")) for each in found] == [(1, "given"), (4, "given")]
        assert found[0] == found[1]
    found = document("inspect", four, "--steps", 4)
    assert (found["steps"], found["steps_basis"]) == (4, "given")
    assert found["operations_us"] == pytest.approx(dict(whole.profile.operations))


def test_steps_that_nobody_gives_are_inferred_or_assumed_and_said(document, run, sample, tmp_path):
    path = covering(tmp_path, sample, 3)
    answer = document("predict", path, "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    assert (answer["steps"], answer["steps_basis"]) == (3, "inferred")
    operations = dict(sample.profile.operations)
    for content, steps in ((operations, 2), ({"operations": operations}, 1)):
        path = written(tmp_path, content)
        answer = document("predict", path, "--anchor", sample.anchor)
        assert (answer["steps"], answer["steps_basis"]) == (steps, "assumed")
        (stated,) = [line for line in answer["warnings"] if "number of steps" in line]
        assert stated in run("inspect", path)[1].splitlines()


def test_a_number_of_steps_that_does_not_fit_the_latency_is_questioned(refused, document, sample, tmp_path):
    command = ("predict", covering(tmp_path, sample, 3), "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    assert "--steps 3" in refused(*command, "--steps", 12)
    assert document(*command, "--steps", 12, "--trust-latency")["steps"] == 12


def test_steps_are_a_whole_number(refused, sample):
    for command, asked in READERS.items():
        assert "at least 1, not 0" in refused(command, sample.path, *asked, "--steps=0")
    for number, says in (("-3", "not -3"), ("10001", "10,000"), ("1.5", "--steps: invalid int")):
        assert says in refused("inspect", sample.path, f"--steps={number}")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CPU_ONLY, NO_DEVICE),
        ({"operations": BUSY, "meta": {"compiled": True}}, "XLA"),
        ({"operations": {**BUSY, "Device_Unknown": 50_000.0}}, "34% of the GPU time"),
        ({"operations": BUSY, "refusal": "Only forward passes: record training."}, "Only forward passes"),
    ],
    ids=["no GPU time", "XLA", "no operations", "the reader's word"],
)
def test_no_number_is_made_of_sand_but_it_can_be_looked_at(refused, document, run, tmp_path, content, says):
    path = written(tmp_path, content)
    for command in ("predict", "cost", "advise"):
        assert refused(command, path, *READERS[command]).startswith(says)
    assert document("inspect", path)["refusal"].startswith(says)
    status, out, err = run("inspect", path)
    assert status == 0 and out and err.splitlines()[0].startswith(f"warning: {says}")
    assert run("convert", path, "-o", tmp_path / "out.json", "--force")[0] == 0
    assert refused("predict", tmp_path / "out.json", *READERS["predict"]).startswith(says)


def test_which_other_trace_has_no_number_is_said(refused, samples, sample, tmp_path):
    path = written(tmp_path, CPU_ONLY)
    measured = ("--measured", f"{next(iter(sample.measured_ms))}=50", "--measured-trace", path)
    line = refused("predict", sample.path, "--anchor", sample.anchor, *measured)
    assert line == f"--measured-trace: {NO_DEVICE}"
    small = samples["resnet50-128px-b16-g4dn"]
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 9, "--at-batch", 64, "--second", path)
    assert refused(*command) == f"--second: {NO_DEVICE}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file or directory"),
        ("folder", "no profile among its 0 files"),
        (b"", "empty"),
        (b"[" * 200_000, "nested too deeply"),
        (b"PK\x03\x04", "archive is damaged"),
    ],
    ids=["absent", "folder", "empty", "deep", "zip"],
)
def test_a_bad_trace_is_refused_in_one_line(refused, tmp_path, content, says):
    path = tmp_path / "a trace\nof two lines.json"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    for command in ("predict", "cost", "inspect"):
        assert says in refused(command, path, *READERS[command])
