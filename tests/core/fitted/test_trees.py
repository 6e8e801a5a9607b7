"""Every row goes down every tree to its own leaf; the leaves of an ensemble's trees add up."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.fitted import trees
from profet_core.fitted.trees import TreeStack

# Node 0: column 1 <= 2.5 ? leaf 10 : (column 0 <= -1 ? leaf 20 : leaf 30). Nodes 5 to 7: column 0 <= 0 ? 1 : 2.
# Node 8: a leaf of 100.
TREES = TreeStack(
    roots=np.array([[0, 5], [8, 5]]),
    features=np.array([1, 0, 0, 0, 0, 0, 0, 0, 0]),
    steps=np.array([1, 0, 1, 0, 0, 1, 0, 0, 0]),
    numbers=np.array([2.5, 10.0, -1.0, 20.0, 30.0, 0.0, 1.0, 2.0, 100.0]),
    inputs=2,
)


def by_hand(row: np.ndarray) -> list[float]:
    second = 1.0 if row[0] <= 0 else 2.0
    first = 10.0 if row[1] <= 2.5 else 20.0 if row[0] <= -1 else 30.0
    return [first + second, 100 + second]


def test_each_row_ends_in_its_own_leaves():
    rows = np.array([[0.0, 0.0], [1.0, 2.5], [-1.0, 2.6], [-0.9, 3.0], [1.0, 1e300]])
    answers = TREES.run(rows)
    assert answers.shape == (2, 5, 1)
    assert answers[..., 0].T.tolist() == [by_hand(row) for row in rows]
    assert answers[0, :, 0].tolist() == [11, 12, 21, 31, 32]


def test_a_value_on_the_threshold_goes_left_and_the_next_one_right():
    rows = np.array([[0.0, 2.5], [0.0, np.nextafter(2.5, 3)]])
    assert TREES.run(rows)[0, :, 0].tolist() == [11, 31]


@pytest.mark.parametrize("together", [1, 7, 40_000])
def test_chunks_of_rows_answer_as_all_rows_do(monkeypatch, together):
    monkeypatch.setattr(trees, "_TOGETHER", together)
    rows = np.random.default_rng(0).uniform(-3, 6, (101, 2))
    assert TREES.run(rows)[..., 0].T.tolist() == [by_hand(row) for row in rows]


def test_no_rows_are_answered_with_none():
    assert TREES.run(np.zeros((0, 2))).shape == (2, 0, 1)


@pytest.mark.parametrize("columns", [1, 3])
def test_rows_of_another_width_are_refused(columns):
    with pytest.raises(ValueError, match=f"2 columns are needed, not {columns}"):
        TREES.run(np.zeros((1, columns)))


@pytest.mark.parametrize(
    "change",
    [
        {"roots": np.array([[0, 9]])},
        {"roots": np.array([[-1, 5]])},
        {"roots": np.array([0, 5])},
        {"features": np.array([2, 0, 0, 0, 0, 0, 0, 0, 0])},
        {"features": np.array([-1, 0, 0, 0, 0, 0, 0, 0, 0])},
        {"steps": np.array([8, 0, 1, 0, 0, 1, 0, 0, 0])},
        {"steps": np.array([1, 0, -2, 0, 0, 1, 0, 0, 0])},
        {"steps": np.array([1, 1, 1, 1, 1, 1, 1, 0, 0])},
        {"numbers": np.zeros(8)},
    ],
    ids=[
        "root beyond the table",
        "root before the table",
        "roots in a row",
        "column beyond the inputs",
        "column before the inputs",
        "child beyond the table",
        "child before its split",
        "a node of several splits",
        "fewer numbers than nodes",
    ],
)
def test_what_is_no_table_of_trees_is_none(change):
    whole = {name: getattr(TREES, name) for name in ("roots", "features", "steps", "numbers", "inputs")}
    with pytest.raises(ValueError, match="node"):
        TreeStack(**{**whole, **change})
