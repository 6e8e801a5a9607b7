"""What a recording makes of its trace: what the user knows goes first, and a GPU that was not seen is refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from profet_recorder.engine import NO_SIZES, BatchSizes, ObservedSizes, StepFacts, batch_sizes, either
from profet_recorder.plan import RecorderError, record_plan
from profet_recorder.profiles.record import HOST_IDLE, NO_DEVICE, NO_WORK, STAND_IN, ProfileMeta
from profet_recorder.recording import ON_CPU, recorded_profile, summary
from tests.made.chrome_traces import op, update
from tests.made.chrome_traces import trace as chrome_trace

TIMED = (12.0, 10.0, 11.0)
NOTHING: StepFacts = (ProfileMeta(), NO_SIZES, ())
ON_T4: StepFacts = (ProfileMeta(gpu="Tesla T4"), NO_SIZES, ())


@pytest.fixture
def trace(repository):
    return repository / "tests" / "recorder" / "profiles" / "pytorch" / "recorded" / "pytorch-2.13-cpu.pt.trace.json.gz"


@pytest.fixture
def plan(tmp_path):
    return lambda **options: record_plan(tmp_path / "profile.json", **options)


def test_what_the_user_knows_goes_first_and_a_gpu_that_was_not_seen_is_refused(trace, plan):
    facts = (ProfileMeta(precision="fp32", parameters=7), BatchSizes(8, 32, 32), ())
    found = recorded_profile(trace, facts, plan(), TIMED, None).meta
    assert (found.batch_size, found.pixels, found.parameters, found.precision) == (8, 32, 7, "fp32")
    assert (found.step_latency_ms, found.peak_memory_mib, found.gpu) == (11.0, None, None)
    given = plan(batch_size=9, pixels=64, parameters=5, precision="tf32")
    known = recorded_profile(trace, facts, given, TIMED, None).meta
    assert (known.batch_size, known.pixels, known.parameters, known.precision) == (9, 64, 5, "tf32")
    with pytest.raises(RecorderError, match="saw nothing of what Tesla T4"):
        recorded_profile(trace, ON_T4, plan(), TIMED, None)


def test_a_processor_stands_in_for_a_device_where_it_is_requested(trace, plan):
    plain = recorded_profile(trace, NOTHING, plan(), TIMED, None)
    found = recorded_profile(trace, NOTHING, plan(as_device=True), TIMED, None)
    assert found.operations == {
        name if name == HOST_IDLE else name.replace("Host_", "Device_"): us for name, us in plain.operations.items()
    }
    assert plain.device_busy_us == 0 and found.device_busy_us > 1_000
    assert plain.warnings[0] == NO_DEVICE and found.warnings == (STAND_IN, *plain.warnings[1:])
    with pytest.raises(RecorderError, match="leave --device cpu"):
        recorded_profile(trace, ON_T4, plan(as_device=True), TIMED, None)


def test_warnings_stand_in_order_and_only_missing_sizes_are_requested(trace, plan, tmp_path):
    facts = (ProfileMeta(framework="PyTorch 2.13.0"), NO_SIZES, ("Of the framework.",))
    profile = recorded_profile(trace, facts, plan(), TIMED, "a batch of 4 instead of 8")
    first, *_, framework, odd = profile.warnings
    assert (first, framework) == (NO_DEVICE, "Of the framework.")
    assert "a batch of 4 instead of 8" in odd
    on_cpu, *warnings, written = summary(profile, plan(), TIMED)
    assert on_cpu == ON_CPU
    assert warnings == [f"warning: {line}" for line in profile.warnings[1:]]
    assert written.endswith("step 11.0 ms (median of 3, 10.0 ms to 12.0 ms), batch 8, pixels 32, CPU, PyTorch 2.13.0")
    recorded = recorded_profile(trace, NOTHING, plan(), TIMED, None)

    def asked(operations, **meta):
        profile = replace(recorded, operations=operations, meta=replace(recorded.meta, **meta))
        return [line for line in summary(profile, plan(), TIMED) if "is unknown" in line]

    pictures, text = {"Host_Conv2D": 1.0}, {"Host_MatMul": 1.0}
    assert asked(pictures, batch_size=8, pixels=32) == []
    assert [line.split("--")[1].split()[0] for line in asked(pictures, batch_size=None, pixels=None)] == [
        "batch-size",
        "pixels",
    ]
    assert len(asked(text, batch_size=None, pixels=None)) == 1, "no pixels of a network that has none"
    assert asked(pictures, batch_size=8, pixels=None) == [], "what it was fed was seen, and was no picture"
    events = [update(0, 50), op("aten::mul_", 10, 20)]
    (tmp_path / "step.json").write_bytes(chrome_trace(events))
    found = recorded_profile(tmp_path / "step.json", NOTHING, plan(), TIMED, None)
    assert found.warnings[:2] == (NO_DEVICE, NO_WORK)


def tensor(*shape: object) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


@pytest.mark.parametrize(
    "batch, channels_last, expected",
    [
        ((tensor(8, 32, 48, 3), tensor(8)), True, (8, 32, 48)),
        ((tensor(8, 3, 32, 48), tensor(8)), False, (8, 32, 48)),
        # The channels tell, whatever the framework's layout is.
        ([tensor(8, 32, 48, 3)], False, (8, 32, 48)),
        ({"pixel_values": tensor(8, 1, 28, 28)}, True, (8, 28, 28)),
        # Videos of 16 pictures.
        (tensor(4, 3, 16, 112, 96), False, (4, 112, 96)),
        (tensor(4, 16, 112, 96, 3), True, (4, 112, 96)),
        # Feature maps: the layout decides.
        (tensor(4, 64, 14, 15), False, (4, 14, 15)),
        (tensor(4, 14, 15, 64), True, (4, 14, 15)),
        # Labels first, then pictures, nested.
        ((tensor(16), {"x": (tensor(16, 3, 224, 224),)}), False, (16, 224, 224)),
        ((tensor(16, 100), tensor(16)), True, (16, None, None)),
        # A generator's noise is no picture, and what a network makes is not its input.
        ((tensor(8, 100, 1, 1), tensor(8, 3, 64, 64)), False, (8, 64, 64)),
        (tensor(8, 100, 1, 1), False, (8, None, None)),
        # Lists of pictures, as detectors take them: the largest one's sides.
        ([tensor(3, 40, 60), tensor(3, 64, 48)], False, (2, 64, 48)),
        ([{"image": tensor(1, 40, 60), "width": 60}, {"image": tensor(1, 30, 50)}], False, (2, 40, 60)),
        ([tensor(40, 60, 3), tensor(64, 48, 3)], True, (2, 64, 48)),
        ({0: tensor(3, 40, 60)}, False, (3, None, None)),
        ((tensor(8, 3, 16, 16), tensor(8, 3, 64, 64)), False, (8, 16, 16)),
        # One value for each device, as a strategy of TensorFlow's spreads a batch.
        ((SimpleNamespace(values=(tensor(4, 32, 32, 3), tensor(4, 32, 32, 3))),), True, (4, 32, 32)),
        ((tensor(None, 32, 32, 3),), True, (None, 32, 32)),
        ((tensor(None, None, None, 3),), True, (None, None, None)),
        (("text", 3, None), True, (None, None, None)),
        (None, True, (None, None, None)),
    ],
)
def test_sizes(batch, channels_last, expected):
    found = batch_sizes(batch, channels_last=channels_last)
    assert (found.batch_size, found.height, found.width) == expected
    assert found.is_list == (isinstance(batch, list) and expected[0] == 2)


def test_pixels_are_the_side_of_a_square_and_what_one_batch_lacks_the_other_tells():
    assert BatchSizes(1, 224, 224).pixels == 224
    assert BatchSizes(1, 200, 300).pixels == 245
    assert BatchSizes(1).pixels is None
    assert either(BatchSizes(8), BatchSizes(None, 32, 32)) == BatchSizes(8, 32, 32)
    assert either(BatchSizes(8, 16, 16), BatchSizes(4, 32, 32)) == BatchSizes(8, 16, 16)
    assert either(BatchSizes(3, is_guess=True), BatchSizes(8, 32, 32)) == BatchSizes(8, 32, 32)


def test_another_batch_size_is_noticed_and_the_largest_pictures_of_a_step_count():
    seen = ObservedSizes(channels_last=True)

    def step(*shape):
        seen.observe(tensor(*shape))
        seen.end_step()
        return seen.odd()

    assert [step(8, 32, 32, 3) for _ in range(3)] == [None] * 3
    assert step(4, 32, 32, 3) == "a batch of 4 instead of 8"
    seen.end_step()
    assert seen.last.batch_size == 4, "a step in which nothing was seen"
    assert step(8, 32, 32, 3) is None and not seen.vary
    assert step(8, 64, 64, 3) == "images of 64 pixels instead of 32" and seen.vary
    assert step(8, 48, 48, 3) is None, "they all differ"
    assert seen.last == BatchSizes(8, 48, 48)
    seen = ObservedSizes(channels_last=True)
    # A GAN's second graph shows its noise when it is traced, and nothing afterwards.
    assert [step(*shape) for shape in ((8, 28, 28, 1), (8, 100))] == [None, None] and not seen.vary
    seen = ObservedSizes(channels_last=True)
    for shape in ((8, 100), (16, 32, 32, 3), (4, 8, 8, 3), (2, 32, 32, 3)):
        seen.observe(tensor(*shape))
    seen.end_step()
    assert seen.last == BatchSizes(16, 32, 32)
    assert seen.odd() is None


def test_batches_whose_gradients_are_accumulated_count_together():
    seen = ObservedSizes(channels_last=True)

    def step(*batches):
        for batch in batches[:-1]:
            seen.observe(batch)
            seen.end_pass()
        seen.observe(batches[-1])
        seen.end_step()
        return seen.last, seen.passes

    eight, four = BatchSizes(8, 32, 32), BatchSizes(4, 32, 32)
    assert step(eight, eight, eight, four) == (BatchSizes(28, 32, 32), 4)
    # What a graph was traced with counts for the batches that follow unseen.
    assert step(eight, NO_SIZES, NO_SIZES) == (BatchSizes(24, 32, 32), 3)
    assert step(NO_SIZES) == (eight, 1)
    assert step(BatchSizes(8, is_guess=True), BatchSizes(8, is_guess=True)) == (BatchSizes(16), 2)
