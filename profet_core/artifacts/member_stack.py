"""One ensemble member for every target of an anchor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from profet_core.fitted.files import Fitted


@dataclass(frozen=True, slots=True)
class MemberStack:
    """One ensemble member of the default method, for every target of an anchor.

    Attributes
    ----------
    targets : instances, in the order of the first axis of all arrays.
    constants, typical_log_ratio : as `stacks.member_latency` takes them.
    """

    targets: tuple[str, ...]
    fitted: Fitted
    constants: np.ndarray
    typical_log_ratio: np.ndarray

    def run(self, seen: np.ndarray) -> np.ndarray:
        """Raw outputs, (profiles, inputs) -> (targets, profiles, outputs)."""
        return self.fitted.run(seen)
