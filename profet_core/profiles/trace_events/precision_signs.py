"""Precision, compilation and memory layout of a step, from names in its trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: Kernels that a compiler made below this share of the time are a part of the step: Keras 2.11 to 2.15 compile the
#: optimizer's update alone.
MIN_COMPILED_SHARE = 0.05
#: Kernels of 16 bits below this share of the time are conversions at the edges, not mixed precision.
MIN_SHARE = 0.02
#: NHWC kernels below this share of the time are single convolutions of an NCHW step.
MIN_NHWC_SHARE = 0.2

AMP = "amp"
BF16 = "bf16"
TF32 = "tf32"
FP32 = "fp32"

# Names of cuDNN's, cuBLAS's and PyTorch's kernels: h884, h1688, h16816 and s884, s16816 are tensor-core instructions
# that take 16 bits; s1688 takes 16 bits or TF32, and then the name says which, or it is TF32.
_HALF_KERNEL = re.compile(
    r"c10::(?:Half|BFloat16)|Eigen::(?:half|bfloat16)|__half|__nv_bfloat16|(?:^|[_<, ])half(?:[_>, \d]|$)|fp16|float16"
    r"|bf16|[_.]f16|h884|h1688|h16816|s884|s16816|hgemm|hmma"
)
_TF32_KERNEL = re.compile(r"tf32|s1688")
_HALF_INPUT = re.compile(r"c10::(?:Half|BFloat16)")
_BF16 = re.compile(r"bf16|bfloat16", re.IGNORECASE)
_AMP_OPERATION = re.compile(r"autocast_to_reduced_precision|_amp_foreach_non_finite_check|_amp_update_scale")
_COMPILED_OPERATION = re.compile(r"CompiledFunction|CompiledFxGraph|Torch-Compiled Region|TorchDynamo")
_XLA_OPERATION = re.compile(r"XlaLaunch|XlaRun|XlaCompile")
# torch.compile's since 2.1 are triton_poi_fused_..., before that triton__0d1d2d; TorchScript's are CudaCodeGen's and
# nvFuser's; XLA's are fusions, its products gemm_fusion_dot, its single operations wrapped_transpose.
_COMPILED_KERNEL = re.compile(
    r"^triton_|CudaCodeGen::kernel|^nvfuser_|(?:^|_)fusion(?:_dot(?:_general)?)?(?:[._]+\d+)*$|^wrapped_[a-z]"
)
# Kernels that run only on tensors of this layout, kernels that cuDNN and MIOpen also run on converted NCHW tensors, and
# these conversions. Dense layers add their bias with NHWC kernels.
_NHWC_TENSOR = re.compile(r"batch_?norm\w*(?:nhwc|channels_last)|pool\w*nhwc|average_\w*nhwc", re.IGNORECASE)
_NHWC = re.compile(r"nhwc", re.IGNORECASE)
_NOT_NHWC = re.compile(r"bias|_nchw", re.IGNORECASE)
_CONVERSION = re.compile(r"nchwtonhwc|nhwctonchw|batched_transpose|SwapDimension1And2InTensor3", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PrecisionSigns:
    """What the names say; `precision` is None where they leave it open."""

    precision: str | None
    compiled: bool
    channels_last: bool = False


def read_signs(
    kernels_us: Mapping[str, float],
    operations: Iterable[str] = (),
    input_types: Iterable[str] = (),
    compute_capability: int | None = None,
    channels_last_inputs: bool | None = None,
) -> PrecisionSigns:
    """Precision, compilation and layout of a step.

    Parameters
    ----------
    kernels_us : kernel name -> microseconds.
    operations : names of operations on the host.
    input_types : types of the inputs of convolutions and matrix products, where they were recorded.
    compute_capability : the GPU's major one: below 8 there is no TF32, so that no sign of 16 bits means FP32.
    channels_last_inputs : whether most inputs of convolutions are NHWC in memory; None if the trace has no strides.
    """
    total_us = sum(kernels_us.values())
    halves_us = {name: us for name, us in kernels_us.items() if _HALF_KERNEL.search(name)}
    half_us = sum(halves_us.values())
    bf16_us = sum(us for name, us in halves_us.items() if _BF16.search(name))
    tf32_us = sum(us for name, us in kernels_us.items() if _TF32_KERNEL.search(name) and not _HALF_KERNEL.search(name))
    operations = tuple(operations)
    half_kernels = total_us > 0 and half_us >= MIN_SHARE * total_us
    half_inputs = {kind for kind in input_types if _HALF_INPUT.search(kind)}
    precision = None
    if half_kernels or half_inputs or any(_AMP_OPERATION.search(name) for name in operations):
        # Kernels of AMP's matrix instructions don't always name the format; those of BF16 do.
        is_bf16 = all(map(_BF16.search, half_inputs)) if half_inputs else 2 * bf16_us > half_us
        precision = BF16 if is_bf16 else AMP
    elif total_us and tf32_us >= MIN_SHARE * total_us:
        precision = TF32
    elif total_us and compute_capability is not None and compute_capability < 8:
        precision = FP32
    channels_last = _is_channels_last(kernels_us) if channels_last_inputs is None else channels_last_inputs
    return PrecisionSigns(precision, _is_compiled(kernels_us, operations), channels_last)


def _is_compiled(kernels_us: Mapping[str, float], operations: tuple[str, ...]) -> bool:
    """Whether a compiler made the step, and not a small part of it; the host's operations tell where kernels don't."""
    made_us = sum(us for name, us in kernels_us.items() if _COMPILED_KERNEL.search(name))
    if any(_COMPILED_OPERATION.search(name) for name in operations):
        return True
    if made_us > 0:
        return made_us >= MIN_COMPILED_SHARE * sum(kernels_us.values())
    return any(_XLA_OPERATION.search(name) for name in operations)


def _is_channels_last(kernels_us: Mapping[str, float]) -> bool:
    """Whether a step's tensors are NHWC: by kernels that take nothing else, or by many without conversions."""
    if any(_NHWC_TENSOR.search(name) for name in kernels_us):
        return True
    if any(_CONVERSION.search(name) for name in kernels_us):
        return False
    nhwc_us = sum(us for name, us in kernels_us.items() if _NHWC.search(name) and not _NOT_NHWC.search(name))
    return nhwc_us > 0 and nhwc_us >= MIN_NHWC_SHARE * sum(kernels_us.values())
