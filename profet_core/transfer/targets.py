"""Target GPUs of the transfer: known speed, and the model's inputs."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.messages import Note
from profet_core.transfer.evidence import Evidence
from profet_core.transfer.hosts import Host


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
    multiprocessors: int
    log_speed: float
    log_bandwidth: float
    log_sd: float
    mix_log_sd: float
