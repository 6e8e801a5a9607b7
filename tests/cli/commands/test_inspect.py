"""`profet inspect` and `convert`: what a profile holds, and a trace reduced to a profile."""

from __future__ import annotations

import gzip
import json

import pytest

from profet_core import read_profile
from tests.cli.cases import written
from tests.made.xplane import GPU_STEP_US, gpu_step, kernel, step_marker, xplane


def test_inspect_lists_the_bounds(document, run):
    listed = document("inspect", "--limits")["limits"]
    assert {"what": "operation types of a step", "maximum": 1000, "unit": "types"} in listed
    printed = run("inspect", "--limits")[1].splitlines()
    assert printed[0].split() == ["bound", "maximum", "unit"] and len(printed) == len(listed) + 1
    assert run("inspect") == (2, "", "profet: Name a profile, or list the bounds with --limits.\n")


def test_inspect_tells_format_totals_and_what_was_ignored_or_unknown(document, run, tmp_path):
    unknown = "Device_Nothing_like_it_at_all"
    operations = {"Device_Conv2DBackpropInput": 750.0, unknown: 250.0, "Host_IDLE": 5.0, "note": 1}
    path = written(tmp_path, {"operations": operations, "meta": {"batch_size": 8}})
    answer = document("inspect", path)
    clusters, diagnosis = answer.pop("clusters"), answer.pop("diagnosis")
    assert answer == {
        "format": "PROFET JSON, version 2",
        "operations_us": {"Device_Conv2DBackpropInput": 750.0, unknown: 250.0, "Host_IDLE": 5.0},
        "device_total_us": 1000.0,
        "host_total_us": 5.0,
        "steps": 1,
        "steps_basis": "assumed",
        "framework": None,
        "meta": {"batch_size": 8},
        "refusal": "",
        "warnings": [],
        "ignored": ["1 entries that are not operations: 'note'"],
        "unknown_operations": {"names": [unknown], "share": 0.25, "mapped": {}, "unused": [unknown]},
        "kinds": {"Device_Conv2DBackpropInput": "convolution input gradient", unknown: None, "Host_IDLE": "idle"},
        "classes": {"Device_Conv2DBackpropInput": "convolution input gradient", unknown: None, "Host_IDLE": None},
    }
    assert (diagnosis["kind"], diagnosis["gpu_busy_share"], diagnosis["latency_known"]) == ("busy", 1.0, False)
    assert "Conv2D" in clusters.pop("Device_Conv2DBackpropInput")
    assert clusters == {unknown: None, "Host_IDLE": "Host_IDLE"}
    status, out, err = run("inspect", path)
    assert status == 0
    assert "ignored: 1 entries" in err
    assert "device 1.00 ms, host 0.00500 ms" in out and "unknown, ignored" in out and "batch_size: 8" in out


SECRETS = ("secret", "/host:", "machine", "gradient_tape", "iterator::")


@pytest.fixture
def convert(run, tmp_path, monkeypatch):
    """`convert("t.pb", "-o", "p.json")` in an empty folder -> exit status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run("convert", *arguments)


@pytest.fixture
def trace(tmp_path):
    """A GPU step of a network whose every name is a secret."""
    path = tmp_path / "secret_experiment.xplane.pb"
    path.write_bytes(xplane(gpu_step("secret_net/secret_layer"), host_name="secret-machine"))
    return path


def test_every_sample_of_a_format_reads_back_the_same_without_a_name(convert, repository, tmp_path):
    files = sorted((repository / "sample_traces" / "formats").glob("*-*"))
    assert len(files) >= 9
    for source in files:
        status, _, _ = convert(source, "-o", "out.json", "--force")
        assert status == 0, source.name
        data = (tmp_path / "out.json").read_bytes()
        profile, converted = read_profile(source.read_bytes()), read_profile(data)
        assert converted.operations == profile.operations, source.name
        assert (converted.meta, converted.steps) == (profile.meta, 1)
        assert (converted.warnings, converted.refusal) == (profile.warnings, profile.refusal)
        assert not [word for word in (*SECRETS, source.name.lower()) if word in data.decode().lower()], source.name


def test_what_is_known_of_the_step_goes_into_meta_and_what_the_trace_tells_stays(convert, trace, tmp_path):
    convert(trace, "-o", "out.json")
    assert read_profile((tmp_path / "out.json").read_bytes()).meta.batch_size == 64
    options = ["--batch-size", 32, "--pixels", 224, "--latency-ms", 122.4, "--precision", "tf32", "--gpu", "Tesla T4"]
    assert convert(trace, "-o", "out.json", "--force", *options)[0] == 0
    assert json.loads((tmp_path / "out.json").read_text())["meta"] == {
        "batch_size": 32,
        "framework": "TensorFlow",
        "gpu": "Tesla T4",
        "pixels": 224,
        "precision": "tf32",
        "step_latency_ms": 122.4,
        "steps": 1,
    }


def test_warnings_survive_and_the_totals_written_are_of_one_step(convert, tmp_path):
    markers = [step_marker(number, number * 100, 100) for number in range(3)]
    streams = {"Stream #1": [kernel("a:Conv2D", 0, 30), ("elementwise", 30, 60, {})]}
    (tmp_path / "t.pb").write_bytes(gzip.compress(xplane({"/host:CPU": {"t": markers}, "/device:GPU:0": streams})))
    status, out, err = convert("t.pb", "-o", "out.json")
    profile = read_profile((tmp_path / "out.json").read_bytes())
    assert (status, profile.steps, len(profile.warnings)) == (0, 1, 1)
    assert profile.operations["Device_Conv2D"] == 10.0
    assert f"warning: {profile.warnings[0]}" in err.splitlines()
    assert "the mean of 3 steps" in out
    (tmp_path / "old.json").write_text(json.dumps({"Device_Conv2D": 6000.0, "Host_IDLE": 900.0}))
    for given, conv_us, known in (
        ((), 3000.0, None),
        (("--steps", 1), 6000.0, 1),
        (("--steps", 5), 1200.0, 1),
        (("--latency-ms", 1.5), 1500.0, 1),  # four steps fit it
    ):
        status, out, _ = convert("old.json", "-o", "out.json", "--force", *given)
        document = json.loads((tmp_path / "out.json").read_text())
        assert (status, document["operations"]["Device_Conv2D"], document["meta"].get("steps")) == (0, conv_us, known)
        assert ("set the number of steps" in out) is ("--steps" not in given)


@pytest.mark.parametrize("form", [[], ["--format", "json"]])
def test_a_dash_writes_the_profile_to_stdout(convert, trace, tmp_path, form):
    status, out, err = convert(trace, "-o", "-", *form)
    assert (status, err) == (0, "")
    assert read_profile(out.encode()).operations == GPU_STEP_US
    assert list(tmp_path.iterdir()) == [trace]


def test_a_file_is_replaced_only_if_told_to_and_json_says_what_was_written(convert, refused, trace, tmp_path):
    target = tmp_path / "out.json"
    target.write_text("mine")
    assert "--force" in refused("convert", trace, "-o", "out.json")
    assert target.read_text() == "mine"
    assert convert(trace, "-o", "out.json", "--force")[0] == 0
    assert read_profile(target.read_bytes()).operations == GPU_STEP_US
    status, out, _ = convert(trace, "-o", "other.json", "--format", "json")
    content = json.loads(out)
    assert (status, content["written"], content["operations"], content["steps"]) == (0, "other.json", 9, 1)
    assert content["steps_basis"] == read_profile(trace.read_bytes()).steps_basis


@pytest.mark.usefixtures("convert")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "."], "is a folder"),
        (["-o", "secret_experiment.xplane.pb", "--force"], "is an input trace"),
        (["-o", "missing/out.json"], "can't be written: No such file"),
        (["-o", "out.json", "--latency-ms", "nan"], "--latency-ms must be a number above 0"),
        (["-o", "out.json", "--gpu", "T4\nT4"], "gpu must be a short text"),
        ([], "required: -o/--output"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(refused, trace, tmp_path, arguments, says):
    before = trace.read_bytes()
    assert says in refused("convert", trace, *arguments)
    assert list(tmp_path.iterdir()) == [trace] and trace.read_bytes() == before
