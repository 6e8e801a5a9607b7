"""PyTorch traces: what each operation's time is, where it goes, and what the profile says about itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from profet_core import NoPredictionError, predict, read_profile
from profet_core.ensemble.operations import load_operation_classes
from profet_lab.measurements.tables import data_folder
from profet_profiles.pytorch_events import parse_kernel, shares, translate
from profet_profiles.pytorch_trace import FORWARD_ONLY
from profet_profiles.record import ACCUMULATED, NO_WORK, TRANSLATED_WARNING
from tests.made.chrome_traces import CUDA_STEP_US, call, cuda_step, event, kernel, loop_step, op, step, trace, update
from tests.made.refused import refusal

RECORDED = Path(__file__).parent / "recorded" / "pytorch-2.13-cpu.pt.trace.json.gz"
GPU = [{"id": 0, "name": "Tesla T4", "computeMajor": 7, "computeMinor": 5}]


def operations(events: list[dict], **entries: object) -> dict[str, float]:
    return dict(read_profile(trace(events, **entries)).operations)


def test_the_mean_of_two_steps_on_a_gpu():
    profile = read_profile(trace([*cuda_step(3, 0), *cuda_step(4, 1000)], deviceProperties=GPU))
    # The GPU works 480 of the 1,000 us from the end of one step's last kernel to that of the next.
    idle_us = 1000 - 480
    # In a step thread 1 has operations for 140 us, from 100 to 720; thread 2 from 400 to 600 without a gap.
    host_idle_us = (720 - 100) - 140
    assert dict(profile.operations) == pytest.approx(
        CUDA_STEP_US | {"Device_IDLE": idle_us, "Host_IDLE": host_idle_us}, rel=1e-12
    )
    assert (profile.steps, profile.steps_basis, profile.may_be_cut, profile.refusal) == (2, "marked", False, "")
    assert profile.source_format == "PyTorch trace"
    assert (profile.meta.gpu, profile.meta.framework, profile.meta.precision) == ("Tesla T4", "PyTorch", "fp32")
    assert profile.meta.step_latency_ms is None
    assert profile.warnings == (TRANSLATED_WARNING,)
    assert profile.ignored == (
        "0.05 ms per step on the CPU in views, allocations, autograd wrappers and user labels",
        "the length of a profiled step (1 ms): it is shorter without the profiler",
    )


def cuda_step_on(number: int) -> list[dict]:
    """A step whose kernels tell the GPU's number."""
    return [
        event | {"args": event["args"] | {"device": number}} if event.get("cat") in ("kernel", "gpu_memcpy") else event
        for event in cuda_step(1, 0)
    ]


def held(mib: object, device: object = 0, kind: object = 1) -> dict:
    """What `profile_memory=True` notes at an allocation."""
    args = {"Total Reserved": 2**40, "Total Allocated": mib, "Bytes": 512, "Device Id": device, "Device Type": kind}
    noted = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]"}
    return {**noted, "pid": 1, "tid": 1, "ts": 150, "args": args}


def test_a_trace_that_notes_allocations_tells_the_peak():
    mib = 2**20
    notes = [held(1000 * mib), held(3500 * mib), held(2000 * mib), held(8000 * mib, device=-1, kind=0)]
    plain = read_profile(trace(cuda_step(1, 0), deviceProperties=GPU))
    only = read_profile(trace([*notes, *cuda_step(1, 0)], deviceProperties=GPU))
    assert (only.meta.peak_memory_mib, plain.meta.peak_memory_mib) == (3500.0, None)
    assert only.operations == plain.operations, "nothing else changes"
    two = [*notes, held(9000 * mib, device=1)]
    for number, peak in ((0, 3500.0), (1, 9000.0), (2, None)):
        numbered = read_profile(trace([*two, *cuda_step_on(number)]))
        assert numbered.meta.peak_memory_mib == peak, "the GPU whose times these are"
    assert read_profile(trace([*two, *cuda_step(1, 0)])).meta.peak_memory_mib is None, "which of the two is not said"


def test_a_kernel_counts_for_the_step_and_operation_that_started_it_or_by_its_name():
    late = [op("aten::mm", 1900, 50), call(901, 1910), kernel("sgemm", 901, 2100, 60)]
    outside = [op("aten::mm", 2050, 50), call(902, 2060), kernel("sgemm", 902, 2200, 999)]
    times_us = operations([*cuda_step(1, 0), *cuda_step(2, 1000), *late, *outside])
    assert times_us["Device_MatMul"] == 30
    assert times_us["Host_MatMul"] == 25
    events = [
        op("aten::conv2d", 0, 100),
        op("aten::cudnn_convolution", 10, 20),
        op("aten::add", 30, 20),
        call(1, 10),
        kernel("a", 1, 200, 1),
        call(2, 30),
        kernel("b", 2, 210, 2),
        call(3, 60),
        kernel("c", 3, 220, 4),
        call(4, 100),
        kernel("d", 4, 230, 8),
    ]
    times_us = operations(events)
    assert (times_us["Device_Conv2D"], times_us["Device_AddV2"], times_us["Device_Unknown"]) == (1 + 4, 2, 8)
    alone = [kernel("replayed", 999, 800, 40), kernel("volta_sgemm_64x64_nn", 999, 840, 60)]
    profile = read_profile(trace([*cuda_step(1, 0), *alone]))
    assert profile.warnings[1].startswith("17% of the GPU time belongs to no operation in the trace (CUDA")
    assert (profile.operations["Device_Unknown"], profile.operations["Device_MatMul"]) == (40, 60)


@pytest.mark.parametrize("owner", ["aten::reshape", "mine::layer"])
def test_time_under_an_operation_that_says_nothing_goes_by_the_kernel(owner):
    events = [op(owner, 0, 10), call(1, 1), kernel("volta_sgemm_64x64_nn", 1, 5, 30)]
    assert operations(events)["Device_MatMul"] == 30


@pytest.mark.parametrize(
    ("name", "category", "expected"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", "_Send"),
        ("Memcpy DtoD (Device -> Device)", "gpu_memcpy", "MemcpyDToD"),
        ("void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>", "kernel", "Cast"),
        ("void batched_transpose_32x32_half", "kernel", "Transpose"),
    ],
)
def test_a_copy_is_what_its_kernel_does(name, category, expected):
    events = [op("aten::copy_", 0, 10), call(1, 1), kernel(name, 1, 5, 30, category)]
    assert operations(events)[f"Device_{expected}"] == 30


@pytest.mark.parametrize("category", ["cuda_runtime", "cuda_driver", "xpu_runtime", "Runtime"])
def test_a_kernel_is_of_the_operation_that_called_it_whatever_the_runtime(category):
    events = [op("aten::mm", 0, 10), call(1, 1) | {"cat": category}, kernel("a", 1, 5, 30)]
    assert operations(events)["Device_MatMul"] == 30


def test_overlapping_kernels_of_a_gpu_that_never_waits_share_its_time():
    events = [op("aten::mm", 0, 10), call(1, 1), kernel("a", 1, 2, 40)]
    events += [op("aten::relu", 20, 10), call(2, 21), kernel("b", 2, 22, 40)]
    times_us = operations([step(1, 0, 62), *events])
    # Each runs for 40 us, and either for 60.
    assert (times_us["Device_MatMul"], times_us["Device_Relu"], times_us["Device_IDLE"]) == (30, 30, 2)


@pytest.mark.parametrize(
    ("name", "step_ms", "queued"),
    [
        ("queued-before-recording-a100-rank0.json.gz", 216.1, "59.5"),
        ("queued-before-recording-v100.json.gz", 119.8, "56.5"),
    ],
)
def test_recorded_steps_hold_no_work_from_before_the_recording(name, step_ms, queued):
    profile = read_profile(data_folder() / "real_profiles" / "pytorch" / name)
    assert f"{queued} ms of kernels launched before the recording began" in profile.ignored
    assert profile.device_total_us / 1000 == pytest.approx(step_ms, rel=0.01)


def on_gpu(device: int, events: list[dict]) -> list[dict]:
    return [made | {"args": made["args"] | {"device": device}} for made in events]


def test_of_several_gpus_the_busiest_counts_and_it_says_so():
    gpus = [{"id": 0, "name": "Tesla T4"}, {"id": 1, "name": "Tesla V100"}]
    more = [op("aten::mm", 800, 10), call(77, 801), *on_gpu(1, [kernel("sgemm", 77, 810, 5)])]
    other = [op("aten::mm", 820, 10), call(78, 821), *on_gpu(0, [kernel("sgemm", 78, 830, 470)])]
    profile = read_profile(trace([*on_gpu(1, cuda_step(1, 0)), *more, *other], deviceProperties=gpus))
    assert profile.meta.gpu == "Tesla V100"
    assert {name: us for name, us in profile.operations.items() if name.startswith("Device")} == {
        name: us for name, us in CUDA_STEP_US.items() if name.startswith("Device")
    } | {"Device_MatMul": 5.0, "Device_IDLE": 1000 - 485.0}
    (warning,) = profile.warnings[1:]
    assert "ran on several GPUs" in warning and "of the busiest of the 2 GPUs" in warning
    distributed = trace(cuda_step(1, 0), distributedInfo={"backend": "nccl", "rank": 0, "world_size": 8})
    assert "ran on several GPUs" in read_profile(distributed).warnings[1]


@pytest.mark.parametrize("name", ["ncclDevKernel_AllReduce_Sum_f32_RING_LL", "Memcpy PtoP (Device -> Device)"])
def test_communication_counts_for_what_it_takes_beyond_the_computing(name):
    # 130-330 the GPU computes, and again 340-370; from 300 to 400 it talks: 10 + 30 us are its own.
    talk = [op("c10d::allreduce_", 290, 5, 3), call(9, 291, 3), kernel(name, 9, 300, 100)]
    profile = read_profile(trace([*cuda_step(1, 0), *talk]))
    assert profile.operations["Device_NcclAllReduce"] == 40
    assert profile.operations["Device_IDLE"] == 1000 - 480 - 40
    assert profile.warnings[1].startswith("This step ran on several GPUs, and communication took 4%")


def closure_step(number: int, at: float) -> list[dict]:
    """`loop_step` as an optimizer with a closure shows it: its mark encloses the forward and the backward pass."""
    events = [event for event in loop_step(number, at) if not event["name"].startswith("Optimizer.step#")]
    return [*events, update(at + 50, 910)]


def test_what_runs_in_an_optimizers_closure_is_no_update():
    in_loop = operations([*loop_step(1, 0), *loop_step(2, 1000)])
    in_closure = operations([*closure_step(1, 0), *closure_step(2, 1000)])
    assert in_loop["Device_ResourceApplyMomentum"] == 20 and in_loop["Device_Conv2D"] == 200
    assert {name: us for name, us in in_closure.items() if not name.endswith("IDLE")} == pytest.approx(
        {
            # A copy of the closure's behind the backward pass belongs to whichever: on the host it counts as update.
            **{name: us for name, us in in_loop.items() if not name.endswith("IDLE") and name != "Host__Send"},
            "Host_ResourceApplyMomentum": in_loop["Host_ResourceApplyMomentum"] + in_loop["Host__Send"],
        }
    )


def test_a_step_with_nothing_but_an_update_or_a_forward_pass_is_refused():
    events = [update(0, 50), op("aten::mul_", 10, 20), update(100, 50), op("aten::mul_", 110, 20)]
    on_gpu = [call(1, 12), kernel("vectorized_elementwise_kernel<MulFunctor>", 1, 15, 8)]
    assert read_profile(trace([*events, *on_gpu])).refusal == NO_WORK
    forward = [made for made in cuda_step(1, 0) if "ackward" not in made["name"] and "grad" not in made["name"]]
    assert read_profile(trace(forward)).refusal == FORWARD_ONLY
    transposed = [op("aten::cudnn_convolution_transpose", 5, 50), call(8, 10), kernel("dgrad_engine", 8, 12, 40)]
    assert read_profile(trace([*forward, *transposed])).refusal == FORWARD_ONLY
    assert read_profile(trace(cuda_step(1, 0))).refusal == ""
    assert read_profile(trace(kernels_alone(3))).refusal == ""


@pytest.mark.parametrize("made", [cuda_step, loop_step], ids=["ProfilerStep", "Optimizer.step"])
def test_one_step_recorded_once_twice_and_five_times_is_the_same_step(made):
    once, twice, five = (
        read_profile(trace([event for number in range(count) for event in made(number, 1000 * number)]))
        for count in (1, 2, 5)
    )
    assert (once.steps, twice.steps, five.steps) == (1, 2, 5)
    assert once.steps_basis == five.steps_basis == ("marked" if made is cuda_step else "counted")
    assert dict(once.operations) == dict(twice.operations) == dict(five.operations)
    assert five.device_total_us == pytest.approx(1000)


def test_paddles_names_have_durations_and_its_marks_steps():
    def renamed(made: dict) -> dict:
        paddles = {"user_annotation": "ProfileStep", "cpu_op": "Operator", "cuda_runtime": "CudaRuntime"}
        args = {name.replace("correlation", "correlation id"): value for name, value in made["args"].items()}
        name = f"{made['name'].replace('Profiler', 'Profile')}[{made['dur'] / 1000:.3f} ms]"
        return {**made, "cat": paddles.get(made["cat"], made["cat"]), "name": name, "args": args}

    events = [*cuda_step(1, 0), *cuda_step(2, 1000)]
    profile = read_profile(trace(list(map(renamed, events)), span_indx="0"))
    assert (profile.steps, profile.steps_basis, profile.meta.framework) == (2, "marked", "PaddlePaddle")
    assert profile.operations == read_profile(trace(events)).operations


@pytest.mark.parametrize(
    ("marks", "steps"),
    [
        ([("SGD", 3)], 3),
        # Two networks with an optimizer each; one that is trained five times as often; one that missed a step.
        ([("Adam", 3), ("SGD", 3)], 3),
        ([("Adam", 2), ("RMSprop", 10)], 2),
        ([("Adam", 3), ("SGD", 2)], 3),
    ],
)
def test_optimizers_tell_the_number_of_steps(marks, steps):
    events = [made for number in range(3) for made in cuda_step(number, 1000 * number)[1:]]
    for index, (optimizer, count) in enumerate(marks):
        for turn in range(count):
            at = 3000 * (turn + 1) / count - 100 + 10 * index
            # PyTorch has written the label as an operation too.
            events += [update(at, 8, optimizer), update(at, 8, optimizer) | {"cat": "cpu_op"}]
    assert (read_profile(trace(events)).steps, read_profile(trace(events)).steps_basis) == (steps, "counted")


def test_an_incomplete_last_and_a_first_step_of_start_up_are_left_out_or_refused():
    cut = [made for made in loop_step(2, 2000) if made["ts"] < 2700]
    profile = read_profile(trace([*loop_step(0, 0), *loop_step(1, 1000), *cut]))
    assert (profile.steps, profile.operations["Device_Conv2D"]) == (2, 200)
    assert "what follows the last step: one that is not complete, or a test pass" in profile.ignored
    cold = [op("aten::empty", -9000, 10), op("aten::cudnn_convolution", -8900, 7800), *loop_step(9, -1000)]
    events = [*cold, *(made for number in range(3) for made in loop_step(number, 1000 * number))]
    profile = read_profile(trace(events))
    assert profile.steps == 4
    assert profile.operations == read_profile(trace(loop_step(0, 0))).operations
    # From its first operation to the end of its last kernel, 52 us before the end of the step.
    assert "the first step (8.952 ms), in which libraries load; the others count" in profile.ignored
    cold = [op("aten::cudnn_convolution", 10_000, 50_000), call(1, 59_000), kernel("conv_fprop", 1, 59_010, 100)]
    profile = read_profile(trace([*cuda_step(1, 0), step(2, 10_000, 60_000)][1:-1] + cold))
    assert profile.refusal.startswith("This is a first step: one operation kept the GPU waiting for 50 of 5")


def test_repeated_gradients_tell_the_number_of_steps_and_without_any_sign_all_is_one():
    def gradients(number: int) -> list[dict]:
        names = ("NllLossBackward0", "AddmmBackward0", "ConvolutionBackward0", "ConvolutionBackward0")
        prefix = "autograd::engine::evaluate_function: "
        return [op(prefix + name, 1000 * number + 800 + 20 * index, 15, 2) for index, name in enumerate(names)]

    events = [made for number in range(3) for made in (*cuda_step(number, 1000 * number)[1:9], *gradients(number))]
    profile = read_profile(trace([op("aten::randperm", -50, 20), *events]))
    assert (profile.steps, profile.steps_basis, profile.operations["Device_Conv2D"]) == (3, "counted", 200)
    profile = read_profile(trace(kernels_alone(1)))
    assert (profile.steps, profile.steps_basis) == (1, "assumed")
    assert profile.operations["Device_MatMul"] == 100
    # An optimizer that does the same for each weight.
    names = ["sgemm", "relu", "sgemm", "threshold_", "sgemm", *(5 * [f"functor_{index}" for index in range(9)])]
    alike = read_profile(trace([kernel(name, -1, 90 * i, 50) for i, name in enumerate(names)]))
    assert (alike.steps, alike.steps_basis) == (1, "assumed")


def kernels_alone(count: int, tried: int = 0) -> list[dict]:
    """Steps of 1,000 us in kernels only, each of 50 us; in the first one cuDNN tries some more."""
    names = ["cudnn_fprop", "bn_fw", "relu", "sgemm", "nll_loss", "sgemm", "threshold_", "bn_bw", "dgrad", "wgrad"]
    steps = range(count)
    made = [kernel(name, -1, 1000 * at + 90 * i, 50) for at in steps for i, name in enumerate(names)]
    return [*made, *(kernel(f"cudnn_try_fprop_{index}", -1, 145 + index, 1) for index in range(tried))]


@pytest.mark.parametrize(("count", "tried"), [(2, 0), (4, 6)])
def test_kernels_alone_tell_operations_and_steps(count, tried):
    profile = read_profile(trace(kernels_alone(count, tried), deviceProperties=GPU))
    assert (profile.steps, profile.steps_basis) == (count, "counted")
    assert (profile.operations["Device_MatMul"], profile.operations["Device_Conv2DBackpropFilter"]) == (100, 50)
    assert profile.operations["Device_Conv2D"] == pytest.approx(50 + tried / count)
    assert profile.operations["Device_IDLE"] == 500
    assert "Device_Unknown" not in profile.operations
    assert profile.meta.gpu == "Tesla T4"


@pytest.mark.parametrize(
    ("optimizer", "inside", "expected"),
    [
        ("SGD", ["aten::_foreach_mul_", "aten::_foreach_add_"], "ResourceApplyMomentum"),
        ("AdamW", ["aten::_fused_adamw_"], "ResourceApplyAdam"),
        ("Adamax", ["aten::mul_"], "ResourceApplyAdaMax"),
        ("Adagrad", ["aten::addcdiv_"], "ResourceApplyAdagradV2"),
        ("RMSprop", ["aten::addcmul_"], "ResourceApplyRMSProp"),
        ("MyOwn", ["aten::mul_", "aten::sqrt"], "ResourceApplyAdam"),
        ("MyOwn", ["aten::mul_"], "ResourceApplyMomentum"),
    ],
)
def test_what_an_optimizer_starts_is_its_update(optimizer, inside, expected):
    events = [update(800, 100, optimizer)]
    for index, name in enumerate(inside):
        events += [op(name, 810 + 20 * index, 10), call(50 + index, 812 + 20 * index)]
        events += [kernel("vectorized_elementwise_kernel<MulFunctor>", 50 + index, 815 + 20 * index, 7)]
    times_us = operations([*cuda_step(0, 0), *events])
    assert times_us[f"Device_{expected}"] == 7 * len(inside)
    assert times_us[f"Host_{expected}"] == 10 * len(inside)
    assert {name for name in times_us if "ResourceApply" in name} == {f"Device_{expected}", f"Host_{expected}"}


def test_a_loader_that_stalls_shows_as_idle_time_of_the_gpu_and_as_the_input_pipeline():
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def stalled(number: int, at: float) -> list[dict]:
        shifted = [made | {"ts": made["ts"] + 700} for made in loop_step(number, at)]
        return [event("user_annotation", loader, at, 695), *shifted]

    profile = read_profile(trace([made for number in range(4) for made in stalled(number, 1700 * number)]))
    assert profile.operations["Host_Dataset"] == 695
    assert profile.operations["Device_IDLE"] == 1700 - 500
    assert profile.operations["Device__Send"] == 40
    assert (profile.steps, profile.device_total_us, profile.may_be_cut) == (4, 1700, False)


def test_a_cpus_profile_has_host_rows_only_and_no_gpu_though_the_machine_has_one(models, catalog):
    events = [step(1, 0, 100), op("aten::mkldnn_convolution", 10, 50), op("aten::view", 70, 10)]
    profile = read_profile(trace(events, deviceProperties=GPU))
    assert dict(profile.operations) == {"Host_Conv2D": 50.0, "Host_IDLE": 10.0}
    assert (profile.meta.gpu, profile.warnings) == (None, (TRANSLATED_WARNING,))
    with pytest.raises(NoPredictionError, match="no GPU time"):
        predict(models, catalog, profile, "g4dn.xlarge")


def test_a_recorded_trace_of_two_steps_on_a_cpu():
    profile = read_profile(RECORDED.read_bytes())
    assert profile.steps == 2
    assert (profile.meta.batch_size, profile.meta.pixels, profile.meta.framework) == (8, 32, "PyTorch")
    expected = """AddV2 BiasAddGrad ConcatV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput Dataset
    FusedBatchNormGradV3 FusedBatchNormV3 IDLE MatMul MaxPool MaxPoolGrad Mean RealDiv Relu ReluGrad
    ResourceApplyGradientDescent Softmax SoftmaxCrossEntropyWithLogits _Send"""
    names = {name.removeprefix("Host_") for name in profile.operations}
    assert {name for name in names if not name.startswith("aten::")} == set(expected.split())
    # Summed from the file by hand: self time of aten::max_pool2d_with_indices and of aten::max_pool2d over two steps.
    events = json.loads(gzip.decompress(RECORDED.read_bytes()))["traceEvents"]
    outer = [made["dur"] for made in events if made["name"] == "aten::max_pool2d"]
    assert len(outer) == 2
    assert profile.operations["Host_MaxPool"] == pytest.approx(sum(outer) / 2)
    # The first convolution's input needs no gradient: output_mask says so.
    assert profile.operations["Host_Conv2DBackpropFilter"] > 1.5 * profile.operations["Host_Conv2DBackpropInput"]


def test_waiting_for_data_is_the_input_pipeline_and_other_labels_stay_private():
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    profile = read_profile(
        trace(
            [
                event("user_annotation", loader, 0, 40),
                event("user_annotation", "my secret block", 100, 60),
                op("aten::mm", 110, 30),
                op("secret_library::layer", 150, 5),
                op("aten::new_thing", 155, 2),
            ]
        )
    )
    assert dict(profile.operations) == {
        "Host_Dataset": 40.0,
        "Host_MatMul": 30.0,
        "Host_Unknown": 5.0,
        "Host_aten::new_thing": 2.0,
        "Host_IDLE": 60.0,
    }
    assert "secret" not in repr(profile)


V100, SIZES = "Tesla V100-DGXS-32GB", (32, 224)


@pytest.mark.parametrize(
    ("name", "steps", "step_ms", "gpu", "sizes"),
    [
        ("resnet18-30steps-rtx2080ti.json.gz", 30, 333.6, "NVIDIA GeForce RTX 2080 Ti", (None, None)),
        ("resnet18-bf16-5steps-ddp-mi300x.json.gz", 5, 818.8, "AMD Instinct MI300X", (512, 224)),
        ("resnet50-224px-b32-v100-0workers.pt.trace.json.gz", 6, 152, V100, SIZES),
        ("resnet50-224px-b32-v100-4workers.pt.trace.json.gz", 6, 121, V100, SIZES),
        ("resnet50-torch1.8.pt.trace.json.gz", 6, 152.3, None, SIZES),
    ],
)
def test_real_traces(name, steps, step_ms, gpu, sizes):
    profile = read_profile((data_folder() / "real_profiles" / "pytorch" / name).read_bytes())

    assert (profile.steps, profile.steps_basis, profile.refusal) == (
        steps,
        "marked" if sizes == SIZES else "counted",
        "",
    )
    assert profile.device_total_us / 1000 == pytest.approx(step_ms, rel=0.005)
    assert profile.unknown_share < 0.005
    _, (unknown,) = load_operation_classes().encode([profile])
    assert unknown.share < 0.005, "hardly anything has no class"
    momentum = "Device_ResourceApplyMomentum" in profile.operations
    assert momentum == ("mi300x" not in name)
    assert (profile.meta.gpu, profile.meta.batch_size, profile.meta.pixels) == (gpu, *sizes)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("[True, True, False]", (50.0, 50.0)),
        ("[False, True, True]", (None, 100.0)),
        ("[1, 0, 0]", (100.0, None)),
        ("nonsense", (50.0, 50.0)),
    ],
)
def test_a_gradient_is_split_by_what_was_computed(mask, expected):
    times_us = operations([op("aten::convolution_backward", 0, 100, **{"Concrete Inputs": ["", "[1]", mask]})])
    assert (times_us.get("Host_Conv2DBackpropInput"), times_us.get("Host_Conv2DBackpropFilter")) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sm80_xmma_dgrad_implicit_gemm", {"Conv2DBackpropInput": 1.0}),
        ("void wgrad_alg0_engine<float>", {"Conv2DBackpropFilter": 1.0}),
        ("void conv_depthwise2d_backward_kernel<3>", {"DepthwiseConv2dNativeBackpropInput": 0.5,
                                                     "DepthwiseConv2dNativeBackpropFilter": 0.5}),
        ("void cudnn::cnn::dgrad2d_c1_k1_nhwc_kernel<3>", {"DepthwiseConv2dNativeBackpropInput": 1.0}),
        ("conv_depthwise2d_grad_weight_kernel", {"DepthwiseConv2dNativeBackpropFilter": 1.0}),
        ("volta_sgemm_128x64_nt", {"Conv2DBackpropInput": 0.5, "Conv2DBackpropFilter": 0.5}),
    ],
)  # fmt: skip
def test_a_gradient_is_split_by_its_kernel(name, expected):
    assert shares(translate("aten::convolution_backward"), parse_kernel(name), None) == expected


def test_batch_and_pixels_are_those_of_the_first_convolution_as_a_square_of_its_area():
    first = {"Input Dims": [[64, 3, 224, 224], [64, 3, 7, 7]], "Input type": ["float", "float"]}
    later = {"Input Dims": [[64, 64, 56, 56], [64, 64, 3, 3]], "Input type": ["float", "float"]}
    meta = read_profile(trace([op("aten::conv2d", 50, 5, **later), op("aten::conv2d", 0, 5, **first)])).meta
    assert (meta.batch_size, meta.pixels) == (64, 224)
    profile = read_profile(trace([*cuda_step(1, 0), *image(0, 8, 64, 100)]))
    assert (profile.meta.batch_size, profile.meta.pixels) == (8, 80)
    assert any(line.startswith("the shape of images of 64 x 100 pixels: ") for line in profile.ignored)
    square = read_profile(trace([*cuda_step(1, 0), *image(0, 8, 64, 64)]))
    assert square.meta.pixels == 64 and not any("images of" in line for line in square.ignored)


def test_a_video_counts_as_its_pictures():
    inputs = {"Input Dims": [[4, 3, 16, 112, 112], [64, 3, 3, 7, 7]]}
    meta = read_profile(trace([op("aten::conv3d", 0, 9), op("aten::convolution", 1, 5, **inputs)])).meta
    assert (meta.batch_size, meta.pixels) == (4, 112)


def test_times_in_nanoseconds_are_refused():
    steps = [event for number in range(4) for event in cuda_step(number, 1000 * number)]
    assert not read_profile(trace(steps)).refusal
    longer = [{**event, "ts": 1000 * event["ts"], "dur": 1000 * event["dur"]} for event in steps]
    assert "the times look like nanoseconds" in read_profile(trace(longer)).refusal


def image(at: float, batch: int, height: int, width: int, channels: int = 3) -> list[dict]:
    """The first convolution of a step, and one inside of the network."""
    shapes = {at + 100: [batch, channels, height, width], at + 300: [batch, 256, height // 4, width // 4]}
    return [op("aten::conv2d", begin, 5, **{"Input Dims": [shape, [64, 3, 7, 7]]}) for begin, shape in shapes.items()]


def several_losses(number: int, at: float) -> list[dict]:
    """A step with a backward pass of each of two losses before its one update, as detectors may train."""
    again = [
        op("autograd::engine::evaluate_function: ConvolutionBackward0", at + 800, 60, 2),
        op("ConvolutionBackward0", at + 805, 50, 2),
        op("aten::convolution_backward", at + 810, 40, 2),
        call(100 * number + 9, at + 815, 2),
        kernel("cudnn_wgrad_engine", 100 * number + 9, at + 820, 50),
    ]
    return [*loop_step(number, at), *again]


@pytest.mark.parametrize(("passes", "cleared"), [(1, False), (2, False), (4, False), (2, True)])
def test_batches_of_accumulated_gradients_count_together(passes, cleared):
    inputs, node = {"Input Dims": [[4, 3, 64, 64], [64, 3, 7, 7]]}, "autograd::engine::evaluate_function: X"
    events = []
    for at in (0, 1000):
        for begin in range(at, at + 100 * passes, 100):
            clear = [event("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", begin + 30, 5)] * cleared
            events += [op("aten::conv2d", begin, 20, **inputs), *clear, op(node, begin + 40, 30, 2)]
        events.append(update(at + 600))
    profile = read_profile(trace(events))
    accumulates = passes > 1 and not cleared
    assert (profile.steps, profile.meta.batch_size) == (2, 4 * passes if accumulates else 4)
    assert profile.warnings[1:] == (ACCUMULATED,) * accumulates


@pytest.mark.parametrize("marked", [True, False])
def test_a_detector_s_steps_batch_and_sizes_are_read(marked):
    """Images are padded to the largest of a batch of two, so that each step has another size."""
    sizes = [(800, 1344), (768, 1152), (640, 960)]
    events = [event for number in range(3) for event in several_losses(number + 1, 1000 * number)]
    events += [event for number, size in enumerate(sizes) for event in image(1000 * number, 2, *size)]
    events += [step(number + 1, 1000 * number, 1000) for number in range(3) if marked]
    profile = read_profile(trace(events))
    assert (profile.steps, profile.refusal) == (3, "") and profile.operations["Device_Conv2D"] == pytest.approx(200)
    assert profile.operations["Device_Conv2DBackpropFilter"] == pytest.approx(125 + 50)
    mean_area = sum(height * width for height, width in sizes) / 3
    assert (profile.meta.batch_size, profile.meta.pixels) == (2, round(mean_area**0.5))
    assert any("800 x 1344 pixels, and others" in line for line in profile.ignored)


@pytest.mark.parametrize(
    ("events", "precision", "compiled"),
    [
        ([kernel("volta_fp16_s884gemm_fp16_128x128", 199, 60, 50)], "amp", None),
        ([op("aten::mm", 200, 5, **{"Input type": ["c10::Half", "c10::Half"]})], "amp", None),
        ([event("user_annotation", "## Call CompiledFxGraph abc ##", 200, 5)], "fp32", True),
    ],
)
def test_precision_and_compilation_are_inferred_from_names(events, precision, compiled):
    meta = read_profile(trace([*cuda_step(1, 0), *events], deviceProperties=GPU)).meta
    assert (meta.precision, meta.compiled) == (precision, compiled)


@pytest.mark.parametrize(
    ("strides", "dims", "channels_last"),
    [
        ([200704, 1, 3584, 64], [64, 64, 56, 56], True),
        ([200704, 3136, 56, 1], [64, 64, 56, 56], None),
        # One channel, or one pixel: either layout.
        ([3136, 1, 56, 1], [64, 1, 56, 56], None),
        ([64, 1, 64, 64], [64, 64, 1, 1], None),
    ],
)
def test_strides_of_a_convolutions_input_tell_its_layout(strides, dims, channels_last):
    inputs = {"Input Dims": [dims, [64, 64, 3, 3]], "Input Strides": [strides, [576, 9, 3, 1]]}
    profile = read_profile(trace([*cuda_step(1, 0), op("aten::conv2d", 0, 5, **inputs)], deviceProperties=GPU))
    assert profile.meta.channels_last is channels_last


WHOLE = trace(cuda_step(1, 0))
REFUSED = {
    "cut short": (WHOLE[:-400], "truncated: copy it again"),
    "something after the end": (WHOLE + b"{}", "continues after the end"),
    "another tool's trace": (trace([event("browser", "paint", 0, 5)]), "has no PyTorch operation"),
    "Meta's MTIA": (trace([op("aten::mm", 0, 5), event("mtia_ccp_events", "x", 1, 3)]), "a trace of Meta's MTIA, and"),
    "pairs of events": (
        trace([{**op("aten::mm", at, 0), "ph": ph} for ph, at in (("B", 0), ("E", 5))]),
        'has pairs of begin and end events ("ph": "B" and "E")',
    ),
    "an ExecutionTrace": (
        json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [{"id": 2, "name": "aten::mm"}]}).encode(),
        "This is a PyTorch ExecutionTrace, which has no times: upload the trace of",
    ),
    "quotation marks in a name": (
        WHOLE.replace(b"aten::relu", b'a"b'),
        "not valid JSON, or has an entry that is too long",
    ),
    "an endless time": (trace([op("aten::mm", 0, 5)]).replace(b'"dur": 5', b'"dur": 1e999'), "no PyTorch operation"),
    "a time beyond reason": (trace([op("aten::mm", 0, 1e17)]), "adds up to an implausible time"),
    "all zero": (trace([op("aten::mm", 5, 0)]), "took 0 microseconds"),
    "too many operations": (trace([op(f"aten::op{i}", i, 1) for i in range(1_000)]), "More than 1,000 operation types"),
    "too many kernels": (trace([kernel(f"x{i}", i, i, 1) for i in range(5_100)]), "5,000 different names"),
    "too many steps": (trace([step(i, i, 1) for i in range(10_100)]), "more than 10,000 steps"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_read_is_refused_in_one_line(case):
    data, says = REFUSED[case]
    assert says in refusal(data)


@pytest.mark.parametrize("change", [{"ts": None}, {"dur": -1}, {"name": 5}])
def test_an_operation_without_a_valid_time_or_name_is_left_out_and_counted(change):
    profile = read_profile(trace([op("aten::mm", 500, 5) | change, *cuda_step(1, 0)]))
    assert dict(profile.operations) == operations(cuda_step(1, 0))
    assert profile.ignored[-1] == "1 events of the CPU (6.7%) without a valid time"
