"""Steps of a network known by its layers on GPUs in hosts, with their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import load_gpus
from profet_core.catalog.gpus import (
    AS_PROFILED,
    CHANNELS_LAST,
    PLAIN,
    TF32,
    TUNED,
    Gpu,
    Host,
    has_tensor_cores,
    is_half,
    runs_as,
)
from profet_core.errors import Code, InputError, Note
from profet_core.latency import Basis, FloatArray, combined_sd
from profet_core.layers.measured import StepParts, Steps
from profet_core.layers.network import Counts, Numbers
from profet_core.layers.networks import counts_of, measured_networks, named_network, shared_name
from profet_core.layers.rates import (
    SMALL_BATCH,
    WITHOUT_TENSOR_CORES_LOG_SD,
    Case,
    Mode,
    case_key,
    case_of,
    mode_of,
    rate_model_of,
)
from profet_core.prediction.models import Models
from profet_core.prediction.targets import StepTable, StepTarget
from profet_core.training.memory import CHECKPOINTING


class Regime(StrEnum):
    """The unmeasured part of a question; values as in files and documents."""

    INTERPOLATION = "interpolation"
    LARGER_BATCH = "larger batch"
    UNSEEN_GPU = "unseen GPU"
    UNSEEN_NETWORK = "unseen architecture"
    UNSEEN_BOTH = "unseen GPU and architecture"

    @property
    def words(self) -> str:
        """Display text."""
        return _WORDS[self]


_WORDS = {
    Regime.INTERPOLATION: "this network was measured on this GPU",
    Regime.LARGER_BATCH: "this network was measured on this GPU, at smaller batches",
    Regime.UNSEEN_GPU: "this network was measured, on other GPUs",
    Regime.UNSEEN_NETWORK: "other networks were measured on this GPU",
    Regime.UNSEEN_BOTH: "other networks were measured, on other GPUs",
}
#: Batch and image sizes of the measurements, and what smaller images add to the interval.
MAX_MEASURED_BATCH, MIN_MEASURED_PIXELS = 256, 32
_SMALL_IMAGES_LOG_SD = 0.2
#: The same of batch sizes: few steps below this one, of images of 224 pixels, were measured. A halving adds so much, by
#: judgment: two networks at batch 4 were 2.2 and 2.4 times faster than estimated.
FEW_MEASURED_BELOW, _USUAL_PIXELS, _SMALL_BATCH_LOG_SD = 12, 224, 0.25


def small_batch_log_sd(network: Counts, batch_size: int) -> float:
    """Return what a smaller batch than were measured adds; larger images count as more of them."""
    images = batch_size * max((network.pixels / _USUAL_PIXELS) ** 2, 1.0)
    return _SMALL_BATCH_LOG_SD * max(math.log2(FEW_MEASURED_BELOW / images), 0.0)


@cache
def _measured_by_layers() -> Mapping[Numbers, list[str]]:
    """Numbers of layers -> the measured networks that have them at one of their sizes."""
    names: dict[Numbers, list[str]] = {}
    for name in measured_networks():
        for layers in {counts.layers for counts in named_network(name).sizes.values()}:
            names.setdefault(layers, []).append(name)
    return names


def measured_network(network: Counts) -> str | None:
    """Return the measured network with these counts, by its name; None: another network."""
    for name in _measured_by_layers().get(network.layers, ()):
        try:
            counts = counts_of(name, network.pixels, network.classes)
        except InputError:
            continue
        if counts == network:
            return name
    return None


#: Of the work and launches of a whole step: the forward pass without gradients.
_FROZEN_SHARE = 0.35
_FROZEN_LOG_SD = 0.12
#: Of transformers: their measured steps had PyTorch 1.12, without fused attention, which makes Swin-B up to 1.5 times
#: faster; by judgment.
_FUSED_LOG_SD = 0.12
#: Of transformers on GPUs that none was measured on; by judgment: published A100 steps in PaddlePaddle, which no fit
#: has seen, take up to twice the estimate.
_OTHER_GPU_LOG_SD = 0.3
#: Error of a step by kinds of work that were read off class times, on networks that the reader didn't see; how far the
#: amount of work, and the number of kernels, that were read are off, in the logarithm.
READ_LOG_SD, WORK_LOG_SD, KERNELS_LOG_SD = 0.08, 0.5, 0.3
#: The same of transformers' steps, by judgment: no profile of one is published.
_READ_TRANSFORMER_LOG_SD = 0.15


class NetworkStep(Struct, frozen=True):
    """The step to estimate.

    Attributes
    ----------
    network : counts per image of its size.
    name : as in `layers.networks.named_networks`; empty for a custom network.
    optimizer : one of `OPTIMIZERS`; its state counts in memory.
    precision : as `prediction.predict.predict` takes it; "as profiled" is the frameworks' default.
    training_code : one of `catalog.gpus.CODES`.
    frozen_backbone : only the last dense layer is trained.
    as_measured : whether PROFET's program runs it, as it ran the measured networks; None: if it ran this one.
    checkpointing : whether activations are computed again in the backward pass.
    is_read : whether its counts were read off class times, which say what kinds of work there are; how much, a step's
        time.
    launched_at : batch and pixel size at which what is known of the network holds for what a step takes once, as
        launches and parameters; None: its own.
    """

    network: Counts
    batch_size: int
    name: str = ""
    optimizer: str = "sgd"
    precision: str = AS_PROFILED
    training_code: str = PLAIN
    frozen_backbone: bool = False
    as_measured: bool | None = None
    checkpointing: bool = False
    is_read: bool = False
    launched_at: tuple[int, int] | None = None


#: A GPU and its host.
GpuOnHost = tuple[Gpu, Host]


class OnGpus(NamedTuple):
    """One step on many GPUs in hosts.

    Attributes
    ----------
    machines : of each row.
    has_cells : whether the GPU was measured with PROFET's cells.
    """

    steps: Steps
    machines: Sequence[GpuOnHost]
    has_cells: Sequence[bool]
    regimes: Sequence[Regime]

    def table(self) -> StepTable:
        """Return the latency on each target."""
        steps, targets = self.steps, tuple(StepTarget(gpu, host) for gpu, host in self.machines)
        return replace(
            StepTable.unknown(targets),
            latency_ms=steps.latency_ms,
            log_sd=steps.log_sd,
            basis=tuple(Basis.MEASURED if measured else Basis.TRANSFERRED for measured in self.has_cells),
            notes=tuple((_REGIME_NOTES[regime],) for regime in self.regimes),
            free_ms=steps.work_ms + steps.start_ms,
            launch_ms=steps.launch_ms,
        )


#: Lists of machines whose steps are kept, and steps of each.
_MAX_LISTS, _MAX_STEPS = 30, 150
_MACHINES: WeakKeyDictionary[Models, dict[tuple[GpuOnHost, ...], StepMachines]] = WeakKeyDictionary()


def machines_of(models: Models, wanted: Iterable[GpuOnHost]) -> StepMachines:
    """GPUs in hosts, in order, kept."""
    lists, wanted = _MACHINES.setdefault(models, {}), tuple(wanted)
    if (machines := lists.get(wanted)) is None:
        if len(lists) >= _MAX_LISTS:
            lists.clear()
        machines = lists[wanted] = StepMachines(models, wanted)
    return machines


class StepMachines:
    """GPUs in hosts; what doesn't depend on a step is found once, and steps are kept."""

    def __init__(self, models: Models, wanted: tuple[GpuOnHost, ...]) -> None:
        self._model, self._wanted = (model := rate_model_of(models)), wanted
        self._made: dict[NetworkStep, OnGpus] = {}
        # Steps of a GPU hold for the one with more memory.
        self._gpus = gpus = [load_gpus().twin(gpu) for gpu, _ in wanted]
        self._machines = [(gpu, host) for gpu, (_, host) in zip(gpus, wanted, strict=True)]
        self._log_sd = np.array([host.log_sd for _, host in wanted])
        measured = {cells.gpu for cells in model.instances.values()}
        self._has_cells = [gpu.name in measured for gpu in gpus]
        self._has_tensor = np.array([has_tensor_cores(gpu) for gpu in gpus])
        self._names = np.array([gpu.name for gpu in gpus])
        self._generations = np.array([gpu.compute_capability or 0.0 for gpu in gpus])
        gpu_log_sd = np.array([model.gpu_log_sd(gpu.name) for gpu in gpus])
        # Steps that a user measured have the user's program and host.
        calibrated = model.calibrated
        self._is_calibrated = np.array([gpu.name in calibrated for gpu, _ in wanted])
        is_other = np.array([gpu.name not in model.transformer_gpus for gpu in gpus])
        #: By whether the network is a transformer.
        self._gpu_log_sd = {False: gpu_log_sd, True: np.hypot(gpu_log_sd, _OTHER_GPU_LOG_SD * is_other)}
        self._modes: dict[tuple[str, str], list[Mode]] = {}
        self._slower: dict[str, _WithoutUnits] = {}

    def on(self, step: NetworkStep) -> OnGpus:
        """Return the step on each machine."""
        if (on_gpus := self._made.get(step)) is None:
            if len(self._made) >= _MAX_STEPS:
                self._made.clear()
            on_gpus = self._made[step] = self._estimated(step)
        return on_gpus

    def costs_ms(self, step: NetworkStep) -> FloatArray:
        """Milliseconds per unit of work of each kind on each machine, (machines, kinds)."""
        modes, is_measured = self._modes_of(step), _is_measured(step)
        pairs = zip(self._gpus, modes, strict=True)
        return np.array([self._model.kept_costs_ms(gpu, mode, is_measured) for gpu, mode in pairs])

    def slower(self, precision: str) -> _WithoutUnits:
        """Return what GPUs without the precision's units do."""
        if (without_units := self._slower.get(precision)) is None:
            notes = [runs_as(gpu, precision)[1] for gpu, _ in self._wanted]
            is_unsure = [note is not None and note.code is Code.NO_TENSOR_CORES for note in notes]
            without_units = self._slower[precision] = _WithoutUnits(
                notes, WITHOUT_TENSOR_CORES_LOG_SD * np.array(is_unsure)
            )
        return without_units

    def _estimated(self, step: NetworkStep) -> OnGpus:
        log_ratios, shares = self._known(step, step.batch_size, step.network.pixels)
        seen, unseen = self._regimes(step)
        return OnGpus(
            steps=self._steps(step, self._bounded(step, log_ratios), shares),
            machines=self._wanted,
            # No transformer was measured with PROFET's cells.
            has_cells=[has_cells and case_of(step.network) is not Case.TRANSFORMER for has_cells in self._has_cells],
            regimes=[seen if has_cells else unseen for has_cells in self._has_cells],
        )

    def _bounded(self, step: NetworkStep, log_ratios: FloatArray) -> StepParts:
        """On tensor cores FP32 is no faster than TF32, half precision no slower than either.

        Nor is tuned code slower than channels-last.
        """
        parts = self._by_rates(step, log_ratios)
        if step.precision in (AS_PROFILED, TF32):
            return parts

        def other_ms(other: NetworkStep) -> FloatArray:
            return self._by_rates(other, self._known(other, step.batch_size, step.network.pixels)[0]).latency_ms

        latency_ms, bounds_ms = parts.latency_ms, other_ms(replace(step, precision=TF32))
        bound = np.fmin if is_half(step.precision) else np.fmax
        if step.training_code == TUNED:
            bounds_ms = bound(bounds_ms, other_ms(replace(step, training_code=CHANNELS_LAST)))
        factors = np.where(self._has_tensor, bound(latency_ms, bounds_ms) / latency_ms, 1.0)
        return parts.scaled(factors, factors)

    def _modes_of(self, step: NetworkStep) -> list[Mode]:
        key = step.precision, step.training_code
        if (modes := self._modes.get(key)) is None:
            precisions = [runs_as(gpu, step.precision)[0] for gpu in self._gpus]
            modes = [mode_of(*pair, step.training_code) for pair in zip(self._gpus, precisions, strict=True)]
            self._modes[key] = modes
        return modes

    def _regimes(self, step: NetworkStep) -> tuple[Regime, Regime]:
        """Of GPUs that were measured with PROFET's cells, and of others."""
        measured = _measured_as(step)
        if measured is None and shared_name(step.name) not in self._model.known.names:
            return Regime.UNSEEN_NETWORK, Regime.UNSEEN_BOTH
        at_larger = Regime.LARGER_BATCH if step.batch_size > MAX_MEASURED_BATCH else Regime.INTERPOLATION
        return at_larger if measured else Regime.UNSEEN_GPU, Regime.UNSEEN_GPU

    def _known(self, step: NetworkStep, batch_size: int, pixels: int) -> tuple[FloatArray, FloatArray]:
        """Of each GPU, as `MeasuredRatios.corrections` has them."""
        name = _measured_as(step) or shared_name(step.name)
        return self._model.known.corrections(name, self._generations, self._modes_of(step), batch_size, pixels)

    def _by_rates(self, step: NetworkStep, log_ratios: FloatArray) -> StepParts:
        """By the rates of each GPU, corrected by what was measured of this network."""
        network, batch_size, modes = step.network, step.batch_size, self._modes_of(step)

        def parts_ms(images: int) -> tuple[FloatArray, FloatArray, float]:
            return self._model.steps_ms(network, images, self._machines, modes, _is_measured(step))

        work_ms, launch_ms, start_ms = parts_ms(batch_size)
        factors = np.exp(log_ratios)
        of_once, of_work = factors, work_ms * factors
        if step.launched_at not in (None, (batch_size, network.pixels)):
            of_once, once_ms = np.exp(self._known(step, *step.launched_at)[0]), parts_ms(0)[0]
            of_work = (work_ms - once_ms) * factors + once_ms * of_once
        trained = _FROZEN_SHARE if step.frozen_backbone else 1.0
        if step.checkpointing:
            trained *= CHECKPOINTING[case_of(network) is Case.TRANSFORMER].time_factor
        return StepParts(
            of_work * trained,
            launch_ms * of_once * trained,
            start_ms * of_once,
        )

    def _steps(self, step: NetworkStep, parts: StepParts, shares: FloatArray) -> Steps:
        """Return the steps with their uncertainty; `shares` of the networks' variance are left."""
        model, network, batch_size = self._model, step.network, step.batch_size
        modes = np.array(self._modes_of(step), int)
        case, number = case_of(network), len(modes)
        of_program = self._is_calibrated | _is_measured(step)
        # How far a recorded step moves others must not jump with their batch.
        doubted_batch = batch_size if step.as_measured is None else max(batch_size, SMALL_BATCH)
        shared_log_sd = combined_sd(
            np.where(of_program, 0.0, model.source_log_sd),
            _FUSED_LOG_SD if case is Case.TRANSFORMER else 0.0,
            _FROZEN_LOG_SD if step.frozen_backbone else 0.0,
            CHECKPOINTING[case is Case.TRANSFORMER].time_log_sd if step.checkpointing else 0.0,
            WORK_LOG_SD if step.is_read else 0.0,
            _SMALL_IMAGES_LOG_SD if network.pixels < MIN_MEASURED_PIXELS else 0.0,
        )
        log_sds = np.array([model.log_sds[case_key(case, mode, doubted_batch)] for mode in Mode])[modes]
        small_log_sd = combined_sd(
            small_batch_log_sd(network, batch_size) if step.as_measured is None else 0.0,
            _READ_TRANSFORMER_LOG_SD if step.is_read else 0.0,
        )
        return Steps(
            gpus=self._names,
            generations=self._generations,
            modes=modes,
            # Larger images count as more of them.
            batch_sizes=np.full(number, batch_size * (network.pixels / _USUAL_PIXELS) ** 2),
            work_ms=parts.work_ms,
            launch_ms=parts.launch_ms,
            start_ms=parts.start_ms,
            network_log_sd=np.hypot(log_sds * np.sqrt(shares), small_log_sd),
            gpu_log_sd=self._gpu_log_sd[case is Case.TRANSFORMER],
            launch_log_sd=np.where(of_program, self._log_sd, np.hypot(self._log_sd, model.launch_log_sd)),
            shared_log_sd=shared_log_sd,
            kernels_log_sd=np.full(number, KERNELS_LOG_SD if step.is_read else 0.0),
            removed=np.zeros(number),
        )


class _WithoutUnits(NamedTuple):
    """Of each machine: the note on a precision that its GPU has no units for, and what that adds to the uncertainty."""

    notes: Sequence[Note | None]
    log_sd: FloatArray


def _measured_as(step: NetworkStep) -> str | None:
    """Return the measured network that a step is of."""
    return None if step.as_measured is False else measured_network(step.network)


def _is_measured(step: NetworkStep) -> bool:
    return _measured_as(step) is not None if step.as_measured is None else step.as_measured


_REGIME_NOTES = {regime: Note(Code.REGIME, text=words) for regime, words in _WORDS.items()}
