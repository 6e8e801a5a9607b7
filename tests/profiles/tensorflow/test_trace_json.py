"""TensorFlow's trace.json: the same rules as for the xplane.pb it is made from."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from profet_core import Profile, read_profile
from profet_profiles import trace_json as reader
from profet_profiles.tensorflow_trace import kernel_operation, operation_type, public_type
from tests.made.chrome_traces import tensorflow_trace, tf_event, tf_step
from tests.made.refused import refusal
from tests.made.tensorflow_stats import tensorflow_stats
from tests.made.xplane import GPU_STEP_US, gpu_step, gpu_step_2_4, xplane


def test_the_mean_of_two_steps():
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), *tf_step(1, 1000)]))
    assert dict(profile.operations) == pytest.approx(
        {
            "Device_Conv2D": 40.0,
            "Device_Relu": 10.0,
            # From the first kernel at 120 to the end of the last copy at 1,420, less 100 that have an operation.
            "Device_IDLE": (1300 - 100) / 2,
            "Host_Conv2D": 50.0,
            "Host_Relu": 25.0,
            "Host_Dataset": 30.0,
            # One thread from 100 to 1,225 with 150 in operations, one from 20 to 1,050 with 60.
            "Host_IDLE": (1125 - 150 + 1030 - 60) / 2,
        }
    )
    assert (profile.steps, profile.meta.framework, profile.source_format) == (2, "TensorFlow", "TensorFlow trace.json")
    assert (profile.warnings, profile.ignored) == ((), ())
    assert "secret" not in repr(profile)


def test_odd_events_and_threads_of_other_processes_break_nothing_and_are_counted():
    events = [*tf_step(0, 0), tf_event("Conv2D", 5, 5, pid=8, long_name="a:Conv2D")]
    profile = read_profile(tensorflow_trace(events))
    assert profile.operations["Host_Conv2D"] == 50
    assert profile.ignored == ("1 threads that belong to neither the host nor a GPU",)
    untimed = [{"ts": None}, {"dur": "5"}, {"dur": -5}, {"ts": 10**400}]
    odd = [tf_event("a", 0, 5, long_name="a:Mul") | change for change in untimed]
    changes = [{"args": 5}, {"name": None}, {"pid": [1]}, {"tid": {}}, {"ph": 1}]
    odd += [tf_event("other", 10, 5) | change for change in changes]
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), *odd]))
    assert profile.operations == read_profile(tensorflow_trace(tf_step(0, 0))).operations
    assert "4 events of the CPU without a valid time" in profile.ignored


def test_kernels_without_an_operation_count_by_their_names():
    named = [tf_event("volta_h884gemm_64x64", 600, 150, pid=1, tid=14), tf_event("fusion_12", 600, 50, pid=1, tid=14)]
    profile = read_profile(tensorflow_trace([*tf_step(0, 0), *named]))
    assert (profile.operations["Device_MatMul"], profile.operations["Device_Unknown"]) == (150, 50)
    assert (profile.meta.compiled, profile.meta.precision) == (True, "amp")
    (warning,) = profile.warnings
    assert warning.startswith("60% of the GPU time is in kernels that name no operation")


def test_a_forward_pass_and_a_jax_trace_are_refused_by_name():
    assert read_profile(tensorflow_trace(tf_step(0, 0))).refusal.startswith("This profile has only a forward pass")
    gradient = tf_event("k", 500, 5, pid=1, tid=14, tf_op="gradient_tape/secret/d/MatMul:MatMul")
    assert read_profile(tensorflow_trace([*tf_step(0, 0), gradient])).refusal == ""
    jax = [tf_event("PjitFunction(f)", 0, 10), tf_event("a", 0, 1, pid=1, tid=14)]
    assert "This is a JAX profile" in refusal(tensorflow_trace(jax))


def test_a_trace_that_xprof_cut_says_so_and_one_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(reader, "XPROF_MAX_EVENTS", 5)
    assert "upload the xplane.pb beside it" in read_profile(tensorflow_trace(tf_step(0, 0))).warnings[0]
    monkeypatch.setattr(reader, "MAX_NAMES", 100)
    for events, says in (
        ([tf_event("t", i, 1, step_num=i) for i in range(101)], "more than 100 different names"),
        ([tf_event("a", i, 1, tid=i) for i in range(201)], "more than 100 different names or threads"),
    ):
        assert says in refusal(tensorflow_trace(events))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (tensorflow_trace([]), "no operation of a /host:CPU or /device:GPU:N process"),
        (tensorflow_trace(tf_step(0, 0), {5: "/device:FPGA:0"}), "no operation of a /host:CPU"),
        (tensorflow_trace(tf_step(0, 0))[:-60], "truncated"),
        (tensorflow_trace([tf_event("a", 0, 1e17, long_name="a:Mul")]), "an implausible time"),
    ],
)
def test_what_can_not_be_read_is_refused_in_one_line(data, says):
    assert says in refusal(data)


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        ("_MklNativeFusedConv2D", "_FusedConv2D"),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2DBackpropFilter"),
        ("_MklFusedBatchNormV3", "FusedBatchNormV3"),
        ("_MklNativeFusedBatchNormGradV3", "FusedBatchNormGradV3"),
        ("_MklNativeFusedBatchNormEx", "_FusedBatchNormEx"),
        ("Conv2D", "Conv2D"),
        ("_Mkl", "_Mkl"),
        ("_mkl_secret", "Unknown"),
    ],
)
def test_what_onednn_adds_to_a_type_is_taken_away(kind, plain):
    assert public_type(kind) == plain
    assert operation_type(f"net/layer:{kind}") == plain


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("net/c:Conv2D#a=b#", "Conv2D"),
        ("a::b::net/c:Conv2D#a=b#::net/r:Relu", "Conv2D"),
        ("a/_4:_Recv#from=x,to=y#::#edge_name=e#", "_Recv"),
        ("MEMCPYHtoD", "MemcpyHToD"),
        ("MakeTensorFromProto", "MemcpyHToD"),
        ("jit(f)/jit(main)/dot_general:", "Unknown"),
        ("", "Unknown"),
        (":" * 4096, "Unknown"),
    ],
)
def test_the_first_level_of_a_kernels_label_with_a_type_tells(label, kind):
    assert kernel_operation(label) == kind


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


def test_the_views_of_a_made_up_gpu_step_and_of_tensorflow_2_4_are_what_it_adds_up_to():
    files = sorted(XPROF_VIEWS.glob("gpu-step.*"))
    assert len(files) == 4
    assert (XPROF_VIEWS / "gpu-step.xplane.pb").read_bytes() == xplane(gpu_step(), capability=7)
    for file in files:
        profile = read_profile(file.read_bytes())
        assert_same_operations(profile, GPU_STEP_US)
        assert (profile.steps, profile.warnings) == (1, ())
    for name, make in VIEWS_2_4.items():
        data = make()
        # The files are what the fuzzer damages.
        assert (XPROF_VIEWS / name).read_bytes() == data
        profile = read_profile(data)
        assert profile.source_format == f"TensorFlow {name.removeprefix('step-2.4.')}"
        assert_same_operations(profile, GPU_STEP_US)
        assert (profile.steps, profile.warnings, profile.refusal) == (1, (), "")
        assert profile.steps_basis != "assumed"


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


@pytest.mark.parametrize(
    "process",
    [
        "/device:GPU:0/stream:all Compute",
        "/job:localhost/replica:0/task:0/device:CPU:0 Compute",
        "/job:worker/replica:0/task:0/gpu:0/memcpy Compute",
    ],
)
def test_a_timeline_of_tensorflow_1_is_refused_by_its_name(process):
    step = {"ph": "X", "cat": "Op", "name": "Conv2D", "pid": 1, "tid": 0, "ts": 0, "dur": 40, "args": {"op": "Conv2D"}}
    named = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": process}}
    message = refusal(json.dumps({"traceEvents": [named, step]}, indent=1).encode(), "run.json")
    assert message.startswith("run.json: this is a TensorFlow 1 Timeline, ") and "TensorFlow 2's profiler" in message
