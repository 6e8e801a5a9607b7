"""Where the operations of a profile belong: kinds, classes and clusters."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.ensemble.classes import load_operation_classes
from profet_core.ensemble.operations import is_set_aside, kind_of
from profet_core.prediction.models import Models
from profet_recorder.profiles.record import (
    DEVICE_PREFIX,
    IDLE_OPERATIONS,
    Profile,
)


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
            kind=None if (kind := kind_of(name)) is None else kind.name,
            operation_class=None if (column := class_columns[name]) is None else classes.names[column],
            class_known=name in classes.columns,
            cluster=None if (column := cluster_columns[name]) is None else features.names[column],
            cluster_known=name in features.columns,
            stands_in=name.startswith(DEVICE_PREFIX) and classes.stands_in(name),
            set_aside=is_set_aside(name),
        )
        for name, time_us in profile.operations.items()
    ]
    return tuple(sorted(found, key=lambda row: (-row.time_us, row.operation)))
