"""From a network's counts to the step latency on every offer, without a profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from statistics import geometric_mean, median
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import Catalog, Instance, load_gpus
from profet_core.catalog.gpus import (
    AMP,
    AS_PROFILED,
    CHANNELS_LAST,
    CODES,
    FP32,
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
from profet_core.catalog.instance import machine_with
from profet_core.errors import Code, InputError, Note, not_a_cnn
from profet_core.latency import Basis, combined_sd
from profet_core.layers.measured import OF_PROGRAM, MeasuredTime, Steps, conditional
from profet_core.layers.network import Counts, Numbers
from profet_core.layers.networks import (
    DETECTION_PIXELS,
    counts_of,
    measured_networks,
    named_network,
    native_pixels,
    other_definitions,
    shared_name,
)
from profet_core.layers.rates import SMALL_BATCH, Case, RateModel, case_key, case_of, mode_of, rate_model_of
from profet_core.offers import OfferTable, bounds
from profet_core.prediction.models import Models
from profet_core.prediction.table import Prediction, StepTable, StepTarget, offer_table
from profet_core.prediction.targets import in_order, offer_targets
from profet_core.training.cost import JPEG_IMAGES_PER_S_PER_VCPU
from profet_core.training.memory import GIB_PER_VALUE, MAX_BATCH, FitAnswer, MemoryModel, MemoryNeed, verdict_of
from profet_core.transfer.model import TransferModel
from profet_core.transfer.rates import no_less
from profet_core.transfer.targets import Host, host_named
from profet_profiles.units import MS_PER_S, format_ms, format_significant, whole_number

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


class Disagreement(Struct, frozen=True):
    """Latency of one instance, from the network's layers and from its profile."""

    instance: str
    estimated_ms: float
    profiled_ms: float
    overlap: bool | None

    @property
    def ratio(self) -> float:
        """The estimate over the profile's."""
        return self.estimated_ms / self.profiled_ms


def disagreements(rows: OfferTable, profiled: Prediction) -> tuple[Disagreement, ...]:
    """Disagreements for all instances in both, in the estimate's order."""
    by_profile = profiled.predictions.numbers
    found = []
    for row in rows:
        if row.instance not in by_profile:
            continue
        other = profiled.predictions[by_profile[row.instance]]
        if other.latency_ms is None or row.latency_ms is None or row.interval is None:
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


class NetworkEstimate(Struct, frozen=True, dict=True):
    """Step latencies of one network on every offer, inferred from its layers.

    Attributes
    ----------
    name : of the network or its file; empty if unknown.
    table, offers : steps by GPU and host, and each offer with its row; `members` are the latencies by each method.
    method : of the latencies.
    regimes : instance -> what of the question was measured on it.
    fits : instance, or GPU of `gpus` -> whether the step fits in its memory.
    gpus : steps on GPUs without an offer that were requested by name, each as a machine of the GPU's name.
    """

    network: Counts
    name: str
    batch_size: int
    table: StepTable
    offers: tuple[tuple[Instance, int], ...]
    regimes: Mapping[str, Regime]
    method: str
    fits: Mapping[str, FitAnswer]
    warnings: tuple[Note, ...]
    gpus: OfferTable

    @cached_property
    def rows(self) -> OfferTable:
        """One row per offer."""
        return offer_table(self.table, self.offers)


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
_FEW_MEASURED_BELOW, _USUAL_PIXELS, _SMALL_BATCH_LOG_SD = 12, 224, 0.25


def _small_batch_log_sd(network: Counts, batch_size: int) -> float:
    """What a smaller batch than were measured adds; larger images count as more of them."""
    images = batch_size * max((network.pixels / _USUAL_PIXELS) ** 2, 1.0)
    return _SMALL_BATCH_LOG_SD * max(math.log2(_FEW_MEASURED_BELOW / images), 0.0)


@cache
def _measured_by_layers() -> Mapping[Numbers, list[str]]:
    """Numbers of layers -> the measured networks that have them at one of their sizes."""
    found: dict[Numbers, list[str]] = {}
    for name in measured_networks():
        for layers in {counts.layers for counts in named_network(name).sizes.values()}:
            found.setdefault(layers, []).append(name)
    return found


def measured_network(network: Counts) -> str | None:
    """The measured network with these counts, by its name; None: another network."""
    for name in _measured_by_layers().get(network.layers, ()):
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
#: Of transformers: their measured steps had PyTorch 1.12, without fused attention, which makes Swin-B up to 1.5 times
#: faster; by judgment.
_FUSED_LOG_SD = 0.12
#: Of transformers on GPUs that none was measured on; by judgment: published A100 steps in PaddlePaddle, which no fit
#: has seen, take up to twice the estimate.
_OTHER_GPU_LOG_SD = 0.3
#: A measured step whose launches count at least as much as its work.
_LAUNCHED = 0.5
#: What explains an unusual step: a precision that changes it, in the logarithm; JPEG images at least this large, which
#: at most so many vCPUs prepare.
_LEAST_CAUSE, _JPEG_PIXELS, _MOST_VCPUS = 0.1, 128, 32
#: How these latencies are made, as documents name it.
METHOD = "rates"


def check_vision(network: Counts) -> None:
    """Refuse a network that neither convolves its images nor cuts them into patches, and has no attention."""
    if not network.layers.spatial and not network.has_attention:
        why = "it has neither a convolution nor attention"
        raise InputError(not_a_cnn("This network is not for images", why, "Give one", "CNNs and vision transformers"))


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
    """

    network: Counts
    batch_size: int
    name: str = ""
    optimizer: str = "sgd"
    precision: str = AS_PROFILED
    training_code: str = PLAIN
    frozen_backbone: bool = False
    as_measured: bool | None = None


#: A GPU and its host.
GpuOnHost = tuple[Gpu, Host]


class MeasuredStep(Struct, frozen=True):
    """A step of the network that the user measured, in the question's precision.

    Attributes
    ----------
    vcpus : of its machine, if known.
    network : counts at its image size; None: the question's.
    """

    on: GpuOnHost
    batch_size: int
    latency_ms: float
    vcpus: int | None = None
    network: Counts | None = None

    def of(self, step: NetworkStep) -> NetworkStep:
        """The step that was measured, where another size of the network is asked for."""
        return replace(step, batch_size=self.batch_size, network=self.network or step.network)


def measured_step(models: Models, catalog: Catalog, time: MeasuredTime) -> MeasuredStep:
    """A measured time on the GPU or instance that it names; InputError if there is none, or more than one."""
    by_instance, _ = _gpus_on_hosts(models, models.transfer, catalog, None)
    if time.place in by_instance:
        return MeasuredStep(by_instance[time.place], time.batch_size, time.latency_ms, catalog[time.place].vcpus)
    gpu = models.transfer.gpus.find(time.place)
    return MeasuredStep((gpu, host_named("", gpu.compute_capability)), time.batch_size, time.latency_ms)


def estimate(
    models: Models,
    catalog: Catalog,
    step: NetworkStep,
    targets: Sequence[str] | None = None,
    measured: Sequence[MeasuredStep] = (),
) -> NetworkEstimate:
    """Estimate the step latency of a network on every offer, or on `targets`: instances, or GPUs with specs.

    Steps that the user `measured` correct the others.

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
    check_vision(step.network)
    step = replace(step, batch_size=batch_size, precision=requested_precision(step.precision))
    is_transformer = case_of(step.network) is Case.TRANSFORMER
    is_default = is_transformer and step.precision == AS_PROFILED
    if is_default:
        step = replace(step, precision=FP32)
    by_instance, gpus_only = _gpus_on_hosts(models, transfer, catalog, targets)
    wanted = [*by_instance.values(), *gpus_only.values()]
    on_gpus = _in_order(model, step, transfer.gpus, wanted)
    table, measured_notes = (
        _scaled(models, step, on_gpus, measured) if measured else (_estimates(models, step, on_gpus), [])
    )
    notes = [Note(Code.HYBRID_NETWORK)] if case_of(step.network) is Case.HYBRID else []
    if is_transformer:
        notes.append(Note(Code.TRANSFORMER))
    if is_default:
        notes.append(Note(Code.PRODUCTS_IN_FP32))
    if step.name and (others := other_definitions(step.name)):
        library = named_network(step.name).library
        notes.append(Note(Code.OTHER_DEFINITIONS, name=step.name, library=library, others=", ".join(others)))
    if step.name and step.network.pixels == native_pixels(step.name) == DETECTION_PIXELS:
        notes.append(Note(Code.DETECTION_SIZE, pixels=f"{DETECTION_PIXELS:,}"))
    if step.network.pixels < MIN_MEASURED_PIXELS:
        notes.append(Note(Code.SMALL_IMAGES, pixels=MIN_MEASURED_PIXELS))
    if _small_batch_log_sd(step.network, step.batch_size):
        notes.append(Note(Code.SMALL_BATCH, batch=_FEW_MEASURED_BELOW))
    table = replace(table, members={METHOD: table.latency_ms})
    machines = [(machine_with(name, one[0].memory_gib, name), on_gpus.rows[one]) for name, one in gpus_only.items()]
    memories_gib = {name: catalog[name].gpu_memory_gib for name in by_instance}
    memories_gib |= {name: gpu.memory_gib for name, (gpu, _) in gpus_only.items()}
    return NetworkEstimate(
        network=step.network,
        name=step.name,
        batch_size=batch_size,
        table=table,
        offers=tuple((catalog[instance], on_gpus.rows[one]) for instance, one in by_instance.items()),
        regimes={instance: on_gpus.regimes[on_gpus.rows[one]] for instance, one in by_instance.items()},
        method=METHOD,
        fits=_fits(models, step, memories_gib),
        warnings=(*measured_notes, *notes),
        gpus=offer_table(table, machines),
    )


def _estimates(models: Models, step: NetworkStep, on_gpus: _OnGpus) -> StepTable:
    """The latency on each target, with what a GPU without the precision's units does."""
    table = on_gpus.table()
    notes, wider = list(table.notes), np.zeros(len(table.targets))
    for row, (gpu, _, _) in enumerate(table.targets):
        if note := runs_as(gpu, step.precision)[1]:
            wider[row] = without_units_log_sd(models, gpu, step.precision)
            notes[row] = (*notes[row], note)
    return replace(table, log_sd=combined_sd(table.log_sd, wider), notes=tuple(notes))


def steps_on(models: Models, step: NetworkStep, targets: Sequence[GpuOnHost]) -> Steps:
    """The step on each target, in order."""
    found = _in_order(rate_model_of(models), step, models.transfer.gpus, targets)
    return found.steps.take([found.rows[one] for one in targets])


def without_units_log_sd(models: Models, gpu: Gpu, precision: str) -> float:
    """What a GPU without the precision's units adds to the uncertainty of a step."""
    note = runs_as(gpu, precision)[1]
    is_unsure = note is not None and note.code is Code.NO_TENSOR_CORES
    return models.transfer.rates.no_tensor_cores_log_sd if is_unsure else 0.0


class _Usual(Struct, frozen=True):
    """What a step usually takes, milliseconds, and within which interval."""

    latency_ms: float
    low_ms: float
    high_ms: float


def _usual(models: Models, step: NetworkStep, one: MeasuredStep) -> tuple[Steps, _Usual]:
    """What a step that was measured usually takes."""
    asked = one.of(step)
    found = _in_order(rate_model_of(models), asked, models.transfer.gpus, [one.on])
    row, table = found.rows[one.on], _estimates(models, asked, found)
    latency_ms = table.latency_ms.item(row)
    low_ms, high_ms = bounds(latency_ms, table.log_sd.item(row))
    return found.steps.take([row]), _Usual(latency_ms, float(low_ms), float(high_ms))


def _scaled(
    models: Models,
    step: NetworkStep,
    on_gpus: _OnGpus,
    measured: Sequence[MeasuredStep],
) -> tuple[StepTable, list[Note]]:
    """The latencies by what was measured, and whether that is usual."""
    usual = [_usual(models, step, one) for one in measured]
    # Nobody else's program is that of PROFET's cells.
    least = rate_model_of(models).source_log_sd
    steps, given = (
        replace(some, shared_log_sd=OF_PROGRAM * np.maximum(some.shared_log_sd, least))
        for some in (on_gpus.steps, Steps.joined([one for one, _ in usual]))
    )
    steps, explained = conditional(steps, given, np.array([one.latency_ms for one in measured]))
    table = _estimates(models, step, on_gpus._replace(steps=steps))
    words = [_named(step, one) for one in measured]
    origin = Note(Code.SCALED_STEP, measured=" and ".join(f"{time} on {gpu}" for time, gpu in words))
    rows = range(len(table.targets))
    table = table.with_rows(rows, basis=[Basis.SCALED] * len(rows), notes=[(origin, *notes) for notes in table.notes])
    for row, target in enumerate(table.targets):
        same = [one.latency_ms for one in measured if one.on[0] == target.gpu and one.of(step) == step]
        if same:
            latency_ms = same[0] if len(same) == 1 else geometric_mean(same)
            table = table.with_rows(
                [row],
                latency_ms=latency_ms,
                log_sd=0.0,
                basis=[Basis.GIVEN],
                notes=[()],
                free_ms=np.nan,
                launch_ms=np.nan,
            )
    notes: list[Note] = []
    for one, (_, estimated), (time, gpu), launched in zip(measured, usual, words, explained.launched, strict=True):
        notes.append(_usual_note(models, step, one, estimated, time, gpu))
        if launched >= _LAUNCHED:
            notes.append(Note(Code.LAUNCHES_MEASURED, measured=time, gpu=gpu))
    return table, notes


def _named(step: NetworkStep, one: MeasuredStep) -> tuple[str, str]:
    asked = one.of(step)
    sizes = [f"batch {one.batch_size}"] * (asked.batch_size != step.batch_size)
    sizes += [f"{asked.network.pixels} pixels"] * (asked.network.pixels != step.network.pixels)
    return format_ms(one.latency_ms), f"{one.on[0].name}{' at ' * bool(sizes)}{', '.join(sizes)}"


def _usual_note(models: Models, step: NetworkStep, one: MeasuredStep, usual: _Usual, time: str, gpu: str) -> Note:
    """Whether a measured step is what its GPU usually takes, and what would explain it if not."""
    values = {"measured": time, "gpu": gpu, "low": format_significant(usual.low_ms), "high": format_ms(usual.high_ms)}
    if usual.low_ms <= one.latency_ms <= usual.high_ms:
        return Note(Code.USUAL, **values)
    slower = one.latency_ms > usual.latency_ms
    causes: list[str] = []
    for words, other in _other_ways(one.of(step), slower=slower):
        explained = _usual(models, other, one)[1]
        gained = abs(math.log(explained.latency_ms / usual.latency_ms))
        if gained > _LEAST_CAUSE and explained.low_ms <= one.latency_ms <= explained.high_ms:
            causes.append(f"{words} ({format_ms(explained.latency_ms)})")
    if slower:
        fed_per_s = MS_PER_S * one.batch_size / one.latency_ms
        vcpus = one.vcpus or round(fed_per_s / JPEG_IMAGES_PER_S_PER_VCPU)
        rate_per_s = vcpus * JPEG_IMAGES_PER_S_PER_VCPU
        # Of what loads nothing slowly: small images, and GPUs that no number of usual CPU cores keeps waiting.
        if (
            one.of(step).network.pixels >= _JPEG_PIXELS
            and 1 <= vcpus <= _MOST_VCPUS
            and rate_per_s < MS_PER_S * one.batch_size / usual.high_ms
            and abs(math.log(rate_per_s / fed_per_s)) < math.log(1.5)
        ):
            several = "1 vCPU feeds" if vcpus == 1 else f"{vcpus} vCPUs feed"
            causes.append(f"data loading ({several} about {rate_per_s:,.0f} JPEG images/s, this is {fed_per_s:,.0f})")
    factor = one.latency_ms / usual.latency_ms if slower else usual.latency_ms / one.latency_ms
    causes_text = "Check the unit, the batch size and the GPU."
    if causes:
        causes_text = (
            f"Possible: {', '.join(causes)}. The other times follow it: if that is so, change it and measure again."
        )
    return Note(Code.SLOWER if slower else Code.FASTER, **values, times=factor, causes=causes_text)


def _other_ways(step: NetworkStep, *, slower: bool) -> Iterator[tuple[str, NetworkStep]]:
    """The step in precisions and code that make it slower or faster."""
    in_half = is_half(step.precision)
    if slower and in_half:
        yield "FP32 instead of AMP", replace(step, precision=AS_PROFILED, training_code=PLAIN)
    if slower and step.training_code != PLAIN:
        yield "plain code", replace(step, training_code=PLAIN)
    if slower and not in_half and step.precision != FP32:
        yield "FP32 without TF32", replace(step, precision=FP32)
    if not slower and not in_half:
        yield "AMP", replace(step, precision=AMP)
        yield "AMP with channels-last", replace(step, precision=AMP, training_code=CHANNELS_LAST)
    if not slower and in_half and step.training_code == PLAIN:
        yield "channels-last", replace(step, training_code=CHANNELS_LAST)


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


class _OnGpus(NamedTuple):
    """One step on many GPUs in hosts.

    Attributes
    ----------
    rows : GPU in a host -> its row.
    has_cells : whether the GPU was measured with PROFET's cells.
    """

    steps: Steps
    rows: Mapping[GpuOnHost, int]
    has_cells: Sequence[bool]
    regimes: Sequence[Regime]

    def table(self) -> StepTable:
        """The latency on each target."""
        steps, targets = self.steps, tuple(StepTarget(gpu, host) for gpu, host in self.rows)
        return replace(
            StepTable.unknown(targets, ()),
            latency_ms=steps.latency_ms,
            log_sd=steps.log_sd,
            basis=tuple(Basis.MEASURED if measured else Basis.TRANSFERRED for measured in self.has_cells),
            notes=tuple((_REGIME_NOTES[regime],) for regime in self.regimes),
            free_ms=steps.work_ms + steps.start_ms,
            launch_ms=steps.launch_ms,
        )


def _in_order(model: RateModel, step: NetworkStep, gpus: Gpus, wanted: Iterable[GpuOnHost]) -> _OnGpus:
    """The step on each GPU, no slower than on one of its generation that has no more of anything."""
    generations: dict[float | None, list[Gpu]] = {}
    for gpu in gpus.shipped.values():
        generations.setdefault(gpu.compute_capability, []).append(gpu)
    groups: dict[tuple[Gpu, ...], dict[Host, None]] = {}
    group_of: dict[GpuOnHost, tuple[Gpu, ...]] = {}
    for gpu, host in wanted:
        others = generations.get(gpu.compute_capability, [])
        # A custom GPU changes no other one.
        alike = group_of[gpu, host] = tuple(others if gpu in others else [*others, gpu])
        groups.setdefault(alike, {})[host] = None
    targets = [(one, host) for alike, hosts in groups.items() for host in hosts for one in alike]
    found = _bounded(model, step, targets)
    all_ms, factors, start = found.steps.latency_ms, np.ones(len(targets)), 0
    for alike, hosts in groups.items():
        better = _better(alike)
        fixed = np.array([model.is_well_known(one.name) for one in alike])
        # Where measurements of two GPUs disagree with that order, both take the middle.
        measured = better & fixed[:, None] & fixed[None] | np.eye(len(alike), dtype=bool)
        for _ in hosts:
            those = slice(start, start := start + len(alike))
            before_ms = all_ms[those]
            slowest_ms = np.where(measured, before_ms[:, None], 0.0).max(axis=0)
            fastest_ms = np.where(measured, before_ms[None], np.inf).min(axis=1)
            agreed_ms = np.where(slowest_ms > fastest_ms, np.sqrt(slowest_ms * fastest_ms), before_ms)
            factors[those] = in_order(agreed_ms, better, fixed) / before_ms
    # A GPU is in the groups of custom ones too; those of its own group count.
    all_groups = [alike for alike, hosts in groups.items() for _ in hosts for _ in alike]
    row_of = {one: row for row, one in enumerate(targets) if group_of.get(one) == all_groups[row]}
    rows = [row_of[one] for one in group_of]
    return _OnGpus(
        steps=found.steps.scaled(factors).take(rows),
        rows={one: row for row, one in enumerate(group_of)},
        has_cells=[found.has_cells[row] for row in rows],
        regimes=[found.regimes[row] for row in rows],
    )


def _better(alike: tuple[Gpu, ...]) -> np.ndarray:
    """Whether a GPU has no less of everything than another one, (gpus, gpus)."""
    shipped = tuple(gpu for gpu in alike if load_gpus().get(gpu.name) == gpu)
    return _better_shipped(alike) if shipped == alike else _better_shipped.__wrapped__(alike)


@lru_cache(maxsize=100)
def _better_shipped(alike: tuple[Gpu, ...]) -> np.ndarray:
    """`_better`, kept: shipped GPUs are no visitor's."""
    return np.array([[no_less(one, other) for other in alike] for one in alike])


_REGIME_NOTES = {regime: Note(Code.REGIME, text=words) for regime, words in _WORDS.items()}


def _bounded(model: RateModel, step: NetworkStep, targets: Sequence[GpuOnHost]) -> _OnGpus:
    """The step on each target: on tensor cores FP32 is no faster than TF32, half precision no slower than either.

    Nor is tuned code slower than channels-last.
    """
    found = _by_rates(model, step, targets)
    if step.precision in (AS_PROFILED, TF32):
        return found
    latency_ms = found.steps.latency_ms
    bounds_ms = _by_rates(model, replace(step, precision=TF32), targets).steps.latency_ms
    bound = np.fmin if is_half(step.precision) else np.fmax
    if step.training_code == TUNED:
        other = _by_rates(model, replace(step, training_code=CHANNELS_LAST), targets)
        bounds_ms = bound(bounds_ms, other.steps.latency_ms)
    has_tensor = np.array([has_tensor_cores(gpu) for gpu, _ in targets])
    bounded_ms = np.where(has_tensor, bound(latency_ms, bounds_ms), latency_ms)
    return found._replace(steps=found.steps.scaled(bounded_ms / latency_ms))


def _by_rates(model: RateModel, step: NetworkStep, targets: Sequence[GpuOnHost]) -> _OnGpus:
    """The step on each target by its rates, corrected by what was measured of this network."""
    network, batch_size = step.network, step.batch_size
    measured = None if step.as_measured is False else measured_network(network)
    is_measured = measured is not None if step.as_measured is None else step.as_measured
    modes_of = {gpu: mode_of(gpu, runs_as(gpu, step.precision)[0], step.training_code) for gpu in dict(targets)}
    modes = [modes_of[gpu] for gpu, _ in targets]
    by_gpu = {one.gpu: name for name, one in model.instances.items()}
    instances = [by_gpu.get(gpu.name, "") for gpu, _ in targets]
    work_ms, launch_ms, start_ms = model.steps_ms(network, batch_size, targets, modes, instances, is_measured)
    places = [name if name and measured else gpu.name for (gpu, _), name in zip(targets, instances, strict=True)]
    known_as = measured or shared_name(step.name)
    log_ratios, shares = model.known.corrections(known_as, places, modes, batch_size, network.pixels)
    factors, trained = np.exp(log_ratios), _FROZEN_SHARE if step.frozen_backbone else 1.0
    case = case_of(network)
    hosts_log_sd = np.array([host.log_sd for _, host in targets])
    # How far a recorded step moves others must not jump with their batch.
    doubted_batch = batch_size if step.as_measured is None else max(batch_size, SMALL_BATCH)
    shared_log_sd = combined_sd(
        0.0 if is_measured else model.source_log_sd,
        _FUSED_LOG_SD if case is Case.TRANSFORMER else 0.0,
        _FROZEN_LOG_SD if step.frozen_backbone else 0.0,
        _SMALL_IMAGES_LOG_SD if network.pixels < MIN_MEASURED_PIXELS else 0.0,
    )
    is_known = measured is not None or known_as in model.known.names
    at_larger = Regime.LARGER_BATCH if batch_size > MAX_MEASURED_BATCH else Regime.INTERPOLATION
    seen, unseen = at_larger if measured else Regime.UNSEEN_GPU, Regime.UNSEEN_GPU
    if not is_known:
        seen, unseen = Regime.UNSEEN_NETWORK, Regime.UNSEEN_BOTH
    steps = Steps(
        gpus=[gpu for gpu, _ in targets],
        modes=np.array(modes, int),
        # Larger images count as more of them.
        batch_sizes=np.full(len(targets), batch_size * (network.pixels / _USUAL_PIXELS) ** 2),
        work_ms=work_ms * factors * trained,
        launch_ms=launch_ms * factors * trained,
        start_ms=start_ms * factors,
        network_log_sd=np.hypot(
            np.array([model.log_sds[case_key(case, mode, doubted_batch)] for mode in modes]) * np.sqrt(shares),
            _small_batch_log_sd(network, batch_size) if step.as_measured is None else 0.0,
        ),
        gpu_log_sd=np.array(
            [
                combined_sd(
                    model.gpu_log_sd(gpu.name),
                    _OTHER_GPU_LOG_SD if case is Case.TRANSFORMER and gpu.name not in model.transformer_gpus else 0.0,
                )
                for gpu, _ in targets
            ]
        ),
        launch_log_sd=hosts_log_sd if is_measured else np.hypot(hosts_log_sd, model.launch_log_sd),
        shared_log_sd=np.full(len(targets), shared_log_sd),
        kernels_log_sd=np.zeros(len(targets)),
        removed=np.zeros(len(targets)),
    )
    return _OnGpus(
        steps=steps,
        rows={target: row for row, target in enumerate(targets)},
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
