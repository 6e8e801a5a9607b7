"""From a network's counts to the step latency on every offer, without a profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

import numpy as np

from profet_core.catalog import Catalog
from profet_core.catalog.gpus import (
    AS_PROFILED,
    CHANNELS_LAST,
    CODES,
    PLAIN,
    TF32,
    TUNED,
    Gpu,
    Gpus,
    has_tensor_cores,
    is_half,
    requested_precision,
    runs_as,
)
from profet_core.errors import Code, InputError, Note, not_a_cnn
from profet_core.latency import Basis, Estimate, FloatArray, LatencyParts, combined_sd, smooth_max
from profet_core.layers.network import Counts
from profet_core.layers.networks import (
    DETECTION_PIXELS,
    counts_of,
    measured_networks,
    named_network,
    native_pixels,
    other_definitions,
    shared_name,
)
from profet_core.layers.rates import Case, RateModel, case_key, case_of, mode_of, rate_model_of
from profet_core.prediction.models import Models
from profet_core.prediction.table import InstancePrediction, Prediction
from profet_core.prediction.targets import in_order, offer_targets
from profet_core.training.memory import GIB_PER_VALUE, MAX_BATCH, FitAnswer, MemoryModel, MemoryNeed, verdict_of
from profet_core.transfer.model import TransferModel
from profet_core.transfer.rates import no_less
from profet_core.transfer.step_model import host_share
from profet_core.transfer.targets import Host, host_named
from profet_core.units import format_significant, whole_number

#: Values that an optimizer keeps per parameter in addition to its gradient.
OPTIMIZERS = {"sgd": 0, "momentum": 1, "adam": 2}


def counted_need(
    model: MemoryModel, network: Counts, batch_size: int, state_copies: int = 0, activation_share: float = 1.0
) -> MemoryNeed:
    """Memory of a step: weights, gradients, optimizer state, and activations.

    Parameters
    ----------
    state_copies : values that the optimizer keeps per parameter.
    activation_share : relative to activations in FP32.
    """
    formula, elements = model.formula, network.elements
    return MemoryNeed(
        held_gib=formula.held_gib(network.parameters) + state_copies * network.trainable_parameters * GIB_PER_VALUE,
        activation_gib=max(
            activation_share * formula.activation_gib(batch_size, elements.all - elements.other, elements.other), 1e-6
        ),
        log_scale=formula.log_scale,
        activation_log_scale=0.0,
        doubling_log_scale=0.0,
        source="its layers",
    )


def counted_fit(model: MemoryModel, need: MemoryNeed, batch_size: int, memory_gib: float) -> FitAnswer:
    """Whether a step of this need fits in a GPU's nominal memory, and the largest batch that does."""
    chance = need.probability(memory_gib, 1.0)
    largest = math.floor(min(need.growth_at(memory_gib, model.certain) * batch_size, MAX_BATCH) * (1 + 1e-12))
    why = f"needs about {need.held_gib + need.activation_gib:.2g} of {memory_gib:g} GiB, from its layers"
    return FitAnswer(verdict_of(model, chance), chance, largest if largest >= 1 else None, why)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Latency of one instance, from the network's layers and from its profile."""

    instance: str
    estimated_ms: float
    profiled_ms: float
    overlap: bool | None

    @property
    def ratio(self) -> float:
        """The estimate over the profile's."""
        return self.estimated_ms / self.profiled_ms


def disagreements(rows: Iterable[InstancePrediction], profiled: Prediction) -> tuple[Disagreement, ...]:
    """Disagreements for all instances in both, in the estimate's order."""
    by_profile = {row.instance: row for row in profiled.predictions}
    found = []
    for row in rows:
        other = by_profile.get(row.instance)
        if other is None or other.latency_ms is None or row.latency_ms is None or row.interval is None:
            continue
        # A measurement has no interval but is a single latency.
        within = other.interval
        low, high = (within.low_ms, within.high_ms) if within else (other.latency_ms, other.latency_ms)
        overlap = low <= row.interval.high_ms and row.interval.low_ms <= high
        found.append(Disagreement(row.instance, row.latency_ms, other.latency_ms, overlap))
    return tuple(found)


def disagreement_words(found: Sequence[Disagreement]) -> str:
    """One sentence on the difference between estimate and profile.

    >>> disagreement_words([Disagreement("a", 110, 100, True), Disagreement("b", 120, 100, False)]).partition(";")[0]
    'The estimate and the profile differ by 15.0% (the median of 2 offers, 20.0% at most)'
    """
    if not found:
        return "The estimate and the profile have no offer in common."
    off = [100 * (math.exp(abs(math.log(row.ratio))) - 1) for row in found]
    overlapping = sum(row.overlap is True for row in found)
    several = "offer" if len(found) == 1 else "offers"
    return (
        f"The estimate and the profile differ by {format_significant(median(off))}% (the median of {len(found)} "
        f"{several}, {format_significant(max(off))}% at most); their ranges overlap on {overlapping} of them."
    )


@dataclass(frozen=True, slots=True)
class NetworkEstimate:
    """Step latencies of one network on every offer, inferred from its layers.

    Attributes
    ----------
    name : of the network or its file; empty if unknown.
    rows : one per instance; its `members` are the latencies by each method.
    method : of the latencies.
    regimes : instance -> what of the question was measured on it.
    fits : instance, or GPU of `gpus` -> whether the step fits in its memory.
    gpus : GPU without an offer -> its step, if requested by name.
    """

    network: Counts
    name: str
    batch_size: int
    rows: tuple[InstancePrediction, ...]
    regimes: Mapping[str, Regime]
    method: str
    fits: Mapping[str, FitAnswer]
    warnings: tuple[Note, ...]
    gpus: Mapping[str, Estimate]


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


def measured_network(network: Counts) -> str | None:
    """The measured network with these counts, by its name; None: another network."""
    for name in measured_networks():
        try:
            found = counts_of(name, network.pixels, network.classes)
        except InputError:
            continue
        if found == network:
            return name
    return None


#: Of the work and launches of a whole step: the forward pass without gradients.
_FROZEN_SHARE = 0.35
_FROZEN_LOG_SD = 0.12
#: How these latencies are made, as documents name it.
METHOD = "rates"


def check_convolutional(network: Counts) -> None:
    """Refuse a network that is not a CNN, as its profile is refused."""
    if not network.is_convolutional:
        flops = network.flops
        share = (flops.convolution + flops.depthwise) / max(flops.all, 1.0)
        why = f"{share:.1%} of its FLOPs are convolutions" if share else "it has no convolution"
        raise InputError(not_a_cnn("This network is not a CNN", why, "Give a CNN"))


@dataclass(frozen=True, slots=True)
class NetworkStep:
    """The step to estimate.

    Attributes
    ----------
    network : counts per image of its size.
    name : as in `layers.networks.named_networks`; empty for a custom network.
    optimizer : one of `OPTIMIZERS`; its state counts in memory.
    precision : as `prediction.predict.predict` takes it; "as profiled" is the frameworks' default.
    training_code : one of `catalog.gpus.CODES`.
    frozen_backbone : only the last dense layer is trained.
    """

    network: Counts
    batch_size: int
    name: str = ""
    optimizer: str = "sgd"
    precision: str = AS_PROFILED
    training_code: str = PLAIN
    frozen_backbone: bool = False


#: A GPU and its host.
GpuOnHost = tuple[Gpu, Host]
#: Latency on one GPU in one host, before it is assigned to an offer.
_OnGpu = tuple[Estimate, Regime]


def estimate(
    models: Models, catalog: Catalog, step: NetworkStep, targets: Sequence[str] | None = None
) -> NetworkEstimate:
    """Estimate the step latency of a network on every offer, or on `targets`: instances, or GPUs with specs.

    Raises
    ------
    InputError : an unsupported batch size, target or optimizer, or a network that isn't convolutional.
    ArtifactError : the models can't estimate.
    """
    model, transfer = rate_model_of(models), models.transfer
    batch_size = whole_number("The batch size", step.batch_size)
    if batch_size > MAX_BATCH:
        raise InputError(f"The batch size is at most {MAX_BATCH:,}.")
    if step.optimizer not in OPTIMIZERS:
        raise InputError(f"Unknown optimizer {step.optimizer!r}: use one of {', '.join(OPTIMIZERS)}.")
    if step.training_code not in CODES:
        raise InputError(f"Unknown training code {step.training_code!r}: use one of {', '.join(CODES)}.")
    check_convolutional(step.network)
    step = replace(step, batch_size=batch_size, precision=requested_precision(step.precision))
    by_instance, gpus_only = _gpus_on_hosts(models, transfer, catalog, targets)
    found = _in_order(model, step, transfer.gpus, [*by_instance.values(), *gpus_only.values()])
    for target, (latency, regime) in found.items():
        if note := runs_as(target[0], step.precision)[1]:
            # Without tensor cores AMP is as uncertain as beside a profile.
            wider = transfer.rates.no_tensor_cores_log_sd if note.code is Code.NO_TENSOR_CORES else 0.0
            log_sd = combined_sd(latency.log_sd, wider)
            found[target] = replace(latency, log_sd=log_sd, notes=(*latency.notes, note)), regime
    notes = [Note(Code.HYBRID_NETWORK)] if case_of(step.network) is Case.HYBRID else []
    if step.name and (others := other_definitions(step.name)):
        library = named_network(step.name).library
        notes.append(Note(Code.OTHER_DEFINITIONS, name=step.name, library=library, others=", ".join(others)))
    if step.name and step.network.pixels == native_pixels(step.name) == DETECTION_PIXELS:
        notes.append(Note(Code.DETECTION_SIZE, pixels=f"{DETECTION_PIXELS:,}"))
    if step.network.pixels < MIN_MEASURED_PIXELS:
        notes.append(Note(Code.SMALL_IMAGES, pixels=MIN_MEASURED_PIXELS))
    rows = [
        InstancePrediction(instance, found[one][0], catalog[instance], {METHOD: float(found[one][0].latency_ms or 0)})
        for instance, one in by_instance.items()
    ]
    memories_gib = {name: catalog[name].gpu_memory_gib for name in by_instance}
    memories_gib |= {name: gpu.memory_gib for name, (gpu, _) in gpus_only.items()}
    return NetworkEstimate(
        network=step.network,
        name=step.name,
        batch_size=batch_size,
        rows=tuple(rows),
        regimes={instance: found[one][1] for instance, one in by_instance.items()},
        method=METHOD,
        fits=_fits(models, step, memories_gib),
        warnings=tuple(notes),
        gpus={name: found[one][0] for name, one in gpus_only.items()},
    )


def _gpus_on_hosts(
    models: Models, transfer: TransferModel, catalog: Catalog, targets: Sequence[str] | None
) -> tuple[dict[str, GpuOnHost], dict[str, GpuOnHost]]:
    """Instance -> its GPU and host, measured instances first; and GPUs without an offer, requested by name."""
    measured = {
        name: (transfer.gpus[row.gpu], transfer.step.hosts[name])
        for name, row in transfer.step.instances.items()
        if name in catalog
    }
    others = offer_targets(models, catalog).by_instance
    every = {**measured, **{name: (target.gpu, target.host) for name, target in others.items()}}
    if targets is None:
        return every, {}
    gpus_only: dict[str, GpuOnHost] = {}
    for name in dict.fromkeys(targets):
        if name in every:
            continue
        if name in catalog:
            raise InputError(f"{name} can't be estimated: its GPU specs are unknown.")
        try:
            gpu = transfer.gpus.find(name)
        except InputError:
            raise InputError(f"Unknown instance {name!r}: `profet instances` and `profet gpus` list all.") from None
        gpus_only[gpu.name] = (gpu, host_named("", gpu.compute_capability))
    return {name: every[name] for name in dict.fromkeys(targets) if name in every}, gpus_only


def _in_order(model: RateModel, step: NetworkStep, gpus: Gpus, wanted: Iterable[GpuOnHost]) -> dict[GpuOnHost, _OnGpu]:
    """The step on each GPU, no slower than on one of its generation that has no more of anything."""
    groups: dict[tuple[Gpu, ...], dict[Host, None]] = {}
    for gpu, host in wanted:
        # A custom GPU changes no other one.
        groups.setdefault(_generation(gpus, gpu), {})[host] = None
    targets = [(one, host) for alike, hosts in groups.items() for host in hosts for one in alike]
    steps = _bounded(model, step, targets)
    start = 0
    for alike, hosts in groups.items():
        better = _better(alike)
        fixed = np.array([model.is_well_known(one.name) for one in alike])
        # Where measurements of two GPUs disagree with that order, both take the middle.
        measured = better & fixed[:, None] & fixed[None] | np.eye(len(alike), dtype=bool)
        for _ in hosts:
            rows = slice(start, start := start + len(alike))
            before_ms = steps.latency_ms[rows]
            slowest_ms = np.where(measured, before_ms[:, None], 0.0).max(axis=0)
            fastest_ms = np.where(measured, before_ms[None], np.inf).min(axis=1)
            agreed_ms = np.where(slowest_ms > fastest_ms, np.sqrt(slowest_ms * fastest_ms), before_ms)
            steps.scale(rows, in_order(agreed_ms, better, fixed) / before_ms)
    return {target: (steps.estimate(row), steps.regimes[row]) for row, target in enumerate(targets)}


def _generation(gpus: Gpus, gpu: Gpu) -> tuple[Gpu, ...]:
    """The shipped GPUs of a GPU's generation, and itself."""
    alike = tuple(one for one in gpus.shipped.values() if one.compute_capability == gpu.compute_capability)
    return alike if gpu in alike else (*alike, gpu)


def _better(alike: tuple[Gpu, ...]) -> np.ndarray:
    """Whether a GPU has no less of everything than another one, (gpus, gpus)."""
    return np.array([[no_less(one, other) for other in alike] for one in alike])


@dataclass(frozen=True)
class _Steps:
    """One step on many GPUs in hosts; arrays of shape (targets,).

    Attributes
    ----------
    work_ms : of the GPU, with the start.
    has_cells : whether the GPU was measured with PROFET's cells.
    """

    latency_ms: FloatArray
    work_ms: FloatArray
    launch_ms: FloatArray
    log_sd: FloatArray
    has_cells: Sequence[bool]
    regimes: Sequence[Regime]

    def scale(self, rows: slice, factors: FloatArray) -> None:
        """Multiply the latencies of some targets, and their parts."""
        for values in (self.latency_ms, self.work_ms, self.launch_ms):
            values[rows] *= factors

    def estimate(self, row: int) -> Estimate:
        """The latency on one target."""
        return Estimate(
            latency_ms=self.latency_ms.item(row),
            log_sd=self.log_sd.item(row),
            basis=Basis.MEASURED if self.has_cells[row] else Basis.TRANSFERRED,
            notes=(_REGIME_NOTES[self.regimes[row]],),
            parts=LatencyParts(self.work_ms.item(row), self.launch_ms.item(row)),
        )


_REGIME_NOTES = {regime: Note(Code.REGIME, text=words) for regime, words in _WORDS.items()}


def _bounded(model: RateModel, step: NetworkStep, targets: Sequence[GpuOnHost]) -> _Steps:
    """The step on each target: on tensor cores FP32 is no faster than TF32, half precision no slower than either.

    Nor is tuned code slower than channels-last.
    """
    found = _by_rates(model, step, targets)
    if step.precision in (AS_PROFILED, TF32):
        return found
    bounds_ms = _by_rates(model, replace(step, precision=TF32), targets).latency_ms
    bound = np.fmin if is_half(step.precision) else np.fmax
    if step.training_code == TUNED:
        bounds_ms = bound(bounds_ms, _by_rates(model, replace(step, training_code=CHANNELS_LAST), targets).latency_ms)
    has_tensor = np.array([has_tensor_cores(gpu) for gpu, _ in targets])
    bounded_ms = np.where(has_tensor, bound(found.latency_ms, bounds_ms), found.latency_ms)
    found.scale(slice(None), bounded_ms / found.latency_ms)
    return found


def _by_rates(model: RateModel, step: NetworkStep, targets: Sequence[GpuOnHost]) -> _Steps:
    """The step on each target by its rates, corrected by what was measured of this network."""
    network, batch_size, measured = step.network, step.batch_size, measured_network(step.network)
    modes = [mode_of(gpu, runs_as(gpu, step.precision)[0], step.training_code) for gpu, _ in targets]
    by_gpu = {one.gpu: name for name, one in model.instances.items()}
    instances = [by_gpu.get(gpu.name, "") for gpu, _ in targets]
    work_ms, launch_ms, start_ms = model.steps_ms(network, batch_size, targets, modes, instances, measured is not None)
    places = [name if name and measured else gpu.name for (gpu, _), name in zip(targets, instances, strict=True)]
    known_as = measured or shared_name(step.name)
    log_ratios, shares = model.known.corrections(known_as, places, modes, batch_size, network.pixels)
    factors, trained = np.exp(log_ratios), _FROZEN_SHARE if step.frozen_backbone else 1.0
    work_ms, launch_ms = work_ms * factors * trained, launch_ms * factors * trained
    launched = host_share(work_ms, np.zeros(len(targets)), launch_ms)
    case = case_of(network)
    hosts_log_sd = np.array([host.log_sd for _, host in targets])
    log_sd = combined_sd(
        np.array([model.log_sds[case_key(case, mode, batch_size)] for mode in modes]) * np.sqrt(shares),
        np.array([model.gpu_log_sd(gpu.name) for gpu, _ in targets]),
        launched * (hosts_log_sd if measured else np.hypot(hosts_log_sd, model.launch_log_sd)),
        0.0 if measured else model.source_log_sd,
        _FROZEN_LOG_SD if step.frozen_backbone else 0.0,
        _SMALL_IMAGES_LOG_SD if network.pixels < MIN_MEASURED_PIXELS else 0.0,
    )
    is_known = measured is not None or known_as in model.known.names
    at_larger = Regime.LARGER_BATCH if batch_size > MAX_MEASURED_BATCH else Regime.INTERPOLATION
    seen, unseen = at_larger if measured else Regime.UNSEEN_GPU, Regime.UNSEEN_GPU
    if not is_known:
        seen, unseen = Regime.UNSEEN_NETWORK, Regime.UNSEEN_BOTH
    return _Steps(
        latency_ms=smooth_max(work_ms, launch_ms) + start_ms * factors,
        work_ms=work_ms + start_ms * factors,
        launch_ms=launch_ms,
        log_sd=log_sd,
        has_cells=[bool(name) for name in instances],
        regimes=[seen if name else unseen for name in instances],
    )


def _fits(models: Models, step: NetworkStep, memories_gib: Mapping[str, float]) -> dict[str, FitAnswer]:
    """Instance or GPU -> whether the step fits in its memory."""
    if models.memory is None:
        return {}
    share = models.transfer.rates.activation_share if is_half(step.precision) else 1.0
    need = counted_need(models.memory, step.network, step.batch_size, OPTIMIZERS[step.optimizer], share)
    answers = {one: counted_fit(models.memory, need, step.batch_size, one) for one in set(memories_gib.values())}
    return {name: answers[memory_gib] for name, memory_gib in memories_gib.items()}
