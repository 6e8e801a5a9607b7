"""Protocol of the fitted scalers in a models folder."""

from __future__ import annotations

from typing import Protocol

from profet_core.scaling.documented import DocumentedScaler
from profet_core.scaling.learned import LearnedScaler


class FittedScalers(Protocol):
    """Scalers by axis, "batch" or "pixels"; `profet_core.artifacts.models.Models` is one."""

    def scaler(self, instance: str | None, axis: str) -> DocumentedScaler:
        """The documented scaler of an instance; InputError if there is none."""

    def learned_scaler(self, axis: str) -> LearnedScaler | None:
        """The default scaler; None if these models have none."""
