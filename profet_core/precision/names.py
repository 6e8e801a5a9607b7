"""Precisions: their names in questions, recordings and data, and which a GPU runs."""

from __future__ import annotations

from types import MappingProxyType

from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError

FP32, TF32, AMP, BF16 = "fp32", "tf32", "amp", "bf16"
#: Default precision of the target: the profile's, with TF32 on GPUs that use it by default.
AS_PROFILED = "as profiled"
#: Precisions that a question may ask for.
PRECISIONS = (AS_PROFILED, FP32, TF32, AMP, BF16)
#: Precisions with 16-bit values in most of the step.
HALF = (AMP, BF16)

#: Other names of each precision, in lower case, with spaces for "_" and "-".
_ALIASES = MappingProxyType(
    {
        FP32: ("fp32", "float32", "float", "single", "fp32 inferred", "no"),
        TF32: ("tf32", "tensorfloat32", "tf32 conv"),
        AMP: (
            *("amp", "fp16", "float16", "half", "16 mixed", "mixed", "mixed precision"),
            *("mixed fp16", "mixed float16", "amp fp16", "automatic mixed precision"),
        ),
        BF16: ("bf16", "bfloat16", "bf16 mixed", "mixed bf16", "mixed bfloat16", "amp bf16"),
    }
)
_CANONICAL = MappingProxyType({alias: name for name, aliases in _ALIASES.items() for alias in aliases})


def canonical(name: str | None) -> str | None:
    """Canonical precision of a profile or a table; None if unknown.

    >>> canonical("mixed_float16"), canonical("tf32-conv"), canonical("mixed bf16"), canonical("int8")
    ('amp', 'tf32', 'bf16', None)
    """
    return None if name is None else _CANONICAL.get(" ".join(name.lower().replace("_", " ").replace("-", " ").split()))


def is_half(name: str | None) -> bool:
    """Whether a name denotes mixed or half precision.

    >>> is_half("mixed fp16"), is_half("tf32"), is_half(None)
    (True, False, False)
    """
    return canonical(name) in HALF


def requested_precision(name: str) -> str:
    """Precision of a question.

    Raises
    ------
    InputError : not one of `PRECISIONS`, under any of their names.
    """
    found = AS_PROFILED if name.strip().lower().replace("-", " ") == AS_PROFILED else canonical(name)
    if found is None:
        raise InputError(f"Unknown precision {name!r}: use {', '.join(repr(name) for name in PRECISIONS)}.")
    return found


#: Minimum compute capability of BF16 in tensor cores.
_AMPERE = 8.0


def has_tensor_cores(gpu: Gpu) -> bool:
    """Whether AMP uses tensor cores there, or AMD's matrix cores."""
    return gpu.fp16_tensor_dense_tflops is not None


def supported_precisions(gpu: Gpu) -> tuple[str, ...]:
    """Precisions that the GPU runs at a speed of their own: TF32, AMP and BF16 need tensor cores that have them."""
    tensor_cores = has_tensor_cores(gpu)
    known = {
        FP32: True,
        TF32: gpu.tf32_tensor_dense_tflops is not None,
        AMP: tensor_cores,
        BF16: tensor_cores and (gpu.compute_capability or _AMPERE) >= _AMPERE,
    }
    return tuple(name for name, supported in known.items() if supported)


def amp_words(gpu: Gpu) -> str:
    """What AMP and BF16 do on the GPU.

    >>> from profet_core.catalog.gpus import load_gpus
    >>> amp_words(load_gpus()["Tesla T4"])
    'faster, on tensor cores; BF16 at FP32 speed'
    """
    supported = supported_precisions(gpu)
    if AMP not in supported:
        return "AMP and BF16 at FP32 speed or slower: no tensor cores"
    return "faster, on tensor cores" + ("" if BF16 in supported else "; BF16 at FP32 speed")
