"""From a network's counts to the step latency on every offer, without a profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.from_layers.costs import KnownSteps, StepAmounts, class_counts, reached_ms, speed_weights, step_amounts
from profet_core.from_layers.model import (
    BATCHES,
    DEFAULT,
    METHODS,
    PIXELS,
    EstimateModel,
    Regime,
    estimate_model_of,
    measured_network,
    regime_of,
)
from profet_core.latency import Basis, Estimate, LatencyParts, combined_sd, log_sd_of
from profet_core.layers.network import Counts
from profet_core.memory.fit import LARGEST_BATCH, FitAnswer, MemoryNeed, verdict_of
from profet_core.memory.model import GIB_PER_VALUE, MemoryModel
from profet_core.messages import Code, Note
from profet_core.precision.names import AS_PROFILED, FP32, asked_precision, is_half
from profet_core.prediction.mixed_precision import (
    FP32_FROM_TF32,
    faster_step,
    fp32_unknown,
    precision_notes,
    precision_of,
    speedup_note,
)
from profet_core.prediction.records import InstancePrediction, Prediction, priced_row
from profet_core.prediction.targets import offer_targets
from profet_core.transfer.estimate import Placed
from profet_core.transfer.law import host_share
from profet_core.transfer.model import TransferModel, derive
from profet_core.transfer.speed import target_of
from profet_core.transfer.targets import Source
from profet_core.units import format_significant, whole_number

#: Values that an optimizer keeps per parameter in addition to its gradient.
OPTIMIZERS = {"sgd": 0, "momentum": 1, "adam": 2}


def counted_need(
    model: MemoryModel, network: Counts, batch_size: int, state_copies: int = 0, activation_share: float = 1.0
) -> MemoryNeed:
    """Memory of a step: weights, gradients, optimizer state, and activations.

    Parameters
    ----------
    state_copies : values that the optimizer keeps per parameter. activation_share : relative to activations in FP32.
    """
    law, outputs = model.law, network.activation_elements - network.other_elements
    return MemoryNeed(
        held_gib=law.held_gib(network.parameters) + state_copies * network.trainable_parameters * GIB_PER_VALUE,
        activation_gib=max(activation_share * law.activation_gib(batch_size, outputs, network.other_elements), 1e-6),
        log_scale=law.log_scale,
        activation_log_scale=0.0,
        doubling_log_scale=0.0,
        source="its layers",
    )


def counted_fit(
    model: MemoryModel,
    network: Counts,
    batch_size: int,
    memory_gib: float,
    state_copies: int = 0,
    activation_share: float = 1.0,
) -> FitAnswer:
    """Whether the step fits in a GPU's nominal memory, and the largest batch that does."""
    need = counted_need(model, network, batch_size, state_copies, activation_share)
    chance = need.probability(memory_gib, 1.0)
    largest = math.floor(min(need.growth_at(memory_gib, model.certain) * batch_size, LARGEST_BATCH) * (1 + 1e-12))
    why = f"needs about {need.needed_gib(1.0):.2g} of {memory_gib:g} GiB, from its layers"
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


#: Maximum batch size.
MOST_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class NetworkEstimate:
    """Step latencies of one network on every offer, inferred from its layers.

    Attributes
    ----------
    name : of the network or its file; empty if unknown.
    rows : one per instance; its `members` are the latencies by each method. method : of the latencies.
    regimes : instance -> what of the question was measured on it.
    fits : instance -> whether the step fits in its memory.
    """

    network: Counts
    name: str
    batch_size: int
    rows: tuple[InstancePrediction, ...]
    regimes: Mapping[str, Regime]
    method: str
    fits: Mapping[str, FitAnswer]
    warnings: tuple[Note, ...]


#: Log standard deviation between frameworks: the models learned from TensorFlow 2.5 alone. With it, the 90% intervals
#: hold 89% of 523 published steps of other frameworks and versions (`profet validate --estimate`), without it 71%.
FRAMEWORK_LOG_SD = 0.2


@dataclass(frozen=True, slots=True)
class Step:
    """The step to estimate; fields as `estimate` takes them."""

    network: Counts
    name: str
    batch_size: int
    method: str = DEFAULT
    tf32: bool = True


@dataclass(frozen=True, slots=True)
class _Question:
    """One step, as estimated on every GPU; its method is one of `METHODS`."""

    model: EstimateModel
    transfer: TransferModel
    step: Step
    amounts: StepAmounts
    known: Mapping[str, Mapping[str, KnownSteps]]

    def regime(self, *, gpu_measured: bool) -> Regime:
        return regime_of(self.step.network, self.step.name, self.step.batch_size, gpu_measured=gpu_measured)

    def log_sd(self, regime: Regime) -> float:
        """Standard deviation of the validation split and between frameworks.

        A batch beyond the measured ones counts as unmeasured.
        """
        widths = [self.model.log_half_widths[regime][self.step.method]]
        if regime is not Regime.LARGER_BATCH and self.step.batch_size > BATCHES[1]:
            widths.append(self.model.log_half_widths[Regime.LARGER_BATCH][self.step.method])
        return float(combined_sd(log_sd_of(combined_sd(*widths)), FRAMEWORK_LOG_SD))


@dataclass(frozen=True, slots=True)
class _OnGpu:
    """Latency on one GPU in one host, before it is assigned to an offer."""

    step: Estimate
    by_method: Mapping[str, float]
    regime: Regime


def estimate(
    models: Models,
    catalog: Catalog,
    network: Counts,
    *,
    batch_size: int,
    name: str = "",
    targets: Sequence[str] | None = None,
    method: str = DEFAULT,
    optimizer: str = "sgd",
    precision: str = AS_PROFILED,
) -> NetworkEstimate:
    """Estimate the step latency of a network on every offer, or on `targets`.

    Parameters
    ----------
    network : counts per image of its size.
    name : as in `layers.named_networks`; empty for a custom network.
    targets : instances of the catalog. method : one of `METHODS`, or "default".
    optimizer : one of `OPTIMIZERS`; its state counts in memory.
    precision : as `prediction.predict.predict` takes it; "as profiled" is the frameworks' default.

    Raises
    ------
    InputError : an unsupported batch size, target, method or optimizer.
    ArtifactError : the models can't estimate.
    """
    model, transfer = estimate_model_of(models), models.transfer
    batch_size = _batch(batch_size)
    method = model.method(method)
    if optimizer not in OPTIMIZERS:
        raise InputError(f"Unknown optimizer {optimizer!r}: use one of {', '.join(OPTIMIZERS)}.")
    asked = asked_precision(precision)
    question = _asked(model, transfer, Step(network, name, batch_size, method, asked != FP32))
    placed = _placed(models, transfer, catalog, targets)
    found = {one: _in_precision(models, question, one, asked) for one in dict.fromkeys(placed.values())}
    rows = [priced_row(catalog[instance], found[one].step, found[one].by_method) for instance, one in placed.items()]
    return NetworkEstimate(
        network=network,
        name=name,
        batch_size=batch_size,
        rows=tuple(rows),
        regimes={instance: found[one].regime for instance, one in placed.items()},
        method=method,
        fits=_fits(models, catalog, network, batch_size, OPTIMIZERS[optimizer], list(placed), half=is_half(asked)),
        warnings=(*precision_notes(asked), *_range_notes(network, batch_size)),
    )


def estimated_step(model: EstimateModel, transfer: TransferModel, step: Step, placed: Placed) -> Estimate:
    """Estimate one step on a GPU in a host, with or without an offer."""
    return _on_gpu(_asked(model, transfer, step), placed).step


def _asked(model: EstimateModel, transfer: TransferModel, step: Step) -> _Question:
    amounts = step_amounts([step.network], [step.batch_size])
    known = {one: model.known_steps(amounts, one) for one in METHODS}
    return _Question(model, transfer, replace(step, method=model.method(step.method)), amounts, known)


def _batch(batch_size: int) -> int:
    batch_size = whole_number("The batch size", batch_size)
    if batch_size > MOST_BATCH:
        raise InputError(f"The batch size is at most {MOST_BATCH:,}.")
    return batch_size


def _placed(
    models: Models, transfer: TransferModel, catalog: Catalog, targets: Sequence[str] | None
) -> dict[str, Placed]:
    """Instance -> its GPU and host: measured instances first, then others with specs."""
    measured = {
        name: (transfer.gpus[row.gpu], transfer.step.hosts[name])
        for name, row in transfer.step.instances.items()
        if name in catalog
    }
    others = offer_targets(models, catalog).by_instance
    every = {**measured, **{name: (target.gpu, target.host) for name, target in others.items()}}
    if targets is None:
        return every
    for name in targets:
        if name not in catalog:
            raise InputError(f"Unknown instance {name!r}: `profet instances` lists all.")
        if name not in every:
            raise InputError(f"{name} can't be estimated: its GPU specs are unknown.")
    return {name: every[name] for name in dict.fromkeys(targets)}


def _in_precision(models: Models, question: _Question, placed: Placed, asked: str) -> _OnGpu:
    """Latency of a GPU in a precision."""
    gpu, found = placed[0], _on_gpu(question, placed)
    measured = {costs.gpu for costs in question.model.costs.values()}
    from_tf32 = asked == FP32 and gpu.name not in measured and fp32_unknown(question.transfer, gpu)
    if not is_half(asked) and not from_tf32:
        return found
    model = precision_of(models)
    if from_tf32:
        found = _on_gpu(replace(question, step=replace(question.step, tf32=True)), placed)
    step, counts = found.step, question.step.network
    work = counts.convolution_flops + counts.dense_flops
    shares = model.shares_of(work / max(counts.activation_elements, 1.0), class_counts(counts))
    factors = model.tf32(gpu) if from_tf32 else model.amp(gpu, asked)
    launch_ms = 0.0 if step.parts is None else step.parts.launch_ms
    log_speedup = factors.log_speedup(shares, launch_ms / (step.latency_ms or 1.0)) * (-1 if from_tf32 else 1)
    note = FP32_FROM_TF32 if from_tf32 else speedup_note(gpu, asked, log_speedup)
    by_method = {name: ms * math.exp(-log_speedup) for name, ms in found.by_method.items()}
    changed = faster_step(step, log_speedup, factors.log_sd, note)
    return replace(found, step=changed, by_method=by_method)


def _on_gpu(question: _Question, placed: Placed) -> _OnGpu:
    gpu, _ = placed
    measured = {costs.gpu: name for name, costs in question.model.costs.items()}
    if gpu.name in measured:
        return _on_measured(question, measured[gpu.name], placed)
    law = question.transfer.derived.get(gpu.name)
    if law is not None and all(name in question.model.costs for name in law.instances):
        return _on_derived(question, gpu)
    return _on_other(question, placed)


def _on_measured(question: _Question, instance: str, placed: Placed) -> _OnGpu:
    """Estimate on a measured GPU, in this or another host."""
    host, regime = placed[1], question.regime(gpu_measured=True)
    by_method = {name: _measured_ms(question, name, instance, placed) for name in METHODS}
    parts, share = _parts(question, instance, 0.0, placed)
    step = Estimate(
        latency_ms=by_method[question.step.method],
        log_sd=question.log_sd(regime),
        basis=Basis.MEASURED,
        notes=(_note(regime),),
        parts=parts,
    )
    if host.name != question.model.costs[instance].host:
        step = step.widened(host.log_sd * share)
    return _OnGpu(step, by_method, regime)


def _note(regime: Regime) -> Note:
    return Note(Code.REGIME, said=regime.words)


def _measured_ms(question: _Question, method: str, instance: str, placed: Placed) -> float:
    known = question.known[method][instance]
    return float(known.costs.latency_ms(question.amounts, host=placed[1])[0] * np.exp(known.log_ratio[0]))


def _on_derived(question: _Question, gpu: Gpu) -> _OnGpu:
    """Estimate on a GPU that another source measured together with two of ours."""
    law, regime = question.transfer.derived[gpu.name], question.regime(gpu_measured=True)
    log_sd = np.array([question.log_sd(regime)])

    def derived(one: str) -> Estimate:
        there = {
            name: Estimate(latency_ms=known.costs.latency_ms(question.amounts) * np.exp(known.log_ratio), log_sd=log_sd)
            for name, known in question.known[one].items()
            if name in law.instances
        }
        return derive(law, there, gpu, question.step.tf32).at(0)

    by_method = {name: derived(name).latency_ms for name in METHODS}
    # The known latencies' errors belong to this network, not to its profile, so the error of the ratio is unknown.
    step = replace(derived(question.step.method), relative=None)
    return _OnGpu(step, by_method, question.regime(gpu_measured=False))


def _on_other(question: _Question, placed: Placed) -> _OnGpu:
    """Estimate on a GPU without measurements: the analytical model at its speed."""
    gpu, host = placed
    regime = question.regime(gpu_measured=False)
    _, speed = target_of(question.transfer, gpu, host, question.step.tf32)
    costs = question.model.costs
    log_speed = speed.log_speed + costs[question.transfer.reference].log_speed
    by_method = {
        name: float(reached_ms(question.known[name], question.amounts, log_speed, host)[0]) for name in METHODS
    }
    weights = speed_weights(costs, log_speed)
    nearest = max(weights, key=lambda name: weights[name])
    parts, share = _parts(question, nearest, log_speed - costs[nearest].log_speed, placed)
    step = Estimate(
        latency_ms=by_method[question.step.method],
        log_sd=combined_sd(question.log_sd(regime), speed.log_sd * (1 - share), host.log_sd * share),
        basis=Basis.TRANSFERRED,
        # Of a GPU whose own steps were measured, the regime of other GPUs says nothing true.
        notes=(speed.evidence.note,) if speed.evidence.source is Source.CELLS else (_note(regime), speed.evidence.note),
        parts=parts,
    )
    return _OnGpu(step, by_method, regime)


def _parts(question: _Question, nearest: str, log_gain: float, placed: Placed) -> tuple[LatencyParts, float]:
    """Parts of the latency and the host's share, from the analytical model of the measured GPU nearest in speed."""
    costs, host = question.model.costs[nearest], placed[1]
    work_ms = float(costs.parts_ms(question.amounts).sum()) * math.exp(-log_gain)
    fixed_ms, launch_ms = costs.fixed_ms(question.amounts, host), costs.launch_ms(question.amounts, host)
    share = host_share(work_ms + fixed_ms, fixed_ms, launch_ms)
    return LatencyParts(float(work_ms + fixed_ms[0]), float(launch_ms[0])), float(share[0])


def _fits(
    models: Models,
    catalog: Catalog,
    network: Counts,
    batch_size: int,
    state_copies: int,
    instances: Sequence[str],
    *,
    half: bool,
) -> dict[str, FitAnswer]:
    if models.memory is None:
        return {}
    memories = {catalog[name].gpu_memory_gib for name in instances}
    share = precision_of(models).activation_share if half else 1.0
    answers = {one: counted_fit(models.memory, network, batch_size, one, state_copies, share) for one in memories}
    return {name: answers[catalog[name].gpu_memory_gib] for name in instances}


def _range_notes(network: Counts, batch_size: int) -> list[Note]:
    found = []
    if not BATCHES[0] <= batch_size <= BATCHES[1]:
        found.append(Note(Code.UNMEASURED_BATCH, batch_size=batch_size, low=BATCHES[0], high=BATCHES[1]))
    if not PIXELS[0] <= network.pixels <= PIXELS[1]:
        found.append(Note(Code.UNMEASURED_PIXELS, pixels=network.pixels, low=PIXELS[0], high=PIXELS[1]))
    if network.depthwise_flops and measured_network(network) is None:
        found.append(Note(Code.UNMEASURED_DEPTHWISE))
    return found
