"""What a profile is, whatever file it came from: time per operation type over one training step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

DEVICE_PREFIX = "Device_"
HOST_PREFIX = "Host_"
#: What is said first of a profile without device rows.
NO_DEVICE_WARNING = (
    "This profile holds no GPU time (no Device_ rows): it was recorded on a CPU, and predictions from it mean nothing. "
    "Record it on the anchor's GPU."
)
IDLE_OPERATIONS = frozenset({"Device_IDLE", "Host_IDLE"})


@dataclass(frozen=True, slots=True)
class ProfileMeta:
    """What the recorder knew about the step; every field may be missing (None).

    Attributes
    ----------
    compiled : the step ran through a compiler that joins operations: XLA, torch.compile.
    """

    gpu: str | None = None
    framework: str | None = None
    precision: str | None = None
    compiled: bool | None = None
    batch_size: int | None = None
    pixels: int | None = None
    parameters: int | None = None
    step_latency_ms: float | None = None
    peak_memory_mib: float | None = None


@dataclass(frozen=True)
class Profile:
    """Time per operation type over one training step.

    Attributes
    ----------
    operations : operation name ("Device_Conv2D", "Host_IDLE") -> microseconds, sorted by name, so that the
        order of keys in a file changes nothing. Device totals double-count streams and aggregate rows: they add
        up to about twice the step's latency.
    meta : what the recorder knew about the step.
    source_format : name of the format it was read from.
    ignored : what the file held and the profile leaves out, one short text each.
    steps : training steps the file held; the times are their mean.
    warnings : what makes the times less sure, one sentence each, shown before any number.
    """

    operations: Mapping[str, float]
    meta: ProfileMeta = field(default_factory=ProfileMeta)
    source_format: str = "operations"
    ignored: tuple[str, ...] = ()
    steps: int = 1
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ordered = {name: float(self.operations[name]) for name in sorted(self.operations)}
        object.__setattr__(self, "operations", MappingProxyType(ordered))

    @cached_property
    def device_total_us(self) -> float:
        """All device rows, idle included, microseconds."""
        return sum(us for name, us in self.operations.items() if name.startswith(DEVICE_PREFIX))

    @cached_property
    def host_total_us(self) -> float:
        """All host rows, idle included, microseconds."""
        return sum(us for name, us in self.operations.items() if name.startswith(HOST_PREFIX))

    @cached_property
    def busy_total_us(self) -> float:
        """All rows that are not idle time, microseconds."""
        return sum(us for name, us in self.operations.items() if name not in IDLE_OPERATIONS)
