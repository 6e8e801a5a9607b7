"""The measured accuracy on several GPUs, the figures of `scaleout_validation.json` as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScaleErrors:
    """Errors of predicted steps on several GPUs, one GPU's measured step given; percent.

    Attributes
    ----------
    n : steps. mape : mean absolute error. bias : geometric mean of predicted over measured, less 1.
    perfect_mape : the same of perfect scaling: the step of one GPU.
    """

    n: int
    mape: float
    bias: float
    perfect_mape: float


@dataclass(frozen=True, slots=True)
class Covered:
    """Percent of `n` measured steps that lie inside their 90% interval."""

    n: int
    covered_90: float


@dataclass(frozen=True)
class LeftOutScale:
    """A data set with networks, or GPU models, held out in turn.

    Attributes
    ----------
    hard : steps whose scaling is under 90%. covered_90 : percent of measured steps inside their 90% interval.
    median_interval_pct : median of the interval's upper half.
    by_fold, by_strategy : what was held out, and how gradients were shared -> its errors.
    covered_by_strategy : how gradients were shared -> its intervals. covered_by_gpus : the same by number of GPUs, each
        with a process of its own.
    """

    every: ScaleErrors
    hard: ScaleErrors
    covered_90: float
    median_interval_pct: float
    by_fold: Mapping[str, ScaleErrors]
    by_strategy: Mapping[str, ScaleErrors]
    covered_by_strategy: Mapping[str, Covered]
    covered_by_gpus: Mapping[str, Covered]


@dataclass(frozen=True)
class ScaleDataSet:
    """One of the two data sets.

    Attributes
    ----------
    networks, gpus : held out in turn. excluded : reason -> steps that are not judged.
    with_excluded : networks held out, also judged on steps that the fit excludes.
    """

    n: int
    networks: LeftOutScale
    gpus: LeftOutScale
    excluded: Mapping[str, int]
    with_excluded: ScaleErrors


@dataclass(frozen=True)
class ScaleoutAccuracy:
    """All of it.

    Attributes
    ----------
    made : date. scaleout_checksum : of the coefficients it belongs to.
    data_sets : name -> its figures. network_64 : 64 K80 over a network, networks held out, one line each with its batch
        a GPU: percent that the prediction is too long (+) or too short (-).
    """

    made: str
    scaleout_checksum: str
    data_sets: Mapping[str, ScaleDataSet]
    on_64: ScaleErrors
    network_64: Mapping[str, float]
