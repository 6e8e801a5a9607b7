"""Hosts of GPUs, and how fast they launch."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

# Launches are bound by one CPU thread. Two hosts were measured: Broadwell (g3s, p2, p3) and Cascade Lake (g4dn). Others
# follow from the clock that a generation sustains and its instructions per clock, as its vendor states the gain over
# the generation before: Skylake 1.1 times Broadwell's, Ice Lake 1.18 times Skylake's, Sapphire Rapids 1.19 times Ice
# Lake's; Zen 2 1.15 times Broadwell's, Zen 3 1.19, Zen 4 1.14 and Zen 5 1.17 times the one before (all recalled).
# Published tables agree in kind, not in size: DenseNet-121 at batch 12 takes 56 to 104 ms with GPUs of 2017 to 2020 and
# 15 ms with an RTX 5090 (`external/training_throughput.csv`). A GPU's own bus may be slower than its host's.

_BROADWELL_GHZ = 2.7
#: Log standard deviation of copy, start and launches on a host that was measured with another GPU, and on an unmeasured
#: host: the two measured ones differ by 0.24.
MEASURED_LOG_SD, ASSUMED_LOG_SD = 0.13, 0.3


class Host(Struct, frozen=True):
    """Speed of a host relative to the reference host.

    Attributes
    ----------
    launch : time of the start and of launches over the reference's.
    copy : time of a copy over the reference's.
    log_sd : uncertainty of both, in the logarithm.
    """

    name: str
    launch: float
    copy: float
    log_sd: float

    def __hash__(self) -> int:
        return hash(self.name)


#: Reference of launch times and copies.
REFERENCE_HOST = Host("broadwell", 1.0, 1.0, MEASURED_LOG_SD)


def _host(name: str, ghz: float, per_clock: float, copy: float, log_sd: float = ASSUMED_LOG_SD) -> Host:
    """Host by its sustained clock and its instructions per clock over Broadwell's."""
    return Host(name, _BROADWELL_GHZ / (ghz * per_clock), copy, log_sd)


#: Copies: as fast as the bus, PCIe 3 up to Cascade Lake, PCIe 4 from Rome to Ice Lake, then PCIe 5.
HOSTS: Mapping[str, Host] = MappingProxyType(
    {
        host.name: host
        for host in (
            REFERENCE_HOST,
            _host("haswell", 2.6, 0.95, 1.0),
            _host("skylake", 2.7, 1.1, 1.0),
            _host("cascade-lake", 3.1, 1.1, 1.0, MEASURED_LOG_SD),
            _host("rome", 3.3, 1.15, 0.5),
            _host("milan", 3.5, 1.37, 0.5),
            _host("ice-lake", 3.5, 1.3, 0.5),
            _host("sapphire-rapids", 3.5, 1.54, 0.25),
            _host("emerald-rapids", 3.6, 1.54, 0.25),
            _host("genoa", 3.7, 1.56, 0.25),
            _host("turin", 4.0, 1.83, 0.25),
            _host("granite-rapids", 3.8, 1.65, 0.25),
        )
    }
)
#: Typical host of a GPU where the host is unknown, by compute capability and above: the generation sold with it.
_TYPICAL_HOSTS = (
    (10.0, "granite-rapids"),
    (8.9, "sapphire-rapids"),
    (8.0, "milan"),
    (7.5, "cascade-lake"),
    (0.0, "skylake"),
)
#: More than an unmeasured host's: the generation is unknown too.
_UNKNOWN_LOG_SD = 0.4


def host_named(name: str, compute_capability: float | None = None) -> Host:
    """Host of a CPU generation; if unknown, the typical one of a GPU's generation.

    Parameters
    ----------
    compute_capability : of the GPU in it; None: unknown, or not NVIDIA's, whose GPUs here are recent.

    >>> host_named("broadwell").launch, host_named("", 8.0).name
    (1.0, 'milan')
    """
    if name in HOSTS:
        return HOSTS[name]
    capability = 8.9 if compute_capability is None else compute_capability
    typical = next(host for least, host in _TYPICAL_HOSTS if capability >= least)
    return replace(HOSTS[typical], log_sd=_UNKNOWN_LOG_SD)
