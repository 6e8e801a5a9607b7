"""Profiles of one anchor that are predicted together, each encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from profet_core.networks.stacks import StepInputs, step_inputs
from profet_core.operations.classes import IDLE_CLASS, ClassTimes, load_operation_classes
from profet_core.operations.unknown import UnknownOperations
from profet_core.profiles.record import Profile


@dataclass(frozen=True)
class ProfileBatch:
    """Profiles recorded on one anchor, with their step latencies there.

    Attributes
    ----------
    latency_ms : measured on the anchor, milliseconds, (profiles,); None: unknown.
    """

    profiles: Sequence[Profile]
    anchor: str
    latency_ms: np.ndarray | None

    @property
    def latency_known(self) -> bool:
        """Whether the anchor's latency is given, for all profiles or for none."""
        return self.latency_ms is not None

    @cached_property
    def inputs(self) -> StepInputs:
        """Class times as inputs of the default method's networks, without batch and pixel sizes."""
        classes = load_operation_classes()
        device, idle = len(classes.device), classes.names.index(IDLE_CLASS)
        return step_inputs(self._encoded[0], device, idle, self.latency_ms, None)

    @property
    def unknown(self) -> Sequence[UnknownOperations]:
        """Operations without a class, per profile."""
        return self._encoded[1]

    @cached_property
    def _encoded(self) -> tuple[ClassTimes, list[UnknownOperations]]:
        return load_operation_classes().encode(self.profiles)
