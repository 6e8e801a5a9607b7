"""Tells from names in a trace whether a step ran in reduced precision or through a compiler."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: Kernels that a compiler made below this share of the time are a part of the step: Keras 2.11 to 2.15 compile the
#: optimizer's update alone.
MIN_COMPILED_SHARE = 0.05
#: Kernels of 16 bits below this share of the time are conversions at the edges, not mixed precision.
MIN_SHARE = 0.02

AMP = "amp"
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
_AMP_OPERATION = re.compile(r"autocast_to_reduced_precision|_amp_foreach_non_finite_check|_amp_update_scale")
_COMPILED_OPERATION = re.compile(r"CompiledFunction|CompiledFxGraph|Torch-Compiled Region|TorchDynamo")
_XLA_OPERATION = re.compile(r"XlaLaunch|XlaRun|XlaCompile")
_COMPILED_KERNEL = re.compile(r"^triton_(?:poi|red|per|for|tem)|(?:^|_)fusion(?:[._]\d+)*$")


@dataclass(frozen=True, slots=True)
class PrecisionSigns:
    """What the names say; `precision` is None where they leave it open."""

    precision: str | None
    compiled: bool


def read_signs(
    kernels_us: Mapping[str, float],
    operations: Iterable[str] = (),
    input_types: Iterable[str] = (),
    compute_capability: int | None = None,
) -> PrecisionSigns:
    """Precision and compilation of a step.

    Parameters
    ----------
    kernels_us : kernel name -> microseconds.
    operations : names of operations on the host.
    input_types : types of the inputs of convolutions and matrix products, where they were recorded.
    compute_capability : the GPU's major one: below 8 there is no TF32, so that no sign of 16 bits means FP32.
    """
    total_us = sum(kernels_us.values())
    half_us = sum(us for name, us in kernels_us.items() if _HALF_KERNEL.search(name))
    tf32_us = sum(us for name, us in kernels_us.items() if _TF32_KERNEL.search(name) and not _HALF_KERNEL.search(name))
    operations = tuple(operations)
    half_kernels = total_us > 0 and half_us >= MIN_SHARE * total_us
    half_inputs = any(_HALF_INPUT.search(kind) for kind in input_types)
    precision = None
    if half_kernels or half_inputs or any(_AMP_OPERATION.search(name) for name in operations):
        precision = AMP
    elif total_us and tf32_us >= MIN_SHARE * total_us:
        precision = TF32
    elif total_us and compute_capability is not None and compute_capability < 8:
        precision = FP32
    return PrecisionSigns(precision, _is_compiled(kernels_us, operations))


def _is_compiled(kernels_us: Mapping[str, float], operations: tuple[str, ...]) -> bool:
    """Whether a compiler made the step, and not a small part of it; the host's operations tell where kernels don't."""
    made_us = sum(us for name, us in kernels_us.items() if _COMPILED_KERNEL.search(name))
    if any(_COMPILED_OPERATION.search(name) for name in operations):
        return True
    if made_us > 0:
        return made_us >= MIN_COMPILED_SHARE * sum(kernels_us.values())
    return any(_XLA_OPERATION.search(name) for name in operations)
