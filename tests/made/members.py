"""Made-up files of members whose answers can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from profet_core.ensemble.members import DenseStack, TreeStack, written


def tiny_member(kind: str, values: Sequence[float]) -> bytes:
    """File of a member for several targets: `line(factor)`, `forest(constant)` or `dense(divisor)`."""
    if kind == "forest":
        count = len(values)
        trees = TreeStack(
            roots=np.arange(count)[:, None],
            features=np.zeros(count, int),
            steps=np.zeros(count, int),
            numbers=np.array(values, float),
            inputs=3,
        )
        return written(trees)
    kernel = np.array([[[value]] if kind == "line" else [[1 / value]] * 3 for value in values])
    return written(DenseStack((kernel,), (np.zeros((len(values), 1, 1)),), "relu"))
