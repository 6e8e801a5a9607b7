"""What holds a step up, where its operations belong, and what makes a prediction less certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from profet_core.catalog import gpu_model
from profet_core.catalog.gpus import has_tensor_cores
from profet_core.ensemble.classes import load_operation_classes
from profet_core.ensemble.operations import UnknownOperations, is_set_aside, kind_of
from profet_core.errors import Code, Note
from profet_core.prediction.checks import WARNED_UNATTRIBUTED_SHARE, input_wait_note, steps_note, waits_for_loader
from profet_core.prediction.members import Estimates
from profet_core.prediction.models import Models, TrainingRange
from profet_core.prediction.targets import Anchor, anchor_gpu
from profet_core.units import US_PER_MS, format_ms
from profet_recorder.profiles.profet_json import VERSION_1
from profet_recorder.profiles.record import (
    DEVICE_PREFIX,
    HOST_PREFIX,
    IDLE_OPERATIONS,
    UNKNOWN_DEVICE_OPERATION,
    Profile,
)

Kind = Literal["busy", "idle", "input", "no GPU"]

#: Threshold of GPU utilization. With the step's latency known, 5.8% of the 11,052 training profiles are below it; the
#: fastest other instance ran them about as fast (median), and 6% of them more than 1.5 times as fast. For the remaining
#: profiles it was 2.9 times and 74% (counted over `data/profet`, as all counts here).
IDLE_BELOW = 0.55
#: The threshold from the profile alone: the profiler slows short steps, which then look more idle. 7.9% are below it;
#: the fastest other instance ran 6% of them more than 1.5 times as fast.
IDLE_BELOW_WITHOUT_LATENCY = 0.40
#: Input-bound thresholds: input wait above the first share of the step and GPU utilization below the second: 15 of the
#: training profiles, all of the two smallest networks. A PyTorch step waits for its loader; tf.data may overlap.
INPUT_ABOVE, INPUT_BUSY_BELOW = 0.15, 0.60
#: Below this utilization a faster GPU gains noticeably less, and the sentence says so.
MOSTLY_BUSY = 0.75


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Bottleneck of a step.

    Attributes
    ----------
    kind : "input": input-bound; "idle": the GPU waits between short kernels; "busy": neither; "no GPU": the profile has
        no GPU time.
    gpu_busy_share : GPU utilization over the step, 0 to 1; None without GPU rows.
    input_share : share of the step spent in the input pipeline, 0 to 1; it may overlap with GPU work.
    latency_known : shares refer to the step's measured latency, not to the time span of the profile.
    """

    kind: Kind
    gpu_busy_share: float | None
    input_share: float | None
    latency_known: bool

    @property
    def another_gpu_helps(self) -> bool:
        """Whether a faster GPU helps; False if it would only wait longer."""
        return self.kind in ("busy", "no GPU")

    @property
    def sentence(self) -> str:
        """One line of display text."""
        if self.gpu_busy_share is None:
            return "No GPU time was recorded, so GPU utilization is unknown."
        if self.warning is not None:
            return self.warning
        busy = f"the GPU is busy for about {self.gpu_busy_share:.0%} of the step"
        if self.gpu_busy_share < MOSTLY_BUSY:
            return f"{busy[0].upper()}{busy[1:]}: a faster GPU shortens only that part."
        return f"The GPU is well utilized: it{busy[7:]}."

    @property
    def warning(self) -> Note | None:
        """Why a faster GPU doesn't help; None if it does."""
        if self.another_gpu_helps:
            return None
        if self.kind == "input":
            return Note(Code.INPUT_BOUND, share=self.input_share, busy=self.gpu_busy_share)
        return Note(Code.GPU_IDLE, busy=self.gpu_busy_share)


def diagnose(profile: Profile, latency_ms: float | None = None) -> Diagnosis:
    """Find the bottleneck of the step in `profile`.

    Parameters
    ----------
    latency_ms : measured step latency, milliseconds; None: from the profile's meta.
    """
    known_ms = latency_ms or profile.meta.step_latency_ms
    input_us = sum(us for name, us in profile.operations.items() if _is_input(name))
    if profile.device_total_us == 0:
        share = min(1.0, input_us / (known_ms * US_PER_MS)) if known_ms else None
        return Diagnosis("no GPU", None, share, known_ms is not None)
    step_us = known_ms * US_PER_MS if known_ms else profile.device_total_us
    busy, waiting = min(1.0, profile.device_busy_us / step_us), min(1.0, input_us / step_us)
    idle_below = IDLE_BELOW if known_ms else IDLE_BELOW_WITHOUT_LATENCY
    if waiting > INPUT_ABOVE and (busy < INPUT_BUSY_BELOW or waits_for_loader(profile)):
        kind: Kind = "input"
    else:
        kind = "idle" if busy < idle_below else "busy"
    return Diagnosis(kind, busy, waiting, known_ms is not None)


def bottleneck_note(profile: Profile, latency_ms: float | None) -> list[Note]:
    """The diagnosis as a warning; none if another GPU helps, or if predictions exclude the wait for input."""
    found = diagnose(profile, latency_ms)
    if found.warning is None or (found.kind == "input" and input_wait_note(profile)):
        return []
    return [found.warning]


def _is_input(name: str) -> bool:
    """Whether the row is `tf.data` prefetching, the step's wait for it, or a DataLoader wait."""
    return name == f"{HOST_PREFIX}Dataset" or name.startswith(f"{HOST_PREFIX}Iterator")


@dataclass(frozen=True, slots=True)
class Placement:
    """One operation.

    Attributes
    ----------
    share : part of the profile's busy (not idle) time, 0 to 1; None for idle time.
    kind : its kind; None if unknown.
    operation_class : class in the default method; None if there is none.
    cluster : feature of the documented method, a cluster of device operations or a host operation; None if there is
        none.
    class_known, cluster_known : seen in training; otherwise it went to the class of its kind and the cluster with the
        most similar names, or to none.
    stands_in : its class had no operation of this kind in training, or it has no class.
    set_aside : communication between GPUs, excluded from everything.
    """

    operation: str
    time_us: float
    share: float | None
    kind: str | None
    operation_class: str | None
    class_known: bool
    cluster: str | None
    cluster_known: bool
    stands_in: bool
    set_aside: bool

    @property
    def on_device(self) -> bool:
        """Whether it is a GPU row."""
        return self.operation.startswith(DEVICE_PREFIX)

    @property
    def idle(self) -> bool:
        """Whether it is idle time of the GPU or of the host's threads."""
        return self.operation in IDLE_OPERATIONS


def placements(models: Models, profile: Profile) -> tuple[Placement, ...]:
    """All operations of `profile`, longest first."""
    classes, features = load_operation_classes(), models.features
    names = tuple(profile.operations)
    class_columns, cluster_columns = classes.place(names), features.place(names)
    busy_us = profile.busy_total_us
    found = [
        Placement(
            operation=name,
            time_us=time_us,
            share=None if name in IDLE_OPERATIONS or busy_us == 0 else time_us / busy_us,
            kind=_kind_name(name),
            operation_class=_named(classes.names, class_columns[name]),
            class_known=name in classes.columns,
            cluster=_named(features.names, cluster_columns[name]),
            cluster_known=name in features.columns,
            stands_in=name.startswith(DEVICE_PREFIX) and classes.stands_in(name),
            set_aside=is_set_aside(name),
        )
        for name, time_us in profile.operations.items()
    ]
    return tuple(sorted(found, key=lambda row: (-row.time_us, row.operation)))


def _kind_name(operation: str) -> str | None:
    kind = kind_of(operation)
    return None if kind is None else kind.name


def _named(names: tuple[str, ...], column: int | None) -> str | None:
    return None if column is None else names[column]


#: Unknown operations matter above this share of busy time.
NOTABLE_UNKNOWN_SHARE = 0.05


def caveats(
    models: Models,
    profile: Profile,
    anchor: Anchor,
    estimates: Estimates,
    number: int,
) -> tuple[Note, ...]:
    """Caveats of a method's estimates from a profile, most serious first.

    Parameters
    ----------
    number : index of `profile` among those of `estimates`.
    """
    known = None if anchor.gpu else models.ranges[anchor.instance]
    meta, share, gpu = profile.meta, profile.unknown_share, anchor_gpu(models, anchor)
    found = [Note(Code.PROFILE, text=text) for text in profile.warnings]
    if meta.gpu is not None and not _same_gpu(models, meta.gpu, gpu):
        named = gpu if anchor.name == gpu else f"{anchor.name} ({gpu})"
        found.append(Note(Code.WRONG_GPU, recorded=meta.gpu, anchor=named))
    if anchor.gpu is not None:
        found.append(Note(Code.UNTRAINED_ANCHOR, gpu=anchor.gpu.name))
    if has_tensor_cores(models.transfer.gpus[gpu]) and may_be_half(profile):
        found.append(Note(Code.UNKNOWN_PRECISION))
    if meta.compiled:
        found.append(Note(Code.COMPILED))
    if meta.channels_last:
        found.append(Note(Code.CHANNELS_LAST))
    found += steps_note(profile)
    if meta.estimated_share:
        found.append(Note(Code.ESTIMATED_TIMES, share=meta.estimated_share))
    if share > WARNED_UNATTRIBUTED_SHARE:
        found.append(Note(Code.UNATTRIBUTED, share=share))
    found += [*input_wait_note(profile), *_unknown_note(estimates.unknown[number]), *estimates.notes(number)]
    if known is not None:
        found += _range_note(known, profile, anchor.name)
    if at_floor := estimates.at_floor(number):
        found.append(Note(Code.AT_FLOOR, instances=", ".join(at_floor)))
    # The recorder may already have written the same sentence into the profile.
    return tuple(dict.fromkeys(found))


def _same_gpu(models: Models, recorded: str, gpu: str) -> bool:
    """Whether a profile's GPU name can denote a GPU; a missing form factor or memory size is no contradiction."""
    if gpu_model(recorded) == gpu_model(gpu):
        return True
    return gpu in {one.name for one in models.transfer.gpus.named(recorded)}


def may_be_half(profile: Profile) -> bool:
    """Whether nothing indicates the precision: PROFET's own files are FP32, and whole traces show 16-bit kernels."""
    return profile.meta.precision is None and profile.may_be_cut and profile.source_format != VERSION_1


def _unknown_note(unknown: UnknownOperations) -> list[Note]:
    # Time without an operation has its own note if it matters.
    if not set(unknown.names) - ({UNKNOWN_DEVICE_OPERATION} & set(unknown.left_out)):
        return []
    parts = [f"{name} counted as {cluster}" for name, cluster in unknown.mapped.items()]
    parts += [f"{name} ignored" for name in unknown.left_out]
    treated = "; ".join(parts[:8]) + (f"; and {len(parts) - 8} more" if len(parts) > 8 else "")
    weight = "expect larger errors" if unknown.share > NOTABLE_UNKNOWN_SHARE else "negligible"
    count = len(unknown.names)
    operations = f"{count} operation{'' if count == 1 else 's'}"
    return [Note(Code.UNKNOWN_OPERATIONS, operations=operations, share=unknown.share, weight=weight, treated=treated)]


def _range_note(known: TrainingRange, profile: Profile, anchor: str) -> list[Note]:
    low, high = known.device_total_us
    total = profile.device_total_us
    if total == 0 or low * 0.8 <= total <= high * 1.25:
        return []
    side = "shorter" if total < low else "longer"
    times = {name: format_ms(us / US_PER_MS) for name, us in (("total", total), ("low", low), ("high", high))}
    return [Note(Code.OUT_OF_RANGE, side=side, anchor=anchor, **times)]
