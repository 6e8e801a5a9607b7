"""What was done with the operations of a profile that a method has never seen the like of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from profet_core.profiles.record import Profile


@dataclass(frozen=True, slots=True)
class UnknownOperations:
    """Operations of one profile that a method has never seen the like of.

    For the documented method those whose name was not in training. For the default method those of no known kind, and
    those of a kind that the training data lack if they take a notable time.

    Attributes
    ----------
    mapped : operation -> name of the cluster or class that took its time.
    left_out : operations that have no place; their time is not used.
    share : part of the profile's busy (not idle) time that all of them took, 0 to 1.
    """

    mapped: Mapping[str, str]
    left_out: tuple[str, ...]
    share: float

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, sorted."""
        return tuple(sorted((*self.mapped, *self.left_out)))


NO_UNKNOWN_OPERATIONS = UnknownOperations(MappingProxyType({}), (), 0.0)


def report_unknown(
    profile: Profile, unseen: Sequence[str], placed: Mapping[str, int | None], columns: Sequence[str]
) -> UnknownOperations:
    """What was done with operations of a profile that were never seen.

    Parameters
    ----------
    placed : operation -> number of the column that took its time, None if none did.
    columns : their names.
    """
    mapped = {name: columns[column] for name in unseen if (column := placed[name]) is not None}
    time_us = sum(profile.operations[name] for name in unseen)
    return UnknownOperations(
        mapped=MappingProxyType(mapped),
        left_out=tuple(name for name in unseen if name not in mapped),
        share=time_us / profile.busy_total_us if profile.busy_total_us else 0.0,
    )
