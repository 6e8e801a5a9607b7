"""GPUs that steps are carried to: what is known of their speed, and what of that the law takes."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.messages import Note
from profet_core.transfer.evidence import Evidence
from profet_core.transfer.hosts import Host


@dataclass(frozen=True, slots=True)
class Speed:
    """Benchmark speed of a GPU over the reference's, in the logarithm, and where it is from.

    Attributes
    ----------
    log_sd : of the speed itself. step_log_sd : of a step there, the law's spread included. notes : for a row.
    """

    log_speed: float
    log_sd: float
    step_log_sd: float
    evidence: Evidence
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A GPU in a host, and what is known of its speed.

    Attributes
    ----------
    log_speed : how many times faster it does the benchmark's work than the reference's GPU, in the logarithm.
    log_bandwidth : the same of work that is bound by its memory's bandwidth.
    log_sd : of a step there, but for what `carry` adds. mix_log_sd : spread for a step that
        computes nothing but convolutions and products, or none, over the benchmark's.
    """

    host: Host
    multiprocessors: int
    log_speed: float
    log_bandwidth: float
    log_sd: float
    mix_log_sd: float
