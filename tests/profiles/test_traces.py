"""The operation a kernel runs for, inferred from its name: names as libraries write them."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profet_core import ProfileError
from profet_profiles import chrome_trace, intervals
from profet_profiles.chrome_trace import ChromeTrace, Event
from profet_profiles.intervals import (
    covered_us,
    covered_within_us,
    gaps_us,
    innermost_events,
    nesting_order,
    self_times,
)
from profet_profiles.kernel_names import detect_traits, operation_of_kernel
from profet_profiles.record import ProfileMeta
from profet_profiles.unpacking import Content

KERNELS = {
    # Copies and memory.
    "MemcpyH2D": "MemcpyHToD",
    "Memcpy HtoD (Pageable -> Device)": "MemcpyHToD",
    "Memcpy DtoH (Device -> Pinned)": "MemcpyDToH",
    "Memcpy PtoP (Device -> Device)": "MemcpyDToD",
    "Memset (Device)": "Memset",
    "__amd_rocclr_fillBufferAligned": "Memset",
    # cuDNN.
    "volta_scudnn_128x64_relu_interior_nn_v1": "Conv2D",
    "volta_scudnn_128x64_stridedB_interior_nn_v1": "Conv2DBackpropInput",
    "cudnn_turing_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1": "Conv2DBackpropFilter",
    "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int)": "Conv2DBackpropInput",
    "void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int)": "Conv2DBackpropFilter",
    "void cudnn::winograd_nonfused::winogradWgradDelta4x4<float, float>()": "Conv2DBackpropFilter",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_splitK": "Conv2D",
    "sm80_xmma_dgrad_implicit_gemm_indexed_tf32f32": "Conv2DBackpropInput",
    "cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_128x128>": "Conv2DBackpropFilter",
    "void cudnn::cnn::wgrad2d_c1_k1_nhwc_kernel<float>": "DepthwiseConv2dNativeBackpropFilter",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>": "FusedBatchNormV3",
    "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>": "FusedBatchNormGradV3",
    "void cudnn::pooling_fw_4d_kernel<float, float, cudnn::maxpooling_func<float>>": "MaxPool",
    "void cudnn::pooling_bw_kernel_max<float, float>": "MaxPoolGrad",
    "void cudnn::ops::pooling_bw_kernel_avg<float>": "AvgPoolGrad",
    # TensorFlow.
    "void tensorflow::DepthwiseConv2dGPUKernelNHWC<float, 3, 3, 1>": "DepthwiseConv2dNative",
    "void tensorflow::DepthwiseConv2dBackpropInputGPUKernelNHWC<float>": "DepthwiseConv2dNativeBackpropInput",
    "void tensorflow::BiasNHWCKernel<float>": "BiasAdd",
    "void tensorflow::BiasGradNHWC_SharedAtomics<float>": "BiasAddGrad",
    "void tensorflow::functor::ApplyAdamKernel<float>": "ResourceApplyAdam",
    "void tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<unsigned int>": "Transpose",
    "void tensorflow::functor::FillPhiloxRandomKernelLaunch<float>": "RandomUniform",
    "AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel": "AddV2",
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<float>>>": "Mul",
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorConversionOp<float, Eigen::half>>": "Cast",
    "void tensorflow::functor::ColumnReduceKernel<float const*>": "Sum",
    # PyTorch, cuBLAS, NCCL.
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>": "Mul",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>": "AddV2",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>": "Softmax",
    "volta_sgemm_64x64_nn": "MatMul",
    "ampere_fp16_s16816gemm_fp16_128x64": "MatMul",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)": "NcclAllReduce",
    # AMD.
    "Cijk_Ailk_Bjlk_SB_MT64x64x8_SE": "MatMul",
    "MIOpenBatchNormFwdTrainSpatial": "FusedBatchNormV3",
    "MIOpenBatchNormBwdSpatial": "FusedBatchNormGradV3",
    "mloPoolingMaxBwd": "MaxPoolGrad",
    "naive_conv_ab_nonpacked_bwd_nchw_float": "Conv2DBackpropInput",
    "naive_conv_ab_nonpacked_wrw_nchw_float": "Conv2DBackpropFilter",
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x64x32": "Conv2D",
    "igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x32": "Conv2DBackpropInput",
    "batched_transpose_32x32_half": "Transpose",
    # Made by a compiler, or unknown.
    "fusion_12": None,
    "triton_poi_fused_add_convolution_0": None,
    "some_kernel": None,
    "": None,
}


def test_a_kernels_name_tells_its_operation_and_what_is_written_beside_the_standard_is_read():
    assert {name: operation_of_kernel(name) for name in KERNELS} == KERNELS
    data = b'{"a": 1, "b": 2, "traceEvents": [{"x": NaN, "y": -Infinity,\n "name": "a\nb\t"},, {"ph": "i"}, 5,]}'
    (first, second), entries = events_of(b"\xef\xbb\xbf" + data, ("b", "c"))
    assert (first.name, second.ph, entries) == ("a\nb\t", "i", {"b": 2})


@pytest.mark.parametrize(
    ("kernel", "precision"),
    [
        ("volta_h884gemm_256x64_ldg8_nn", "amp"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", "amp"),
        ("turing_h1688cudnn_256x64_ldg8_relu_exp_small_nhwc", "amp"),
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nt", "bf16"),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128", "bf16"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int)", "bf16"),
        ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8", "bf16"),
        ("cutlass_sm80_tensorop_f16_s16x8x16dgrad_optimized_f16", "amp"),
        ("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc", "amp"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>>(int)", "amp"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half2, float, int, 512>", "amp"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc", "tf32"),
        ("cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", "tf32"),
        ("ampere_sgemm_128x64_nn", None),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc", None),
        ("void at::native::vectorized_elementwise_kernel<4, clamp_min>(int)", None),
    ],
)
def test_a_kernels_name_tells_the_precision(kernel, precision):
    traits = detect_traits({kernel: 10.0, "other": 10.0})
    assert (traits.precision, traits.compiled) == (precision, None)
    # Below compute capability 8 there is no TF32: no sign is FP32.
    if precision is None:
        assert detect_traits({kernel: 10.0}, compute_capability=7).precision == "fp32"
        assert detect_traits({kernel: 10.0}, compute_capability=8).precision is None


def test_most_kernels_inputs_and_host_operations_tell_precision_compilers_and_layout():
    assert detect_traits({"volta_h884gemm": 1.0, "volta_sgemm": 99.0}).precision is None
    assert detect_traits({"volta_h884gemm": 3.0, "volta_sgemm": 97.0}).precision == "amp"
    assert detect_traits({"ampere_bf16_s16816gemm": 6.0, "sm80_tensorop_s16816": 4.0}).precision == "bf16"
    assert detect_traits({"ampere_bf16_s16816gemm": 4.0, "ampere_fp16_s16816gemm": 6.0}).precision == "amp"
    assert detect_traits({}, input_types=["float", "c10::BFloat16"]).precision == "bf16"
    assert detect_traits({}, input_types=["c10::Half", "c10::BFloat16"]).precision == "amp"
    for name in ("aten::_autocast_to_reduced_precision", "aten::_amp_foreach_non_finite_check_and_unscale_"):
        assert detect_traits({}, [name]).precision == "amp"
    for name in ("CompiledFunctionBackward", "Torch-Compiled Region: 0/0", "XlaLaunch"):
        assert detect_traits({}, [name]).compiled is True
    assert detect_traits({}, ["Conv2D", "aten::mm"], compute_capability=7) == ProfileMeta()
    assert detect_traits({NHWC_KERNELS[0]: 100.0}, channels_last_inputs=False).channels_last is None
    assert detect_traits({}, channels_last_inputs=True).channels_last is True


#: Kernels of torch.compile in today's and older releases, of TorchScript, and of XLA, as published traces have them.
COMPILED = (
    "triton_poi_fused__native_batch_norm_legit_functional_relu_63",
    "triton__0d1d2de",
    "CudaCodeGen::kernel1(CudaCodeGen::Tensor<float, int=2>, CudaCodeGen::Tensor<float, int=2>)",
    "nvfuser_pointwise_f0_c1_r0_g0",
    "fusion_268",
    "loop_convert_fusion_4",
    "input_reduce_fusion_92",
    "gemm_fusion_dot_general_1",
    "wrapped_transpose",
    "triton_softmax_3",
)


@pytest.mark.parametrize("kernel", COMPILED)
def test_a_compilers_kernel_tells_of_it_in_a_part_of_the_step_worth_it(kernel):
    assert detect_traits({kernel: 5.0, "volta_sgemm": 95.0}).compiled is True
    assert detect_traits({kernel: 4.0, "volta_sgemm": 96.0}).compiled is None


#: Kernels that need NHWC tensors; kernels that libraries also run on converted NCHW tensors; and neither.
NHWC_TENSORS = (
    "void cudnn::batchnorm_fwtr_nhwc_semiPersist<__half, float, float, float, 1, 512, 4>",
    "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::InvStd, float, float, 4>",
    "void at::native::(anonymous namespace)::max_pool_forward_nhwc<float, float>(float const*, int)",
    "void at::native::(anonymous namespace)::adaptive_average_gradinput_nhwc<int, float>(float*)",
)
NHWC_KERNELS = (
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize2x2x1_g1",
    "turing_h1688cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1",
    "cutlass_tensorop_f16_s16816fprop_optimized_f16_128x128_32x4_nhwc_align8",
    "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x256x32_wt32x32x8",
)
CONVERSIONS = (
    "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>",
    "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, true, false, (cudnnKernelDataType_t)0>",
    "batched_transpose_32x32_half",
    "void tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<unsigned int, 256, 32, 32, false>",
)


@pytest.mark.parametrize("kernel", NHWC_TENSORS)
def test_a_kernel_for_nhwc_tensors_tells_channels_last(kernel):
    assert detect_traits({kernel: 1.0, "volta_sgemm": 99.0}).channels_last is True


@pytest.mark.parametrize("kernel", NHWC_KERNELS)
def test_many_nhwc_kernels_without_conversions_tell_channels_last(kernel):
    assert detect_traits({kernel: 20.0, "volta_sgemm": 80.0}).channels_last is True
    assert detect_traits({kernel: 19.0, "volta_sgemm": 81.0}).channels_last is None
    for conversion in CONVERSIONS:
        assert detect_traits({kernel: 90.0, conversion: 5.0}).channels_last is None


def test_bottomless_nesting_is_refused():
    begins = np.arange(1001.0)
    assert self_times(begins[:1000], 3000 - 2 * begins[:1000]).tolist() == [2] * 999 + [1002]
    with pytest.raises(ProfileError, match="more than 1,000 deep"):
        self_times(begins, 3000 - 2 * begins)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30), st.sampled_from([1, 3, 1000]))
def test_self_times_are_bounded_by_the_union_for_any_intervals(spans, piece):
    begins, durations = np.array([s[0] for s in spans], float), np.array([s[1] for s in spans], float)
    order = nesting_order(begins, durations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_PIECE", piece)
        self_us = self_times(begins[order], durations[order])
        at = np.arange(-1.0, 90.0)
        inner = innermost_events(begins[order], durations[order], at)
    covered = len({at for begin, duration in spans for at in range(begin, begin + duration)})
    assert covered_us(begins, durations) == covered
    assert (self_us >= 0).all() and (self_us <= durations[order]).all()
    for time, row_at in zip(at, inner.tolist(), strict=True):
        open_then = [row for row in range(len(spans)) if begins[order][row] <= time < (begins + durations)[order][row]]
        assert row_at == (open_then[-1] if open_then else -1)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(-5, 90), st.integers(0, 90)), max_size=5),
)
def test_what_is_covered_within_windows(spans, windows):
    begins, durations = np.array([s[0] for s in spans], float), np.array([s[1] for s in spans], float)
    covered = {at for begin, duration in spans for at in range(begin, begin + duration)}
    bounds = np.array([(begin, begin + length) for begin, length in windows], float).reshape(-1, 2)
    expected = [len(covered & set(range(begin, begin + length))) for begin, length in windows]
    assert covered_within_us(begins, durations, bounds).tolist() == expected
    order = np.argsort(begins, kind="stable")
    idle = (begins + durations).max() - begins.min() - len(covered)
    assert gaps_us(begins[order], durations[order]).sum() == idle


def events_of(data: bytes, keep: tuple[str, ...] = ()) -> tuple[list[Event], dict]:
    trace = ChromeTrace(Content(data), dict, keep)
    events = [event for part in trace.events() for event in part]
    return [Event(*(getattr(event, field.name) for field in fields(Event))) for event in events], trace.entries


def event_of(record: dict) -> Event:
    """What of a record is kept, by the rules and not by a parser."""
    texts = {key: record.get(key) if isinstance(record.get(key), str) else None for key in ("ph", "cat", "name")}
    threads = {key: record.get(key) if type(record.get(key)) in (int, str) else None for key in ("pid", "tid")}
    times = {
        key: float(record[key]) if type(record[key]) in (int, float) else math.nan
        for key in {"ts", "dur"} & set(record)
    }
    return Event(**texts, **threads, **times, args=record.get("args") if isinstance(record.get("args"), dict) else None)


texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers(-(10**17), 10**17) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
made_events = st.lists(
    st.dictionaries(texts, values, max_size=4)
    | st.fixed_dictionaries(
        {"ph": st.just("X")},
        optional={
            "name": texts | values,
            "cat": texts,
            "pid": texts | st.integers(-5, 5) | values,
            "ts": st.integers(0, 10**9) | st.floats(0, 1e9) | values,
            "dur": st.integers(0, 10**9) | values,
            "args": st.dictionaries(texts, values, max_size=2) | values,
            "other": values,
        },
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(
    window=st.sampled_from([1, 7, 1000]),
    events=made_events,
    installed=st.booleans(),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 2]),
    entry=values,
)
def test_windows_of_any_size_give_the_same_events(window, events, installed, ascii_only, indent, entry):
    document = {"before": entry, "traceEvents": events, "after": entry}
    data = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chrome_trace, "_WINDOW_BYTES", window)
        if not installed:
            patch.setitem(sys.modules, "msgspec.json", None)
        parsed, entries = events_of(data, keep=("before", "after"))
    assert repr(parsed) == repr([event_of(event) for event in events]), "NaN is not equal to itself"
    assert entries == {"before": entry, "after": entry}


@settings(max_examples=40)
@given(events=made_events.filter(bool), data=st.data())
def test_every_cut_of_a_trace_is_noticed(events, data):
    whole = json.dumps({"displayTimeUnit": "ms", "traceEvents": events}).encode()
    cut = data.draw(st.integers(whole.index(b"["), len(whole) - 1))
    with pytest.raises(ProfileError, match="truncated"):
        events_of(whole[:cut])


@pytest.mark.parametrize("number", [-5.0771532157509976e16, 12345678])
def test_a_number_that_a_window_cuts_is_read_whole(number, monkeypatch):
    for window in range(1, 30):
        monkeypatch.setattr(chrome_trace, "_WINDOW_BYTES", window)
        assert events_of(b'{"a": %s, "traceEvents": []}' % repr(number).encode(), keep=("a",)) == ([], {"a": number})


@pytest.mark.parametrize(
    "data",
    [
        b'{"traceEvents": [{"a": tru }]}' + b" " * 100,
        b'{"traceEvents": [{"a": "\\x"}]}' + b" " * 100,
        b'{5: 1, "traceEvents": []}',
        b'{"traceEvents": {}}',
        b'{"traceEvents": [' + b"9" * 5000 + b"]}",
    ],
)
def test_damage_is_distinguished_from_a_cut(data):
    with pytest.raises(ProfileError, match="not valid JSON"):
        events_of(data)
