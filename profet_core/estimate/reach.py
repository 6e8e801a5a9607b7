"""Transfer steps to unmeasured GPUs: the analytical model at another speed.

Each measured GPU predicts the step latency at the target GPU's speed and in its host. The result is a geometric mean
with the largest weights on the GPUs nearest in speed, as for steps scaled from profiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from profet_core.arrays import FloatArray
from profet_core.estimate.amounts import StepAmounts
from profet_core.estimate.costs import GpuCosts
from profet_core.transfer.carry import WEIGHTS
from profet_core.transfer.hosts import Host

#: Log speeds over the reference's at which a slower GPU is evaluated too: the weights of the measured GPUs change with
#: speed, and that must not make a faster GPU slower.
_SLOWER_TRIED = np.arange(-4.0, 5.0, 0.125)


@dataclass(frozen=True)
class KnownSteps:
    """The same steps on one measured GPU. log_ratio : correction of the model there, (steps,)."""

    costs: GpuCosts
    log_ratio: FloatArray


def reached_ms(known: Mapping[str, KnownSteps], amounts: StepAmounts, log_speed: float, host: Host) -> FloatArray:
    """Milliseconds per step on another GPU, (steps,).

    They never exceed those on a slower one in the same host.

    Parameters
    ----------
    known : measured instances. log_speed : log speedup over the reference on the benchmark's work.
    """
    slower = _SLOWER_TRIED[log_speed > _SLOWER_TRIED]
    speeds = np.array([*slower, log_speed])[:, None]
    gains = np.stack([speeds - one.costs.log_speed for one in known.values()])
    logs = np.stack(
        [
            np.log(one.costs.latency_ms(amounts, gain, host)) + one.log_ratio
            for one, gain in zip(known.values(), gains, strict=True)
        ]
    )
    nearness = np.exp(-WEIGHTS.nearness * np.abs(gains))
    weights = nearness / nearness.sum(axis=0)
    least_ms: FloatArray = np.exp((weights * logs).sum(axis=0)).min(axis=0)
    return least_ms


def speed_weights(known: Mapping[str, GpuCosts], log_speed: float) -> dict[str, float]:
    """Measured instance -> its weight in the geometric mean."""
    nearness = {name: float(np.exp(-WEIGHTS.nearness * abs(log_speed - one.log_speed))) for name, one in known.items()}
    total = sum(nearness.values())
    return {name: value / total for name, value in nearness.items()}
