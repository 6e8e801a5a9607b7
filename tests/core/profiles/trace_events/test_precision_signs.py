"""Which kernel and operation names tell of reduced precision or a compiler."""

from __future__ import annotations

import pytest

from profet_core.profiles.trace_events.precision_signs import PrecisionSigns, read_signs


@pytest.mark.parametrize(
    ("kernel", "precision"),
    [
        ("volta_h884gemm_256x64_ldg8_nn", "amp"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", "amp"),
        ("turing_h1688cudnn_256x64_ldg8_relu_exp_small_nhwc", "amp"),
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nt", "amp"),
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
    assert read_signs({kernel: 10.0, "other": 10.0}) == PrecisionSigns(precision, False)
    # Below compute capability 8 there is no TF32: no sign is FP32.
    if precision is None:
        assert read_signs({kernel: 10.0}, compute_capability=7).precision == "fp32"
        assert read_signs({kernel: 10.0}, compute_capability=8).precision is None


def test_a_trace_of_half_precision_at_the_edges_is_no_mixed_precision():
    assert read_signs({"volta_h884gemm": 1.0, "volta_sgemm": 99.0}).precision is None
    assert read_signs({"volta_h884gemm": 3.0, "volta_sgemm": 97.0}).precision == "amp"


def test_operations_of_autocast_and_of_the_loss_scaler_tell_mixed_precision():
    assert read_signs({}, ["aten::_autocast_to_reduced_precision"]).precision == "amp"
    assert read_signs({}, ["aten::_amp_foreach_non_finite_check_and_unscale_"]).precision == "amp"
    assert read_signs({}, compute_capability=7) == PrecisionSigns(None, False), "nothing tells nothing"


@pytest.mark.parametrize(
    ("kernels", "operations", "compiled"),
    [
        (["triton_poi_fused_relu_0"], [], True),
        (["loop_fusion.12"], [], True),
        (["fusion_3"], [], True),
        (["input_fusion_reduce"], [], False),
        ([], ["CompiledFunctionBackward"], True),
        ([], ["Torch-Compiled Region: 0/0"], True),
        ([], ["XlaLaunch"], True),
        (["volta_sgemm"], ["Conv2D", "aten::mm"], False),
    ],
)
def test_a_compilers_names_are_known(kernels, operations, compiled):
    assert read_signs(dict.fromkeys(kernels, 1.0), operations).compiled is compiled
