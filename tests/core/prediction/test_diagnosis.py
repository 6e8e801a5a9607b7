"""What holds a step up: the thresholds by hand, and that ordinary profiles are not called out."""

from __future__ import annotations

import pytest

from profet_core import Profile, ProfileMeta
from profet_core.prediction.diagnosis import diagnose


def profile(busy_us: float, idle_us: float = 0.0, *, source="operations", host=None, **meta) -> Profile:
    operations = {"Device_Conv2D": busy_us, "Device_IDLE": idle_us, "Host_IDLE": 9e6, **(host or {})}
    return Profile(operations, ProfileMeta(**meta), source)


@pytest.mark.parametrize(
    ("busy_us", "latency_ms", "share", "kind"),
    [
        (10_000, 10.0, 1.0, "busy"),
        (5_600, 10.0, 0.56, "busy"),
        (5_400, 10.0, 0.54, "idle"),
        (30_000, 10.0, 1.0, "busy"),
    ],
)
def test_with_a_latency_the_gpu_s_busy_rows_are_held_against_it(busy_us, latency_ms, share, kind):
    found = diagnose(profile(busy_us, 50_000), latency_ms)
    assert (found.kind, found.latency_known) == (kind, True)
    assert found.gpu_busy_share == pytest.approx(share)
    assert found.another_gpu_helps is (kind == "busy")


@pytest.mark.parametrize(("busy_us", "idle_us", "kind"), [(4_100, 5_900, "busy"), (3_900, 6_100, "idle")])
def test_without_a_latency_the_gpu_s_idle_time_decides(busy_us, idle_us, kind):
    found = diagnose(profile(busy_us, idle_us))
    assert (found.kind, found.latency_known) == (kind, False)
    assert found.gpu_busy_share == pytest.approx(busy_us / 10_000)


def test_the_latency_in_the_profile_counts_and_one_given_goes_before_it():
    assert diagnose(profile(5_400, step_latency_ms=10.0)).kind == "idle"
    assert diagnose(profile(5_400, step_latency_ms=10.0), 5.0).kind == "busy"


@pytest.mark.parametrize("said", [{}, {"source": "PyTorch trace"}, {"framework": "PyTorch 2.13"}])
def test_kernels_count_alike_whatever_the_framework(said):
    assert diagnose(profile(5_000, **said), 10.0).gpu_busy_share == pytest.approx(0.5)


@pytest.mark.parametrize("waits", ["Host_Dataset", "Host_IteratorGetNext", "Host_Iterator::Prefetch"])
def test_a_wait_for_input_while_the_gpu_idles_is_called_out(waits):
    found = diagnose(profile(5_000, host={waits: 4_000}), 10.0)
    assert found.kind == "input" and not found.another_gpu_helps
    assert found.input_share == pytest.approx(0.4)
    assert "40% of it and the GPU worked for about 50% of the step" in found.sentence
    assert "Another GPU won't fix it" in found.sentence


def test_reading_ahead_beside_a_busy_gpu_is_not():
    assert diagnose(profile(7_000, host={"Host_Dataset": 8_000}), 10.0).kind == "busy"
    assert diagnose(profile(5_800, host={"Host_Dataset": 1_450}), 10.0).kind == "busy"
    assert diagnose(profile(5_800, host={"Host_GatherV2": 9_000}), 10.0).kind == "busy"


def test_a_pytorch_step_waits_for_its_loader_however_busy_the_rest_is():
    assert diagnose(profile(7_000, source="PyTorch trace", host={"Host_Dataset": 1_600}), 10.0).kind == "input"
    assert diagnose(profile(7_000, source="PyTorch trace", host={"Host_Dataset": 1_400}), 10.0).kind == "busy"


def test_a_gpu_that_waits_for_part_of_the_step_is_no_faster_there():
    partly, mostly = diagnose(profile(7_400), 10.0), diagnose(profile(7_600), 10.0)
    assert (partly.kind, mostly.kind) == ("busy", "busy")
    assert partly.sentence == "The GPU worked for about 74% of the step: a faster GPU shortens that part only."
    assert mostly.sentence == "Nothing holds the GPU up much: the GPU worked for about 76% of the step."
    # Idle steps keep their own sentence.
    assert "leaves the GPU waiting" in diagnose(profile(5_400), 10.0).sentence


def test_without_gpu_rows_nothing_is_said_of_a_gpu():
    found = diagnose(Profile({"Host_MatMul": 5.0, "Host_IDLE": 1e6}), 10.0)
    assert (found.kind, found.gpu_busy_share) == ("no GPU", None)
    assert "No GPU time" in found.sentence


def test_a_gpu_that_only_idled_is_idle():
    assert diagnose(profile(0.0, 5_000)).kind == "idle"


def test_of_the_samples_only_the_tiny_network_is_called_out(samples):
    kinds = {name: diagnose(sample.profile).kind for name, sample in samples.items()}
    assert {name for name, kind in kinds.items() if kind != "busy"} == {"lenet5-32px-b16-g3s"}
