"""Rates of work by GPU, precision, training code and kind: what a step known by its layers takes.

    step = smooth maximum of (work of each kind / its rate, summed) and launches, plus a start

A rate is the GPU's peak for that kind (FLOPs of that precision, or memory bandwidth) to a power, times an efficiency
of the kind in that precision and code, times what the GPU's measured steps say of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from profet_core.catalog.gpus import CHANNELS_LAST, FP32, TF32, TUNED, Gpu, Host, load_gpus
from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder, shown
from profet_core.latency import FloatArray
from profet_core.layers.network import Counts
from profet_core.layers.networks import PROFET
from profet_core.prediction.models import CALIBRATED_NAME, Models

#: Kinds of work: FLOPs, then values that are written, then what a step takes once, whatever its batch.
FLOPS = (
    *("convolution", "1 x 1 convolution", "grouped convolution", "wide grouped convolution", "depthwise convolution"),
    *("matrix product", "narrow convolution", "narrow grouped convolution", "transformer product", "batched product"),
)
#: Products of transformers, dense and of attention: libraries run them near the peak of every GPU and precision.
PRODUCTS = ("transformer product", "batched product")
#: How their rates follow the peak, and milliseconds per GFLOP forward, backward too, of 1 TFLOP/s: none is faster.
PRODUCT_POWER, _PRODUCT_MS = 0.85, 3.0
ELEMENTS = (
    *("convolution and product outputs", "convolution and product inputs", "depthwise outputs", "normalization"),
    *("activation function", "elementwise", "pooling", "copy", "attention score"),
)
ONCE = ("parameters", "dense parameters")
#: Kinds without a peak: the copy of the images to the GPU, and the ends of kernels, which leave part of it idle.
NO_PEAK = ("images", "kernels")
KINDS = (*FLOPS, *ELEMENTS, *ONCE, *NO_PEAK)
_ARE_PRODUCTS = np.isin(KINDS, PRODUCTS)
#: Kinds of work that CNNs have none of.
OF_TRANSFORMERS = (*PRODUCTS, "attention score")
#: Kinds whose rate follows the peak of plain cores; other FLOPs follow that of tensor cores, where there are any.
_ON_PLAIN_CORES = ("depthwise convolution",)
_COMPUTES = np.array([kind in FLOPS and kind not in PRODUCTS for kind in KINDS])
_ON_TENSOR_CORES = np.array([kind in FLOPS and kind not in (*PRODUCTS, *_ON_PLAIN_CORES) for kind in KINDS])
#: Kinds of a convolution's own work.
OF_CONVOLUTIONS = (*FLOPS, "convolution and product outputs", "convolution and product inputs")
_OF_CONVOLUTIONS = np.isin(KINDS, OF_CONVOLUTIONS)
_MOVES = np.array([kind in ELEMENTS for kind in KINDS])
_ENDS = np.array([kind == "kernels" for kind in KINDS])
#: Kinds that write the tensors of a step; how large they are on average says how much of them a cache holds.
WRITTEN = (
    *("convolution and product outputs", "depthwise outputs", "normalization", "activation function", "elementwise"),
    *("pooling", "copy"),
)
_ARE_WRITTEN = np.isin(KINDS, WRITTEN)
#: Compute capability from which attention is fused: Turing.
_FUSED_FROM = 7.5


class Mode(IntEnum):
    """Precision on what kind of cores, and training code."""

    FP32 = 0
    TF32 = 1
    HALF = 2
    HALF_CHANNELS_LAST = 3
    HALF_PLAIN_CORES = 4
    HALF_TUNED = 5


_WITHOUT_TENSOR_CORES = (Mode.FP32, Mode.HALF_PLAIN_CORES)
_IN_OTHER_CODE = (Mode.HALF_CHANNELS_LAST, Mode.HALF_TUNED)


def mode_of(gpu: Gpu, precision: str, code: str) -> Mode:
    """Return the mode of a step on a GPU; TF32 where the GPU has none is FP32.

    Code changes half precision alone: little is published of others (ResNet-50 in FP32, V100: slower channels-last).
    """
    if precision == FP32 or (precision == TF32 and gpu.tf32_tensor_dense_tflops is None):
        return Mode.FP32
    if precision == TF32:
        return Mode.TF32
    if gpu.fp16_tensor_dense_tflops is None:
        return Mode.HALF_PLAIN_CORES
    return {CHANNELS_LAST: Mode.HALF_CHANNELS_LAST, TUNED: Mode.HALF_TUNED}.get(code, Mode.HALF)


def log_peaks(gpu: Gpu, mode: Mode) -> FloatArray:
    """Logarithms of the peaks that rates follow, (kinds,): TFLOP/s and TB/s."""
    plain = gpu.fp32_tflops
    tensor = {
        Mode.TF32: gpu.tf32_tensor_dense_tflops,
        Mode.HALF: gpu.fp16_tensor_dense_tflops,
        Mode.HALF_CHANNELS_LAST: gpu.fp16_tensor_dense_tflops,
        Mode.HALF_TUNED: gpu.fp16_tensor_dense_tflops,
    }.get(mode) or plain
    peaks = np.full(len(KINDS), gpu.bandwidth_gb_per_s / 1e3)
    peaks[: len(FLOPS)] = [plain if kind in _ON_PLAIN_CORES else tensor for kind in FLOPS]
    peaks[-len(NO_PEAK) :] = 1.0
    logs: FloatArray = np.log(peaks)
    return logs


#: Usual multiples of plain cores' peak on tensor cores, watts per TFLOP/s, and clock: where the terms below are zero.
_USUAL_TF32, _USUAL_HALF, _USUAL_WATTS, _USUAL_MHZ = 4.0, 8.0, 8.0, 1500.0


def log_tensor_peak(gpu: Gpu, mode: Mode) -> float:
    """Logarithm of a mode's peak on tensor cores over a usual multiple of plain cores'; 0 without tensor cores."""
    if mode in _WITHOUT_TENSOR_CORES:
        return 0.0
    tensor, usual = gpu.fp16_tensor_dense_tflops, _USUAL_HALF
    if mode is Mode.TF32:
        tensor, usual = gpu.tf32_tensor_dense_tflops, _USUAL_TF32
    return math.log(tensor / gpu.fp32_tflops / usual) if tensor else 0.0


def log_watts(gpu: Gpu) -> float:
    """Logarithm of a GPU's power limit per TFLOP/s over a usual one: how well it keeps its clock."""
    return math.log(gpu.tdp_w / gpu.fp32_tflops / _USUAL_WATTS)


def log_clock(gpu: Gpu) -> float:
    """Logarithm of a GPU's clock over a usual one: the end of a kernel takes so much less."""
    return math.log(gpu.boost_mhz / _USUAL_MHZ)


def log_cached(l2_mb: FloatArray, is_half: np.ndarray, written: FloatArray, kernels: FloatArray) -> FloatArray:
    """How much of a step's tensors the cache of a GPU holds: the logarithm of 1 + cache / two tensors of mean size.

    Parameters
    ----------
    written, kernels : millions of values that a step writes, and by how many kernels.
    """
    tensor_mb = np.where(is_half, 2.0, 4.0) * written / np.maximum(kernels, 1.0)
    logs: FloatArray = np.log1p(l2_mb / (2 * np.maximum(tensor_mb, 1e-3)))
    return logs


def fuses_attention(gpu: Gpu) -> bool:
    """Whether frameworks of today keep attention's scores on the chip: PyTorch 2 does from Turing on."""
    return (gpu.compute_capability or _FUSED_FROM) >= _FUSED_FROM


def work_of(counts: Counts, batch_size: int, *, fuses_attention: bool = False) -> FloatArray:
    """Work of one step by kind, (kinds,): GFLOPs forward, millions of values forward, millions of parameters, kernels.

    The backward pass is proportional to the forward one.

    Parameters
    ----------
    fuses_attention : whether attention's scores stay on the chip.
    """
    flops, elements = counts.flops, counts.elements
    # Convolutional networks with attention run its products as transformers do; its scores count as functions.
    is_cnn, case = counts.is_convolutional, case_of(counts)
    product, score = (0.0, 0.0) if is_cnn else (flops.product, elements.score)
    dense, attended = (flops.dense, 0.0) if case in _WITHOUT_ATTENTION else (0.0, flops.dense - product)
    unwritten = score if fuses_attention else 0.0
    # Groups of as many channels as a GPU computes at once run as fast as convolutions without groups.
    wide_grouped = max(flops.grouped - flops.narrow_grouped, 0.0)
    gigaflops = (
        *(flops.convolution - flops.grouped - flops.pointwise, flops.pointwise, flops.grouped - wide_grouped),
        *(wide_grouped, flops.depthwise, dense, flops.narrow, flops.narrow_grouped, attended, product),
    )
    millions = (
        elements.all - elements.other - elements.depthwise,
        *(elements.read, elements.depthwise, elements.normalization, elements.function - score),
        *(elements.elementwise, elements.pooling, elements.shaping, score - unwritten),
    )
    other = max(counts.parameters - counts.dense_parameters, 0)
    return np.array(
        [
            *(batch_size * value / 1e9 for value in gigaflops),
            *(batch_size * value / 1e6 for value in millions),
            *(other / 1e6, counts.dense_parameters / 1e6),
            *(batch_size * 3 * counts.pixels**2 / 1e6, counts.layers.operations),
        ]
    )


class Case(StrEnum):
    """What a network's errors depend on; values as in files and reports."""

    ORDINARY = "ordinary"
    DEPTHWISE = "depthwise"
    HYBRID = "hybrid"
    TRANSFORMER = "transformer"


_WITHOUT_ATTENTION = (Case.ORDINARY, Case.DEPTHWISE)


def case_of(counts: Counts) -> Case:
    """Tell a network's case: a transformer or mixer, else with attention, with depthwise convolutions, or neither."""
    if not counts.is_convolutional:
        return Case.TRANSFORMER
    if counts.has_attention:
        return Case.HYBRID
    return Case.DEPTHWISE if counts.flops.depthwise else Case.ORDINARY


#: Uncertainty of what half precision gains on GPUs without tensor cores, where it is assumed to be nothing.
WITHOUT_TENSOR_CORES_LOG_SD = 0.74
#: Below this batch a step waits for its host more than for its GPU.
SMALL_BATCH = 16
#: Costs that are kept.
_MAX_MADE = 5_000
#: Uncertainty of a GPU's speed of whose chip alone steps are known.
_SIBLING_LOG_SD = 0.12


class GpuEffects(Struct, frozen=True):
    """What measured steps of a GPU, or of an instance, say of it, beyond its peaks.

    Attributes
    ----------
    log_costs : added to the log cost of each kind, (kinds,).
    log_sd : uncertainty of its speed.
    rows : steps that it was fitted on.
    gpu, log_launch : of an instance, or of measured steps, the GPU, and launches over those of its host's generation.
    """

    log_costs: FloatArray
    log_sd: float
    rows: int
    gpu: str = ""
    log_launch: float = 0.0


class UserEffects(GpuEffects, frozen=True):
    """What a user states or measured of a GPU, beyond its specs; `rows` are the user's steps.

    Attributes
    ----------
    statement : of a custom GPU's speed, in words; empty: steps were measured.
    instance : the machine that ran measured steps.
    networks : number of measured networks.
    in_tensorflow : whether TensorFlow ran the measured steps, as it ran PROFET's cells.
    """

    statement: str = ""
    instance: str = ""
    networks: int = 0
    in_tensorflow: bool = False

    @property
    def steps_words(self) -> str:
        """Short description of measured steps."""
        return f"{self.rows} measured step{'' if self.rows == 1 else 's'} of {self.instance}"


class Powers(NamedTuple):
    """How rates follow specs: a GPU of twice the figure is faster by 2 to that power.

    Attributes
    ----------
    compute, bandwidth : of the peaks.
    tf32, half : of tensor cores' peak over plain cores', besides.
    watts : of the power limit per TFLOP/s.
    cache : of the part of a step's tensors that the cache holds, as `log_cached` has it.
    clock : of the end of a kernel.
    """

    compute: float
    bandwidth: float
    tf32: float
    half: float
    watts: float
    cache: float
    clock: float


def spec_log_costs(powers: Powers, gpu: Gpu, mode: Mode, log_tensor_cost: float) -> FloatArray:
    """Return what a GPU's specs and generation, the latter on tensor cores, add to the log cost of each kind."""
    by_peak = np.full(len(KINDS), powers.bandwidth)
    by_peak[: len(FLOPS)] = [PRODUCT_POWER if kind in PRODUCTS else powers.compute for kind in FLOPS]
    by_tensor = powers.tf32 if mode is Mode.TF32 else powers.half
    logs: FloatArray = -by_peak * log_peaks(gpu, mode)
    if mode not in _WITHOUT_TENSOR_CORES:
        logs += _ON_TENSOR_CORES * (log_tensor_cost - by_tensor * log_tensor_peak(gpu, mode))
    logs -= _COMPUTES * powers.watts * log_watts(gpu) + _ENDS * powers.clock * log_clock(gpu)
    return logs


class Framework(Struct, frozen=True):
    """How a framework differs from the average one.

    log_costs : by kind, (kinds,).
    log_launch : of launches, on the reference host.
    log_start_ms : of a step's start.
    """

    log_costs: FloatArray
    log_launch: float
    log_start_ms: float


#: A batch four times as large, and an image twice as high, is another size.
SIZE_SCALES = np.log([4.0, 2.0])


#: Share of the variance that is left at least: tables of published steps disagree by 5 to 20 % on one GPU, PROFET's
#: cells were all measured by one program.
_MIN_SHARES = {False: 0.3, True: 0.08}


Variances = tuple[float, float, float, float]


class MeasuredRatios(Struct, frozen=True):
    """Measured steps of networks by name: the logarithm of their latency over the rates' one.

    What is known of a network corrects its estimates: steps on GPUs of the same generation at near sizes most. GPUs of
    one generation have one correction: what orders them is their rates alone.

    Attributes
    ----------
    names : network -> rows, (from, to).
    generations : compute capability of each row's GPU; 0: it has none.
    modes : (rows,).
    log_sizes : logarithms of batch and pixels over those of a doubling, (rows, 2).
    log_ratios : (rows,).
    variances : of a network everywhere, of one at near sizes in a mode, of one there in a generation, and of a row.
    measured_variances : of PROFET's networks.
    inverses : of the steps of a network, once needed.
    """

    names: Mapping[str, tuple[int, int]]
    generations: FloatArray
    modes: np.ndarray
    log_sizes: FloatArray
    log_ratios: FloatArray
    variances: Variances
    measured_variances: Variances
    inverses: dict[str, FloatArray] = field(default_factory=dict)

    def alike(
        self, rows: slice, log_sizes: FloatArray, modes: np.ndarray, generations: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """How alike rows are to steps, (rows, steps), 0 to 1: in size in one mode, and besides in one generation.

        Of tuned code, of which one network was published, it is the same in all.
        """
        apart = ((self.log_sizes[rows][:, None] - log_sizes[None]) ** 2).sum(axis=2)
        near: FloatArray = np.exp(-apart / 2) * (self.modes[rows][:, None] == modes[None])
        is_tuned = (self.modes[rows] == Mode.HALF_TUNED)[:, None]
        return near, near * (is_tuned | (self.generations[rows][:, None] == generations[None]))

    def corrections(
        self,
        name: str,
        generations: Sequence[float] | FloatArray,
        modes: Sequence[Mode],
        batch_size: int,
        pixels: int,
    ) -> tuple[FloatArray, FloatArray]:
        """Log ratios of a network on GPUs of generations, and the shares of the variance that are left, (GPUs,)."""
        everywhere, near, there, row = self.measured_variances if name.startswith(PROFET) else self.variances
        total = everywhere + near + there
        if name not in self.names:
            return np.zeros(len(generations)), np.ones(len(generations))
        rows = slice(*self.names[name])
        if name not in self.inverses:
            near_here, beside = self.alike(rows, self.log_sizes[rows], self.modes[rows], self.generations[rows])
            noise = row * np.eye(len(near_here))
            kernel = everywhere + near * near_here + there * beside + noise
            self.inverses[name] = np.asarray(np.linalg.inv(kernel), float)
        size = np.log([[batch_size, pixels]]) / SIZE_SCALES
        near_there, beside = self.alike(rows, size, np.array(modes, int), np.array(generations))
        cross = everywhere + near * near_there + there * beside
        weights = self.inverses[name] @ cross
        # The last digits depend on how many threads LAPACK uses: every process gives the same without them.
        log_ratios = (weights * self.log_ratios[rows, None]).sum(axis=0).round(9)
        shares = 1 - (weights * cross / total).sum(axis=0).round(9)
        return log_ratios, np.maximum(shares, _MIN_SHARES[name.startswith(PROFET)])


class RateModel(Struct, frozen=True, dict=True):
    """The rates, with what is needed to make those of any GPU.

    Attributes
    ----------
    log_costs : logarithm of milliseconds per unit of work by mode and kind on a GPU whose peaks are 1, (modes, kinds).
    powers : how rates follow specs.
    gpus : name -> effects.
    generations : compute capability -> effects of a GPU without measured steps, (kinds,).
    on_tensor_cores : compute capability -> added to the log costs of convolutions and products there.
    unknown_gpu_log_sd : uncertainty of a GPU without measured steps.
    source_log_sd : of a training by another framework, host and measurement than the average one.
    average : framework of an unknown training.
    measured : of PROFET's cells.
    instances : measured instance -> effects of its cells.
    transformer_log_costs : added to the log cost of each kind in transformers and mixers, (kinds,).
    transformer_gpus : GPUs on which these costs were measured.
    log_sds : "case mode" -> standard deviation of the log error on held-out families.
    known : measured steps of networks by name.
    fitted_on : source -> rows or hash.
    launch_log_sd : uncertainty of launches: of the frameworks and hosts that published steps ran on.
    checksum : of the file's content.
    made : costs, once needed.
    """

    log_costs: FloatArray
    powers: Powers
    gpus: Mapping[str, GpuEffects]
    generations: Mapping[float | None, FloatArray]
    on_tensor_cores: Mapping[float | None, float]
    unknown_gpu_log_sd: float
    source_log_sd: float
    average: Framework
    measured: Framework
    instances: Mapping[str, GpuEffects]
    transformer_log_costs: FloatArray
    transformer_gpus: frozenset[str]
    log_sds: Mapping[str, float]
    known: MeasuredRatios
    fitted_on: Mapping[str, str]
    launch_log_sd: float
    checksum: str = ""
    made: dict[tuple[Gpu, Mode, bool], FloatArray] = field(default_factory=dict)

    def kept_costs_ms(self, gpu: Gpu, mode: Mode, is_measured: bool) -> FloatArray:
        """`costs_ms`, kept: of one GPU they are the same for every network."""
        key = gpu, mode, is_measured
        if key not in self.made:
            if len(self.made) >= _MAX_MADE:
                self.made.clear()
            self.made[key] = self.costs_ms(gpu, mode, self.measured if is_measured else self.average)
        return self.made[key]

    def costs_ms(self, gpu: Gpu, mode: Mode, framework: Framework) -> FloatArray:
        """Milliseconds per unit of work of each kind, (kinds,), of tensors that no cache holds: 1 / the rates."""
        log_tensor_cost = self.on_tensor_cores.get(gpu.compute_capability, 0.0)
        logs = self.log_costs[mode] + framework.log_costs
        if gpu.compute_capability is None and mode in _IN_OTHER_CODE:
            # AMD's convolutions are no faster there than those that MIOpen's own tables have.
            gain = self.log_costs[Mode.HALF] - self.log_costs[mode]
            logs += np.where(_OF_CONVOLUTIONS, np.maximum(gain, 0.0), 0.0)
        logs = logs + spec_log_costs(self.powers, gpu, mode, log_tensor_cost)
        effects = self.gpus.get(gpu.name)
        if effects is not None:
            logs = logs + effects.log_costs
        elif gpu.compute_capability in self.generations:
            logs = logs + self.generations[gpu.compute_capability]
        if framework is self.measured and (cells := self._cells_near(gpu)):
            logs = logs + cells.log_costs - self.gpus[cells.gpu].log_costs
        costs: FloatArray = np.exp(logs)
        at_peak = _PRODUCT_MS / np.exp(log_peaks(gpu, mode))
        return np.where(_ARE_PRODUCTS, np.maximum(costs, at_peak), costs)

    def _cells_near(self, gpu: Gpu) -> GpuEffects | None:
        """Effects of the measured instance whose GPU is of this GPU's generation: its program runs alike on both."""
        gpus, capability = load_gpus(), gpu.compute_capability
        cells = (row for row in self.instances.values() if gpus[row.gpu].compute_capability == capability)
        return None if self.users_effects(gpu.name) else next(cells, None)

    def parts_ms(
        self, counts: Counts, batch_size: int, target: tuple[Gpu, Host], mode: Mode, is_measured: bool = False
    ) -> tuple[FloatArray, float, float]:
        """Milliseconds of a step on a GPU in a host: of each kind of work, (kinds,), of launches, and of the start.

        Parameters
        ----------
        is_measured : whether the framework is that of PROFET's cells, not an unknown one.
        """
        gpu, host = target
        framework = self.measured if is_measured else self.average
        log_launch = framework.log_launch + self._log_launch(gpu, is_measured)
        work = self.weighted_work(counts, batch_size, fuses_attention(gpu))
        work_ms = work * self.costs_ms(gpu, mode, framework)
        work_ms[_MOVES] *= self._uncached([gpu], [mode], counts, batch_size)
        launch_ms = counts.layers.operations * math.exp(log_launch) * host.launch
        return work_ms, launch_ms, math.exp(framework.log_start_ms)

    def steps_ms(
        self,
        counts: Counts,
        batch_size: int,
        targets: Sequence[tuple[Gpu, Host]],
        modes: Sequence[Mode],
        is_measured: bool,
    ) -> tuple[FloatArray, FloatArray, float]:
        """Milliseconds of a step on each target: of its work and its launches, (targets,), and of the start.

        Parameters
        ----------
        is_measured : as `parts_ms` takes it.
        """
        framework = self.measured if is_measured else self.average
        kinds = (False,) if counts.is_convolutional else (False, True)
        work = np.array([self.weighted_work(counts, batch_size, is_fused) for is_fused in kinds])
        if len(kinds) > 1:
            work = work[[int(fuses_attention(gpu)) for gpu, _ in targets]]
        costs_ms = np.array(
            [self.kept_costs_ms(gpu, mode, is_measured) for (gpu, _), mode in zip(targets, modes, strict=True)]
        )
        log_launches = [self._log_launch(gpu, is_measured) for gpu, _ in targets]
        hosts = np.array([host.launch for _, host in targets])
        launch_ms = counts.layers.operations * np.exp(framework.log_launch + np.array(log_launches)) * hosts
        moved_ms = (costs_ms * work)[:, _MOVES].sum(axis=1)
        uncached = self._uncached([gpu for gpu, _ in targets], modes, counts, batch_size)
        work_ms = (costs_ms * work).sum(axis=1) - (1 - uncached) * moved_ms
        return work_ms, launch_ms, math.exp(framework.log_start_ms)

    def _log_launch(self, gpu: Gpu, is_measured: bool) -> float:
        if is_measured and (cells := self._cells_near(gpu)):
            return cells.log_launch
        return self.gpus[gpu.name].log_launch if gpu.name in self.gpus else 0.0

    def _uncached(self, gpus: Sequence[Gpu], modes: Sequence[Mode], counts: Counts, batch_size: int) -> FloatArray:
        """Return what moving values takes of the time without a cache, (gpus,)."""
        written = work_of(counts, batch_size)[_ARE_WRITTEN].sum()
        l2_mb, in_half = np.array([gpu.l2_mb for gpu in gpus]), np.array(modes) >= Mode.HALF
        kernels = np.array(counts.layers.operations, float)
        factors: FloatArray = np.exp(-self.powers.cache * log_cached(l2_mb, in_half, written, kernels))
        return factors

    def weighted_work(self, counts: Counts, batch_size: int, fuses_attention: bool) -> FloatArray:
        """Work of one step by kind, (kinds,), as `work_of` counts it; of a transformer times its costs over a CNN's."""
        work = work_of(counts, batch_size, fuses_attention=fuses_attention)
        return work if counts.is_convolutional else work * np.exp(self.transformer_log_costs)

    def gpu_log_sd(self, gpu: str) -> float:
        """Uncertainty of a GPU's speed."""
        return self.gpus[gpu].log_sd if gpu in self.gpus else self.unknown_gpu_log_sd

    def users_effects(self, gpu: str) -> UserEffects | None:
        """Return what a user states or measured of a GPU."""
        effects = self.gpus.get(gpu)
        return effects if isinstance(effects, UserEffects) else None

    @cached_property
    def calibrated(self) -> Mapping[str, UserEffects]:
        """GPUs whose steps a user measured."""
        users = ((name, self.users_effects(name)) for name in self.gpus)
        return {name: effects for name, effects in users if effects is not None and effects.instance}

    def with_gpus(self, effects: Mapping[str, GpuEffects | None]) -> RateModel:
        """Return the same rates with effects of some GPUs; None: of a GPU that follows from its specs."""
        gpus = {name: row for name, row in {**self.gpus, **effects}.items() if row is not None}
        return replace(self, gpus=MappingProxyType(gpus), made={})


def case_key(case: Case, mode: Mode, batch_size: int) -> str:
    """Return the key of a case in a mode, at a small batch or not.

    >>> case_key(Case.DEPTHWISE, Mode.HALF, 8)
    'depthwise, half, small batch'
    """
    precision = {Mode.FP32: "fp32", Mode.TF32: "tf32", Mode.HALF_CHANNELS_LAST: "channels-last"}.get(mode, "half")
    return f"{case}, {precision}{', small batch' if batch_size < SMALL_BATCH else ''}"


RATES_NAME, RATES_VERSION = "estimate.json", 9
CALIBRATED_VERSION = 3


def rate_model_of(models: Models) -> RateModel:
    """Return the rates in the folder of these models, with GPUs whose steps a user measured; loaded once."""
    rates: RateModel | None = models.__dict__.get("rates")
    if rates is None:
        rates, calibrated = load_rates(models.folder), models.folder / CALIBRATED_NAME
        rates = models.__dict__["rates"] = _with_calibrated(rates, calibrated) if calibrated.exists() else rates
    return rates


def has_rates(models: Models) -> bool:
    """Whether their folder has rates: the paper's alone may not."""
    return "rates" in models.__dict__ or (models.folder / RATES_NAME).is_file()


def calibrated_gpus(models: Models) -> Mapping[str, UserEffects]:
    """GPUs whose steps a user measured."""
    return rate_model_of(models).calibrated if has_rates(models) else {}


def load_rates(folder: Path | str | None = None) -> RateModel:
    """Load `estimate.json` from a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or of another version.
    """
    return load_coefficients(models_folder(folder) / RATES_NAME, RATES_VERSION, rate_model)


def _with_calibrated(model: RateModel, path: Path) -> RateModel:
    """Add the file's GPUs, whose steps a user measured."""

    def parse(content: JsonObject) -> RateModel:
        if content.get("rates_checksum") != model.checksum:
            raise ArtifactError(
                f"{shown(path)} belongs to another {RATES_NAME}: run `profet train` with its data again."
            )
        return model.with_gpus({str(row["gpu"]): _users_effects(row) for row in content["gpus"]})

    return load_coefficients(path, CALIBRATED_VERSION, parse)


def _users_effects(row: JsonObject) -> UserEffects:
    values = {name: getattr(effects := _effects(row), name) for name in GpuEffects.__struct_fields__}
    if effects.log_sd <= 0:
        raise ValueError("no uncertainty")
    instance, networks = str(row["instance"]), int(row["networks"])
    return UserEffects(**values, instance=instance, networks=networks, in_tensorflow=row["in_tensorflow"] is True)


def calibrated_content(effects: UserEffects) -> JsonObject:
    """Measured steps' effects as `calibrated.json` holds them."""
    names = ("gpu", "instance", "networks", "rows", "log_sd", "log_launch", "in_tensorflow")
    return {**{name: getattr(effects, name) for name in names}, "log_costs": effects.log_costs.tolist()}


def rate_model(content: JsonObject) -> RateModel:
    """Parse the rates; raises `ValueError` or similar for invalid content."""
    if content["kinds"] != list(KINDS) or list(content["log_costs"]) != [mode.name for mode in Mode]:
        raise ValueError("other kinds or modes")
    unknown = finite_number(content["unknown_gpu_log_sd"])
    return RateModel(
        log_costs=np.stack([_kinds(row) for row in content["log_costs"].values()]),
        powers=Powers(**{str(name): finite_number(value) for name, value in content["powers"].items()}),
        gpus=_with_unlisted({str(name): _effects({"log_sd": unknown, **row}) for name, row in content["gpus"].items()}),
        generations=MappingProxyType(
            {row["compute_capability"]: _kinds(row["log_costs"]) for row in content["generations"]}
        ),
        on_tensor_cores=MappingProxyType(
            {row["compute_capability"]: finite_number(row["log_tensor_cost"]) for row in content["generations"]}
        ),
        unknown_gpu_log_sd=unknown,
        source_log_sd=finite_number(content["source_log_sd"]),
        average=_framework(content["average"]),
        measured=_framework(content["measured"]),
        instances=MappingProxyType({str(name): _effects(row) for name, row in content["instances"].items()}),
        transformer_log_costs=_kinds(content["transformer_log_costs"]),
        transformer_gpus=frozenset(map(str, content["transformer_gpus"])),
        log_sds=MappingProxyType({str(key): finite_number(value) for key, value in content["log_sds"].items()}),
        known=known_steps_in(content["known"]),
        launch_log_sd=finite_number(content["launch_log_sd"]),
        fitted_on=MappingProxyType({str(name): str(value) for name, value in content["fitted_on"].items()}),
        checksum=str(content["checksum"]),
    )


def _with_unlisted(effects: dict[str, GpuEffects]) -> Mapping[str, GpuEffects]:
    """Effects with those of the catalog's GPUs that the fit didn't know: of the nearest card of their chip."""
    gpus = load_gpus()
    for gpu in [gpu for gpu in gpus.values() if gpu.name not in effects]:
        sibling = gpus.on_chip(gpu, effects)
        if sibling is not None:
            nearest = effects[sibling.name]
            effects[gpu.name] = replace(nearest, log_sd=max(nearest.log_sd, _SIBLING_LOG_SD), rows=0)
    return MappingProxyType(effects)


def _kinds(row: object) -> FloatArray:
    if not isinstance(row, list) or len(row) != len(KINDS):
        raise ValueError("other kinds")
    return np.array([finite_number(value) for value in row])


def _effects(row: JsonObject) -> GpuEffects:
    log_sd, log_launch = finite_number(row["log_sd"]), finite_number(row.get("log_launch", 0.0))
    return GpuEffects(_kinds(row["log_costs"]), log_sd, int(row["rows"]), str(row.get("gpu", "")), log_launch)


def _framework(row: JsonObject) -> Framework:
    return Framework(_kinds(row["log_costs"]), finite_number(row["log_launch"]), finite_number(row["log_start_ms"]))


def known_steps_in(content: JsonObject) -> MeasuredRatios:
    """Return the measured steps of a file's content."""
    networks, steps = content["networks"], np.array(content["steps"], float).reshape(-1, 6)
    if not np.isfinite(steps).all():
        raise ValueError("not finite")
    starts = np.searchsorted(steps[:, 0], np.arange(len(networks) + 1))

    def variances(name: str) -> Variances:
        everywhere, near, there, row = map(finite_number, content["variances"][name])
        return everywhere, near, there, row

    return MeasuredRatios(
        names=MappingProxyType({str(name): (int(starts[i]), int(starts[i + 1])) for i, name in enumerate(networks)}),
        generations=steps[:, 1],
        modes=steps[:, 2].astype(int),
        log_sizes=np.log(steps[:, 3:5]) / SIZE_SCALES,
        log_ratios=steps[:, 5],
        variances=variances("others"),
        measured_variances=variances("measured"),
    )
