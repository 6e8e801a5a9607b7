"""Waiting for input is the host's: told apart by framework, taken out of step and latency, and said."""

from __future__ import annotations

import json

import pytest

from profet_core import Profile, ProfileMeta, predict, read_profile
from profet_core.prediction.input_wait import input_wait_ms, input_wait_warning, without_input_wait

PYTORCH, TENSORFLOW = "PyTorch 2.13", "TensorFlow 2.21"


def step(framework: str | None = PYTORCH, *, busy=60_000.0, idle=40_000.0, source="operations", **host) -> Profile:
    rows = {f"Host_{name}": us for name, us in host.items()}
    operations = {"Device_Conv2D": busy, "Device_IDLE": idle, **rows}
    return Profile(operations, ProfileMeta(framework=framework), source)


@pytest.mark.parametrize(("loader_us", "wait_ms"), [(30_000.0, 30.0), (40_000.0, 40.0), (70_000.0, 40.0)])
def test_pytorch_waits_for_its_loader_as_far_as_the_gpu_idles(loader_us, wait_ms):
    assert input_wait_ms(step(Dataset=loader_us)) == pytest.approx(wait_ms)
    assert input_wait_ms(step(None, source="PyTorch trace", Dataset=loader_us)) == pytest.approx(wait_ms)


def test_tensorflow_waits_in_taking_the_next_batch_not_in_reading_ahead():
    assert input_wait_ms(step(TENSORFLOW, IteratorGetNext=30_000.0)) == pytest.approx(30)
    assert input_wait_ms(step(TENSORFLOW, Dataset=30_000.0)) == 0
    assert input_wait_ms(step(None, Dataset=30_000.0, IteratorGetNext=20_000.0)) == pytest.approx(20)
    assert input_wait_ms(step(PYTORCH, IteratorGetNext=30_000.0)) == 0


@pytest.mark.parametrize(("loader_us", "wait_ms"), [(4_999.0, 0.0), (5_000.0, 0.0), (5_001.0, 5.001)])
def test_up_to_a_twentieth_of_the_step_is_noise(loader_us, wait_ms):
    assert input_wait_ms(step(Dataset=loader_us)) == pytest.approx(wait_ms)


def test_a_gpu_without_gaps_waits_for_nothing():
    assert input_wait_ms(step(idle=0.0, Dataset=90_000.0)) == 0
    assert input_wait_ms(Profile({"Device_Conv2D": 5.0, "Host_Dataset": 9.0}, ProfileMeta(framework=PYTORCH))) == 0


def test_the_wait_leaves_step_and_latency():
    fed, latency_ms = without_input_wait(step(Dataset=30_000.0), 105.0)
    assert latency_ms == pytest.approx(75)
    assert dict(fed.operations) == {"Device_Conv2D": 60_000, "Device_IDLE": 10_000, "Host_Dataset": 0}
    again, none = without_input_wait(step(Dataset=30_000.0), None)
    assert (again, none) == (fed, None)


def test_a_fifth_of_the_latency_is_left_at_least():
    assert without_input_wait(step(busy=1000.0, Dataset=40_000.0), 41.0)[1] == pytest.approx(8.2)


def test_a_fed_step_is_left_alone():
    profile = step(Dataset=5_000.0)
    assert without_input_wait(profile, 105.0) == (profile, 105.0)
    assert input_wait_warning(profile) is None


def test_the_wait_is_said():
    assert input_wait_warning(step(Dataset=30_000.0)) == (
        "For 30.0 ms of the step (30%) the GPU waits for its input. Predictions are of the rest: that wait is the "
        "host's and the loader's, and another GPU does not shorten it."
    )


# --- predictions ----------------------------------------------------------------------------------------------------


def stalled(profile: Profile, row: str, wait_ms: float) -> Profile:
    waits = {name: profile.operations.get(name, 0.0) + 1000 * wait_ms for name in ("Device_IDLE", row)}
    meta = {"framework": PYTORCH if row == "Host_Dataset" else TENSORFLOW}
    return read_profile(
        json.dumps({"operations": {**profile.operations, **waits}, "meta": {**meta, "steps": 1}}).encode()
    )


@pytest.mark.parametrize("method", ["default", "profet"])
@pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])
@pytest.mark.parametrize(("row", "wait_share"), [("Host_Dataset", 0.3), ("Host_IteratorGetNext", 1.5)])
def test_a_stalled_step_predicts_what_the_fed_one_does(models, catalog, samples, row, wait_share, given, method):
    for sample in samples.values():
        # The loader's own row starts from nothing: PROFET's profiles hold `tf.data` reading beside the step there.
        fed = stalled(Profile({**sample.profile.operations, row: 0.0}), row, 0.0)
        wait_ms = wait_share * sample.latency_ms
        late = stalled(fed, row, wait_ms)
        # A step that is mostly waiting is not doubted: its device rows hold the wait as its latency does.
        said = [
            predict(models, catalog, profile, sample.anchor, latency_ms=latency_ms if given else None, method=method)
            for profile, latency_ms in ((fed, sample.latency_ms), (late, sample.latency_ms + wait_ms))
        ]
        (fed_anchor, *fed_rows), (late_anchor, *late_rows) = (found.predictions for found in said)
        assert input_wait_warning(late) in said[1].warnings
        if given:
            # The anchor's row is what was measured there.
            assert late_anchor.latency_ms == pytest.approx(fed_anchor.latency_ms + wait_ms)
        for one, other in zip(fed_rows, late_rows, strict=True):
            # Without the latency nothing is known of the anchor's other offers.
            expected = None if one.latency_ms is None else pytest.approx(one.latency_ms, rel=1e-5)
            assert other.latency_ms == expected, (sample.name, one.instance)
            if one.interval is not None:
                ends = [(row.interval.low_ms, row.interval.high_ms) for row in (one, other)]
                assert ends[1] == pytest.approx(ends[0], rel=1e-4)
