"""What holds a step up, where its operations belong, and what makes a prediction less certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from profet_core.ensemble.classes import load_operation_classes
from profet_core.ensemble.operations import is_set_aside, kind_of
from profet_core.prediction.checks import waits_for_loader
from profet_core.prediction.models import Models
from profet_core.units import US_PER_MS
from profet_recorder.profiles.record import (
    DEVICE_PREFIX,
    HOST_PREFIX,
    IDLE_OPERATIONS,
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
        busy = f"the GPU is busy for about {self.gpu_busy_share:.0%} of the step"
        if self.kind == "input":
            return (
                f"This step is input-bound: the input pipeline takes about {self.input_share:.0%} of it, and "
                f"{busy}. A faster GPU won't help: prefetch, cache or use more loader workers first."
            )
        if self.kind == "idle":
            return (
                f"This step leaves the GPU idle: {busy}. A faster GPU won't help: use larger batches or fewer, "
                "larger operations, or rent a cheaper GPU."
            )
        if self.gpu_busy_share < MOSTLY_BUSY:
            return f"{busy[0].upper()}{busy[1:]}: a faster GPU shortens only that part."
        return f"The GPU is well utilized: it{busy[7:]}."


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
