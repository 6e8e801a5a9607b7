"""Accuracy against published tables, and what must hold of a prediction without any truth: the figures as records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Ratios of training steps over V100's in one table, against predicted ones; percent.

    Attributes
    ----------
    held_back : nothing of the table was known; else its ResNet-50 was, and other networks are judged.
    n : ratios, from every profiled anchor. bias : geometric mean of predicted over published latency, less 1.
    worst : the error furthest from 0. missed_90 : share outside the 90% interval.
    """

    gpu: str
    table: str
    held_back: bool
    networks: tuple[str, ...]
    n: int
    bias: float
    mape: float
    worst: float
    missed_90: float
    median_interval_pct: float


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """A GPU with a published point, percent.

    Attributes
    ----------
    own_point : predicted over published speed of ResNet-50, less 1. point_sd : the point's own noise.
    falls_batch, falls_pixels : larger steps that are predicted faster by more than 5%.
    below_unsaid : steps predicted below the network's fastest on V100 and not said to be limited by the host.
    """

    gpu: str
    own_point: float
    point_sd: float
    falls_batch: float
    falls_pixels: float
    below_unsaid: float
