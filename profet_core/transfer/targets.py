"""GPUs and hosts that steps are transferred to, and what is known of their speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from profet_core.messages import Code, Note

# Launches are bound by one CPU thread. Two hosts were measured: Broadwell (g3s, p2, p3) and Cascade Lake (g4dn). For
# others, the documented clock and the generation's instructions per clock are known. None is assumed faster than the
# fastest measured one, because published tables of later hosts show no faster launches (densenet-121 at batch 12: 74 ms
# with an A100, 73 to 104 ms with a V100; `external/training_throughput.csv`). Factors of copies and of Haswell are
# assumed. A GPU's own bus may be slower than its host's, which they ignore.

#: Launch time relative to Broadwell's by clock: the sustained all-core turbo of p3 (2.7 GHz) and of g4dn (3.1 GHz), at
#: 1.1 times the instructions per clock since Skylake; all three recalled. The result is 0.79: the shortest steps of the
#: five networks that are launch-bound on both take 0.70 to 0.81 of p3's time on g4dn (PROFET's latencies).
_CASCADE_LAKE_LAUNCH = 2.7 / (3.1 * 1.1)
#: Log standard deviation of copy, start and launches on a host that was measured with another GPU, and on an unmeasured
#: host: the two measured ones differ by 0.24.
MEASURED_LOG_SD, ASSUMED_LOG_SD = 0.13, 0.26


@dataclass(frozen=True, slots=True)
class Host:
    """Speed of a host relative to the reference host.

    Attributes
    ----------
    launch : time of the start and of launches over the reference's. copy : time of a copy over the reference's.
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
#: Unknown host: between the two measured ones.
UNKNOWN_HOST = Host("", _CASCADE_LAKE_LAUNCH**0.5, 0.6, ASSUMED_LOG_SD)


def _later(name: str, copy: float) -> Host:
    return Host(name, _CASCADE_LAKE_LAUNCH, copy, ASSUMED_LOG_SD)


#: Copies: PCIe 3 up to Cascade Lake; PCIe 4 (Rome to Ice Lake) and 5 are assumed because they were not measured, with a
#: smaller gain than the bus's 2 and 4 times.
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
    """Host of a CPU generation; `UNKNOWN_HOST` if unknown.

    >>> host_named("broadwell").launch, host_named("").name
    (1.0, '')
    """
    return HOSTS.get(name, UNKNOWN_HOST)


class Source(Enum):
    """Source of a GPU's speed."""

    PROFILED = "profiled"
    CELLS = "cells"
    DERIVED = "derived"
    PUBLISHED = "published"
    OWN = "own"
    GENERATION = "generation"
    SPECS = "specs"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A source, with its details.

    Attributes
    ----------
    gpu : full name of the GPU with this speed. tables : number of published tables, 0 for other sources.
    said : a user's statement about a custom GPU, or the number of its measured steps.
    """

    source: Source
    gpu: str
    tables: int = 0
    said: str = ""

    @property
    def words(self) -> str:
        """Short text for a table cell.

        >>> Evidence(Source.PUBLISHED, "A100-PCIE-40GB", tables=3).words
        'published speed, 3 tables'
        """
        match self.source:
            case Source.PROFILED:
                return "profiled"
            case Source.CELLS:
                return self.said
            case Source.DERIVED:
                return "third-party runs"
            case Source.PUBLISHED:
                return f"published speed, {self.tables} table{'' if self.tables == 1 else 's'}"
            case Source.OWN:
                return "your specs"
            case Source.GENERATION:
                return "specs, and published speeds of its generation"
            case Source.SPECS:
                return "specs only"

    @property
    def note(self) -> Note:
        """As a prediction's note."""
        match self.source:
            case Source.PUBLISHED:
                return Note.of(Code.PUBLISHED, gpu=self.gpu)
            case Source.OWN:
                return Note.of(Code.OWN_SPECS, said=self.said)
            case Source.GENERATION:
                return Note(Code.GENERATION)
            case Source.SPECS:
                return Note(Code.SPECS_ONLY)
            case _:
                return Note.of(Code.EVIDENCE, said=self.words)


@dataclass(frozen=True, slots=True)
class Speed:
    """Benchmark speed of a GPU over the reference's, in the logarithm, with its source.

    Attributes
    ----------
    log_sd : of the speed itself. step_log_sd : of a step there, including the model's spread. notes : for a row.
    """

    log_speed: float
    log_sd: float
    step_log_sd: float
    evidence: Evidence
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A GPU in a host, and its known speed.

    Attributes
    ----------
    log_speed : log speedup over the reference's GPU on the benchmark's work.
    log_bandwidth : the same for work bound by memory bandwidth.
    log_sd : of a step there, without the part that `carry` adds. mix_log_sd : additional spread for a step that only
        has convolutions and products, or none, relative to the benchmark's.
    """

    host: Host
    log_speed: float
    log_bandwidth: float
    log_sd: float
    mix_log_sd: float
