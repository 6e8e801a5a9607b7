"""What several commands read alike: a trace, its number of steps, and whether anything can be predicted from it."""

from __future__ import annotations

import pytest

from profet_core.artifacts.samples import Sample
from profet_core.profiles.record import NO_DEVICE
from tests.cli.cases import CPU_ONLY, covering, sample_at, written

BUSY = {"Device_Conv2D": 90_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}


@pytest.fixture
def whole(samples) -> Sample:
    """A sample that TensorFlow did not cut."""
    return samples["vgg16-224px-b16-g3s"]


def test_one_step_recorded_as_one_two_and_five_is_predicted_the_same(document, whole, tmp_path):
    answers = [
        document("predict", covering(tmp_path, whole, steps), "--anchor", whole.anchor, "--steps", steps)
        for steps in (1, 2, 5)
    ]
    assert [(one["steps"], one["steps_basis"]) for one in answers] == [(1, "given"), (2, "given"), (5, "given")]
    assert answers[0]["predictions"] == answers[1]["predictions"] == answers[2]["predictions"]


def test_the_latency_tells_the_steps_where_nobody_says_them(document, sample, tmp_path):
    path = covering(tmp_path, sample, 3)
    answer = document("predict", path, "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    assert (answer["steps"], answer["steps_basis"]) == (3, "inferred")
    assert any("the latency fit 3 steps" in line for line in answer["warnings"])


def test_without_any_of_it_the_preset_is_taken_and_said(document, run, sample, tmp_path):
    operations = dict(sample.profile.operations)
    for content, steps in ((operations, 2), ({"operations": operations}, 1)):
        path = written(tmp_path, content)
        answer = document("predict", path, "--anchor", sample.anchor)
        assert (answer["steps"], answer["steps_basis"]) == (steps, "assumed")
        told = [line for line in answer["warnings"] if line.startswith("The file does not say how many steps")]
        assert len(told) == 1
        assert told[0] in run("inspect", path)[1].splitlines()
        found = document("inspect", path)
        assert (found["steps"], found["steps_basis"]) == (steps, "assumed")


def test_costs_advice_and_inspect_take_the_steps_too(document, whole, tmp_path):
    for command in (
        ["cost", "--anchor", whole.anchor, "--images", 9],
        ["advise", "--anchor", whole.anchor, "--images", 9],
    ):
        name, *more = command
        found = [
            document(name, covering(tmp_path, whole, steps, batch_size=16), *more, "--steps", steps) for steps in (1, 4)
        ]
        assert found[0] == found[1]
    found = document("inspect", covering(tmp_path, whole, 4), "--steps", 4)
    assert (found["steps"], found["steps_basis"]) == (4, "given")
    assert found["operations_us"] == pytest.approx(dict(whole.profile.operations))


def test_a_number_of_steps_that_does_not_fit_the_latency_is_questioned(refused, document, sample, tmp_path):
    command = ("predict", covering(tmp_path, sample, 3), "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    line = refused(*command, "--steps", 12)
    assert "does the file cover 3 steps? Use --steps 3 if so, --trust-latency if it is right." in line
    assert document(*command, "--steps", 12, "--trust-latency")["steps"] == 12


@pytest.mark.parametrize("command", ["predict", "cost", "advise", "inspect", "convert"])
@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("0", "The number of steps must be a whole number of at least 1, not 0."),
        ("-3", "The number of steps must be a whole number of at least 1, not -3."),
        ("10001", "The number of steps must be at most 10,000."),
        ("1.5", "argument --steps: invalid int value: '1.5'"),
    ],
)
def test_steps_are_a_whole_number(refused, sample, command, number, says):
    more = {"inspect": (), "convert": ("-o", "-"), "predict": ("--anchor", "p2.xlarge")}
    arguments = more.get(command, ("--anchor", "p2.xlarge", "--images", 9))
    assert says in refused(command, sample.path, *arguments, f"--steps={number}")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CPU_ONLY, NO_DEVICE),
        ({"operations": BUSY, "meta": {"compiled": True}}, "XLA joined this step's operations"),
        ({"operations": {**BUSY, "Device_Unknown": 50_000.0}}, "34% of the GPU's time belongs to no operation"),
        ({"operations": BUSY, "refusal": "Only forward passes: record training."}, "Only forward passes"),
    ],
    ids=["no GPU time", "XLA", "no operations", "the reader's word"],
)
def test_no_number_is_made_of_sand_but_it_can_be_looked_at(refused, document, run, sample, tmp_path, content, says):
    path = written(tmp_path, content)
    assert refused("predict", path, "--anchor", sample.anchor).startswith(says)
    for command in ("cost", "advise"):
        assert refused(command, path, "--anchor", sample.anchor, "--images", 9).startswith(says)
    assert document("inspect", path)["refusal"].startswith(says)
    status, out, err = run("inspect", path)
    assert status == 0 and out and err.splitlines()[0].startswith(f"warning: {says}")
    assert run("convert", path, "-o", tmp_path / "out.json", "--force")[0] == 0
    assert refused("predict", tmp_path / "out.json", "--anchor", sample.anchor).startswith(says)


def test_which_other_trace_has_no_number_is_said(refused, samples, sample, tmp_path):
    path = written(tmp_path, CPU_ONLY)
    measured = ("--measured", f"{next(iter(sample.measured_ms))}=50", "--measured-trace", path)
    line = refused("predict", sample.path, "--anchor", sample.anchor, *measured)
    assert line == f"--measured-trace: {NO_DEVICE}"
    small = sample_at(samples, "batch_size", 16)
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 9, "--at-batch", 64, "--second", path)
    assert refused(*command) == f"--second: {NO_DEVICE}"


@pytest.mark.parametrize("command", ["predict", "cost", "inspect"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "can't be read: No such file or directory."),
        ("folder", "the folder holds no profile among its 0 files"),
        (b"", "The file is empty"),
        (b"{", "not valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"Device_Conv2D": NaN}', "holds NaN"),
        (b"\x1f\x8b\x08", "cut short"),
        (b"PK\x03\x04", "zip archive"),
        (b"%PDF-1.7", "no profile that can be read"),
    ],
)
def test_a_bad_trace_is_refused_in_one_line(refused, tmp_path, command, content, says):
    path = tmp_path / "a trace\nof two lines.json"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    more = {"inspect": [], "predict": ["--anchor", "p2.xlarge"], "cost": ["--anchor", "p2.xlarge", "--images", "5"]}
    assert says in refused(command, path, *more[command])
