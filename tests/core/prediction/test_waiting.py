"""What holds a step up: idle time, waits for input, and what the host spends on it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from profet_core import Profile, ProfileMeta, predict, read_profile
from profet_core.ensemble.members import profile_batch
from profet_core.ensemble.operations import load_operation_classes
from profet_core.ensemble.work import StepTimes
from profet_core.errors import Code
from profet_core.prediction.checks import diagnose, host_times_ms, input_wait_ms, without_input_wait


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
    diagnosis = diagnose(profile(busy_us, 50_000), latency_ms)
    assert (diagnosis.kind, diagnosis.latency_known) == (kind, True)
    assert diagnosis.gpu_busy_share == pytest.approx(share)
    assert diagnosis.another_gpu_helps is (kind == "busy")
    # Kernels count alike whatever the framework, and a latency that is given goes before the profile's.
    for fields in ({"source": "PyTorch trace"}, {"framework": "PyTorch 2.13"}, {"step_latency_ms": 77.0}):
        assert diagnose(profile(busy_us, **fields), latency_ms).gpu_busy_share == pytest.approx(share)
    assert diagnose(profile(busy_us, step_latency_ms=latency_ms)).kind == kind


@pytest.mark.parametrize(("busy_us", "idle_us", "kind"), [(4_100, 5_900, "busy"), (3_900, 6_100, "idle")])
def test_without_a_latency_the_gpu_s_idle_time_decides(busy_us, idle_us, kind):
    diagnosis = diagnose(profile(busy_us, idle_us))
    assert (diagnosis.kind, diagnosis.latency_known) == (kind, False)
    assert diagnosis.gpu_busy_share == pytest.approx(busy_us / 10_000)
    assert diagnose(profile(0.0, 5_000)).kind == "idle"


@pytest.mark.parametrize("waits", ["Host_Dataset", "Host_IteratorGetNext", "Host_Iterator::Prefetch"])
def test_a_wait_for_input_while_the_gpu_idles_is_called_out(waits):
    diagnosis = diagnose(profile(5_000, host={waits: 4_000}), 10.0)
    assert diagnosis.kind == "input" and not diagnosis.another_gpu_helps
    assert diagnosis.input_share == pytest.approx(0.4)
    assert "40%" in diagnosis.sentence and "50%" in diagnosis.sentence


def test_what_is_no_wait_of_the_gpu_is_not_called_out(samples):
    assert diagnose(profile(7_000, host={"Host_Dataset": 8_000}), 10.0).kind == "busy"
    assert diagnose(profile(5_800, host={"Host_Dataset": 1_450}), 10.0).kind == "busy"
    assert diagnose(profile(5_800, host={"Host_GatherV2": 9_000}), 10.0).kind == "busy"
    # A PyTorch step waits for its loader however busy the rest is.
    for waits_us, kind in ((1_600, "input"), (1_400, "busy")):
        assert diagnose(profile(7_000, source="PyTorch trace", host={"Host_Dataset": waits_us}), 10.0).kind == kind
    diagnoses = [diagnose(profile(busy_us), 10.0) for busy_us in (5_400, 7_400, 7_600)]
    assert [each.kind for each in diagnoses] == ["idle", "busy", "busy"]
    assert ["faster GPU shortens only that part" in each.sentence for each in diagnoses] == [False, True, False]
    without_gpu = diagnose(Profile({"Host_MatMul": 5.0, "Host_IDLE": 1e6}), 10.0)
    assert (without_gpu.kind, without_gpu.gpu_busy_share) == ("no GPU", None)
    assert "No GPU time" in without_gpu.sentence and without_gpu.warning is None
    kinds = {name: diagnose(sample.profile).kind for name, sample in samples.items()}
    assert {name for name, kind in kinds.items() if kind != "busy"} == {"lenet5-32px-b16-g3s"}


PYTORCH, TENSORFLOW = "PyTorch 2.13", "TensorFlow 2.21"


def step(framework: str | None = PYTORCH, *, busy=60_000.0, idle=40_000.0, source="operations", **host) -> Profile:
    rows = {f"Host_{name}": us for name, us in host.items()}
    operations = {"Device_Conv2D": busy, "Device_IDLE": idle, **rows}
    return Profile(operations, ProfileMeta(framework=framework), source)


def test_pytorch_waits_for_its_loader_and_tensorflow_in_taking_the_next_batch():
    # Up to a twentieth of the step is noise.
    for loader_us, wait_ms in ((5_000.0, 0.0), (5_001.0, 5.001), (30_000.0, 30.0), (70_000.0, 40.0)):
        assert input_wait_ms(step(Dataset=loader_us)) == pytest.approx(wait_ms)
        assert input_wait_ms(step(None, source="PyTorch trace", Dataset=loader_us)) == pytest.approx(wait_ms)
    assert input_wait_ms(step(idle=0.0, Dataset=90_000.0)) == 0
    assert input_wait_ms(Profile({"Device_Conv2D": 5.0, "Host_Dataset": 9.0}, ProfileMeta(framework=PYTORCH))) == 0
    assert input_wait_ms(step(TENSORFLOW, IteratorGetNext=30_000.0)) == pytest.approx(30)
    assert input_wait_ms(step(TENSORFLOW, Dataset=30_000.0)) == 0
    assert input_wait_ms(step(None, Dataset=30_000.0, IteratorGetNext=20_000.0)) == pytest.approx(20)
    assert input_wait_ms(step(PYTORCH, IteratorGetNext=30_000.0)) == 0


def test_the_wait_leaves_step_and_latency():
    fed, latency_ms = without_input_wait(step(Dataset=30_000.0), 105.0)
    assert latency_ms == pytest.approx(75)
    assert dict(fed.operations) == {"Device_Conv2D": 60_000, "Device_IDLE": 10_000, "Host_Dataset": 0}
    again, none = without_input_wait(step(Dataset=30_000.0), None)
    assert (again, none) == (fed, None)
    assert input_wait_ms(step(Dataset=30_000.0)) == pytest.approx(30.0)
    # A fifth of the latency is left at least; a fed step is left alone.
    assert without_input_wait(step(busy=1000.0, Dataset=40_000.0), 41.0)[1] == pytest.approx(8.2)
    whole = step(Dataset=5_000.0)
    assert without_input_wait(whole, 105.0) == (whole, 105.0) and input_wait_ms(whole) == 0


def few(samples) -> list:
    """A convolutional network, one bound by launches, and a profile that TensorFlow cut short."""
    return [samples[name] for name in ("vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s", "resnet50-128px-b256-g4dn")]


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
    for sample in few(samples):
        # The loader's own row starts from nothing: PROFET's profiles hold `tf.data` reading beside the step there.
        fed = stalled(Profile({**sample.profile.operations, row: 0.0}), row, 0.0)
        wait_ms = wait_share * sample.latency_ms
        late = stalled(fed, row, wait_ms)
        # A step that is mostly waiting is not doubted: its device rows hold the wait as its latency does.
        predictions = [
            predict(models, catalog, profile, sample.anchor, latency_ms=latency_ms if given else None, method=method)
            for profile, latency_ms in ((fed, sample.latency_ms), (late, sample.latency_ms + wait_ms))
        ]
        (fed_anchor, *fed_rows), (late_anchor, *late_rows) = (prediction.predictions for prediction in predictions)
        (note,) = (note for note in predictions[1].warnings if note.code is Code.INPUT_WAIT)
        assert note.values["share"] == pytest.approx(1000 * input_wait_ms(late) / late.device_total_us)
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


IN_PYTORCH = ProfileMeta(framework="PyTorch 2.13")
ON_DEVICE = {"Device_Conv2D": 60_000.0, "Device_FusedBatchNormV3": 40_000.0, "Device_IDLE": 12_000.0}


def hosted(meta: ProfileMeta = IN_PYTORCH, **host: float) -> Profile:
    return Profile({**ON_DEVICE, **{f"Host_{name}": us for name, us in host.items()}}, meta)


def test_pytorchs_host_times_add_up_without_waits():
    waits = dict.fromkeys(("IDLE", "Dataset", "_Send", "_Recv", "_HostRecv"), 90_000.0)
    assert host_times_ms([hosted(aten_conv2d=8_000.0, aten_relu=2_000.0, **waits)])[0] == pytest.approx(10.0)
    # TensorFlow runs on many threads; or nothing is known.
    others = [hosted(ProfileMeta(framework=name), Conv2D=8_000.0) for name in ("TensorFlow 2.21", None)]
    for given in (*others, hosted(), hosted(IDLE=90_000.0)):
        assert host_times_ms([given])[0] == np.inf


def test_the_host_s_own_time_is_that_of_launches_and_a_light_one_lets_a_fast_gpu_be_faster(models, catalog):
    """A PyTorch step whose gaps say many launches, and whose host says few."""
    launches_ms = []
    for meta in (IN_PYTORCH, ProfileMeta(framework="TensorFlow 2.21")):
        batch = profile_batch([hosted(meta, aten_conv2d=6_000.0)], "p3.2xlarge", np.array([105.0]))
        times = StepTimes.of(load_operation_classes(), batch.inputs, host_times_ms(batch.profiles))
        launches_ms.append(times.launch_ms[0])
    assert launches_ms[0] < 6 / 1.5 and launches_ms[1] > 20
    light, heavy = (
        predict(
            models, catalog, hosted(aten_conv2d=us), "p3.2xlarge", latency_ms=105.0, targets=["p5.4xlarge"]
        ).predictions[1]
        for us in (4_000.0, 100_000.0)
    )
    assert light.latency_ms < heavy.latency_ms
    assert heavy.latency_ms > 1.03 * light.latency_ms and not light.limited_by_host
