"""PyTorch traces: what each operation's time is, where it goes, and what the profile says about itself."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from benchmarks.made_trace import LAYERS, write_pytorch_trace
from profet_core import ProfileError, predict, read_profile
from profet_core.classes import load_operation_classes
from profet_core.profiles import pytorch_trace
from profet_core.profiles.pytorch_operations import Translation, load_translations, shares
from profet_core.profiles.pytorch_trace import FORWARD_ONLY, TRANSLATED_WARNING
from tests.unit.made_chrome_traces import CUDA_STEP_US, call, cuda_step, event, kernel, op, step, trace

RECORDED = Path(__file__).parent / "traces" / "pytorch-2.13-cpu.pt.trace.json.gz"
GPU = [{"id": 0, "name": "Tesla T4", "computeMajor": 7, "computeMinor": 5}]


def operations(events: list[dict], **entries: object) -> dict[str, float]:
    return dict(read_profile(trace(events, **entries)).operations)


# --- a GPU ----------------------------------------------------------------------------------------------------------


def test_the_mean_of_two_steps_on_a_gpu():
    profile = read_profile(trace([*cuda_step(3, 0), *cuda_step(4, 1000)], deviceProperties=GPU))
    # The GPU works 480 us a step; from the first kernel at 130 to the last one's end at 1,760.
    idle_us = ((1760 - 130) - 2 * 480) / 2
    # Thread 1 has operations for 140 us a step, from 100 to 1,720; thread 2 for 200, from 400 to 1,600.
    host_idle_us = ((1720 - 100) - 2 * 140 + (1600 - 400) - 2 * 200) / 2
    assert dict(profile.operations) == pytest.approx(
        CUDA_STEP_US | {"Device_IDLE": idle_us, "Host_IDLE": host_idle_us}, rel=1e-12
    )
    assert profile.steps == 2
    assert profile.source_format == "PyTorch trace"
    assert (profile.meta.gpu, profile.meta.framework, profile.meta.precision) == ("Tesla T4", "PyTorch", "fp32")
    assert profile.meta.step_latency_ms is None
    assert profile.warnings == (TRANSLATED_WARNING,)
    assert profile.ignored == (
        "0.05 ms a step on the host in views, allocations, wrappers of autograd and the user's own labels",
        "the length of a profiled step, 1 ms: without the profiler it is shorter",
    )


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_spacing_and_gzip_change_nothing(indent, pack):
    document = json.loads(trace(cuda_step(1, 0)))
    profile = read_profile(pack(json.dumps(document, indent=indent).encode()))
    assert profile == read_profile(trace(cuda_step(1, 0)))


def test_the_order_of_events_changes_nothing():
    events = [*cuda_step(3, 0), *cuda_step(4, 1000)]
    assert operations(events[::-1]) == pytest.approx(operations(events))


def test_a_list_of_events_is_a_trace_too():
    assert dict(read_profile(json.dumps(cuda_step(1, 0)).encode()).operations) == operations(cuda_step(1, 0))


def test_names_of_2021_are_understood():
    old = {"cpu_op": "Operator", "kernel": "Kernel", "cuda_runtime": "Runtime", "gpu_memcpy": "Memcpy"}
    events = [made | {"cat": old.get(made["cat"], "Operator")} for made in cuda_step(1, 0)]
    assert operations(events) == operations(cuda_step(1, 0))


def test_a_kernel_counts_for_the_step_that_started_it():
    late = [op("aten::mm", 1900, 50), call(901, 1910), kernel("sgemm", 901, 2100, 60)]
    outside = [op("aten::mm", 2050, 50), call(902, 2060), kernel("sgemm", 902, 2200, 999)]
    found = operations([*cuda_step(1, 0), *cuda_step(2, 1000), *late, *outside])
    assert found["Device_MatMul"] == 30
    assert found["Host_MatMul"] == 25


def test_the_step_the_profiler_opens_at_its_end_is_left_out():
    profile = read_profile(trace([*cuda_step(1, 0), *cuda_step(2, 1000), step(3, 2000, 10), op("aten::mm", 2001, 5)]))
    assert profile.steps == 2
    assert "Host_MatMul" not in profile.operations
    assert "1 ProfilerStep that is not complete" in profile.ignored


def test_without_marked_steps_all_of_the_trace_is_one_and_it_says_so():
    events = [made for made in (*cuda_step(1, 0), *cuda_step(2, 1000)) if not made["name"].startswith("ProfilerStep")]
    profile = read_profile(trace(events))
    assert profile.steps == 1
    assert profile.operations["Device_Conv2D"] == 400
    assert profile.warnings == (TRANSLATED_WARNING, UNMARKED_WARNING)


def test_a_call_at_the_edge_belongs_to_the_innermost_operation_that_is_open():
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
    found = operations(events)
    assert (found["Device_Conv2D"], found["Device_AddV2"], found["Device_Unknown"]) == (1 + 4, 2, 8)


def test_a_call_of_another_thread_belongs_to_nothing():
    found = operations([op("aten::mm", 0, 100), call(1, 50, tid=9), kernel("sgemm", 1, 60, 5)])
    assert found["Device_Unknown"] == 5
    assert "Device_MatMul" not in found


def test_much_gpu_time_without_an_operation_is_warned_about():
    alone = kernel("replayed", 999, 800, 100)
    (_, warning) = read_profile(trace([*cuda_step(1, 0), alone])).warnings
    assert warning.startswith("17% of the GPU's time was started by no operation the trace holds (CUDA graphs")


def test_overlapping_kernels_count_each_and_idle_once():
    events = [op("aten::mm", 0, 10), call(1, 1), call(2, 2), kernel("a", 1, 20, 10), kernel("b", 2, 25, 15)]
    found = operations([*events, op("aten::mm", 50, 1), call(3, 50), kernel("c", 3, 60, 5)])
    assert found["Device_MatMul"] == 30
    assert found["Device_IDLE"] == 20


def test_the_gpu_is_the_one_that_worked_and_several_are_warned_about():
    gpus = [{"id": 0, "name": "Tesla T4"}, {"id": 1, "name": "Tesla V100"}]

    def on(device: int, at: float) -> list[dict]:
        return [made | {"args": made["args"] | {"device": device}} for made in cuda_step(device, at)]

    second = read_profile(trace(on(1, 0), deviceProperties=gpus))
    assert (second.meta.gpu, second.warnings) == ("Tesla V100", (TRANSLATED_WARNING,))
    both = read_profile(trace([*on(0, 0), *on(1, 1000)], deviceProperties=gpus))
    assert both.meta.gpu == "Tesla T4"
    assert both.warnings[1].startswith("2 GPUs worked in this trace")


def test_a_gpus_latency_beside_this_profile_is_not_questioned(models, catalog):
    # Kernels count once here, while training profiles hold about twice the step's latency.
    events = [made for number in range(3) for made in cuda_step(number, 1000 * number)]
    scaled = [made | {"ts": made["ts"] * 50, "dur": made["dur"] * 50} for made in events]
    profile = read_profile(trace(scaled))
    for latency_ms in (50.0, 40.0):
        prediction = predict(models, catalog, profile, "g4dn.xlarge", latency_ms=latency_ms)
        assert prediction.warnings[0] == TRANSLATED_WARNING


# --- a CPU ----------------------------------------------------------------------------------------------------------


def test_a_cpus_profile_has_host_rows_only_and_its_warning_comes_first(models, catalog):
    profile = read_profile(trace([step(1, 0, 100), op("aten::mkldnn_convolution", 10, 50), op("aten::view", 70, 10)]))
    assert dict(profile.operations) == {"Host_Conv2D": 50.0, "Host_IDLE": 10.0}
    warnings = predict(models, catalog, profile, "g4dn.xlarge").warnings
    assert "no GPU time" in warnings[0]
    assert warnings[1] == TRANSLATED_WARNING


def test_a_recorded_trace_of_two_steps_on_a_cpu():
    profile = read_profile(RECORDED.read_bytes())
    assert profile.steps == 2
    assert (profile.meta.batch_size, profile.meta.pixels, profile.meta.framework) == (8, 32, "PyTorch")
    assert {name for name in profile.operations if not name.startswith("Host_aten::")} == {
        "Host_AddV2",
        "Host_BiasAddGrad",
        "Host_ConcatV2",
        "Host_Conv2D",
        "Host_Conv2DBackpropFilter",
        "Host_Conv2DBackpropInput",
        "Host_Dataset",
        "Host_FusedBatchNormGradV3",
        "Host_FusedBatchNormV3",
        "Host_IDLE",
        "Host_MatMul",
        "Host_MaxPool",
        "Host_MaxPoolGrad",
        "Host_Mean",
        "Host_RealDiv",
        "Host_Relu",
        "Host_ReluGrad",
        "Host_Softmax",
        "Host_SoftmaxCrossEntropyWithLogits",
        "Host__Send",
    }
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
            ]
        )
    )
    assert dict(profile.operations) == {
        "Host_Dataset": 40.0,
        "Host_MatMul": 30.0,
        "Host_Unknown": 5.0,
        "Host_IDLE": 60.0,
    }
    assert "secret" not in repr(profile)


def test_an_operation_that_is_not_in_the_table_keeps_its_name():
    assert operations([op("aten::new_thing", 0, 5)]) == {"Host_aten::new_thing": 5.0, "Host_IDLE": 0.0}


# --- gradients of convolutions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("[True, True, False]", (50.0, 50.0)),
        ("[False, True, True]", (None, 100.0)),
        ("[1, 0, 0]", (100.0, None)),
        ("nonsense", (50.0, 50.0)),
    ],
)
def test_a_gradient_is_split_by_what_was_asked_for(mask, expected):
    found = operations([op("aten::convolution_backward", 0, 100, **{"Concrete Inputs": ["", "[1]", mask]})])
    assert (found.get("Host_Conv2DBackpropInput"), found.get("Host_Conv2DBackpropFilter")) == expected


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
    assert shares(load_translations().find("aten::convolution_backward"), name, None) == expected


# --- what the trace tells of the step -------------------------------------------------------------------------------


def test_batch_and_pixels_are_those_of_the_first_convolution():
    first = {"Input Dims": [[64, 3, 224, 224], [64, 3, 7, 7]], "Input type": ["float", "float"]}
    later = {"Input Dims": [[64, 64, 56, 56], [64, 64, 3, 3]], "Input type": ["float", "float"]}
    meta = read_profile(trace([op("aten::conv2d", 50, 5, **later), op("aten::conv2d", 0, 5, **first)])).meta
    assert (meta.batch_size, meta.pixels) == (64, 224)


@pytest.mark.parametrize(
    ("events", "precision", "compiled"),
    [
        ([kernel("volta_fp16_s884gemm_fp16_128x128", 1, 60, 50)], "amp", None),
        ([kernel("ampere_tf32_s1688gemm_128x128", 1, 60, 50)], "tf32", None),
        ([kernel("triton_poi_fused_relu_0", 1, 60, 50)], "fp32", True),
        ([op("aten::mm", 200, 5, **{"Input type": ["c10::Half", "c10::Half"]})], "amp", None),
        ([event("user_annotation", "## Call CompiledFxGraph abc ##", 200, 5)], "fp32", True),
    ],
)
def test_precision_and_compilation_are_told_by_names(events, precision, compiled):
    meta = read_profile(trace([*cuda_step(1, 0), *events], deviceProperties=GPU)).meta
    assert (meta.precision, meta.compiled) == (precision, compiled)


def test_on_a_gpu_with_tf32_plain_kernels_leave_the_precision_open():
    ampere = [{"name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8}]
    assert read_profile(trace(cuda_step(1, 0), deviceProperties=ampere)).meta.precision is None


# --- the table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("aten::cudnn_convolution", ("Conv2D",)),
        ("aten::_conv_depthwise2d", ("DepthwiseConv2dNative",)),
        ("aten::native_batch_norm_backward", ("FusedBatchNormGradV3",)),
        ("aten::max_pool2d_with_indices_backward", ("MaxPoolGrad",)),
        ("aten::threshold_backward", ("ReluGrad",)),
        ("aten::sum", ("BiasAddGrad",)),
        ("aten::nll_loss_forward", ("SoftmaxCrossEntropyWithLogits",)),
        ("aten::_foreach_add_", ("ResourceApplyGradientDescent",)),
        ("aten::_fused_sgd_", ("ResourceApplyGradientDescent",)),
        ("aten::copy_", ("_Send",)),
        ("aten::view", ()),
        ("autograd::engine::evaluate_function: MmBackward0", ()),
        ("torch::autograd::AccumulateGrad", ()),
        ("aten::unheard_of", ("aten::unheard_of",)),
        ("mine::layer", ("Unknown",)),
    ],
)
def test_the_table_translates(name, types):
    assert load_translations().find(name).types == types


def test_every_type_of_the_table_is_one_the_models_know():
    known = {name.partition("_")[2] for name in load_operation_classes().columns}
    types = {kind for row in load_translations().exact.values() for kind in row.types}
    types |= {kind for _, row in load_translations().patterns for kind in row.types}
    assert types - known == set()
    assert Translation(("Conv2D",)) in load_translations().exact.values()


# --- what is refused ------------------------------------------------------------------------------------------------

WHOLE = trace(cuda_step(1, 0))
REFUSED = {
    "cut short": (WHOLE[:-400], "cut short: copy it again"),
    "cut after an event": (WHOLE[: WHOLE.rindex(b"}", 0, -40) + 1], "cut short"),
    "gzip cut short": (gzip.compress(WHOLE)[:-20], "cut short: compress or download"),
    "something after the end": (WHOLE + b"{}", "goes on after the end"),
    "another tool's trace": (trace([event("browser", "paint", 0, 5)]), "holds no operation of PyTorch"),
    "no event": (trace([]), "holds no operation of PyTorch"),
    "deep nesting": (trace([]).replace(b"[]", b'[{"ph": "X", "a": ' + b"[" * 200_000, 1), "nested too deeply"),
    "deep nesting beside": (b'{"a": ' + b"[" * 200_000 + b', "traceEvents": []', "nested too deeply"),
    "quotation marks in a name": (WHOLE.replace(b"aten::relu", b'a"b'), "not valid JSON, or far too long in one entry"),
    "an entry without end": (b'{"traceEvents": [], "a": "' + b"a" * 5_000_000, "far too long in one entry"),
    "an endless time": (trace([op("aten::mm", 0, 5)]).replace(b'"dur": 5', b'"dur": 1e999'), "no operation of PyTorch"),
    "a time beyond reason": (trace([op("aten::mm", 0, 1e17)]), "adds up to a time that no training step takes"),
    "all zero": (trace([op("aten::mm", 5, 0)]), "took 0 microseconds"),
    "too many operations": (
        trace([op(f"aten::op{i}", i, 1) for i in range(5100)]),
        "5101 operation types are too many",
    ),
    "too many names": (trace([op(f"x{i}", i, 1) for i in range(20_100)]), "20,000 different names"),
    "too many steps": (trace([step(i, i, 1) for i in range(10_100)]), "more than 10,000 steps"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_read_is_refused_in_one_line(case):
    data, says = REFUSED[case]
    with pytest.raises(ProfileError) as caught:
        read_profile(data, "trace.json")
    assert says in str(caught.value)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "odd",
    [
        5,
        None,
        {},
        {"ph": "X"},
        {"ph": "X", "cat": ["cpu_op"], "name": "aten::mm", "ts": 1, "dur": 1},
        {"ph": "B", "cat": "cpu_op", "name": "aten::mm", "ts": 1},
        {"ph": "X", "cat": "python_function", "name": "a\nb", "ts": 1, "dur": 1},
    ],
)
def test_other_events_are_passed_over(odd):
    assert operations([odd, *cuda_step(1, 0)]) == operations(cuda_step(1, 0))


@pytest.mark.parametrize(
    "change",
    [{"ts": None}, {"ts": "1"}, {"dur": -1}, {"dur": True}, {"ts": float("nan")}, {"name": 5}, {"ts": 10**400}],
)
def test_an_operation_without_a_valid_time_or_name_is_left_out_and_counted(change):
    profile = read_profile(trace([op("aten::mm", 500, 5) | change, *cuda_step(1, 0)]))
    assert dict(profile.operations) == operations(cuda_step(1, 0))
    assert profile.ignored[-1] == "1 events without a valid time"


def test_odd_threads_and_arguments_break_nothing():
    odd = op("aten::convolution_backward", 2000, 10) | {"tid": [1], "pid": None, "args": [1]}
    assert operations([op("aten::convolution_backward", 0, 10), odd])["Host_Conv2DBackpropInput"] == 10


def test_line_breaks_in_names_are_read_as_pytorch_writes_them():
    data = trace(cuda_step(1, 0)).replace(b"aten::relu", b"aten::relu\n\xff")
    assert dict(read_profile(data).operations)["Host_Unknown"] == 10


# --- size -----------------------------------------------------------------------------------------------------------


def test_a_made_trace_of_two_megabytes_is_read_with_progress():
    text, told = io.StringIO(), []
    steps = write_pytorch_trace(text, 2_000_000)
    profile = read_profile(io.BytesIO(text.getvalue().encode()), progress=told.append)
    assert profile.steps == steps > 5
    assert profile.operations["Device_Conv2D"] == pytest.approx(LAYERS * 120.25)
    assert profile.operations["Device_Conv2DBackpropInput"] == pytest.approx(LAYERS * 131.5)
    # Innermost 31.5, and 4 us of each of the three operations around it.
    assert profile.operations["Host_Conv2D"] == pytest.approx(LAYERS * (31.5 + 3 * 4), abs=0.5)
    assert told == sorted(told) and told[-1] == 1


def test_too_many_kept_events_are_refused(monkeypatch):
    from profet_core.profiles import pytorch_events

    monkeypatch.setattr(pytorch_events, "MAX_KEPT_EVENTS", 3)
    with pytest.raises(ProfileError, match="more than 3 operations: record fewer steps"):
        read_profile(trace([op("aten::mm", i, 1) for i in range(5)]))


def test_its_reader_says_what_it_reads():
    assert pytorch_trace.looks_like(trace([]))
    assert pytorch_trace.looks_like(json.dumps(cuda_step(1, 0)).encode())
    assert not pytorch_trace.looks_like(b'{"operations": {"Device_Conv2D": 1.0}}')
    assert not pytorch_trace.looks_like(b'[{"Device_Conv2D": 1.0}]')
