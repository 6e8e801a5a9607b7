"""`profet convert`: any format becomes a profile with the same operations and nothing of the network."""

from __future__ import annotations

import gzip
import json

import pytest

from profet_core import read_profile
from tests.made.xplane import GPU_STEP_US, gpu_step, kernel, step_marker, xplane

SECRETS = ("secret", "/host:", "machine", "gradient_tape", "iterator::")


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """`run("t.pb", "-o", "p.json")` in an empty folder -> exit status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run("convert", *arguments)


@pytest.fixture
def trace(tmp_path):
    """A GPU step of a network whose every name is a secret."""
    path = tmp_path / "secret_experiment.xplane.pb"
    path.write_bytes(xplane(gpu_step("secret_net/secret_layer"), host_name="secret-machine"))
    return path


def test_every_sample_of_a_format_reads_back_the_same_without_a_name(run, repository, tmp_path):
    files = sorted((repository / "sample_traces" / "formats").glob("*-*"))
    assert len(files) >= 9
    for source in files:
        status, _, _ = run(source, "-o", "out.json", "--force")
        assert status == 0, source.name
        data = (tmp_path / "out.json").read_bytes()
        profile, converted = read_profile(source.read_bytes()), read_profile(data)
        assert converted.operations == profile.operations, source.name
        assert (converted.meta, converted.steps) == (profile.meta, 1)
        assert (converted.warnings, converted.refusal) == (profile.warnings, profile.refusal)
        assert not [word for word in (*SECRETS, source.name.lower()) if word in data.decode().lower()], source.name


def test_what_is_known_of_the_step_goes_into_meta_and_what_the_trace_tells_stays(run, trace, tmp_path):
    run(trace, "-o", "out.json")
    assert read_profile((tmp_path / "out.json").read_bytes()).meta.batch_size == 64
    options = ["--batch-size", 32, "--pixels", 224, "--latency-ms", 122.4, "--precision", "tf32", "--gpu", "Tesla T4"]
    assert run(trace, "-o", "out.json", "--force", *options)[0] == 0
    assert json.loads((tmp_path / "out.json").read_text())["meta"] == {
        "batch_size": 32,
        "framework": "TensorFlow",
        "gpu": "Tesla T4",
        "pixels": 224,
        "precision": "tf32",
        "step_latency_ms": 122.4,
        "steps": 1,
    }


def test_steps_and_warnings_survive(run, tmp_path):
    markers = [step_marker(number, number * 100, 100) for number in range(3)]
    streams = {"Stream #1": [kernel("a:Conv2D", 0, 30), ("elementwise", 30, 60, {})]}
    (tmp_path / "t.pb").write_bytes(gzip.compress(xplane({"/host:CPU": {"t": markers}, "/device:GPU:0": streams})))
    status, out, err = run("t.pb", "-o", "out.json")
    profile = read_profile((tmp_path / "out.json").read_bytes())
    assert (status, profile.steps, len(profile.warnings)) == (0, 1, 1)
    assert profile.operations["Device_Conv2D"] == 10.0
    assert f"warning: {profile.warnings[0]}" in err.splitlines()
    assert "the mean of 3 steps" in out


def test_the_totals_written_are_of_one_step(run, tmp_path):
    (tmp_path / "old.json").write_text(json.dumps({"Device_Conv2D": 6000.0, "Host_IDLE": 900.0}))
    for given, conv_us, known in (
        ((), 3000.0, None),
        (("--steps", 1), 6000.0, 1),
        (("--steps", 5), 1200.0, 1),
        (("--latency-ms", 1.5), 1500.0, 1),  # four steps fit it
    ):
        status, out, _ = run("old.json", "-o", "out.json", "--force", *given)
        document = json.loads((tmp_path / "out.json").read_text())
        assert (status, document["operations"]["Device_Conv2D"], document["meta"].get("steps")) == (0, conv_us, known)
        assert ("does not include its number of steps" in out) is ("--steps" not in given)


@pytest.mark.parametrize("form", [[], ["--format", "json"]])
def test_a_dash_writes_the_profile_to_stdout(run, trace, tmp_path, form):
    status, out, err = run(trace, "-o", "-", *form)
    assert (status, err) == (0, "")
    assert read_profile(out.encode()).operations == GPU_STEP_US
    assert list(tmp_path.iterdir()) == [trace]


def test_json_is_one_document_about_what_was_written(run, trace):
    status, out, _ = run(trace, "-o", "out.json", "--format", "json")
    found = json.loads(out)
    assert (status, found["written"], found["operations"], found["steps"]) == (0, "out.json", 9, 1)
    assert found["steps_basis"] == read_profile(trace.read_bytes()).steps_basis


def test_a_file_that_is_there_is_replaced_only_if_told_to(run, refused, trace, tmp_path):
    target = tmp_path / "out.json"
    target.write_text("mine")
    assert "--force" in refused(trace, "-o", "out.json")
    assert target.read_text() == "mine"
    assert run(trace, "-o", "out.json", "--force")[0] == 0
    assert read_profile(target.read_bytes()).operations == GPU_STEP_US


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "."], "is a folder"),
        (["-o", "secret_experiment.xplane.pb", "--force"], "is the input trace"),
        (["-o", "missing/out.json"], "can't be written: No such file"),
        (["-o", "out.json", "--latency-ms", "nan"], "--latency-ms must be a number above 0"),
        (["-o", "out.json", "--gpu", "T4\nT4"], "gpu must be a short text"),
        ([], "required: -o/--output"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(refused, trace, tmp_path, arguments, says):
    before = trace.read_bytes()
    assert says in refused(trace, *arguments)
    assert list(tmp_path.iterdir()) == [trace] and trace.read_bytes() == before
