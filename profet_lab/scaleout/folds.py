"""Out-of-fold predictions of published steps, by network and by GPU model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from profet_lab.progress import Progress
from profet_lab.scaleout.fit import Array, fitted_model, predicted_ms
from profet_lab.scaleout.rows import ScaleRow
from profet_lab.scaleout.widths import log_half_widths, widths
from profet_lab.tasks import run_tasks

#: Inner folds for the interval widths.
_INNER = 5

FoldOf = Callable[[ScaleRow], str]


def network_of(row: ScaleRow) -> str:
    """The fold of a row where networks are held out."""
    return row.network


def gpu_of(row: ScaleRow) -> str:
    """The fold of a row where GPU models are held out, in whatever form they are built in."""
    return row.gpu


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Out-of-fold milliseconds per step and log half-width of each row; NaN: none."""

    latency_ms: Array
    log_half_width: Array


def held_out(
    rows: Sequence[ScaleRow],
    fold_of: FoldOf,
    *,
    only: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> HeldOut:
    """Predict each fold with a model and widths fitted on the other folds.

    Parameters
    ----------
    only : these folds. progress : called after each fold.
    """
    folds = np.array([fold_of(row) for row in rows])
    found = HeldOut(np.full(len(rows), np.nan), np.full(len(rows), np.nan))
    names = sorted(set(folds) if only is None else only)
    results = run_tasks(_held_out_fold, [(rows, fold_of, name) for name in names], progress=progress)
    for name, one in zip(names, results, strict=True):
        found.latency_ms[folds == name] = one.latency_ms
        found.log_half_width[folds == name] = one.log_half_width
    return found


def _held_out_fold(rows: Sequence[ScaleRow], fold_of: FoldOf, fold: str) -> HeldOut:
    """Of the fold's rows alone."""
    out = [row for row in rows if fold_of(row) == fold]
    others = [row for row in rows if fold_of(row) != fold]
    latency_ms = predicted_ms(fitted_model(others), out)
    inner_widths = widths(others, held_out_ms(others, fold_of, groups=_INNER))
    return HeldOut(latency_ms, log_half_widths(out, latency_ms, inner_widths))


def held_out_ms(rows: Sequence[ScaleRow], fold_of: FoldOf, *, groups: int | None = None) -> Array:
    """Out-of-fold milliseconds per step of each row, by folds or groups of folds."""
    names = sorted({fold_of(row) for row in rows})
    group = {name: place if groups is None else place % groups for place, name in enumerate(names)}
    of = np.array([group[fold_of(row)] for row in rows])
    found = np.empty(len(rows))
    for each in sorted(set(of)):
        is_out = of == each
        model = fitted_model([row for row, out in zip(rows, is_out, strict=True) if not out])
        found[is_out] = predicted_ms(model, [row for row, out in zip(rows, is_out, strict=True) if out])
    return found
