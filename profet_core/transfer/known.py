"""Inputs of the transfer: latencies on profiled instances, copy, start and launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from profet_core.latency import Estimate, log_sd_of
from profet_core.transfer.parts import StepParts
from profet_core.transfer.step import StepLaw


@dataclass(frozen=True)
class AnchorSteps:
    """Steps recorded on one anchor.

    Attributes
    ----------
    latency_ms : measured there, milliseconds, (profiles,); None: unknown.
    floor_ms : launch time on the reference host, (profiles,), if known from another source than the parts.
    """

    anchor: str
    parts: StepParts
    latency_ms: np.ndarray | None
    floor_ms: np.ndarray | None = None


@dataclass(frozen=True)
class KnownSteps:
    """Known facts about steps recorded on one anchor.

    Attributes
    ----------
    latencies : profiled instance -> latencies there, the anchor's last.
    floor_ms : launch time on the reference host, (profiles,).
    work_ms : profiled instance -> the GPU's work there, (profiles,).
    """

    law: StepLaw
    anchor: str
    parts: StepParts
    latencies: Mapping[str, Estimate]
    floor_ms: np.ndarray
    work_ms: Mapping[str, np.ndarray]


def known_steps(law: StepLaw, recorded: AnchorSteps, others: Mapping[str, Estimate]) -> KnownSteps:
    """Known facts about `recorded`, which was recorded on one of `law.instances`.

    Parameters
    ----------
    others : other profiled instances -> latencies there, predicted or measured.
    """
    anchor, parts = recorded.anchor, recorded.parts
    latencies = {**others, anchor: anchor_estimate(law, recorded)}
    # Launches belong to the network: its step takes at least this long on any host.
    least_ms = np.minimum.reduce([row.latency_ms / law.host(name).launch for name, row in latencies.items()])
    told_ms = law.floor_ms(parts, anchor, recorded.latency_ms) if recorded.floor_ms is None else recorded.floor_ms
    floor_ms = np.minimum(told_ms, least_ms)
    work_ms = {
        name: law.work_ms(name, row.latency_ms, law.fixed_ms(parts, anchor, law.host(name)), floor_ms)
        for name, row in latencies.items()
    }
    # A launch-bound latency on the anchor gives no information on the work, but the profile does.
    profiled_ms = law.instances[anchor].gpu_per_busy * parts.busy_ms
    work_ms[anchor] = np.minimum(work_ms[anchor], profiled_ms)
    return KnownSteps(law, anchor, parts, latencies, floor_ms, work_ms)


def anchor_estimate(law: StepLaw, recorded: AnchorSteps) -> Estimate:
    """Latencies on the anchor: measured, or inferred from the profiles."""
    if recorded.latency_ms is not None:
        return Estimate.exact(recorded.latency_ms)
    own_ms = law.own_latency_ms(recorded.parts, recorded.anchor)
    own_log_sd = log_sd_of(law.instances[recorded.anchor].own_log_half_width)
    return Estimate(latency_ms=own_ms, log_sd=np.full(own_ms.shape, own_log_sd))
