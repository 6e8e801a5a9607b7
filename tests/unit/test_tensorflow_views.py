"""The same step read through TensorFlow's four views agrees: xplane.pb, statistics CSV, op-stats JSON, trace.json.

The views were made by XProf 2.24: of steps recorded on a CPU (`sample_traces/formats`) and of the made-up GPU step of
`tests/made_xplane.py`, which they check against XProf's own arithmetic.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from profet_core import Profile, read_profile
from tests.made_xplane import GPU_STEP_US, gpu_step, xplane

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
