"""How many steps a file covers, a latency that makes no sense beside it, and what nothing is predicted from."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import pytest

from profet_core import (
    InputError,
    LatencyDoubtError,
    Models,
    NoPredictionError,
    Profile,
    ProfileMeta,
    check_latency,
    load_models,
    predict,
    predict_many,
    read_profile,
)
from profet_core.errors import STEPS_CODES, Code, Note
from profet_core.latency import quantile
from profet_core.prediction.checks import (
    MAX_LIKELY_STEPS,
    MAX_RATIO,
    VISION_TRANSFORMER,
    counted,
    doubted_steps,
    is_transformer,
    read_as,
    refusal,
    steps_note,
    suggested_steps,
    unattributed_log_sd,
)
from profet_profiles.record import NO_DEVICE
from tests.codes import codes

#: A training step without the profiler, of whose profile the device rows are some multiple.
LATENCY_MS = 100.0


def version_1(total_ms: float) -> Profile:
    """PROFET's first format with these totals, in which idle counts as everything else does."""
    return read_profile(json.dumps({"Device_Conv2D": 700 * total_ms, "Device_IDLE": 300 * total_ms}).encode())


def version_2(operations, steps: int | None = None, **meta) -> Profile:
    """Version 2 with the totals of `steps` steps of `operations`; None says nothing of how many."""
    totals = {name: us * (steps or 1) for name, us in operations.items()}
    stated = {} if steps is None else {"steps": steps}
    return read_profile(json.dumps({"operations": totals, "meta": {**meta, **stated}}).encode())


def test_version_1_is_of_two_steps_version_2_of_one_and_a_stated_number_questioned_beyond_the_largest_ratio():
    first, second = version_1(200.0), version_2({"Device_Conv2D": 5.0})
    assert (first.steps, first.steps_basis, first.device_total_us) == (2, "assumed", pytest.approx(100_000))
    assert (second.steps, second.steps_basis, second.device_total_us) == (1, "assumed", 5.0)
    for steps in (1, 5, 10_000):
        profile = version_2({"Device_Conv2D": 5.0}, steps)
        assert (profile.steps, profile.steps_basis, profile.device_total_us) == (steps, "stated", 5.0)
    ratios = (MAX_RATIO - 0.01, MAX_RATIO + 0.01, 0.75, 0.527)
    assert [doubted_steps(one_step(ratio, 2, "stated"), LATENCY_MS) for ratio in ratios] == [None, 6, None, 1]
    for basis in ("marked", "counted", "assumed", "inferred"):
        assert [doubted_steps(one_step(ratio, 2, basis), LATENCY_MS) for ratio in (0.1, 50.0)] == [None, None]


@pytest.mark.parametrize(
    ("total_ms", "steps"),
    [
        (105.4, 1),  # two steps would be 0.53 of the latency each
        (148.0, 1),  # 0.74 each: below all but 1 % of PROFET's own
        (150.0, 2),  # 0.75 each: usual enough for the preset to stay
        (210.8, 2),
        (391.0, 2),  # 1.955 each
        (393.0, 4),  # 1.965 each is not usual; 393 / 105.4 = 3.73
        (527.0, 5),
        (1054.0, 10),
        (200 * 105.4, 200),
    ],
)
def test_the_number_of_steps_is_inferred_from_the_latency(total_ms, steps):
    profile = version_1(total_ms)
    assert suggested_steps(profile, LATENCY_MS) == steps
    as_counted = counted(profile, LATENCY_MS)
    assert (as_counted.steps, as_counted.steps_basis) == (steps, "inferred")
    assert as_counted.device_total_us == pytest.approx(1000 * total_ms / steps)


def test_where_nothing_is_inferred():
    # One step of 1.5 times the latency is usual for version 2; four times it is 400 / 105.4 = 3.8 steps.
    assert [counted(version_2({"Device_Conv2D": us}), LATENCY_MS).steps for us in (150_000.0, 400_000.0)] == [1, 4]
    # Less than 0.745 of even one step, or hundreds of steps: the latency belongs to something else or another unit.
    for total_ms in (0.5, 74.0, (MAX_LIKELY_STEPS + 1) * 105.4, 1e6):
        profile = version_1(total_ms)
        assert counted(profile, LATENCY_MS) is profile and profile.steps_basis == "assumed"
    host = read_profile(b'{"Host_IDLE": 9000}')
    assert counted(profile, None) is profile and counted(host, LATENCY_MS) is host
    for basis in ("marked", "counted", "stated", "given", "inferred"):
        known = Profile({"Device_Conv2D": 527_000.0}, steps_basis=basis)
        assert counted(known, LATENCY_MS) is known


def test_a_given_number_of_steps_is_used_and_reading_again_loses_no_digit():
    profile = version_1(200.0)
    assert read_as(profile, None) is profile
    read = read_as(profile, 5)
    assert (read.steps, read.steps_basis) == (5, "given")
    assert read.operations["Device_Conv2D"] == pytest.approx(28_000)  # 140,000 us of five steps
    assert counted(read, LATENCY_MS) is read
    assert read_as(profile, 10_000).steps == 10_000
    # 7 x 10^-6 us do not halve within the digits a profile keeps.
    profile = read_profile(b'{"Device_Conv2D": 51425.799007}')
    for steps in (1, 3, 7, 10_000, 1):
        profile = read_as(profile, steps)
    assert dict(profile.operations) == {"Device_Conv2D": 51425.799007}


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (0, "The number of steps must be a whole number of at least 1"),
        (1.5, "The number of steps must be a whole number"),
        (10_001, r"The number of steps must be at most 10,000\."),
    ],
)
def test_other_numbers_are_refused_in_one_line(steps, says):
    with pytest.raises(InputError, match=f"^{says}") as error:
        read_as(version_1(200.0), steps)
    assert str(error.value).isprintable()


def one_step(ratio: float, steps: int, basis: str) -> Profile:
    """Read as `steps` steps, each `ratio` times the latency."""
    return Profile({"Device_Conv2D": ratio * LATENCY_MS * 1000}, steps=steps, steps_basis=basis)


@pytest.mark.parametrize(
    ("ratio", "steps", "instead"),
    [
        (1.054, 2, None),
        (0.75, 2, None),
        (1.95, 2, None),
        (0.527, 2, 1),
        (2.108, 1, 2),
        (2.108, 5, 10),
        (5.27, 1, 5),
        (0.2, 1, None),  # no whole number below one
        (0.1, 4, 1),  # 0.4 / 1.054: hardly one
        (1000.0, 1, None),  # hundreds of steps are another unit, and asked as one
    ],
)
def test_a_given_number_is_questioned_if_another_fits(ratio, steps, instead):
    assert doubted_steps(one_step(ratio, steps, "given"), LATENCY_MS) == instead


@pytest.mark.parametrize(
    ("covers", "stated", "read", "suggested"),
    [(5, 2, " as 2 steps", "5 steps"), (2, 1, " as one step", "2 steps"), (1, 2, " as 2 steps", "1 step")],
)
def test_a_wrong_number_is_refused_with_the_right_one(models, catalog, samples, covers, stated, read, suggested):
    for name in ("resnet50-128px-b64-g4dn", "vgg16-224px-b16-g3s"):
        sample = samples[name]
        file = json.dumps({name: us * covers for name, us in sample.profile.operations.items()})
        profile = read_as(read_profile(file.encode()), stated)
        with pytest.raises(LatencyDoubtError) as doubt:
            predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms)
        assert (doubt.value.suggested_steps, doubt.value.suggested_unit) == (covers, None)
        assert f"which{read} suggests about" in str(doubt.value)
        assert f"{suggested}?" in str(doubt.value)
        again = read_as(profile, doubt.value.suggested_steps)
        assert predict(models, catalog, again, sample.anchor, latency_ms=sample.latency_ms).steps == covers
        trusted = predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms, trust_latency=True)
        assert (trusted.steps, trusted.steps_basis) == (stated, "given")


@pytest.mark.parametrize(
    ("steps", "basis", "says"),
    [
        (1, "inferred", [Note(Code.STEPS_INFERRED, steps="one step")]),
        (5, "inferred", [Note(Code.STEPS_INFERRED, steps="5 steps")]),
        (2, "assumed", [Note(Code.STEPS_ASSUMED, steps="2 steps, as PROFET's recorder does")]),
        (1, "assumed", [Note(Code.STEPS_ASSUMED, steps="one step")]),
        (3, "marked", []),
        (3, "stated", []),
    ],
)
def test_an_unstated_number_of_steps_has_a_note(models, catalog, steps, basis, says):
    profile = Profile({"Device_Conv2D": 50_000.0, "Device_IDLE": 1000.0}, steps=steps, steps_basis=basis)
    assert steps_note(profile) == says
    prediction = predict(models, catalog, profile, "g4dn.xlarge")
    assert (prediction.steps, prediction.steps_basis) == (steps, basis)
    assert [note for note in prediction.warnings if note.code in STEPS_CODES] == says


def test_inference_is_part_of_a_prediction(models, catalog, samples):
    sample = samples["resnet50-128px-b64-g4dn"]
    file = json.dumps({name: us * 5 for name, us in sample.profile.operations.items()}).encode()
    prediction = predict(models, catalog, read_profile(file), sample.anchor, latency_ms=sample.latency_ms)
    assert (prediction.steps, prediction.steps_basis) == (5, "inferred")


def cut(sample) -> dict[str, float]:
    """A step of which TensorFlow kept the costliest operations: seven tenths of the GPU's time, and no end of step."""
    ends = {"Device_MatMul", "Device_Softmax", "Device_ArgMax"}
    busy = {n: us for n, us in sample.profile.operations.items() if n.startswith("Device_") and n != "Device_IDLE"}
    kept = {name: 0.7 * us for name, us in busy.items() if name not in ends and us > 100}
    return {**{name: us for name, us in sample.profile.operations.items() if name not in busy}, **kept}


def tells(prediction) -> tuple:
    """What a prediction says of latencies, to the last digit."""
    return tuple((row.instance, row.latency_ms, row.interval, *row.members.values()) for row in prediction.predictions)


@pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])
@pytest.mark.parametrize("method", ["default", "profet"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut"])
def test_one_step_recorded_as_one_two_and_five_predicts_the_same(models, catalog, samples, whole, method, given):
    for sample in (samples[name] for name in ("resnet50-128px-b64-g4dn", "vgg16-224px-b16-g3s")):
        operations = dict(sample.profile.operations) if whole else cut(sample)
        recorded = [version_2(operations, steps, precision="fp32") for steps in (1, 2, 5)]
        for steps in (1, 2, 5):
            totals = {name: us * steps for name, us in operations.items()}
            recorded.append(read_as(read_profile(json.dumps(totals).encode()), steps))
        assert [profile.steps for profile in recorded] == [1, 2, 5] * 2
        predictions = [
            predict(
                models,
                catalog,
                profile,
                sample.anchor,
                latency_ms=sample.latency_ms if given else None,
                method=method,
                trust_latency=True,
            )
            for profile in recorded
        ]
        assert all(tells(prediction) == tells(predictions[0]) for prediction in predictions), sample.name
        assert all(prediction.warnings == predictions[0].warnings for prediction in predictions)
        if method == "default":
            assert (Code.TRUNCATED in codes(predictions[0])) is not whole, "a cut profile is repaired"


TINY_ANCHOR = "g4dn.xlarge"
OPERATIONS = {"Device_Conv2D": 120_000.0, "Device_IDLE": 40_000.0, "Host_IDLE": 40_000.0}
PLAUSIBLE = Profile(OPERATIONS)


@pytest.fixture
def tiny(tiny_folder) -> Models:
    return load_models(tiny_folder)


def test_a_plausible_latency_is_used(tiny):
    for latency_ms in (53.0, 80, 287.9):
        check_latency(tiny, PLAUSIBLE, TINY_ANCHOR, latency_ms)
    # Steps that nobody typed are not questioned, unless it is too short for any number of them.
    for basis in ("marked", "counted", "assumed", "inferred"):
        check_latency(tiny, Profile(OPERATIONS, steps_basis=basis), TINY_ANCHOR, 16.01)
    with pytest.raises(LatencyDoubtError, match=r"80\.0 ms") as doubt:
        check_latency(tiny, Profile(OPERATIONS, steps_basis="marked"), TINY_ANCHOR, 15.9)
    assert (doubt.value.suggested_unit, doubt.value.suggested_steps) == (None, None)
    # Without device rows there is nothing to hold it against.
    check_latency(tiny, Profile({"Host_IDLE": 40_000.0}), TINY_ANCHOR, 122_400)


@pytest.mark.parametrize(
    ("latency_ms", "suggested_ms", "unit", "steps"),
    [
        (122_400, 122.4, "us", None),
        (0.1224, 122.4, "s", None),
        (52.9, None, None, 3),  # 160 / 52.9 / 1.054 = 2.87
        (16.01, None, None, 9),  # 160 / 16.01 / 1.054 = 9.48
        (289, None, None, None),
        (1e-9, None, None, None),
    ],
)
def test_a_latency_far_off_is_questioned_with_what_would_fit(tiny, catalog, latency_ms, suggested_ms, unit, steps):
    with pytest.raises(LatencyDoubtError) as doubt:
        predict(tiny, catalog, PLAUSIBLE, TINY_ANCHOR, latency_ms=latency_ms)
    assert doubt.value.latency_ms == latency_ms
    assert doubt.value.expected_ms == pytest.approx(80)
    assert doubt.value.suggested_ms == (pytest.approx(suggested_ms) if suggested_ms else None)
    assert doubt.value.suggested_unit == unit
    assert doubt.value.suggested_steps == steps
    assert str(doubt.value).isprintable() and "80.0 ms" in str(doubt.value)
    if unit == "us":
        assert "did you mean 122,400 us (122 ms)?" in str(doubt.value)


def test_a_doubted_latency_is_used_once_it_is_trusted(tiny, catalog):
    prediction = predict(tiny, catalog, PLAUSIBLE, TINY_ANCHOR, latency_ms=122_400, trust_latency=True)
    assert prediction.anchor_latency_ms == 122_400
    (fast,) = (row for row in prediction.predictions if row.instance == "p3.2xlarge")
    assert fast.members["line"] == pytest.approx(61_200)
    for impossible_ms in (1e-6, 1e9):
        with pytest.raises(InputError, match="is impossible for this profile") as refused:
            predict(tiny, catalog, PLAUSIBLE, TINY_ANCHOR, latency_ms=impossible_ms, trust_latency=True)
        assert refused.value.fields == ("latency_ms",) and not isinstance(refused.value, LatencyDoubtError)


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


@METHODS
def test_without_gpu_time_there_is_no_number(models, catalog, method):
    for operations, latency_ms in product((HOST_ONLY, ONLY_IDLE), (None, 50.0)):
        reason = refused(models, catalog, Profile(operations), method, latency_ms=latency_ms, trust_latency=True)
        assert reason == NO_DEVICE


@METHODS
def test_more_than_a_fifth_without_an_operation_is_too_much(models, catalog, method):
    reason = refused(models, catalog, unattributed(0.21), method)
    assert reason.startswith("21%") and "record it again" in reason
    assert refusal(unattributed(0.2)) == ""
    # Of busy time: idle time makes no profile better.
    assert unattributed(0.21).unknown_share == pytest.approx(0.21)


@METHODS
def test_more_than_half_in_operations_of_no_known_kind_is_too_much(models, catalog, method):
    half = {"Device_Conv2D": 5000.0, "Device_MyLayer": 4000.0, "Device_Theirs": 1000.0}
    assert refusal(Profile(half)) == ""
    reason = refused(models, catalog, Profile({**half, "Device_MyLayer": 4500.0}), method)
    assert reason.startswith("52%") and "MyLayer the longest" in reason


BERT = {"Device_MatMul": 5900.0, "Device_Softmax": 300.0, "Device_AddV2": 800.0, "Device_ResourceApplyAdam": 100.0}
PATCHES = {**BERT, "Device_Conv2D": 60.0, "Device_Conv2DBackpropFilter": 90.0}
STATISTICS = "rank,Host/device,Type,Operation,#Occurrences,Total time (us),Self\n"


def statistics_csv(operations):
    rows = (f"1,Device,{name.removeprefix('Device_')},a,1,{us},{us}\n" for name, us in operations.items())
    return (STATISTICS + "".join(rows)).encode()


@pytest.mark.parametrize("written", [lambda each: json.dumps(each).encode(), statistics_csv], ids=["JSON", "CSV"])
def test_a_step_without_convolutions_is_asked_about_and_one_that_looks_up_words_refused(models, catalog, written):
    profile = read_profile(written(BERT))
    reason = refused(models, catalog, profile)
    assert VISION_TRANSFORMER in reason and reason.isprintable()
    words = {**BERT, "Device_ResourceScatterSub": 5.0}
    assert "language models" in refused(models, catalog, read_profile(written(words)))
    # Convolutions that cut an image into patches have no gradient of their input.
    assert is_transformer(profile) and refusal(read_profile(written(PATCHES))) == ""
    assert VISION_TRANSFORMER in refusal(Profile({**PATCHES, "Device_Conv2DBackpropInput": 90.0}))


@pytest.mark.parametrize(
    "name",
    [
        "pytorch/queued-before-recording-v100.json.gz",
        "pytorch/queued-before-recording-a100-rank0.json.gz",
        "tensorflow-2.3-8xV100-bert.xplane.pb",
    ],
)
def test_a_transformers_trace_gets_no_number(repository, name):
    profile = read_profile(repository / "data" / "real_profiles" / name)
    assert is_transformer(profile) and refusal(profile)


def test_a_small_cnn_is_one_a_gpu_that_hardly_worked_ran_none_and_the_reader_s_refusal_comes_first(models, catalog):
    assert refusal(Profile({"Device_Conv2D": 20.0, "Device_MatMul": 100.0})) == ""
    assert refusal(Profile({"Device_DepthwiseConv2dNative": 20.0, "Device_MatMul": 100.0})) == ""
    assert refusal(Profile({"Device_Conv3D": 5.0})) == "", "as few operations as there are"
    idle = {"Device_Conv2D": 900.0, "Device_IDLE": 99_100.0}
    reason = refused(models, catalog, Profile(idle))
    assert "0.9%" in reason and "record a whole step" in reason
    assert refusal(Profile({"Device_Conv2D": 1_100.0, "Device_IDLE": 98_900.0})) == ""
    cold = "The step was a cold first one: record a later one."
    profile = Profile(HOST_ONLY, refusal=cold)
    assert refused(models, catalog, profile) == cold
    with pytest.raises(NoPredictionError, match=cold):
        predict(models, catalog, profile, "T4")


def test_a_step_that_xla_joined_is_refused_and_others_are_not(models, catalog):
    for framework in (None, "TensorFlow 2.21", "JAX 0.4"):
        reason = refused(models, catalog, unattributed(0.0, compiled=True, framework=framework))
        assert reason.startswith("XLA fused this step's operations") and "jit_compile=False" in reason
    for compiled, framework in ((False, "TensorFlow 2.21"), (None, None), (True, "PyTorch 2.13")):
        assert refusal(unattributed(0.0, compiled=compiled, framework=framework)) == ""
    # One of many is enough.
    with pytest.raises(NoPredictionError, match="30% of the GPU time"):
        predict_many(models, catalog, [unattributed(0.0), unattributed(0.3)], ANCHOR)


def relabeled(profile: Profile, share: float) -> Profile:
    """This share of every operation's GPU time made time without an operation."""
    busy = {n: us for n, us in profile.operations.items() if n.startswith("Device_") and n != "Device_IDLE"}
    kept = {name: us * (1 - share) for name, us in busy.items()}
    return replace(profile, operations={**profile.operations, **kept, "Device_Unknown": share * sum(busy.values())})


def widths(models, catalog, profile, anchor=ANCHOR, latency_ms=None) -> dict[str, dict[str, float]]:
    """Half the interval's width in the logarithm, by what the row rests on and instance.

    Other offers of profiled GPUs take the latencies of these.
    """
    widths = {"measured": {}, "transferred": {}}
    for row in predict(models, catalog, profile, anchor, latency_ms=latency_ms).predictions[1:]:
        if row.members or row.basis != "measured":
            widths[row.basis][row.instance] = row.interval.log_half_width
    return widths


def test_the_width_is_of_a_part_that_may_take_nothing(models, catalog):
    # exp(-0.1054) = 1 - 0.1; all of it unknown is refused, and no logarithm.
    widths_by_share = {0.0: 0.0, 0.04: 0.0, 0.06: 0.0619, 0.1: 0.1054, 0.19: 0.2107, 1.0: 0.0}
    for share, half in widths_by_share.items():
        assert quantile() * unattributed_log_sd([unattributed(share)])[0] == pytest.approx(half, abs=5e-5)
    assert Code.UNATTRIBUTED not in codes(predict(models, catalog, unattributed(0.05), ANCHOR))


@pytest.mark.parametrize("given", [True, False], ids=["with latency", "without"])
@pytest.mark.parametrize("share", [0.06, 0.19])
def test_unattributed_time_widens_the_interval_with_a_warning(models, catalog, samples, share, given):
    for sample in list(samples.values())[::3]:
        latency_ms = sample.latency_ms if given else None
        doubtful = relabeled(sample.profile, share)
        narrow, wide = (
            widths(models, catalog, profile, sample.anchor, latency_ms) for profile in (sample.profile, doubtful)
        )
        assert len(wide["measured"]) == 3 and len(wide["transferred"]) > 3
        for name, half in wide["measured"].items():
            assert half - narrow["measured"][name] == pytest.approx(-math.log(1 - share), rel=0.3), (sample.name, name)
        prediction = predict(models, catalog, doubtful, sample.anchor, latency_ms=latency_ms)
        (note,) = (note for note in prediction.warnings if note.code is Code.UNATTRIBUTED)
        assert note.values["share"] == pytest.approx(share, abs=0.005)


def test_unprofiled_gpus_are_widened_too(models, catalog, samples):
    for sample in list(samples.values())[::3]:
        # What moves little itself with a little more unknown time is what is added at the threshold.
        below, above = (
            widths(models, catalog, relabeled(sample.profile, share), sample.anchor, sample.latency_ms)
            for share in (0.0499, 0.0501)
        )
        for name, half in above["transferred"].items():
            added = half - below["transferred"][name]
            assert -math.log(1 - 0.05) / 20 < added < -2.1 * math.log(1 - 0.05), (sample.name, name, added)
