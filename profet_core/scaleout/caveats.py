"""Caveats of steps on machines with too few measurements."""

from __future__ import annotations

from collections.abc import Iterable

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.messages import Code, Note
from profet_core.scaleout.law import network_doubt
from profet_core.scaleout.step import ScaledStep

#: Number of GPUs from which machines that communicate through host memory vary.
_MANY = 4
#: Maximum factor between a network and the measured one for which results apply: 2.
_LIKE_MEASURED = network_doubt(2 * 10 / 8)


def shares_host_memory(step: ScaledStep, links: Interconnect) -> bool:
    """Whether many GPUs of a machine communicate through its memory, which varies."""
    return links.link is Link.PCIE_HOST and step.layout.gpus_per_node >= _MANY


def scaling_warnings(steps: Iterable[ScaledStep], links: Interconnect) -> list[str]:
    """Caveat sentences on steps on one type of node."""
    found = list(steps)
    warnings = []
    if any(shares_host_memory(step, links) for step in found):
        warnings.append(f"GPUs without peer access: {Note(Code.HOST_MEMORY)} as predicted.")
    if any(step.nodes > 1 for step in found) and network_doubt(links.network_gb_per_s) > _LIKE_MEASURED:
        warnings.append(
            f"Only 10 Gb/s between machines was measured, not {links.network_gbit_per_s:g}: the intervals are "
            "wider by judgment."
        )
    return warnings
