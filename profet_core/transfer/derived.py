"""Latency on a GPU that another source of measurements ran the same networks on, from two profiled instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from profet_core.catalog.gpus import Gpu
from profet_core.latency import NORMAL_90
from profet_core.transfer.known import Latencies


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

    @property
    def powers(self) -> dict[str, float]:
        """Instance -> the power of its latency in the law."""
        return {self.base: 1 - self.by_ratio + self.by_size, self.other: self.by_ratio}

    def note(self, gpu: Gpu, tf32: bool) -> str:
        """Where the estimate is from, and what its interval assumes."""
        text = (
            f"from corrected epoch times of {self.networks} networks on this GPU; 90% if errors are log-normal "
            "with the spread of held-out networks, and the correction errs as on T4 and V100"
        )
        if gpu.tf32_tensor_dense_tflops is None or tf32 == self.tf32:
            return text
        return f"{text}; they ran with TF32 {'allowed' if self.tf32 else 'off'}, so the interval is wider"


def derive(law: DerivedLaw, known: Mapping[str, Latencies]) -> Latencies:
    """Latencies on the law's GPU from those on its two instances.

    The known latencies' intervals are carried through as if they erred together and against each other, at worst.
    """
    base, other = (np.log(known[name].latency_ms) for name in law.instances)
    logs = base + law.intercept + law.by_ratio * (other - base) + law.by_size * base
    return Latencies(np.exp(logs), _half_width(law, known, 1 - law.by_ratio + law.by_size))


def relative_half_width(law: DerivedLaw, known: Mapping[str, Latencies]) -> np.ndarray:
    """Half the 90% interval of log(latency / latency on `law.base`), (profiles,)."""
    return _half_width(law, known, law.by_size - law.by_ratio)


def _half_width(law: DerivedLaw, known: Mapping[str, Latencies], by_base: float) -> np.ndarray:
    base, other = (known[name].log_half_width for name in law.instances)
    known_half = abs(by_base) * base + abs(law.by_ratio) * other
    return np.sqrt(known_half**2 + NORMAL_90**2 * (law.log_sd**2 + law.bias_log_sd**2))
