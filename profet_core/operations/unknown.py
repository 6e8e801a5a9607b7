"""Operations of a profile that a method has not seen in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from profet_core.profiles.record import Profile


@dataclass(frozen=True, slots=True)
class UnknownOperations:
    """Operations of one profile that a method has not seen in training.

    For the documented method, these are operations with unseen names. For the default method, these are operations of
    unknown kind, and operations of a kind absent from the training data if they take a notable time.

    Attributes
    ----------
    mapped : operation -> name of the cluster or class that its time was added to.
    left_out : operations without a class or cluster; their time is not used.
    share : their part of the profile's busy (not idle) time, 0 to 1.
    """

    mapped: Mapping[str, str]
    left_out: tuple[str, ...]
    share: float

    @property
    def names(self) -> tuple[str, ...]:
        """All of these operations, sorted."""
        return tuple(sorted((*self.mapped, *self.left_out)))


NO_UNKNOWN_OPERATIONS = UnknownOperations(MappingProxyType({}), (), 0.0)


def report_unknown(
    profile: Profile, unseen: Sequence[str], placed: Mapping[str, int | None], columns: Sequence[str]
) -> UnknownOperations:
    """Report the handling of a profile's unseen operations.

    Parameters
    ----------
    placed : operation -> index of the column that its time was added to, None if none.
    columns : their names.
    """
    mapped = {name: columns[column] for name in unseen if (column := placed[name]) is not None}
    time_us = sum(profile.operations[name] for name in unseen)
    return UnknownOperations(
        mapped=MappingProxyType(mapped),
        left_out=tuple(name for name in unseen if name not in mapped),
        share=time_us / profile.busy_total_us if profile.busy_total_us else 0.0,
    )
