"""The same step read through TensorFlow's views agrees: xplane.pb, statistics CSV, op-stats JSON, trace.json, stats.pb.

The views were made by XProf 2.24: of steps recorded on a CPU (`sample_traces/formats`) and of the made-up GPU step of
`tests/made/xplane.py`, which they check against XProf's own arithmetic. What TensorFlow 2.4 would have written of that
step is made here: its layout of the xplane.pb and the trace.json, and tensorflow_stats.pb with the statistics' rows.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from profet_core import Profile, read_profile
from tests.made.chrome_traces import tensorflow_trace, tf_event
from tests.made.tensorflow_stats import tensorflow_stats
from tests.made.xplane import GPU_STEP_US, gpu_step, gpu_step_2_4, xplane

XPROF_VIEWS = Path(__file__).parent / "xprof_views"
RECORDED = {"tensorflow-step": (4, 1, 37), "tensorflow-3-steps": (3, 3, 37)}
TOLERANCE = 1e-3


def assert_same_operations(profile: Profile, expected: dict[str, float]) -> None:
    assert set(profile.operations) == set(expected), profile.source_format
    for name, time_us in profile.operations.items():
        assert time_us == pytest.approx(expected[name], rel=TOLERANCE), (profile.source_format, name)


@pytest.mark.parametrize("stem", RECORDED)
def test_the_views_of_a_recorded_step_agree_per_operation(repository, stem):
    views, steps, operations = RECORDED[stem]
    files = sorted((repository / "sample_traces" / "formats").glob(f"{stem}.*"))
    profiles = {file.name: read_profile(file.read_bytes(), file.name) for file in files}
    assert len({profile.source_format for profile in profiles.values()}) == views
    (reference,) = [profile for name, profile in profiles.items() if ".xplane.pb" in name]
    assert len(reference.operations) == operations
    assert reference.operations["Host_IDLE"] > 0 and "Host_Dataset" in reference.operations
    for profile in profiles.values():
        assert_same_operations(profile, reference.operations)
        assert (profile.steps, profile.meta.framework) == (steps, "TensorFlow")


def test_the_views_of_a_made_up_gpu_step_are_what_it_adds_up_to():
    files = sorted(XPROF_VIEWS.glob("gpu-step.*"))
    assert len(files) == 4
    assert (XPROF_VIEWS / "gpu-step.xplane.pb").read_bytes() == xplane(gpu_step(), capability=7)
    for file in files:
        profile = read_profile(file.read_bytes())
        assert_same_operations(profile, GPU_STEP_US)
        assert (profile.steps, profile.warnings) == (1, ())


def statistics_rows():
    """The rows of XProf's CSV of the made-up step."""
    with (XPROF_VIEWS / "gpu-step.statistics.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            count, total_us = float(row["#Occurrences"]), float(row["Total time (us)"])
            yield row["Host/device"], row["Operation Type"], row["Operation Name"], int(count), total_us


def trace_2_4() -> bytes:
    """The made-up step as TensorFlow 2.4 writes it to trace.json: annotations in `args`, no marks of steps."""
    events, names = [], {}
    for pid, (plane, lines) in enumerate(gpu_step_2_4().items(), 1):
        names[pid] = plane
        for tid, (line, made) in enumerate(lines.items(), 1):
            names[pid, tid] = line
            events += [
                tf_event(name, start_us, duration_us, pid, tid, **{key: str(value) for key, value in stats.items()})
                for name, start_us, duration_us, stats in made
                if "step_num" not in stats
            ]
    return tensorflow_trace(events, names)


VIEWS_2_4 = {
    "step-2.4.xplane.pb": lambda: xplane(gpu_step_2_4(), capability=7),
    "step-2.4.trace.json": trace_2_4,
    "step-2.4.tensorflow_stats.pb": lambda: tensorflow_stats(statistics_rows()),
}


def test_the_views_that_tensorflow_2_4_wrote_agree_too():
    for name, make in VIEWS_2_4.items():
        data = make()
        # The files are what the fuzzer damages.
        assert (XPROF_VIEWS / name).read_bytes() == data
        profile = read_profile(data)
        assert profile.source_format == f"TensorFlow {name.removeprefix('step-2.4.')}"
        assert_same_operations(profile, GPU_STEP_US)
        assert (profile.steps, profile.warnings, profile.refusal) == (1, (), "")
        assert profile.steps_basis != "assumed"
