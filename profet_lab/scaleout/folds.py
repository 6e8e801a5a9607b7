"""Predicts each published step by a law that never saw its network, or its GPU model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from profet_lab.progress import Progress
from profet_lab.scaleout.fit import Array, fitted_model, predicted_ms
from profet_lab.scaleout.rows import ScaleRow


def network_of(row: ScaleRow) -> str:
    """The fold of a row where networks are left out."""
    return row.network


def gpu_of(row: ScaleRow) -> str:
    """The fold of a row where GPU models are left out, in whatever form they are built in."""
    return row.gpu


def left_out_ms(
    rows: Sequence[ScaleRow],
    fold_of: Callable[[ScaleRow], str],
    *,
    only: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Array:
    """Milliseconds a step of each row, by a law fitted on the other folds; shape (rows,).

    Parameters
    ----------
    only : these folds; the rows of others are NaN. progress : told of each fold that is done.
    """
    folds = np.array([fold_of(row) for row in rows])
    found = np.full(len(rows), np.nan)
    for fold in sorted(set(folds) if only is None else only):
        out = folds == fold
        model = fitted_model([row for row, is_out in zip(rows, out, strict=True) if not is_out])
        found[out] = predicted_ms(model, [row for row, is_out in zip(rows, out, strict=True) if is_out])
        if progress:
            progress(1)
    return found
