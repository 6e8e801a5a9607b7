"""Latency on a GPU that another source of measurements ran the same networks on, from two profiled instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.networks.intervals import NORMAL_90


@dataclass(frozen=True, slots=True)
class DerivedLaw:
    """log t = log base + intercept + by_ratio * log(other / base) + by_size * log base, milliseconds.

    Attributes
    ----------
    base, other : the two instances. log_sd : spread on networks left out of the fit. bias_log_sd : spread of what the
        source's correction leaves, seen where both sources measured the same GPUs.
    tf32 : whether the source ran with TF32 allowed.
    other_precision_log_sd : assumed spread where the user's choice of TF32 differs from the source's.
    """

    base: str
    other: str
    intercept: float
    by_ratio: float
    by_size: float
    log_sd: float
    bias_log_sd: float
    networks: int
    workloads: int
    tf32: bool
    other_precision_log_sd: float

    @property
    def instances(self) -> tuple[str, str]:
        """Instances whose latency must be known."""
        return self.base, self.other

    def note(self, gpu: Gpu, tf32: bool) -> str:
        """Where the answer is from, and what its interval assumes."""
        text = (
            f"from corrected epoch times of {self.networks} networks on this GPU; 90 % if errors are log-normal and "
            "spread as on networks left out, and the correction errs as on T4 and V100"
        )
        if gpu.tf32_tensor_dense_tflops is None or tf32 == self.tf32:
            return text
        return f"{text}; they ran with TF32 {'allowed' if self.tf32 else 'off'}, so the interval is wider"


def derive(
    law: DerivedLaw, latency_ms: Mapping[str, np.ndarray], log_half_width: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Latency, milliseconds, and half its 90 % interval's width in the logarithm; both (profiles,).

    The known latencies' intervals are carried through as if they erred together and against each other, at worst.
    """
    base, other = (np.log(latency_ms[name]) for name in law.instances)
    logs = base + law.intercept + law.by_ratio * (other - base) + law.by_size * base
    return np.exp(logs), _half_width(law, log_half_width, 1 - law.by_ratio + law.by_size)


def relative_half_width(law: DerivedLaw, log_half_width: Mapping[str, np.ndarray]) -> np.ndarray:
    """The same of the latency over that on `law.base`, (profiles,)."""
    return _half_width(law, log_half_width, law.by_size - law.by_ratio)


def _half_width(law: DerivedLaw, log_half_width: Mapping[str, np.ndarray], by_base: float) -> np.ndarray:
    known_half = abs(by_base) * log_half_width[law.base] + abs(law.by_ratio) * log_half_width[law.other]
    return np.sqrt(known_half**2 + NORMAL_90**2 * (law.log_sd**2 + law.bias_log_sd**2))
