"""How many steps a file covers: told, inferred from the latency, said or asked; and that it cancels out."""

from __future__ import annotations

import json

import pytest

from profet_core import InputError, LatencyDoubtError, Profile, predict, read_profile
from profet_core.prediction.steps import (
    LARGEST_RATIO,
    MOST_LIKELY_STEPS,
    counted,
    doubted_steps,
    read_as,
    steps_note,
    suggested_steps,
)

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


# --- read from the file ---------------------------------------------------------------------------------------------


def test_version_1_is_taken_for_two_steps_and_version_2_for_one():
    first, second = version_1(200.0), version_2({"Device_Conv2D": 5.0})
    assert (first.steps, first.steps_basis, first.device_total_us) == (2, "assumed", pytest.approx(100_000))
    assert (second.steps, second.steps_basis, second.device_total_us) == (1, "assumed", 5.0)


@pytest.mark.parametrize("steps", [1, 2, 5, 10_000])
def test_version_2_may_state_it(steps):
    profile = version_2({"Device_Conv2D": 5.0}, steps)
    assert (profile.steps, profile.steps_basis, profile.device_total_us) == (steps, "stated", 5.0)


# --- inferred from the latency --------------------------------------------------------------------------------------


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
def test_the_latency_tells_how_many_steps_version_1_covers(total_ms, steps):
    profile = version_1(total_ms)
    assert suggested_steps(profile, LATENCY_MS) == steps
    found = counted(profile, LATENCY_MS)
    assert (found.steps, found.steps_basis) == (steps, "inferred")
    assert found.device_total_us == pytest.approx(1000 * total_ms / steps)


@pytest.mark.parametrize("total_ms", [150.0, 400.0])
def test_version_2_without_a_number_is_inferred_from_one_step(total_ms):
    profile = version_2({"Device_Conv2D": 1000 * total_ms})
    # One step of 1.5 times the latency is usual; four times it is 400 / 105.4 = 3.8 steps.
    assert counted(profile, LATENCY_MS).steps == {150.0: 1, 400.0: 4}[total_ms]


@pytest.mark.parametrize("total_ms", [0.5, 74.0, (MOST_LIKELY_STEPS + 1) * 105.4, 1e6])
def test_a_latency_that_fits_no_number_of_steps_tells_nothing(total_ms):
    # Less than 0.745 of even one step, or hundreds of steps: the latency belongs to something else or another unit.
    profile = version_1(total_ms)
    assert counted(profile, LATENCY_MS) is profile
    assert (profile.steps, profile.steps_basis) == (2, "assumed")


def test_without_a_latency_or_without_device_rows_nothing_is_inferred():
    profile, host = version_1(105.4), read_profile(b'{"Host_IDLE": 9000}')
    assert counted(profile, None) is profile
    assert counted(host, LATENCY_MS) is host


@pytest.mark.parametrize("basis", ["marked", "counted", "stated", "given", "inferred"])
def test_what_is_known_is_not_inferred(basis):
    profile = Profile({"Device_Conv2D": 527_000.0}, steps_basis=basis)
    assert counted(profile, LATENCY_MS) is profile


# --- said by somebody -----------------------------------------------------------------------------------------------


def test_a_profile_is_read_as_somebody_says():
    profile = version_1(200.0)
    assert read_as(profile, None) is profile
    found = read_as(profile, 5)
    assert (found.steps, found.steps_basis) == (5, "given")
    assert found.operations["Device_Conv2D"] == pytest.approx(28_000)  # 140,000 us of five steps
    assert counted(found, LATENCY_MS) is found


@pytest.mark.parametrize("steps", [1, 10_000])
def test_any_number_up_to_ten_thousand_may_be_said(steps):
    assert read_as(version_1(200.0), steps).steps == steps


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (0, "The number of steps must be a whole number of at least 1"),
        (-2, "The number of steps must be a whole number"),
        (1.5, "The number of steps must be a whole number"),
        (True, "The number of steps must be a whole number"),
        ("two", "The number of steps must be a whole number"),
        (10_001, r"The number of steps must be at most 10,000\."),
    ],
)
def test_other_numbers_are_refused_in_one_line(steps, says):
    with pytest.raises(InputError, match=f"^{says}") as error:
        read_as(version_1(200.0), steps)
    assert str(error.value).isprintable()


def test_reading_again_and_again_loses_no_digit():
    # 7 x 10^-6 us do not halve within the digits a profile keeps.
    profile = read_profile(b'{"Device_Conv2D": 51425.799007}')
    for steps in (1, 3, 7, 10_000, 1):
        profile = read_as(profile, steps)
    assert dict(profile.operations) == {"Device_Conv2D": 51425.799007}


# --- questioned -----------------------------------------------------------------------------------------------------


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
def test_a_number_that_somebody_gave_is_questioned_where_another_fits(ratio, steps, instead):
    assert doubted_steps(one_step(ratio, steps, "given"), LATENCY_MS) == instead


@pytest.mark.parametrize(
    ("ratio", "instead"), [(LARGEST_RATIO - 0.01, None), (LARGEST_RATIO + 0.01, 6), (0.75, None), (0.527, 1)]
)
def test_a_number_that_the_file_states_is_questioned_beyond_the_largest_ratio_only(ratio, instead):
    assert doubted_steps(one_step(ratio, 2, "stated"), LATENCY_MS) == instead


@pytest.mark.parametrize("basis", ["marked", "counted", "assumed", "inferred"])
@pytest.mark.parametrize("ratio", [0.1, 50.0])
def test_what_nobody_typed_is_not_questioned(basis, ratio):
    assert doubted_steps(one_step(ratio, 2, basis), LATENCY_MS) is None


@pytest.mark.parametrize(
    ("covers", "said", "read", "suggested"),
    [(5, 2, " as 2 steps", "5 steps"), (2, 1, " as one step", "2 steps"), (1, 2, " as 2 steps", "1 step")],
)
def test_a_wrong_number_is_asked_back_with_the_right_one(models, catalog, samples, covers, said, read, suggested):
    for name in ("resnet50-128px-b64-g4dn", "vgg16-224px-b16-g3s"):
        sample = samples[name]
        file = json.dumps({name: us * covers for name, us in sample.profile.operations.items()})
        profile = read_as(read_profile(file.encode()), said)
        with pytest.raises(LatencyDoubtError) as doubt:
            predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms)
        assert (doubt.value.suggested_steps, doubt.value.suggested_unit) == (covers, None)
        assert f"beside this profile, which{read} suggests about" in str(doubt.value)
        assert str(doubt.value).endswith(f": does the file cover {suggested}?")
        again = read_as(profile, doubt.value.suggested_steps)
        assert predict(models, catalog, again, sample.anchor, latency_ms=sample.latency_ms).steps == covers
        trusted = predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms, trust_latency=True)
        assert (trusted.steps, trusted.steps_basis) == (said, "given")


# --- said with the prediction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "basis", "says"),
    [
        (1, "inferred", "The file does not say how many steps it covers; its times and the latency fit one step."),
        (5, "inferred", "The file does not say how many steps it covers; its times and the latency fit 5 steps."),
        (
            2,
            "assumed",
            "The file does not say how many steps it covers: read as 2 steps (PROFET's recorder profiles two). "
            "Say so if it covers others.",
        ),
        (1, "assumed", "The file does not say how many steps it covers: read as one step. Say so if it covers others."),
        (3, "marked", None),
        (3, "counted", None),
        (3, "stated", None),
        (3, "given", None),
    ],
)
def test_what_the_file_does_not_tell_is_said(models, catalog, steps, basis, says):
    profile = Profile({"Device_Conv2D": 50_000.0, "Device_IDLE": 1000.0}, steps=steps, steps_basis=basis)
    assert steps_note(profile) == says
    found = predict(models, catalog, profile, "g4dn.xlarge")
    assert (found.steps, found.steps_basis) == (steps, basis)
    assert [line for line in found.warnings if "how many steps" in line] == ([says] if says else [])


def test_inference_is_part_of_a_prediction(models, catalog, samples):
    sample = samples["resnet50-128px-b64-g4dn"]
    file = json.dumps({name: us * 5 for name, us in sample.profile.operations.items()}).encode()
    found = predict(models, catalog, read_profile(file), sample.anchor, latency_ms=sample.latency_ms)
    assert (found.steps, found.steps_basis) == (5, "inferred")
    assert steps_note(Profile({}, steps=5, steps_basis="inferred")) in found.warnings


# --- one step recorded as one, two and five -------------------------------------------------------------------------


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
    for sample in samples.values():
        operations = dict(sample.profile.operations) if whole else cut(sample)
        recorded = [version_2(operations, steps) for steps in (1, 2, 5)]
        for steps in (1, 2, 5):
            totals = {name: us * steps for name, us in operations.items()}
            recorded.append(read_as(read_profile(json.dumps(totals).encode()), steps))
        assert [profile.steps for profile in recorded] == [1, 2, 5] * 2
        said = [
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
        assert all(tells(prediction) == tells(said[0]) for prediction in said), sample.name
        assert all(prediction.warnings == said[0].warnings for prediction in said)


def test_a_cut_profile_is_repaired_whatever_it_is_read_as(models, catalog, samples):
    sample = samples["resnet50-128px-b64-g4dn"]
    lines = [
        line
        for steps in (1, 2, 5)
        for line in predict(models, catalog, version_2(cut(sample), steps), sample.anchor).warnings
        if line.startswith("Operations that every training step has are missing")
    ]
    assert len(lines) == 3 and len(set(lines)) == 1
