"""From a network's counts to the step latency on every offer, without a profile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

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
    Gpu,
    host_named,
    is_half,
    requested_precision,
)
from profet_core.catalog.instance import machine_with
from profet_core.errors import Code, InputError, Note, no_vision
from profet_core.latency import SMOOTH_MAX_POWER, Basis, combined_sd
from profet_core.layers.measured import OF_PROGRAM, TIME_LOG_SD, Learned, MeasuredTime, Steps
from profet_core.layers.network import Counts, with_attention
from profet_core.layers.networks import (
    DETECTION_PIXELS,
    named_network,
    native_pixels,
    other_definitions,
)
from profet_core.layers.rates import (
    Case,
    case_of,
    fuses_attention,
    rate_model_of,
)
from profet_core.layers.steps import (
    FEW_MEASURED_BELOW,
    MIN_MEASURED_PIXELS,
    GpuOnHost,
    NetworkStep,
    OnGpus,
    Regime,
    machines_of,
    small_batch_log_sd,
)
from profet_core.offers import OfferTable, bounds
from profet_core.prediction.models import Models, TransferModel
from profet_core.prediction.predict import Prediction
from profet_core.prediction.targets import StepTable, offer_table, offer_targets
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


class Disagreement(Struct, frozen=True, forbid_unknown_fields=True):
    """Latency of one instance, from the network's layers and from its profile."""

    instance: str
    estimated_ms: float
    profiled_ms: float
    ratio: float
    overlap: bool | None


def disagreements(rows: OfferTable, profiled: Prediction) -> tuple[Disagreement, ...]:
    """Disagreements for all instances in both, in the estimate's order."""
    by_profile = profiled.predictions.numbers
    compared = []
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
        ratio = row.latency_ms / other.latency_ms
        compared.append(Disagreement(row.instance, row.latency_ms, other.latency_ms, ratio, overlap))
    return tuple(compared)


def disagreement_words(compared: Sequence[Disagreement]) -> str:
    """One sentence on the difference between estimate and profile.

    >>> off = Disagreement("a", 110, 100, 1.1, True), Disagreement("b", 120, 100, 1.2, False)
    >>> disagreement_words(off).partition(";")[0]
    'The estimate and the profile differ by 15.0% (the median of 2 offers, 20.0% at most)'
    """
    if not compared:
        return "The estimate and the profile have no offer in common."
    off = [100 * (math.exp(abs(math.log(row.ratio))) - 1) for row in compared]
    overlapping = sum(row.overlap is True for row in compared)
    several, median = "offer" if len(compared) == 1 else "offers", float(np.median(off))
    return (
        f"The estimate and the profile differ by {format_significant(median)}% (the median of {len(compared)} "
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


#: A GPU that works for less of a step waits for its host.
_HOST_BOUND_SHARE = 0.85
#: What a host takes of a step that its GPU bounds, if it usually takes more, and that share's error; by judgment.
_LEFT_SHARE, _LEFT_LOG_SD = 0.5, 0.3


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
        parts, launches_ms = [(work, self.latency_ms, self.log_sd)], _LEFT_SHARE * self.latency_ms
        # A host that keeps its GPU busy is faster, by an unknown factor.
        return [*parts, (host, launches_ms, _LEFT_LOG_SD)] if host.latency_ms.item() > launches_ms else parts

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
    rows = {machine: row for row, machine in enumerate(on_gpus.machines)}
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
    if small_batch_log_sd(step.network, step.batch_size):
        notes.append(Note(Code.SMALL_BATCH, batch=FEW_MEASURED_BELOW))
    table = replace(table, members={METHOD: table.latency_ms})
    machines = [(machine_with(name, machine[0].memory_gib, name), rows[machine]) for name, machine in gpus_only.items()]
    places = {name: (catalog[name].gpu_memory_gib, machine[0]) for name, machine in by_instance.items()}
    places |= {name: (gpu.memory_gib, gpu) for name, (gpu, _) in gpus_only.items()}
    return NetworkEstimate(
        network=step.network,
        name=step.name,
        batch_size=batch_size,
        table=table,
        offers=tuple((catalog[instance], rows[machine]) for instance, machine in by_instance.items()),
        regimes={instance: on_gpus.regimes[rows[machine]] for instance, machine in by_instance.items()},
        method=METHOD,
        fits=_fits(models, step, places),
        warnings=(*measured_notes, *notes),
        gpus=offer_table(table, machines),
    )


def _estimates(models: Models, step: NetworkStep, on_gpus: OnGpus) -> StepTable:
    """Return the latency on each target, with what a GPU without the precision's units does."""
    table = on_gpus.table()
    slower = machines_of(models, on_gpus.machines).slower(step.precision)
    notes = tuple(
        row_notes if note is None else (*row_notes, note)
        for row_notes, note in zip(table.notes, slower.notes, strict=True)
    )
    return replace(table, log_sd=combined_sd(table.log_sd, slower.log_sd), notes=notes)


class _Usual(Struct, frozen=True):
    """What a step usually takes, milliseconds, and within which interval."""

    latency_ms: float
    low_ms: float
    high_ms: float


def _usual(models: Models, step: NetworkStep, timed: MeasuredStep) -> tuple[Steps, _Usual]:
    """Return what a step that was measured usually takes."""
    asked = timed.of(step)
    on_gpu = machines_of(models, [timed.on]).on(asked)
    table = _estimates(models, asked, on_gpu)
    latency_ms = table.latency_ms.item()
    low_ms, high_ms = bounds(latency_ms, table.log_sd.item())
    return on_gpu.steps, _Usual(latency_ms, float(low_ms), float(high_ms))


def _scaled(
    models: Models,
    step: NetworkStep,
    on_gpus: OnGpus,
    measured: Sequence[MeasuredStep],
) -> tuple[StepTable, list[Note]]:
    """Return the latencies by what was measured, and whether that is usual."""
    usual = [_usual(models, step, timed) for timed in measured]
    # Nobody else's program is that of PROFET's cells.
    least = rate_model_of(models).source_log_sd

    def by_program(some: Steps) -> Steps:
        return replace(some, shared_log_sd=OF_PROGRAM * np.maximum(some.shared_log_sd, least))

    parts = [
        (*part, timed)
        for timed, (usual_steps, _) in zip(measured, usual, strict=True)
        for part in timed.parts(usual_steps)
    ]
    times_ms, log_sds = np.array([(ms, log_sd) for _, ms, log_sd, _ in parts]).T
    learned = Learned.of(by_program(Steps.joined([part for part, *_ in parts])), times_ms, log_sds)
    # Of several parts of one, its work.
    launched = {id(timed): share for (*_, timed), share in reversed([*zip(parts, learned.now.launched, strict=True)])}
    sizes = {(asked.batch_size, asked.network.pixels): asked for asked in (timed.at_size(step) for timed in measured)}
    machines, launched_at = machines_of(models, on_gpus.machines), next(iter(sizes))
    here, *at = (
        by_program(machines.on(replace(asked, launched_at=launched_at)).steps) for asked in (step, *sizes.values())
    )
    steps = learned.on(here, at)
    for timed in measured:
        asked, at_gpu = timed.of(step), steps.gpus == load_gpus().twin(timed.on[0]).name
        apart = asked.batch_size - step.batch_size, asked.network.pixels - step.network.pixels
        # On its own GPU, a larger step than the measured one takes no less, a smaller one no more.
        if any(apart) and min(apart) * max(apart) >= 0 and asked == timed.at_size(step):
            bound_ms = (np.fmin if min(apart) >= 0 else np.fmax)(steps.latency_ms, timed.latency_ms)
            factors = np.where(at_gpu, bound_ms / steps.latency_ms, 1.0)
            steps = steps.scaled(factors, factors)
    table = _estimates(models, step, on_gpus._replace(steps=steps))
    words = [_named(step, timed) for timed in measured]
    origin = Note(Code.SCALED_STEP, measured=" and ".join(f"{time} on {gpu}" for time, gpu in words))
    rows = range(len(table.targets))
    table = table.with_rows(rows, basis=[Basis.SCALED] * len(rows), notes=[(origin, *notes) for notes in table.notes])
    for row, target in enumerate(table.targets):
        exact = [timed for timed in measured if timed.log_sd <= TIME_LOG_SD and timed.of(step) == step]
        same = [timed.latency_ms for timed in exact if timed.on[0] == target.gpu]
        if same:
            latency_ms = same[0] if len(same) == 1 else math.exp(np.log(same).mean())
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
    for timed, (_, estimated), (time, gpu) in zip(measured, usual, words, strict=True):
        waits = timed.busy_ms is not None and timed.busy_ms < _LAUNCHED * timed.latency_ms
        if timed.busy_ms is None:
            notes.append(_usual_note(models, step, timed, estimated, time, gpu))
        if waits or launched[id(timed)] >= _LAUNCHED:
            notes.append(Note(Code.LAUNCHES_MEASURED, measured=time, gpu=gpu))
    return table, notes


def _named(step: NetworkStep, timed: MeasuredStep) -> tuple[str, str]:
    asked = timed.of(step)
    sizes = [f"batch {timed.batch_size}"] * (asked.batch_size != step.batch_size)
    sizes += [f"{asked.network.pixels} pixels"] * (asked.network.pixels != step.network.pixels)
    return format_ms(timed.latency_ms), f"{timed.on[0].name}{' at ' * bool(sizes)}{', '.join(sizes)}"


def _usual_note(models: Models, step: NetworkStep, timed: MeasuredStep, usual: _Usual, time: str, gpu: str) -> Note:
    """Whether a measured step is what its GPU usually takes, and what would explain it if not."""
    values = {"measured": time, "gpu": gpu, "low": format_significant(usual.low_ms), "high": format_ms(usual.high_ms)}
    if usual.low_ms <= timed.latency_ms <= usual.high_ms:
        return Note(Code.USUAL, **values)
    slower = timed.latency_ms > usual.latency_ms
    causes: list[str] = []
    for words, other in _other_ways(timed.of(step), slower=slower):
        explained = _usual(models, other, timed)[1]
        gained = abs(math.log(explained.latency_ms / usual.latency_ms))
        if gained > _LEAST_CAUSE and explained.low_ms <= timed.latency_ms <= explained.high_ms:
            causes.append(f"{words} ({format_ms(explained.latency_ms)})")
    if slower:
        fed_per_s = MS_PER_S * timed.batch_size / timed.latency_ms
        vcpus = timed.vcpus or round(fed_per_s / JPEG_IMAGES_PER_S_PER_VCPU)
        rate_per_s = vcpus * JPEG_IMAGES_PER_S_PER_VCPU
        # Of what loads nothing slowly: small images, and GPUs that no number of usual CPU cores keeps waiting.
        if (
            timed.of(step).network.pixels >= _JPEG_PIXELS
            and 1 <= vcpus <= _MOST_VCPUS
            and rate_per_s < MS_PER_S * timed.batch_size / usual.high_ms
            and abs(math.log(rate_per_s / fed_per_s)) < math.log(1.5)
        ):
            several = "1 vCPU feeds" if vcpus == 1 else f"{vcpus} vCPUs feed"
            causes.append(f"data loading ({several} about {rate_per_s:,.0f} JPEG images/s, this is {fed_per_s:,.0f})")
    factor = timed.latency_ms / usual.latency_ms if slower else usual.latency_ms / timed.latency_ms
    causes_text = "Check the unit, the batch size and the GPU."
    if causes:
        causes_text = (
            f"Possible: {', '.join(causes)}. If one of these applies, set it, or fix it and measure again: the other "
            "times follow this one."
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


def _fits(models: Models, step: NetworkStep, places: Mapping[str, tuple[float, Gpu]]) -> dict[str, FitAnswer]:
    """Instance or GPU -> whether the step fits in its memory; `places` have this and the GPU."""
    if models.memory is None:
        return {}
    share, case = ACTIVATIONS_IN_HALF if is_half(step.precision) else 1.0, case_of(step.network)
    answers: dict[tuple[float, bool], FitAnswer] = {}
    fits = {}
    for name, (memory_gib, gpu) in places.items():
        key = memory_gib, case is Case.TRANSFORMER and fuses_attention(gpu)
        if key not in answers:
            network = with_attention(step.network, 0.0, -step.network.elements.score) if key[1] else step.network
            need = counted_need(models.memory, network, step.batch_size, OPTIMIZERS[step.optimizer], share)
            if step.checkpointing:
                need = need.checkpointed(is_transformer=case is Case.TRANSFORMER)
            answers[key] = counted_fit(models.memory, need, step.batch_size, memory_gib)
        fits[name] = answers[key]
    return fits


def checkpointed_note(*, is_transformer: bool) -> Note:
    """Say what activation checkpointing costs and saves."""
    changes = CHECKPOINTING[is_transformer]
    return Note(Code.CHECKPOINTED, factor=changes.time_factor, kept=changes.memory_share)
