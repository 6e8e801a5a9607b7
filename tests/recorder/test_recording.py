"""What a recording makes of its trace: what the user knows goes first, and a GPU that was not seen is refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from profet_profiles.record import HOST_IDLE, NO_DEVICE, NO_WORK, STAND_IN, ProfileMeta
from profet_recorder.engine import NO_SIZES, BatchSizes, ObservedSizes, StepFacts, StepKind, batch_sizes, completed
from profet_recorder.plan import RecorderError, record_plan
from profet_recorder.recording import ON_CPU, Recording, Times, next_step, recorded_profile, summary
from tests.made.chrome_traces import op, update
from tests.made.chrome_traces import trace as chrome_trace
from tests.recorder.test_script import CountingEngine

TIMED = (12.0, 10.0, 11.0)
NOTHING: StepFacts = (ProfileMeta(), NO_SIZES, ())
ON_T4: StepFacts = (ProfileMeta(gpu="Tesla T4"), NO_SIZES, ())


@pytest.fixture
def trace(repository):
    return repository / "tests" / "profiles" / "pytorch" / "recorded" / "pytorch-2.13-cpu.pt.trace.json.gz"


@pytest.fixture
def plan(tmp_path):
    return lambda **options: record_plan(tmp_path / "profile.json", **options)


def test_what_the_user_knows_goes_first_and_a_gpu_that_was_not_seen_is_refused(trace, plan):
    facts = (ProfileMeta(precision="fp32", parameters=7), BatchSizes(8, 32, 32), ())
    profile = recorded_profile(trace, facts, plan(), TIMED, None).meta
    assert (profile.batch_size, profile.pixels, profile.parameters, profile.precision) == (8, 32, 7, "fp32")
    assert (profile.step_latency_ms, profile.peak_memory_mib, profile.gpu) == (11.0, None, None)
    given = plan(batch_size=9, pixels=64, parameters=5, precision="tf32")
    meta = recorded_profile(trace, facts, given, TIMED, None).meta
    assert (meta.batch_size, meta.pixels, meta.parameters, meta.precision) == (9, 64, 5, "tf32")
    with pytest.raises(RecorderError, match="saw nothing of what Tesla T4"):
        recorded_profile(trace, ON_T4, plan(), TIMED, None)


def test_a_processor_stands_in_for_a_device_where_it_is_requested(trace, plan):
    plain = recorded_profile(trace, NOTHING, plan(), TIMED, None)
    profile = recorded_profile(trace, NOTHING, plan(as_device=True), TIMED, None)
    assert profile.operations == {
        name if name == HOST_IDLE else name.replace("Host_", "Device_"): us for name, us in plain.operations.items()
    }
    assert plain.device_busy_us == 0 and profile.device_busy_us > 1_000
    assert plain.warnings[0] == NO_DEVICE and profile.warnings == (STAND_IN, *plain.warnings[1:])
    assert list(summary(profile, plan(as_device=True), TIMED))[-1].startswith("next: `profet advise profile.json ")
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
    without_work = recorded_profile(tmp_path / "step.json", NOTHING, plan(), TIMED, None)
    assert without_work.warnings[:2] == (NO_DEVICE, NO_WORK)


@pytest.mark.parametrize(
    "url, says",
    [
        ("https://example.org/profet/recorder/profet_recorder-1.1.0-py3-none-any.whl", "https://example.org/profet"),
        ("file:///home/me/recorder/profet_recorder-1.1.0-py3-none-any.whl", "profet advise p.json"),
    ],
)
def test_the_next_step_is_at_the_app_that_the_recorder_came_from(tmp_path, monkeypatch, url, says):
    info = tmp_path / "profet_recorder-1.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: profet-recorder\nVersion: 1.1.0\n")
    (info / "direct_url.json").write_text(f'{{"url": "{url}"}}')
    monkeypatch.syspath_prepend(tmp_path)
    assert says in next_step(tmp_path / "p.json")


@pytest.mark.parametrize(
    "steps, says", [(2, "3 steps or more"), (3, "--timed 1 "), (4, "--timed 2 "), (9, "--timed 3 ")]
)
def test_a_short_training_gets_advice_that_its_steps_are_enough_for(plan, steps, says):
    recording = Recording(plan(), CountingEngine())
    for _ in range(steps):
        recording.pass_step()
    assert says in recording.shortage("The loop")
    recording.abort()


def sized(pixels: int, trained: int = 10, batch: int = 8, calls: int = 1) -> StepKind:
    return StepKind(BatchSizes(batch, pixels, pixels), calls, trained)


SMALL, LARGE = sized(32), sized(48)


@pytest.mark.parametrize(
    "kinds, enough, usual, latencies",
    [
        ([SMALL] * 3, False, SMALL, [1, 2, 3]),
        ([SMALL] * 4, True, SMALL, [1, 2, 3, 4]),
        ([SMALL, LARGE, SMALL, SMALL], True, SMALL, [1, 3, 4]),
        ([None] * 4, True, None, [1, 2, 3, 4]),
        ([sized(side) for side in range(4)], False, None, None),
        ([sized(side) for side in range(12)], True, None, None),
        # The latency of the last: two calls; the others have one.
        ([sized(side) for side in range(11)] + [sized(32, batch=16, calls=2)], True, None, [*range(2, 23, 2), 12]),
    ],
)
def test_the_steps_that_are_timed(kinds, enough, usual, latencies):
    times = Times(4)
    for number, kind in enumerate(kinds, start=1):
        times.add(number, kind)
    assert (times.are_enough(3), times.usual) == (enough, usual)
    assert times.of(kinds[-1])[0] == (latencies or list(range(1, len(kinds) + 1)))


@pytest.mark.parametrize(
    "other, says",
    [
        (sized(32, batch=4), "a batch of 4 instead of 8"),
        (LARGE, "images of 48 pixels instead of 32"),
        (SMALL._replace(tested=True), "the network also ran without gradients, as in a validation"),
        (sized(32, trained=20), "20 trained parameters instead of 10"),
        (sized(32, calls=3), "3 calls of the network instead of 1"),
        (StepKind(BatchSizes(8, 16, 64), 1, 10), "16 x 64 instead of 32 x 32 pixels"),
    ],
)
def test_what_is_different(other, says):
    assert other.difference(SMALL) == says


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
    sizes = batch_sizes(batch, channels_last=channels_last)
    assert (sizes.batch_size, sizes.height, sizes.width) == expected
    assert sizes.is_list == (isinstance(batch, list) and expected[0] == 2)


def test_pixels_are_the_side_of_a_square_and_what_one_batch_lacks_the_other_tells():
    assert BatchSizes(1, 224, 224).pixels == 224
    assert BatchSizes(1, 200, 300).pixels == 245
    assert BatchSizes(1).pixels is None
    assert completed(BatchSizes(8), BatchSizes(None, 32, 32)) == BatchSizes(8, 32, 32)
    assert completed(BatchSizes(8, 16, 16), BatchSizes(4, 32, 32)) == BatchSizes(8, 16, 16)
    assert completed(BatchSizes(3, is_guess=True), BatchSizes(8, 32, 32)) == BatchSizes(8, 32, 32)


def test_the_largest_pictures_of_a_step_count():
    seen = ObservedSizes(channels_last=True)

    def step(*shape):
        seen.observe(tensor(*shape))
        seen.end_step()
        return seen.last

    assert step(8, 32, 32, 3) == BatchSizes(8, 32, 32)
    assert step(4, 64, 64, 3) == BatchSizes(4, 64, 64)
    seen.end_step()
    assert seen.last.batch_size == 4, "a step in which nothing was seen"
    seen = ObservedSizes(channels_last=True)
    for shape in ((8, 100), (16, 32, 32, 3), (4, 8, 8, 3), (2, 32, 32, 3)):
        seen.observe(tensor(*shape))
    seen.end_step()
    assert seen.last == BatchSizes(16, 32, 32)


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
