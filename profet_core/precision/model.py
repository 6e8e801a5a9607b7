"""How much faster AMP and TF32 are: `precision.json`, factors by class on each GPU, and the step's own shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from profet_core.catalog.gpus import Gpu
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder
from profet_core.latency import log_sd_of
from profet_core.precision.names import AMP, BF16, FP32, TF32

# It depends on factors by class of operations, their shares of the GPU's work, and launches. Two factors are a GPU's:
# k of convolutions and products, m of the rest. Classes differ from them alike on all GPUs. Launch time does not
# change, so a launch-bound step gains nothing.

#: Classes of GPU work, those that run on tensor cores first.
CLASSES = ("convolution", "product", "normalization", "depthwise", "other")
ON_TENSOR_CORES = 2
#: How names of operation classes begin -> their place in `CLASSES`; all others are the last.
_OPERATIONS = {"convolution": 0, "matrix product": 1, "batch norm": 2, "depthwise": 3}


def class_place(name: str) -> int:
    """Place in `CLASSES` of a class of operations.

    >>> class_place("convolution filter gradient"), class_place("depthwise"), class_place("pooling")
    (0, 3, 4)
    """
    return next((place for prefix, place in _OPERATIONS.items() if name.startswith(prefix)), len(CLASSES) - 1)


#: Shares of `CLASSES` in a step's GPU work, which add up to 1.
Shares: TypeAlias = tuple[float, float, float, float, float]


def shares_within(compute: float, product: float, normalization: float, depthwise: float) -> Shares:
    """Shares of `CLASSES` from the compute share, that of products in it, and of two classes in the rest."""
    rest = 1 - compute
    return (
        *(compute * (1 - product), compute * product),
        *(rest * normalization, rest * depthwise, rest * (1 - normalization - depthwise)),
    )


def estimated_shares(counts: Sequence[float], per_count: Sequence[float]) -> tuple[float, float, float]:
    """Products' share of compute, and normalizations' and depthwise kernels' of the rest, of an unprofiled network.

    Parameters
    ----------
    counts : ratios of its counts (`profet_lab/precision/pairs.py`). per_count : factors on them.
    """
    product, normalization, depthwise = (factor * amount for factor, amount in zip(per_count, counts, strict=True))
    depthwise /= 1 + depthwise
    return product / (1 + product), (1 - depthwise) * min(normalization, 1.0), depthwise


#: Exponent for combining work and launches.
LAUNCH_POWER = 4.0
#: Ratio of half-precision peak to default peak at which the fitted `log_k` holds.
USUAL_PEAK_RATIO = 6.0
#: Bandwidth-bound work moves at best half the bytes.
MOST_LOG_M = math.log(2)
#: Maximum slowdown by AMP on tensor cores: casts and launches of a small network.
MOST_SLOWER = 1.1


@dataclass(frozen=True, slots=True)
class Factors:
    """Speedups on one GPU, natural logarithms.

    Attributes
    ----------
    curves : log factors of `CLASSES` from each of several tables; the step's speedup is their geometric mean.
    bound : upper bound of log k for any kernel. log_sd : standard deviation of the step's log speedup.
    log_offset : added to the log speedup of the curves' mean.
    most_slower : maximum slowdown.
    """

    curves: tuple[Shares, ...]
    bound: float
    log_sd: float
    log_offset: float = 0.0
    most_slower: float = MOST_SLOWER

    @property
    def by_class(self) -> tuple[float, ...]:
        """Log factor of each class, the bounded mean of the tables."""
        means = [sum(logs) / len(self.curves) for logs in zip(*self.curves, strict=True)]
        return tuple(min(max(mean, 0.0), most) for mean, most in zip(means, self._most, strict=True))

    @property
    def _most(self) -> tuple[float, ...]:
        """Upper bound of each class's log factor."""
        others = len(CLASSES) - ON_TENSOR_CORES
        return (self.bound,) * ON_TENSOR_CORES + (min(MOST_LOG_M, self.bound),) * others

    def log_speedup(self, shares: Sequence[float], launch_share: float = 0.0) -> float:
        """Log speedup of a step.

        Parameters
        ----------
        shares : of `CLASSES` in the GPU's FP32 work. launch_share : of launch time in the step.

        >>> factors = Factors(((math.log(4),) * 2 + (math.log(2),) * 3,), math.log(8), 0.1)
        >>> half = (0.5, 0.0, 0.1, 0.1, 0.3)
        >>> round(math.exp(factors.log_speedup(half)), 3), factors.log_speedup(half, 1.0) <= 0
        (2.667, True)
        """
        if self.curves == SAME_SPEED:
            return 0.0
        logs = [math.log(_left(shares, curve)) for curve in self.curves]
        least = _left(shares, self._most)
        left = max(math.exp(sum(logs) / len(logs) - self.log_offset), least)
        launches = min(max(launch_share, 0.0), 1.0)
        joined = (left**LAUNCH_POWER + launches**LAUNCH_POWER) ** (1 / LAUNCH_POWER)
        return -math.log(min(joined, max(self.most_slower, left)))


def _left(shares: Sequence[float], logs: Sequence[float]) -> float:
    return sum(share * math.exp(-log) for share, log in zip(shares, logs, strict=True))


#: No speedup: no curve, and no gain from AMP.
SAME_SPEED: tuple[Shares, ...] = ((0.0,) * len(CLASSES),)  # type: ignore[assignment]


def peak_ratio(gpu: Gpu) -> float:
    """Half-precision peak over the peak of the GPU's default precision, TF32 or FP32; 1 without tensor cores."""
    return (gpu.fp16_tensor_dense_tflops or gpu.fp32_tflops) / (gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops)


def peak_bound(gpu: Gpu) -> float:
    """Log ratio of tensor core peak to FP32 peak, the upper bound of a step's gain."""
    return math.log(max((gpu.fp16_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops, 1.0))


def tf32_bound(gpu: Gpu) -> float:
    """Upper bound of the gain from TF32, in the logarithm."""
    return math.log(max((gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops, 1.0))


PRECISION_NAME = "precision.json"
PRECISION_VERSION = 2

#: Minimum compute capability of TF32 and BF16 in tensor cores.
AMPERE = 8.0


@dataclass(frozen=True, slots=True)
class PrecisionModel:
    """Coefficients; all natural logarithms.

    Attributes
    ----------
    curves : one per table; predictions use their mean. Each has the log AMP speedups of `CLASSES` on a GPU with the
        default ratio of peaks.
    peak_power : k is proportional to this power of the ratio of peaks over the default ratio.
    gpus : GPU -> increments of log k and log m, from published pairs.
    log_offset : mean error of the curves' mean over the tables.
    log_half_width : half-width of a 90% interval of AMP over FP32 or TF32 in a held-out table.
    gpu_log_half_widths : GPU -> the same, where its own errors are larger.
    converted_log_half_width : the same of AMP on one GPU over AMP on another, both with tensor cores, in one table: the
        errors of network and table cancel.
    plain_log_half_width : the same on GPUs without tensor cores, where the speedup is assumed to be 1.
    tf32_power : power of the ratio of peaks that gives the TF32 speedup of convolutions and products.
    tf32_log_half_width : half-width of a 90% interval of TF32 over FP32.
    share_line : for a network without a profile, log(compute / other work) = share_line[0] + share_line[1] x log(FLOPs
        of convolutions and products per output value of its layers). class_counts : factors on `class_counts` of its
        layers, for the shares of classes within both.
    activation_share : activations in AMP over those in FP32, from the batches that tables ran in the same memory.
    """

    curves: tuple[Shares, ...]
    peak_power: float
    log_offset: float
    log_half_width: float
    converted_log_half_width: float
    plain_log_half_width: float
    tf32_power: float
    tf32_log_half_width: float
    activation_share: float
    share_line: tuple[float, float]
    class_counts: tuple[float, ...]
    gpus: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    gpu_log_half_widths: Mapping[str, float] = field(default_factory=dict)
    checksum: str = ""

    def amp(self, gpu: Gpu, precision: str) -> Factors:
        """Factors of AMP or BF16 over the GPU's default precision: TF32 if it has it, else FP32."""
        if precision not in supported_precisions(gpu):
            return Factors(SAME_SPEED, 0.0, log_sd_of(self.plain_log_half_width))
        more_k, more_m = self.gpus.get(gpu.name, (0.0, 0.0))
        more_k += self.peak_power * math.log(peak_ratio(gpu) / USUAL_PEAK_RATIO)
        more = (more_k,) * ON_TENSOR_CORES + (more_m,) * (len(CLASSES) - ON_TENSOR_CORES)
        curves: Any = tuple(tuple(map(sum, zip(curve, more, strict=True))) for curve in self.curves)
        half_width = max(self.log_half_width, self.gpu_log_half_widths.get(gpu.name, 0.0))
        return Factors(curves, peak_bound(gpu), log_sd_of(half_width), self.log_offset)

    def shares_of(self, flops_per_value: float, counts: Sequence[float]) -> Shares:
        """Shares of `CLASSES` in the GPU work of an unprofiled network; `counts` as in `estimated_shares`."""
        first, power = self.share_line
        ratio = math.exp(first + power * math.log(max(flops_per_value, 1e-9)))
        return shares_within(ratio / (1 + ratio), *estimated_shares(counts, self.class_counts))

    def tf32(self, gpu: Gpu) -> Factors:
        """Factors of TF32 over FP32, which moves the same bytes; 1 for a GPU without TF32."""
        if gpu.tf32_tensor_dense_tflops is None:
            return Factors(SAME_SPEED, 0.0, 0.0)
        bound = tf32_bound(gpu)
        # Nothing is cast.
        gain = self.tf32_power * bound
        return Factors(((gain, gain, 0.0, 0.0, 0.0),), bound, log_sd_of(self.tf32_log_half_width), most_slower=1.0)


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
        BF16: tensor_cores and (gpu.compute_capability or AMPERE) >= AMPERE,
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
        return "AMP and BF16 at FP32 speed, sometimes slower: no tensor cores"
    return "faster, on tensor cores" + ("" if BF16 in supported else "; BF16 at FP32 speed")


def load_precision(folder: Path | str | None = None) -> PrecisionModel:
    """Load `precision.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    return load_coefficients(models_folder(folder) / PRECISION_NAME, PRECISION_VERSION, precision_model)


def precision_model(content: JsonObject) -> PrecisionModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    numbers = {name: finite_number(content[name]) for name in NUMBERS}
    widths = {str(name): finite_number(value) for name, value in content["gpu_log_half_widths"].items()}
    positive = [numbers[name] for name in NUMBERS if name.endswith(("half_width", "share"))]
    if min(positive) <= 0 or min(widths.values(), default=1) <= 0 or numbers["activation_share"] > 1:
        raise ValueError("no model of precision")
    curves: Any = tuple(tuple(map(finite_number, curve)) for curve in content["curves"])
    counted = tuple(map(finite_number, content["class_counts"]))
    if not curves or {*map(len, curves)} != {len(CLASSES)} or len(counted) != len(CLASSES) - ON_TENSOR_CORES:
        raise ValueError("no curve")
    gpus = {str(name): (finite_number(row[0]), finite_number(row[1])) for name, row in content["gpus"].items()}
    return PrecisionModel(
        **numbers,
        curves=curves,
        class_counts=counted,
        share_line=(finite_number(content["share_line"][0]), finite_number(content["share_line"][1])),
        gpus=MappingProxyType(gpus),
        gpu_log_half_widths=MappingProxyType(widths),
        checksum=str(content["checksum"]),
    )


#: Scalar coefficients.
NUMBERS = (
    "log_offset",
    "peak_power",
    "log_half_width",
    "converted_log_half_width",
    "plain_log_half_width",
    "tf32_power",
    "tf32_log_half_width",
    "activation_share",
)
