"""No latency is told from a profile that doesn't hold one; where it holds most of one, that is said."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from profet_core import NoPredictionError, Profile, ProfileMeta, predict, predict_many
from profet_core.prediction.refusals import check_predictable, refusal, unattributed_log_width
from profet_core.profiles.record import NO_DEVICE

ANCHOR = "g4dn.xlarge"
BUSY_US = 100_000.0
HOST_ONLY = {"Host_IDLE": 50_000.0, "Host_Dataset": 1000.0}
ONLY_IDLE = {"Device_IDLE": 50_000.0, "Host_IDLE": 50_000.0}
METHODS = pytest.mark.parametrize("method", ["default", "profet"])


def unattributed(share: float, **meta) -> Profile:
    """100 ms of GPU time, this share of it without an operation, and as much idle time, which does not count."""
    operations = {
        "Device_Conv2D": BUSY_US * (1 - share) * 0.7,
        "Device_MatMul": BUSY_US * (1 - share) * 0.3,
        "Device_Unknown": BUSY_US * share,
        "Device_IDLE": BUSY_US,
    }
    return Profile(operations, ProfileMeta(**meta))


def refused(models, catalog, profile, method="default", **more) -> str:
    """The one line of the refusal."""
    with pytest.raises(NoPredictionError) as error:
        predict(models, catalog, profile, ANCHOR, method=method, **more)
    assert str(error.value).isprintable()
    return str(error.value)


# --- refused --------------------------------------------------------------------------------------------------------


@METHODS
@pytest.mark.parametrize("operations", [HOST_ONLY, ONLY_IDLE], ids=["recorded on a CPU", "only idle"])
@pytest.mark.parametrize("latency_ms", [None, 50.0])
def test_without_gpu_time_there_is_no_number(models, catalog, operations, method, latency_ms):
    assert refused(models, catalog, Profile(operations), method, latency_ms=latency_ms, trust_latency=True) == NO_DEVICE


@METHODS
def test_more_than_a_fifth_without_an_operation_is_too_much(models, catalog, method):
    said = refused(models, catalog, unattributed(0.21), method)
    assert said == (
        "21% of the GPU's time belongs to no operation that the profile names: record it again with the host's "
        "operations too, without XLA, torch.compile or CUDA graphs."
    )
    assert refusal(unattributed(0.2)) == ""
    # Of busy time: idle time makes no profile better.
    assert unattributed(0.21).unknown_share == pytest.approx(0.21)


@METHODS
def test_more_than_half_in_operations_of_no_known_kind_is_too_much(models, catalog, method):
    half = {"Device_Conv2D": 5000.0, "Device_MyLayer": 4000.0, "Device_Theirs": 1000.0}
    assert refusal(Profile(half)) == ""
    said = refused(models, catalog, Profile({**half, "Device_MyLayer": 4500.0}), method)
    assert said == (
        "52% of the GPU's time is in operations that nothing is known of, MyLayer the longest: record a CNN's training "
        "step with the framework's own operations."
    )


@pytest.mark.parametrize("framework", [None, "TensorFlow 2.21", "JAX 0.4"])
def test_a_step_that_xla_joined_is_refused(models, catalog, framework):
    said = refused(models, catalog, unattributed(0.0, compiled=True, framework=framework))
    assert said.startswith("XLA joined this step's operations") and said.endswith("again with jit_compile=False.")


@pytest.mark.parametrize(("compiled", "framework"), [(False, "TensorFlow 2.21"), (None, None), (True, "PyTorch 2.13")])
def test_other_steps_are_not(compiled, framework):
    assert refusal(unattributed(0.0, compiled=compiled, framework=framework)) == ""


def test_what_the_reader_says_goes_first(models, catalog):
    cold = "The step was a cold first one: record a later one."
    profile = Profile(HOST_ONLY, refusal=cold)
    assert refused(models, catalog, profile) == cold
    with pytest.raises(NoPredictionError, match=cold):
        check_predictable(models, profile)


def test_one_such_profile_of_many_is_enough(models, catalog):
    with pytest.raises(NoPredictionError, match="30% of the GPU's time"):
        predict_many(models, catalog, [unattributed(0.0), unattributed(0.3)], ANCHOR)


def test_a_gpu_that_hardly_worked_ran_no_step(models, catalog):
    idle = {"Device_Conv2D": 4_900.0, "Device_IDLE": 95_100.0}
    said = refused(models, catalog, Profile(idle))
    assert said.startswith("The GPU worked for 4.9% of the time this profile spans") and "record a whole step" in said
    assert refusal(Profile({"Device_Conv2D": 5_100.0, "Device_IDLE": 94_900.0})) == ""


# --- doubted --------------------------------------------------------------------------------------------------------


def relabelled(profile: Profile, share: float) -> Profile:
    """This share of every operation's GPU time made time without an operation."""
    busy = {n: us for n, us in profile.operations.items() if n.startswith("Device_") and n != "Device_IDLE"}
    kept = {name: us * (1 - share) for name, us in busy.items()}
    return replace(profile, operations={**profile.operations, **kept, "Device_Unknown": share * sum(busy.values())})


def widths(models, catalog, profile, anchor=ANCHOR, latency_ms=None) -> dict[str, dict[str, float]]:
    """Half the interval's width in the logarithm, by what the row rests on and instance.

    Other offers of profiled GPUs take the latencies of these.
    """
    found = {"measured": {}, "derived": {}, "transferred": {}}
    for row in predict(models, catalog, profile, anchor, latency_ms=latency_ms).predictions[1:]:
        if row.members or row.basis != "measured":
            found[row.basis][row.instance] = row.interval.log_half_width
    return found


@pytest.mark.parametrize(
    ("share", "half"), [(0.0, 0.0), (0.04, 0.0), (0.06, 0.0619), (0.1, 0.1054), (0.19, 0.2107), (1.0, 0.0)]
)
def test_the_width_is_of_a_part_that_may_take_nothing(share, half):
    # exp(-0.1054) = 1 - 0.1; all of it unknown is refused, and no logarithm.
    assert unattributed_log_width(unattributed(share)) == pytest.approx(half, abs=5e-5)


@pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])
@pytest.mark.parametrize("share", [0.06, 0.12, 0.19])
def test_a_part_without_an_operation_widens_the_interval_and_is_said(models, catalog, samples, share, given):
    for sample in samples.values():
        latency_ms = sample.latency_ms if given else None
        doubtful = relabelled(sample.profile, share)
        narrow, wide = (
            widths(models, catalog, profile, sample.anchor, latency_ms) for profile in (sample.profile, doubtful)
        )
        assert len(wide["measured"]) == 3 and len(wide["derived"] | wide["transferred"]) > 3
        for name, half in wide["measured"].items():
            assert half - narrow["measured"][name] == pytest.approx(-math.log(1 - share), rel=0.3), (sample.name, name)
        warnings = predict(models, catalog, doubtful, sample.anchor, latency_ms=latency_ms).warnings
        assert (
            f"{share:.0%} of the GPU's time belongs to no operation that the profile names: the interval is wider."
        ) in warnings


def test_gpus_that_nobody_profiled_are_widened_too(models, catalog, samples):
    for sample in samples.values():
        # What moves little itself with a little more unknown time is what is added at the threshold.
        below, above = (
            widths(models, catalog, relabelled(sample.profile, share), sample.anchor, sample.latency_ms)
            for share in (0.0499, 0.0501)
        )
        for basis in ("derived", "transferred"):
            for name, half in above[basis].items():
                added = half - below[basis][name]
                assert -math.log(1 - 0.05) / 20 < added < -2.1 * math.log(1 - 0.05), (sample.name, name, added)


def test_up_to_a_twentieth_changes_nothing(models, catalog):
    assert not any("no operation" in line for line in predict(models, catalog, unattributed(0.05), ANCHOR).warnings)
    # Just above, what is added is -log(1 - 0.0501) = 0.0514; anything else hardly moves.
    below, above = (widths(models, catalog, unattributed(share))["measured"] for share in (0.05, 0.0501))
    for name, half in above.items():
        assert half - below[name] == pytest.approx(0.0514, abs=2e-3)
