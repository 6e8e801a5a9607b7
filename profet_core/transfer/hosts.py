"""How fast hosts launch and copy: what a step needs of its machine beside the GPU.

Launches are bound by one thread of the processor. Two hosts were measured: Broadwell (g3s, p2, p3) and Cascade Lake
(g4dn). Of others the documented clock and the generation's instructions per clock are known; none is taken for faster
than the fastest that was measured, since published tables of later hosts show no faster launches (densenet-121 at
batch 12: 74 ms beside an A100, 73 to 104 ms beside a V100; `external/training_throughput.csv`). Factors of copies and
of Haswell are assumed, and that a GPU's own bus may be slower than its host's is not in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

#: Launch time over Broadwell's by clock: the sustained all-core turbo of p3 (2.7 GHz) and of g4dn (3.1 GHz), at 1.1
#: times the instructions per clock since Skylake; all three recalled. It gives 0.79: the shortest steps of the five
#: networks that launches bound on both take 0.70 to 0.81 of p3's time on g4dn (PROFET's latencies).
_CASCADE_LAKE_LAUNCH = 2.7 / (3.1 * 1.1)
#: Standard deviation of the logarithm of copy, start and launches on a host that was measured beside another GPU, and
#: on one that was not: the two measured ones lie 0.24 apart.
MEASURED_LOG_SD, ASSUMED_LOG_SD = 0.13, 0.26


@dataclass(frozen=True, slots=True)
class Host:
    """A host's speed over that of the reference host.

    Attributes
    ----------
    launch : time of the start and of launches over the reference's. copy : time of a copy over the reference's.
    log_sd : doubt about both, in the logarithm.
    """

    name: str
    launch: float
    copy: float
    log_sd: float

    def __hash__(self) -> int:
        return hash(self.name)


#: What launch floors and copies are told relative to.
REFERENCE_HOST = Host("broadwell", 1.0, 1.0, MEASURED_LOG_SD)
#: Where nothing is known: between the two that were measured.
UNKNOWN_HOST = Host("", _CASCADE_LAKE_LAUNCH**0.5, 0.6, ASSUMED_LOG_SD)


def _later(name: str, copy: float) -> Host:
    return Host(name, _CASCADE_LAKE_LAUNCH, copy, ASSUMED_LOG_SD)


#: Copies: PCIe 3 up to Cascade Lake; over PCIe 4 (Rome to Ice Lake) and 5 assumed, since nobody measured them: rather
#: less gain than the bus's 2 and 4 times.
HOSTS: Mapping[str, Host] = MappingProxyType(
    {
        host.name: host
        for host in (
            REFERENCE_HOST,
            Host("haswell", 1.1, 1.0, ASSUMED_LOG_SD),
            Host("skylake", 0.91, 1.0, ASSUMED_LOG_SD),
            Host("cascade-lake", _CASCADE_LAKE_LAUNCH, 1.0, MEASURED_LOG_SD),
            _later("rome", 0.55),
            _later("milan", 0.55),
            _later("ice-lake", 0.55),
            _later("sapphire-rapids", 0.4),
            _later("emerald-rapids", 0.4),
            _later("genoa", 0.4),
            _later("turin", 0.4),
            _later("granite-rapids", 0.4),
        )
    }
)


def host_named(name: str) -> Host:
    """The host of a processor's generation; `UNKNOWN_HOST` where nothing is known of it.

    >>> host_named("broadwell").launch, host_named("").name
    (1.0, '')
    """
    return HOSTS.get(name, UNKNOWN_HOST)
