"""Outer folds that validate each split, and inner folds that choose and calibrate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from profet_core.from_layers.model import Regime
from profet_lab.estimate.rows import BENCHMARK, EstimateRows

FOLDS = 5
#: Larger batches are predicted from those up to the largest over this.
BATCH_STEP = 4
#: Families and their networks by depth: deeper ones are predicted from shallower ones.
FAMILIES = (("VGG11", "VGG13", "VGG16", "VGG19"), ("ResNet18", "ResNet34", "ResNet50"))


@dataclass(frozen=True)
class Fold:
    """Masks over rows, (rows,): what is learned from, and what is judged; a row may be neither."""

    learned: np.ndarray
    judged: np.ndarray


def folds_of(regime: Regime, rows: EstimateRows) -> Iterator[Fold]:
    """The folds of a split: the larger, deeper, or unseen is in `judged` alone."""
    return _FOLDS[regime](rows)


def _interpolation(rows: EstimateRows) -> Iterator[Fold]:
    """Workloads held out on all instances at once: none is known from another GPU."""
    workloads = rows.workloads
    order = np.random.default_rng(0).permutation(workloads.max() + 1)
    for fold in range(FOLDS):
        out = order[workloads] % FOLDS == fold
        yield Fold(~out, out)


def _larger(rows: EstimateRows) -> Iterator[Fold]:
    small = rows.batch_sizes <= rows.batch_sizes.max() / BATCH_STEP
    yield Fold(small, ~small)


def _deeper(rows: EstimateRows) -> Iterator[Fold]:
    """The deeper half of each family that is there, all at once."""
    there = set(rows.networks.tolist())
    families = [[name for name in family if name in there] for family in FAMILIES]
    deeper = [name for family in families for name in family[(len(family) + 1) // 2 :]]
    out = np.isin(rows.networks, deeper)
    yield Fold(~out, out)


def _networks(rows: EstimateRows) -> Iterator[Fold]:
    for name in sorted(set(rows.networks.tolist())):
        out = rows.networks == name
        yield Fold(~out, out)


def _gpus(rows: EstimateRows) -> Iterator[Fold]:
    """The benchmark's network is known on the held-out GPU, and not validated there."""
    for name in rows.on:
        out = rows.instances == name
        yield Fold(~out, out & (rows.networks != BENCHMARK[0]))


def _both(rows: EstimateRows) -> Iterator[Fold]:
    """Each GPU with a fifth of the networks; of other networks it isn't known either, but for the benchmark's one."""
    names = sorted(set(rows.networks.tolist()))
    for gpu in _gpus(rows):
        for fold in range(FOLDS):
            out = np.isin(rows.networks, names[fold::FOLDS])
            if (gpu.judged & out).any():
                yield Fold(gpu.learned & ~out, gpu.judged & out)


_FOLDS = {
    Regime.INTERPOLATION: _interpolation,
    Regime.LARGER_BATCH: _larger,
    Regime.DEEPER: _deeper,
    Regime.UNSEEN_GPU: _gpus,
    Regime.UNSEEN_NETWORK: _networks,
    Regime.UNSEEN_BOTH: _both,
}
