"""From a network's counts to the step latency on every offer, without a profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from statistics import geometric_mean, median
from typing import NamedTuple
from weakref import WeakKeyDictionary

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
    has_tensor_cores,
    is_half,
    no_less,
    requested_precision,
    runs_as,
)
from profet_core.catalog.instance import machine_with
from profet_core.errors import Code, InputError, Note, no_vision
from profet_core.latency import SMOOTH_MAX_POWER, Basis, FloatArray, combined_sd, smooth_max
from profet_core.layers.measured import OF_PROGRAM, TIME_LOG_SD, Learned, MeasuredTime, Steps
from profet_core.layers.network import Counts, Numbers, with_attention
from profet_core.layers.networks import (
    DETECTION_PIXELS,
    counts_of,
    measured_networks,
    named_network,
    native_pixels,
    other_definitions,
    shared_name,
)
from profet_core.layers.rates import (
    SMALL_BATCH,
    WITHOUT_TENSOR_CORES_LOG_SD,
    Case,
    Mode,
    case_key,
    case_of,
    fuses_attention,
    mode_of,
    rate_model_of,
)
from profet_core.offers import OfferTable, bounds
from profet_core.prediction.models import Models
from profet_core.prediction.table import Prediction, StepTable, StepTarget, offer_table
from profet_core.prediction.targets import in_order, offer_targets
from profet_core.training.cost import JPEG_IMAGES_PER_S_PER_VCPU
from profet_core.training.memory import (
    ACTIVATIONS_IN_HALF,
    CHECKPOINTING,
    GIB_PER_VALUE,
    MAX_BATCH,
    FitAnswer,
    MemoryModel,
    MemoryNeed,
    verdict_of,
)
from profet_core.transfer.model import TransferModel
from profet_core.transfer.targets import REFERENCE_HOST, Host, host_named
from profet_profiles.units import MS_PER_S, SMALLEST_NUMBER, format_ms, format_significant, whole_number

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
    """Return what a smaller batch than were measured adds; larger images count as more of them."""
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
    """Return the measured network with these counts, by its name; None: another network."""
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
#: Error of a step by kinds of work that were read off class times, on networks that the reader didn't see; how far the
#: amount of work, and the number of kernels, that were read are off, in the logarithm.
READ_LOG_SD, WORK_LOG_SD, KERNELS_LOG_SD = 0.08, 0.5, 0.3
#: The same of transformers' steps, by judgment: no profile of one is published.
_READ_TRANSFORMER_LOG_SD = 0.15
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
        raise InputError(no_vision("This network is not for images", why, "Give one"))


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


#: A GPU that works for less of a step waits for its host.
_HOST_BOUND_SHARE = 0.85
#: What a host takes of a step that its GPU bounds, if it usually takes more, and that share's error; by judgment.
_LEFT_SHARE, _LEFT_LOG_SD = 0.5, 0.3
#: A GPU and its host.
GpuOnHost = tuple[Gpu, Host]


class MeasuredStep(Struct, frozen=True):
    """A step of the network that the user measured.

    Attributes
    ----------
    vcpus : of its machine, if known.
    network : counts at its image size; None: the question's.
    precision, training_code, checkpointing : None: the question's.
    log_sd : error of the time; more than `TIME_LOG_SD` where it is inferred from a profile.
    busy_ms : how long the GPU worked, which a profile says.
    """

    on: GpuOnHost
    batch_size: int
    latency_ms: float
    vcpus: int | None = None
    network: Counts | None = None
    precision: str | None = None
    training_code: str | None = None
    checkpointing: bool | None = None
    log_sd: float = TIME_LOG_SD
    busy_ms: float | None = None

    def parts(self, usual: Steps) -> list[tuple[Steps, float, float]]:
        """Return what was measured: a step, its milliseconds and their error; of a profile its work, and its host."""
        if self.busy_ms is None:
            return [(usual, self.latency_ms, self.log_sd)]
        none = np.full(1, SMALLEST_NUMBER)
        work, host = replace(usual, launch_ms=none, start_ms=none), replace(usual, work_ms=none)
        if self.busy_ms < _HOST_BOUND_SHARE * self.latency_ms:
            waited = self.latency_ms**SMOOTH_MAX_POWER - self.busy_ms**SMOOTH_MAX_POWER
            return [(work, self.busy_ms, self.log_sd), (host, waited ** (1 / SMOOTH_MAX_POWER), self.log_sd)]
        found, launches_ms = [(work, self.latency_ms, self.log_sd)], _LEFT_SHARE * self.latency_ms
        # A host that keeps its GPU busy is faster, by an unknown factor.
        return [*found, (host, launches_ms, _LEFT_LOG_SD)] if host.latency_ms.item() > launches_ms else found

    def at_size(self, step: NetworkStep) -> NetworkStep:
        """Return the step at the sizes of the measured one."""
        return replace(step, batch_size=self.batch_size, network=self.network or step.network)

    def of(self, step: NetworkStep) -> NetworkStep:
        """Return the step that was measured, where another size or mode of the network is asked for."""
        return replace(
            self.at_size(step),
            precision=self.precision or step.precision,
            training_code=self.training_code or step.training_code,
            checkpointing=step.checkpointing if self.checkpointing is None else self.checkpointing,
        )


def measured_step(models: Models, catalog: Catalog, time: MeasuredTime) -> MeasuredStep:
    """Return a measured time on the GPU or instance that it names; InputError if there is none, or more than one."""
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
    transfer = models.transfer
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
    on_gpus = machines_of(models, dict.fromkeys([*by_instance.values(), *gpus_only.values()])).on(step)
    rows = {one: row for row, one in enumerate(on_gpus.machines)}
    table, measured_notes = (
        _scaled(models, step, on_gpus, measured) if measured else (_estimates(models, step, on_gpus), [])
    )
    notes = [Note(Code.HYBRID_NETWORK)] if case_of(step.network) is Case.HYBRID else []
    if is_transformer:
        notes.append(Note(Code.TRANSFORMER))
    if step.checkpointing:
        notes.append(checkpointed_note(is_transformer=is_transformer))
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
    machines = [(machine_with(name, one[0].memory_gib, name), rows[one]) for name, one in gpus_only.items()]
    places = {name: (catalog[name].gpu_memory_gib, one[0]) for name, one in by_instance.items()}
    places |= {name: (gpu.memory_gib, gpu) for name, (gpu, _) in gpus_only.items()}
    return NetworkEstimate(
        network=step.network,
        name=step.name,
        batch_size=batch_size,
        table=table,
        offers=tuple((catalog[instance], rows[one]) for instance, one in by_instance.items()),
        regimes={instance: on_gpus.regimes[rows[one]] for instance, one in by_instance.items()},
        method=METHOD,
        fits=_fits(models, step, places),
        warnings=(*measured_notes, *notes),
        gpus=offer_table(table, machines),
    )


def _estimates(models: Models, step: NetworkStep, on_gpus: _OnGpus) -> StepTable:
    """Return the latency on each target, with what a GPU without the precision's units does."""
    table = on_gpus.table()
    slower = machines_of(models, on_gpus.machines).slower(step.precision)
    notes = tuple(one if note is None else (*one, note) for one, note in zip(table.notes, slower.notes, strict=True))
    return replace(table, log_sd=combined_sd(table.log_sd, slower.log_sd), notes=notes)


class _Usual(Struct, frozen=True):
    """What a step usually takes, milliseconds, and within which interval."""

    latency_ms: float
    low_ms: float
    high_ms: float


def _usual(models: Models, step: NetworkStep, one: MeasuredStep) -> tuple[Steps, _Usual]:
    """Return what a step that was measured usually takes."""
    asked = one.of(step)
    found = machines_of(models, [one.on]).on(asked)
    table = _estimates(models, asked, found)
    latency_ms = table.latency_ms.item()
    low_ms, high_ms = bounds(latency_ms, table.log_sd.item())
    return found.steps, _Usual(latency_ms, float(low_ms), float(high_ms))


def _scaled(
    models: Models,
    step: NetworkStep,
    on_gpus: _OnGpus,
    measured: Sequence[MeasuredStep],
) -> tuple[StepTable, list[Note]]:
    """Return the latencies by what was measured, and whether that is usual."""
    usual = [_usual(models, step, one) for one in measured]
    # Nobody else's program is that of PROFET's cells.
    least = rate_model_of(models).source_log_sd

    def by_program(some: Steps) -> Steps:
        return replace(some, shared_log_sd=OF_PROGRAM * np.maximum(some.shared_log_sd, least))

    parts = [(*part, one) for one, (each, _) in zip(measured, usual, strict=True) for part in one.parts(each)]
    times_ms, log_sds = np.array([(ms, log_sd) for _, ms, log_sd, _ in parts]).T
    learned = Learned.of(by_program(Steps.joined([part for part, *_ in parts])), times_ms, log_sds)
    # Of several parts of one, its work.
    launched = {id(one): share for (*_, one), share in reversed([*zip(parts, learned.now.launched, strict=True)])}
    sizes = {(asked.batch_size, asked.network.pixels): asked for asked in (one.at_size(step) for one in measured)}
    machines, launched_at = machines_of(models, on_gpus.machines), next(iter(sizes))
    here, *at = (
        by_program(machines.on(replace(asked, launched_at=launched_at)).steps) for asked in (step, *sizes.values())
    )
    steps = learned.on(here, at)
    for one in measured:
        asked, at_gpu = one.of(step), steps.gpus == load_gpus().twin(one.on[0]).name
        apart = asked.batch_size - step.batch_size, asked.network.pixels - step.network.pixels
        # On its own GPU, a larger step than the measured one takes no less, a smaller one no more.
        if any(apart) and min(apart) * max(apart) >= 0 and asked == one.at_size(step):
            bound_ms = (np.fmin if min(apart) >= 0 else np.fmax)(steps.latency_ms, one.latency_ms)
            steps = steps.scaled(np.where(at_gpu, bound_ms / steps.latency_ms, 1.0))
    table = _estimates(models, step, on_gpus._replace(steps=steps))
    words = [_named(step, one) for one in measured]
    origin = Note(Code.SCALED_STEP, measured=" and ".join(f"{time} on {gpu}" for time, gpu in words))
    rows = range(len(table.targets))
    table = table.with_rows(rows, basis=[Basis.SCALED] * len(rows), notes=[(origin, *notes) for notes in table.notes])
    for row, target in enumerate(table.targets):
        exact = [one for one in measured if one.log_sd <= TIME_LOG_SD and one.of(step) == step]
        same = [one.latency_ms for one in exact if one.on[0] == target.gpu]
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
    for one, (_, estimated), (time, gpu) in zip(measured, usual, words, strict=True):
        waits = one.busy_ms is not None and one.busy_ms < _LAUNCHED * one.latency_ms
        if one.busy_ms is None:
            notes.append(_usual_note(models, step, one, estimated, time, gpu))
        if waits or launched[id(one)] >= _LAUNCHED:
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
    """Return the step in precisions and code that make it slower or faster."""
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
        name: (transfer.gpus[profiled.gpu], profiled.host)
        for name, profiled in transfer.profiled.items()
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
    if (found := lists.get(wanted)) is None:
        if len(lists) >= _MAX_LISTS:
            lists.clear()
        found = lists[wanted] = StepMachines(models, wanted)
    return found


class StepMachines:
    """GPUs in hosts, each beside all GPUs of its generation in that host, which say between what its step must be.

    What doesn't depend on a step is found once; steps are kept.
    """

    def __init__(self, models: Models, wanted: tuple[GpuOnHost, ...]) -> None:
        self._model, self._wanted = (model := rate_model_of(models)), wanted
        self._made: dict[NetworkStep, _OnGpus] = {}
        generations: dict[float | None, list[Gpu]] = {}
        for gpu in models.transfer.gpus.shipped.values():
            generations.setdefault(gpu.compute_capability, []).append(gpu)
        groups: dict[tuple[tuple[Gpu, ...], Host], None] = {}
        group_of: list[tuple[tuple[Gpu, ...], Host]] = []
        for gpu, host in wanted:
            others = generations.get(gpu.compute_capability, [])
            if model.users_effects(gpu.name):
                # What a user says of a GPU counts, whatever others' order.
                others = [gpu]
            # A custom GPU changes no other one.
            group_of.append((tuple(others if gpu in others else [*others, gpu]), host))
            groups[group_of[-1]] = None
        widest = max(len(alike) for alike, _ in groups)
        self._gpus = list(dict.fromkeys(gpu for alike, _ in groups for gpu in alike))
        places = {gpu: place for place, gpu in enumerate(self._gpus)}
        #: Rows of the groups; -1 where one is smaller than the widest.
        at = np.full((len(groups), widest), -1)
        self._better, measured = np.zeros((2, len(groups), widest, widest), bool)
        for number, (alike, _) in enumerate(groups):
            at[number, : len(alike)] = [places[gpu] for gpu in alike]
            self._better[number, : len(alike), : len(alike)] = _better(alike)
        self._fixed = np.array([*(model.is_well_known(gpu.name) for gpu in self._gpus), False])[at]
        # Where measurements of two GPUs disagree with that order, both take the middle.
        measured = self._better & self._fixed[:, :, None] & self._fixed[:, None]
        self._measured = measured | np.eye(widest, dtype=bool)
        self._is_some, self._gpu_at = at >= 0, at[at >= 0]
        rows = np.cumsum(self._is_some).reshape(at.shape) - 1
        numbers = {group: number for number, group in enumerate(groups)}
        self._rows = np.array(
            [rows[numbers[group], group[0].index(gpu)] for (gpu, _), group in zip(wanted, group_of, strict=True)]
        )
        self._launch = np.array([host.launch for alike, host in groups for _ in alike])
        self._log_sd = np.array([host.log_sd for _, host in wanted])
        by_gpu = {one.gpu: name for name, one in model.instances.items()}
        # Steps of a GPU hold for the one with more memory.
        self._twins, twins = [load_gpus().twin(gpu) for gpu in self._gpus], [load_gpus().twin(gpu) for gpu, _ in wanted]
        self._machines = [(gpu, REFERENCE_HOST) for gpu in self._twins]
        self._names = [gpu.name for gpu in self._twins]
        self._instances = [by_gpu.get(name, "") for name in self._names]
        self._cells = [cells or name for cells, name in zip(self._instances, self._names, strict=True)]
        self._has_cells = [gpu.name in by_gpu for gpu in twins]
        self._has_tensor = np.array([has_tensor_cores(gpu) for gpu in self._gpus])[self._gpu_at]
        self._wanted_gpus = np.array([gpu.name for gpu in twins])
        self._generations = np.array([gpu.compute_capability or 0.0 for gpu in twins])
        gpu_log_sd = np.array([model.gpu_log_sd(gpu.name) for gpu in twins])
        is_other = np.array([gpu.name not in model.transformer_gpus for gpu in twins])
        #: By whether the network is a transformer.
        self._gpu_log_sd = {False: gpu_log_sd, True: np.hypot(gpu_log_sd, _OTHER_GPU_LOG_SD * is_other)}
        self._modes: dict[tuple[str, str], list[Mode]] = {}
        self._slower: dict[str, _WithoutUnits] = {}

    def on(self, step: NetworkStep) -> _OnGpus:
        """Return the step on each machine."""
        if (found := self._made.get(step)) is None:
            if len(self._made) >= _MAX_STEPS:
                self._made.clear()
            found = self._made[step] = self._in_order(step)
        return found

    def slower(self, precision: str) -> _WithoutUnits:
        """Return what GPUs without the precision's units do."""
        if (found := self._slower.get(precision)) is None:
            notes = [runs_as(gpu, precision)[1] for gpu, _ in self._wanted]
            is_unsure = [note is not None and note.code is Code.NO_TENSOR_CORES for note in notes]
            found = self._slower[precision] = _WithoutUnits(notes, WITHOUT_TENSOR_CORES_LOG_SD * np.array(is_unsure))
        return found

    def _in_order(self, step: NetworkStep) -> _OnGpus:
        log_ratios, shares = self._known(step, step.batch_size, step.network.pixels)
        bounded = self._bounded(step, log_ratios)
        before_ms = np.full(self._is_some.shape, np.nan)
        before_ms[self._is_some] = all_ms = bounded.latency_ms
        slowest_ms = np.fmax.reduce(np.where(self._measured, before_ms[..., None], np.nan), axis=-2)
        fastest_ms = np.fmin.reduce(np.where(self._measured, before_ms[..., None, :], np.nan), axis=-1)
        agreed_ms = np.where(slowest_ms > fastest_ms, np.sqrt(slowest_ms * fastest_ms), before_ms)
        ordered_ms = in_order(agreed_ms, self._better, self._fixed)[self._is_some]
        seen, unseen = self._regimes(step)
        return _OnGpus(
            steps=self._steps(step, bounded.scaled(ordered_ms / all_ms), shares),
            machines=self._wanted,
            # No transformer was measured with PROFET's cells.
            has_cells=[has_cells and case_of(step.network) is not Case.TRANSFORMER for has_cells in self._has_cells],
            regimes=[seen if has_cells else unseen for has_cells in self._has_cells],
        )

    def _bounded(self, step: NetworkStep, log_ratios: FloatArray) -> _Parts:
        """Of all rows: on tensor cores FP32 is no faster than TF32, half precision no slower than either.

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
        return parts.scaled(np.where(self._has_tensor, bound(latency_ms, bounds_ms) / latency_ms, 1.0))

    def _modes_of(self, step: NetworkStep) -> list[Mode]:
        key = step.precision, step.training_code
        if (found := self._modes.get(key)) is None:
            precisions = [runs_as(gpu, step.precision)[0] for gpu in self._twins]
            found = [mode_of(*one, step.training_code) for one in zip(self._twins, precisions, strict=True)]
            self._modes[key] = found
        return found

    def _regimes(self, step: NetworkStep) -> tuple[Regime, Regime]:
        """Of GPUs that were measured with PROFET's cells, and of others."""
        measured = _measured_as(step)
        if measured is None and shared_name(step.name) not in self._model.known.names:
            return Regime.UNSEEN_NETWORK, Regime.UNSEEN_BOTH
        at_larger = Regime.LARGER_BATCH if step.batch_size > MAX_MEASURED_BATCH else Regime.INTERPOLATION
        return at_larger if measured else Regime.UNSEEN_GPU, Regime.UNSEEN_GPU

    def _known(self, step: NetworkStep, batch_size: int, pixels: int) -> tuple[FloatArray, FloatArray]:
        """Of each GPU, as `MeasuredRatios.corrections` has them."""
        measured = _measured_as(step)
        places = self._names if measured is None else self._cells
        return self._model.known.corrections(
            measured or shared_name(step.name), places, self._modes_of(step), batch_size, pixels
        )

    def _by_rates(self, step: NetworkStep, log_ratios: FloatArray) -> _Parts:
        """Of all rows, by their rates, corrected by what was measured of this network."""
        network, batch_size, modes = step.network, step.batch_size, self._modes_of(step)

        def parts_ms(images: int) -> tuple[FloatArray, FloatArray, float]:
            return self._model.steps_ms(network, images, self._machines, modes, self._instances, _is_measured(step))

        work_ms, launch_ms, start_ms = parts_ms(batch_size)
        factors = np.exp(log_ratios)
        of_once, of_work = factors, work_ms * factors
        if step.launched_at not in (None, (batch_size, network.pixels)):
            of_once, once_ms = np.exp(self._known(step, *step.launched_at)[0]), parts_ms(0)[0]
            of_work = (work_ms - once_ms) * factors + once_ms * of_once
        trained = _FROZEN_SHARE if step.frozen_backbone else 1.0
        if step.checkpointing:
            trained *= CHECKPOINTING[case_of(network) is Case.TRANSFORMER].time_factor
        return _Parts(
            (of_work * trained)[self._gpu_at],
            (launch_ms * of_once * trained)[self._gpu_at] * self._launch,
            (start_ms * of_once)[self._gpu_at],
        )

    def _steps(self, step: NetworkStep, parts: _Parts, shares: FloatArray) -> Steps:
        """Return steps of the wanted rows, with their uncertainty; `shares` of the networks' variance are left."""
        model, network, batch_size, rows = self._model, step.network, step.batch_size, self._rows
        modes = np.array(self._modes_of(step), int)[self._gpu_at[rows]]
        case, is_measured, number = case_of(network), _is_measured(step), len(rows)
        # How far a recorded step moves others must not jump with their batch.
        doubted_batch = batch_size if step.as_measured is None else max(batch_size, SMALL_BATCH)
        shared_log_sd = combined_sd(
            0.0 if is_measured else model.source_log_sd,
            _FUSED_LOG_SD if case is Case.TRANSFORMER else 0.0,
            _FROZEN_LOG_SD if step.frozen_backbone else 0.0,
            CHECKPOINTING[case is Case.TRANSFORMER].time_log_sd if step.checkpointing else 0.0,
            WORK_LOG_SD if step.is_read else 0.0,
            _SMALL_IMAGES_LOG_SD if network.pixels < MIN_MEASURED_PIXELS else 0.0,
        )
        log_sds = np.array([model.log_sds[case_key(case, mode, doubted_batch)] for mode in Mode])[modes]
        small_log_sd = combined_sd(
            _small_batch_log_sd(network, batch_size) if step.as_measured is None else 0.0,
            _READ_TRANSFORMER_LOG_SD if step.is_read else 0.0,
        )
        return Steps(
            gpus=self._wanted_gpus,
            generations=self._generations,
            modes=modes,
            # Larger images count as more of them.
            batch_sizes=np.full(number, batch_size * (network.pixels / _USUAL_PIXELS) ** 2),
            work_ms=parts.work_ms[rows],
            launch_ms=parts.launch_ms[rows],
            start_ms=parts.start_ms[rows],
            network_log_sd=np.hypot(log_sds * np.sqrt(shares[self._gpu_at[rows]]), small_log_sd),
            gpu_log_sd=self._gpu_log_sd[case is Case.TRANSFORMER],
            launch_log_sd=self._log_sd if is_measured else np.hypot(self._log_sd, model.launch_log_sd),
            shared_log_sd=np.full(number, shared_log_sd),
            kernels_log_sd=np.full(number, KERNELS_LOG_SD if step.is_read else 0.0),
            removed=np.zeros(number),
        )


class _WithoutUnits(NamedTuple):
    """Of each machine: the note on a precision that its GPU has no units for, and what that adds to the uncertainty."""

    notes: Sequence[Note | None]
    log_sd: FloatArray


class _Parts(NamedTuple):
    """Milliseconds of a step's work, launches and start, (rows,)."""

    work_ms: FloatArray
    launch_ms: FloatArray
    start_ms: FloatArray

    @property
    def latency_ms(self) -> FloatArray:
        found: FloatArray = smooth_max(self.work_ms, self.launch_ms) + self.start_ms
        return found

    def scaled(self, factors: FloatArray) -> _Parts:
        return _Parts(*(part * factors for part in self))


def _measured_as(step: NetworkStep) -> str | None:
    """Return the measured network that a step is of."""
    return None if step.as_measured is False else measured_network(step.network)


def _is_measured(step: NetworkStep) -> bool:
    return _measured_as(step) is not None if step.as_measured is None else step.as_measured


def _better(alike: tuple[Gpu, ...]) -> np.ndarray:
    """Whether a GPU has no less of everything than another one, (gpus, gpus)."""
    shipped = tuple(gpu for gpu in alike if load_gpus().get(gpu.name) == gpu)
    return _better_shipped(alike) if shipped == alike else _better_shipped.__wrapped__(alike)


@lru_cache(maxsize=100)
def _better_shipped(alike: tuple[Gpu, ...]) -> np.ndarray:
    """`_better`, kept: shipped GPUs are no visitor's."""
    return np.array([[no_less(one, other) for other in alike] for one in alike])


_REGIME_NOTES = {regime: Note(Code.REGIME, text=words) for regime, words in _WORDS.items()}


def _fits(models: Models, step: NetworkStep, places: Mapping[str, tuple[float, Gpu]]) -> dict[str, FitAnswer]:
    """Instance or GPU -> whether the step fits in its memory; `places` have this and the GPU."""
    if models.memory is None:
        return {}
    share, case = ACTIVATIONS_IN_HALF if is_half(step.precision) else 1.0, case_of(step.network)
    answers: dict[tuple[float, bool], FitAnswer] = {}
    found = {}
    for name, (memory_gib, gpu) in places.items():
        key = memory_gib, case is Case.TRANSFORMER and fuses_attention(gpu)
        if key not in answers:
            network = with_attention(step.network, 0.0, -step.network.elements.score) if key[1] else step.network
            need = counted_need(models.memory, network, step.batch_size, OPTIMIZERS[step.optimizer], share)
            if step.checkpointing:
                need = need.checkpointed(is_transformer=case is Case.TRANSFORMER)
            answers[key] = counted_fit(models.memory, need, step.batch_size, memory_gib)
        found[name] = answers[key]
    return found


def checkpointed_note(*, is_transformer: bool) -> Note:
    """Say what activation checkpointing costs and saves."""
    changes = CHECKPOINTING[is_transformer]
    return Note(Code.CHECKPOINTED, factor=changes.time_factor, kept=changes.memory_share)
