"""Joins datasets: every cell once, sources kept; what contradicts itself is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from profet_lab.datasets.dataset import CELLS, KEY, Dataset, InstanceFacts, Source, ordered
from profet_lab.datasets.sources.draft import cell_words
from profet_lab.measurements.tables import DataError

#: What a cell is besides its key, its number and where it is from.
_CONTENT = [field.name for field in CELLS if field.name not in (*KEY, "cell", "source", "latency_repeats_ms", "gpu")]
#: Seconds that became milliseconds differ in the last digit.
_SAME = 1e-9


def merged(datasets: Sequence[Dataset], names: Sequence[str]) -> Dataset:
    """One dataset of all cells of several; the same in whichever order they come.

    Parameters
    ----------
    names : what each is called in messages.

    Raises
    ------
    DataError : two of them have the same cell with other numbers, or another machine of the same name.
    """
    (joined, _), *others = sorted(zip(datasets, names, strict=True), key=lambda named: _order(named[0]))
    for dataset, name in others:
        joined = _joined(joined, dataset, name)
    return joined


def _order(dataset: Dataset) -> list[tuple]:
    """By what was read: of a cell that several have, the first one's source is named."""
    return [(source.kind, source.name, sorted(source.files.items())) for source in dataset.sources]


def _joined(one: Dataset, other: Dataset, name: str) -> Dataset:
    instances = _instances(one.instances, other.instances, name)
    sources, renamed = _sources(one.sources, other.sources)
    cells = pd.concat([one.cells, other.cells.assign(source=other.cells["source"].map(renamed))], ignore_index=True)
    # Numbers of the second go on where those of the first end.
    first = len(one.cells)
    cells["cell"] = np.concatenate([one.cells["cell"], other.cells["cell"] + first])
    operations = pd.concat([one.operations, other.operations.assign(cell=other.operations["cell"] + first)])
    again = cells[cells.duplicated(KEY)]
    if len(again):
        _check_same(cells, operations, again, name)
        cells = cells[~cells["cell"].isin(again["cell"])]
        operations = operations[~operations["cell"].isin(again["cell"])]
    cells["gpu"] = cells["instance"].map({instance: facts.gpu for instance, facts in instances.items()}).astype("str")
    return Dataset(*ordered(cells, operations), sources, instances)


def _instances(
    one: Mapping[str, InstanceFacts], other: Mapping[str, InstanceFacts], name: str
) -> dict[str, InstanceFacts]:
    instances = dict(one)
    for instance, facts in other.items():
        known = instances.get(instance, facts)
        for field in ("gpu", "driver", "host"):
            ours, theirs = getattr(known, field), getattr(facts, field)
            if ours and theirs and ours != theirs:
                raise DataError(
                    f"{name} says that {instance} has {field} {theirs}, another source says {ours}: give one of "
                    "them another instance name."
                )
            known = replace(known, **{field: ours or theirs})
        instances[instance] = known
    return instances


def _sources(one: Sequence[Source], other: Sequence[Source]) -> tuple[tuple[Source, ...], dict[str, str]]:
    """All sources, and what the second's are called; another source of the same name gets a number."""
    sources, renamed = list(one), {}
    for source in other:
        same = next((kept for kept in sources if replace(kept, name=source.name) == source), None)
        if same is None:
            taken = {kept.name for kept in sources}
            numbered = (f"{source.name}-{number}" for number in range(2, len(sources) + 3))
            free = source.name if source.name not in taken else next(name for name in numbered if name not in taken)
            same = replace(source, name=free)
            sources.append(same)
        renamed[source.name] = same.name
    return tuple(sources), renamed


def _check_same(cells: pd.DataFrame, operations: pd.DataFrame, again: pd.DataFrame, name: str) -> None:
    pairs = cells.drop_duplicates(KEY).merge(again, on=KEY, suffixes=("", "_again"))
    differs = np.zeros(len(pairs), bool)
    for column in _CONTENT:
        differs |= ~_equal(pairs[column], pairs[f"{column}_again"])
    differs |= [
        not np.array_equal(one, other)
        for one, other in zip(pairs["latency_repeats_ms"], pairs["latency_repeats_ms_again"], strict=True)
    ]
    first_of = pd.Series(pairs["cell"].to_numpy(), index=pairs["cell_again"].to_numpy())
    repeated = operations[operations["cell"].isin(again["cell"])]
    repeated = repeated.assign(cell=repeated["cell"].map(first_of))
    both = operations[operations["cell"].isin(pairs["cell"])].merge(
        repeated, on=["cell", "operation"], how="outer", suffixes=("", "_again")
    )
    other = both.loc[~_equal(both["time_us"], both["time_us_again"]), "cell"]
    differs |= pairs["cell"].isin(other).to_numpy()
    if differs.any():
        raise DataError(
            f"{name} has different numbers for {cell_words(pairs[differs].iloc[0])} than another source "
            f"({int(differs.sum()):,} cells): leave one out, or give its instance another name."
        )


def _equal(one: pd.Series, other: pd.Series) -> np.ndarray:
    if not pd.api.types.is_numeric_dtype(one):
        return (one == other).to_numpy(bool)
    first, second = (column.to_numpy(float, na_value=np.nan) for column in (one, other))
    return np.isclose(first, second, rtol=_SAME, atol=0.0, equal_nan=True)
