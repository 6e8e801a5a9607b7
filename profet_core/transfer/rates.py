"""Rates of a GPU by kind of work and precision over the reference GPU's in FP32: of published tables, else of specs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.gpus import Gpu, Gpus, supported_precisions
from profet_core.files import JsonObject, finite_number

#: Classes of GPU work whose rates differ in AMP; the first ones run on tensor cores.
CLASSES = ("convolution", "product", "normalization", "depthwise", "other")
ON_TENSOR_CORES = 2
#: How names of operation classes begin -> their place in `CLASSES`; all others are the last.
_OPERATIONS = {"convolution": 0, "matrix product": 1, "batch norm": 2, "depthwise": 3}
#: Values of `CLASSES`: shares of a step's GPU work, which add up to 1, or logarithms.
ByClass: TypeAlias = tuple[float, float, float, float, float]


def class_place(name: str) -> int:
    """Place in `CLASSES` of a class of operations.

    >>> class_place("convolution filter gradient"), class_place("depthwise"), class_place("pooling")
    (0, 3, 4)
    """
    return next((place for prefix, place in _OPERATIONS.items() if name.startswith(prefix)), len(CLASSES) - 1)


def shares_within(compute: float, product: float, normalization: float, depthwise: float) -> ByClass:
    """Shares of `CLASSES` from the compute share, that of products in it, and of two classes in the rest."""
    rest = 1 - compute
    return (
        *(compute * (1 - product), compute * product),
        *(rest * normalization, rest * depthwise, rest * (1 - normalization - depthwise)),
    )


def log_speed(shares: Sequence[float], log_rates: Sequence[float]) -> float:
    """How many times faster a step is, in the logarithm, whose time is split into these shares.

    >>> round(math.exp(log_speed((0.5, 0.5), (math.log(3), 0.0))), 3)
    1.5
    """
    return -math.log(sum(share * math.exp(-rate) for share, rate in zip(shares, log_rates, strict=True)))


class GpuRates(Struct, frozen=True):
    """Logarithms of a GPU's rates over the reference GPU's in FP32.

    Attributes
    ----------
    compute, fp32_compute : of convolutions and matrix products in its default precision, TF32 if it has it, and in
        FP32.
    bandwidth : of all other work in both.
    amp_compute, amp_bandwidth : what AMP adds to the default precision.
    tuned : what channels-last and compiled code adds to AMP beyond `Rates.tuned`.
    log_sd, fp32_log_sd, amp_log_sd : standard deviations of the benchmark's speed in the default precision, in FP32,
        and of AMP's over the default precision's.
    tables : published tables that it follows from; 0: specs alone.
    statement, fp32_statement : a user's statement that it follows from, in the default precision and in FP32.
    """

    compute: float
    fp32_compute: float
    bandwidth: float
    amp_compute: float
    amp_bandwidth: float
    log_sd: float
    fp32_log_sd: float
    amp_log_sd: float
    tuned: float = 0.0
    tables: int = 0
    statement: str = ""
    fp32_statement: str = ""

    def compute_in(self, tf32: bool) -> float:
        """Of convolutions and products in TF32, if the GPU has it and `tf32` is requested, else in FP32."""
        return self.compute if tf32 else self.fp32_compute


class SpecRates(Struct, frozen=True):
    """How rates follow from specs: powers of the FP32 peak, of TF32's over it, of watts over it, and of the bandwidth.

    Attributes
    ----------
    efficiency : log of the bandwidth that other GPUs attain, relative to the reference's.
    amp_compute, amp_bandwidth : of AMP, at a half-precision peak of four times the default one.
    amp_peak : power of it.
    generations : compute capability -> log factor on compute, its standard deviation, and log factor on FP32's.
    generation_log_sd : standard deviation of an unknown generation.
    gpu_log_sd, amp_log_sd : of a GPU around these.
    tf32_log_sd : of TF32 over FP32.
    """

    peak: float
    tf32: float
    power: float
    bandwidth: float
    efficiency: float
    amp_compute: float
    amp_peak: float
    amp_bandwidth: float
    generations: Mapping[float, tuple[float, float, float]]
    generation_log_sd: float
    gpu_log_sd: float
    tf32_log_sd: float
    amp_log_sd: float

    def rates(self, gpu: Gpu, reference: Gpu) -> GpuRates:
        """Rates of a GPU that no table has."""
        unknown = 0.0, self.generation_log_sd, 0.0
        effect, effect_log_sd, in_fp32 = self.generations.get(gpu.compute_capability or 0.0, unknown)
        watts = gpu.tdp_w / gpu.fp32_tflops / (reference.tdp_w / reference.fp32_tflops)
        fp32 = effect + self.peak * math.log(gpu.fp32_tflops / reference.fp32_tflops) + self.power * math.log(watts)
        tf32 = log_tf32_peak(gpu)
        log_sd = math.hypot(effect_log_sd, self.gpu_log_sd)
        bandwidth = math.log(gpu.bandwidth_gb_per_s / reference.bandwidth_gb_per_s)
        return GpuRates(
            compute=fp32 + self.tf32 * tf32,
            fp32_compute=fp32 + min(in_fp32, self.tf32 * tf32),
            bandwidth=self.bandwidth * bandwidth + self.efficiency,
            amp_compute=self.amp_compute + self.amp_peak * math.log(peak_ratio(gpu) / USUAL_PEAK_RATIO),
            amp_bandwidth=self.amp_bandwidth,
            log_sd=log_sd,
            fp32_log_sd=math.hypot(log_sd, self.tf32_log_sd if tf32 else 0.0),
            amp_log_sd=self.amp_log_sd,
        )


#: Ratio of half-precision peak to default peak at which the AMP rates of `SpecRates` hold.
USUAL_PEAK_RATIO = 4.0


def peak_ratio(gpu: Gpu) -> float:
    """Half-precision peak over the peak of the GPU's default precision, TF32 or FP32; 1 without tensor cores."""
    return (gpu.fp16_tensor_dense_tflops or gpu.fp32_tflops) / (gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops)


def log_tf32_peak(gpu: Gpu) -> float:
    """Log ratio of the TF32 to the FP32 peak; 0 without TF32."""
    return math.log(max((gpu.tf32_tensor_dense_tflops or gpu.fp32_tflops) / gpu.fp32_tflops, 1.0))


def no_less(gpu: Gpu, other: Gpu) -> bool:
    """Whether a GPU of the same generation has no less of everything than another one, and more of something."""
    if gpu.compute_capability is None or gpu.compute_capability != other.compute_capability:
        return False
    one, two = _specs(gpu), _specs(other)
    return all(mine >= its for mine, its in zip(one, two, strict=True)) and (one, gpu.base_mhz) > (two, other.base_mhz)


def _specs(gpu: Gpu) -> tuple[float, ...]:
    tensor = gpu.tf32_tensor_dense_tflops or 0.0, gpu.fp16_tensor_dense_tflops or 0.0
    cores = gpu.sm_count, gpu.cuda_cores, gpu.boost_mhz, gpu.fp32_tflops
    return (*cores, *tensor, gpu.bandwidth_gb_per_s, gpu.l2_mb, gpu.tdp_w)


class Rates(Struct, frozen=True):
    """Rates of all GPUs.

    Attributes
    ----------
    from_specs : rates of GPUs that no table has.
    gpus : full name -> rates of all others.
    amp_classes : added to those of AMP, by class.
    tuned : added to AMP's compute and bandwidth by channels-last tensors and a compiler.
    published_width, specs_width : factors on standard deviations of a step on a GPU that tables have, or specs alone:
        with them, 90% intervals hold as much of such GPUs' published speeds that the rates didn't see.
    within_log_sd : spread of networks around the speedup of a precision.
    no_tensor_cores_log_sd : of AMP over FP32 on GPUs without tensor cores, where the speedup is assumed to be 1.
    activation_share : activations in AMP over those in FP32, from the batches that tables ran in the same memory.
    """

    from_specs: SpecRates
    gpus: Mapping[str, GpuRates]
    amp_classes: ByClass
    tuned: tuple[float, float]
    tuned_log_sd: float
    published_width: float
    specs_width: float
    within_log_sd: float
    no_tensor_cores_log_sd: float
    activation_share: float

    def width(self, rates: GpuRates) -> float:
        """Factor on standard deviations by what a GPU's rates follow from."""
        return self.published_width if rates.tables or rates.statement else self.specs_width

    def amp(
        self, gpu: Gpu, reference: Gpu, precision: str, *, tuned: bool = False, transferred: bool = False
    ) -> Factors:
        """Factors of AMP or BF16 over the GPU's default precision: TF32 if it has it, else FP32.

        Parameters
        ----------
        transferred : the step in the default precision is, whose interval has the spread of networks already.
        """
        if precision not in supported_precisions(gpu):
            return Factors(NO_FACTORS, self.no_tensor_cores_log_sd)
        rates = self.of_gpu(gpu, reference)
        more = [each + rates.tuned for each in self.tuned] if tuned else (0.0, 0.0)
        compute, rest = rates.amp_compute + more[0], rates.amp_bandwidth + more[1]
        bandwidth_gain = MAX_FUSED_GAIN if tuned else MAX_BANDWIDTH_GAIN
        most = (math.log(max(peak_ratio(gpu), 1.0)) + log_tf32_peak(gpu), math.log(bandwidth_gain))
        by_class = tuple(
            min(max(value + added, 0.0), most[place >= ON_TENSOR_CORES])
            for place, (value, added) in enumerate(
                zip(
                    (compute,) * ON_TENSOR_CORES + (rest,) * (len(CLASSES) - ON_TENSOR_CORES),
                    self.amp_classes,
                    strict=True,
                )
            )
        )
        of_gpu, of_code = self.width(rates) * rates.amp_log_sd, self.tuned_log_sd if tuned else 0.0
        within = 0.0 if transferred else self.within_log_sd
        return Factors(by_class, math.hypot(of_gpu, of_code, within))  # type: ignore[arg-type]

    def tf32(self, gpu: Gpu, reference: Gpu) -> Factors:
        """Factors of TF32 over FP32, which moves the same bytes; none for a GPU without TF32."""
        rates = self.of_gpu(gpu, reference)
        gain = rates.compute - rates.fp32_compute
        # Nothing is cast.
        factors = (gain,) * ON_TENSOR_CORES + (0.0,) * (len(CLASSES) - ON_TENSOR_CORES)
        log_sd = math.hypot(self.from_specs.tf32_log_sd, self.within_log_sd) if log_tf32_peak(gpu) else 0.0
        return Factors(factors, log_sd)  # type: ignore[arg-type]

    def with_unlisted(self, gpus: Gpus, reference: Gpu) -> Rates:
        """Add the GPUs of the catalog that the fit didn't know."""
        unlisted = {name: self._unlisted(gpu, gpus, reference) for name, gpu in gpus.items() if name not in self.gpus}
        return replace(self, gpus=MappingProxyType({**self.gpus, **unlisted})) if unlisted else self

    def _unlisted(self, gpu: Gpu, gpus: Gpus, reference: Gpu) -> GpuRates:
        """Rates of the nearest card of its chip, moved as specs say, in the order of the known ones."""
        if known := self.gpus.get(gpus.twin(gpu).name):
            return known
        rates = self.from_specs.rates(gpu, reference)
        sibling = gpus.on_chip(gpu, self.gpus)
        if sibling is not None:
            known, by_specs = self.gpus[sibling.name], self.from_specs.rates(sibling, reference)
            moved = {name: getattr(known, name) + getattr(rates, name) - getattr(by_specs, name) for name in _RATES}
            sds = {name: math.hypot(getattr(known, name), self.from_specs.gpu_log_sd) for name in _LOG_SDS}
            rates = replace(rates, **moved, **sds)
        others = [(gpus[name], row) for name, row in self.gpus.items()]
        for name in _ORDERED:
            least = max((getattr(row, name) for one, row in others if no_less(gpu, one)), default=-math.inf)
            most = min((getattr(row, name) for one, row in others if no_less(one, gpu)), default=math.inf)
            rates = replace(rates, **{name: max(least, min(most, getattr(rates, name)))})
        return rates

    def of_gpu(self, gpu: Gpu, reference: Gpu) -> GpuRates:
        """What is known best: a table, or its specs."""
        return self.gpus.get(gpu.name) or self.from_specs.rates(gpu, reference)


#: Bandwidth-bound work of plain code moves at best half the bytes; a compiler fuses it, and it moves fewer.
MAX_BANDWIDTH_GAIN, MAX_FUSED_GAIN = 2.0, 3.0
#: Exponent for combining work and launches.
LAUNCH_POWER = 4.0
NO_FACTORS: ByClass = (0.0, 0.0, 0.0, 0.0, 0.0)


class Factors(Struct, frozen=True):
    """Speedups of a precision over another one on a GPU, natural logarithms.

    Attributes
    ----------
    by_class : of `CLASSES`.
    log_sd : standard deviation of a step's.
    """

    by_class: ByClass
    log_sd: float

    def log_speedup(self, shares: Sequence[float], launch_share: float = 0.0) -> float:
        """Log speedup of a step.

        Parameters
        ----------
        shares : of `CLASSES` in the GPU's own work in the slower precision.
        launch_share : of launch time in the step, which no precision changes.

        >>> factors = Factors((math.log(4),) * 2 + (math.log(2),) * 3, 0.1)
        >>> half = (0.5, 0.0, 0.1, 0.1, 0.3)
        >>> round(math.exp(factors.log_speedup(half)), 3), factors.log_speedup(half, 1.0) <= 0
        (2.667, True)
        """
        if self.by_class == NO_FACTORS:
            return 0.0
        left = math.exp(-log_speed(shares, self.by_class))
        launches = min(max(launch_share, 0.0), 1.0)
        joined = (left**LAUNCH_POWER + launches**LAUNCH_POWER) ** (1 / LAUNCH_POWER)
        # Casts and launches of small networks in AMP may take longer, which tables show: no more than what they gain.
        return -math.log(min(joined, max(1.0, left)))


def rates_of(content: JsonObject) -> Rates:
    """Parse the rates of a file; raises `ValueError` or similar for invalid content."""
    specs = content["law"]
    generations = {
        float(row["compute_capability"]): (
            finite_number(row["effect"]),
            finite_number(row["log_sd"]),
            finite_number(row["fp32_effect"]),
        )
        for row in specs["generations"]
    }
    numbers = {_KEYS.get(name, name): finite_number(value) for name, value in specs.items() if name != "generations"}
    gpus: dict[str, GpuRates] = {}
    for name, row in content["gpus"].items():
        values: Any = {key: finite_number(row[key]) for key in _NUMBERS}
        gpus[str(name)] = GpuRates(**values, tables=int(row["tables"]))
    classes = tuple(map(finite_number, content["amp_classes"]))
    tuned = tuple(map(finite_number, content["tuned"]))
    if len(classes) != len(CLASSES) or len(tuned) != 2 or min((row.log_sd for row in gpus.values()), default=1) <= 0:
        raise ValueError("no rates")
    return Rates(
        from_specs=SpecRates(**numbers, generations=MappingProxyType(generations)),
        gpus=MappingProxyType(gpus),
        amp_classes=classes,  # type: ignore[arg-type]
        tuned=tuned,
        **{name: finite_number(content[name]) for name in _SCALARS},
    )


_KEYS = {"own_log_sd": "gpu_log_sd"}
_SCALARS = (
    *("tuned_log_sd", "published_width", "specs_width", "within_log_sd"),
    *("no_tensor_cores_log_sd", "activation_share"),
)
#: What a GPU with no less of everything has no less of.
_ORDERED = ("compute", "fp32_compute", "bandwidth")
_RATES = (*_ORDERED, "amp_compute", "amp_bandwidth", "tuned")
_LOG_SDS = ("log_sd", "fp32_log_sd", "amp_log_sd")
_NUMBERS = (*_RATES, *_LOG_SDS)
