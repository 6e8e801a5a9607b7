"""`profet inspect`: format, totals, and what was ignored or unknown."""

from __future__ import annotations

import shutil

from profet_core.profiles.pytorch.reader import TRANSLATED_WARNING
from profet_core.profiles.record import NO_DEVICE
from tests.cli.cases import written


def test_inspect_lists_the_bounds(document, run):
    listed = document("inspect", "--limits")["limits"]
    assert {"what": "operation types of a step", "most": 1000, "unit": "types"} in listed
    printed = run("inspect", "--limits")[1].splitlines()
    assert printed[0].split() == ["bound", "most", "unit"] and len(printed) == len(listed) + 1
    assert run("inspect") == (2, "", "profet: Name a profile, or list the bounds with --limits.\n")


def test_inspect_tells_format_totals_and_what_was_ignored_or_unknown(document, run, tmp_path):
    operations = {"Device_Conv2D": 750.0, "Device_Nothing_like_it_at_all": 250.0, "Host_IDLE": 5.0, "note": 1}
    path = written(tmp_path, {"operations": operations, "meta": {"batch_size": 8}})
    found = document("inspect", path)
    unknown = "Device_Nothing_like_it_at_all"
    clusters, diagnosis = found.pop("clusters"), found.pop("diagnosis")
    assert found == {
        "format": "PROFET JSON, version 2",
        "operations_us": {"Device_Conv2D": 750.0, unknown: 250.0, "Host_IDLE": 5.0},
        "device_total_us": 1000.0,
        "host_total_us": 5.0,
        "steps": 1,
        "steps_basis": "assumed",
        "framework": None,
        "meta": {"batch_size": 8},
        "refusal": "",
        "warnings": [],
        "ignored": ["1 entries that are not operations: 'note'"],
        "unknown_operations": {"names": [unknown], "share": 0.25, "mapped": {}, "left_out": [unknown]},
        "kinds": {"Device_Conv2D": "convolution", unknown: None, "Host_IDLE": "idle"},
        "classes": {"Device_Conv2D": "convolution", unknown: None, "Host_IDLE": None},
    }
    assert (diagnosis["kind"], diagnosis["gpu_busy_share"], diagnosis["latency_known"]) == ("busy", 1.0, False)
    assert "Conv2D" in clusters.pop("Device_Conv2D")
    assert clusters == {unknown: None, "Host_IDLE": "Host_IDLE"}
    status, out, err = run("inspect", path)
    assert status == 0
    assert "ignored: 1 entries" in err
    assert "device 1.00 ms, host 0.00500 ms" in out and "unknown, ignored" in out and "batch_size: 8" in out


def test_inspect_tells_steps_framework_and_warnings_of_a_pytorch_trace(document, run, repository):
    path = repository / "tests" / "core" / "profiles" / "pytorch" / "recorded" / "pytorch-2.13-cpu.pt.trace.json.gz"
    found = document("inspect", path)
    assert (found["format"], found["framework"], found["steps"]) == ("PyTorch trace", "PyTorch", 2)
    assert found["warnings"] == [TRANSLATED_WARNING]
    _, out, err = run("inspect", path)
    assert err.splitlines()[:2] == [f"warning: {NO_DEVICE}", f"warning: {TRANSLATED_WARNING}"]
    assert "the mean of 2 steps" in out


def test_a_runs_folder_is_read_and_the_file_named(document, repository, tmp_path):
    run_folder = tmp_path / "plugins" / "profile" / "run"
    run_folder.mkdir(parents=True)
    name = "tensorflow-step.xplane.pb"
    shutil.copy(repository / "sample_traces" / "formats" / name, run_folder)
    (run_folder / "readme.txt").write_text("hello")
    found = document("inspect", tmp_path)
    assert found["format"] == "TensorFlow xplane.pb"
    assert f"1 of the 2 files in the folder: plugins/profile/run/{name} was read" in found["ignored"]
