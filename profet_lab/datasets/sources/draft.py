"""Build a dataset from a source's cells: missing values unset, no duplicates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.typing import NAType

from profet_core.catalog import load_shipped
from profet_core.errors import ProfetError
from profet_lab.datasets.dataset import CELLS, FP32, KEY, OK, Dataset, InstanceFacts, Source, ordered
from profet_lab.measurements.tables import DataError

#: Of an instance or a network.
LONGEST_NAME = 200
#: Type of the layout -> the column's in memory, and what it holds where a source lacks it.
_KINDS: Mapping[pa.DataType, tuple[str, str | float | NAType]] = {
    pa.int32(): ("int32", pd.NA),
    pa.int64(): ("Int64", pd.NA),
    pa.float64(): ("float64", np.nan),
    pa.string(): ("str", ""),
}
_FIELDS = [field for field in CELLS if field.type in _KINDS and field.name != "cell"]
_UNSET = {**{field.name: _KINDS[field.type][1] for field in _FIELDS}, "precision": FP32, "status": OK}


def dataset_of(
    cells: pd.DataFrame, operations: pd.DataFrame, source: Source, instances: Mapping[str, InstanceFacts] | None = None
) -> Dataset:
    """A dataset of one source.

    Parameters
    ----------
    cells : `cell` and the columns of `KEY`, framework and precision aside; the others where they are known.
    operations : the columns of `OPERATIONS`.
    instances : what is known of the machines; by default their GPUs as the catalog has them.

    Raises
    ------
    DataError : a cell is there twice, or a number is none of the layout's.
    """
    cells = cells.assign(source=source.name)
    for name, value in _UNSET.items():
        if name not in cells:
            cells[name] = value
    if "latency_repeats_ms" not in cells:
        cells["latency_repeats_ms"] = [[] for _ in range(len(cells))]
    if cells.empty:
        raise DataError(f"{source.name} holds no measurements: name another source.")
    _check_counts(cells, source)
    cells = cells.astype({field.name: _KINDS[field.type][0] for field in _FIELDS})
    twice = cells[cells.duplicated(KEY)]
    if len(twice):
        raise DataError(f"{source.name} holds {cell_words(twice.iloc[0])} twice: leave one of them out.")
    facts = instances or {name: InstanceFacts(gpu=known_gpu(name)) for name in sorted(cells["instance"].unique())}
    cells["gpu"] = cells["instance"].map({name: fact.gpu for name, fact in facts.items()}).astype("str")
    return Dataset(*ordered(cells, operations), (source,), facts)


_COUNTS = [field.name for field in _FIELDS if field.type == pa.int32()]
_LARGEST_COUNT = 2**31 - 1


def _check_counts(cells: pd.DataFrame, source: Source) -> None:
    for name in _COUNTS:
        numbers = pd.to_numeric(cells[name], errors="coerce").to_numpy(float, na_value=np.nan)
        bad = ~((numbers >= 1) & (numbers <= _LARGEST_COUNT) & (numbers == np.floor(numbers)))
        if bad.any():
            shown = " ".join(str(cells[name].to_numpy()[bad][0])[:40].split())
            raise DataError(f"{source.name} holds {shown!r} as {name}: it is a whole number above 0.")
    for name in ("instance", "model"):
        for text in cells[name].unique():
            if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > LONGEST_NAME:
                raise DataError(f"{source.name} holds {str(text)[:40]!r} as {name}: give it a name of one line.")


def known_gpu(instance: str) -> str:
    """Full name of an instance's GPU by the catalog; empty: unknown."""
    try:
        known = load_shipped().get(instance)
    except ProfetError:
        return ""
    return known.gpu if known else ""


def cell_words(cell: pd.Series) -> str:
    """A cell in a message.

    >>> cell_words(pd.Series({"instance": "p2.xlarge", "model": "VGG16", "pixels": 64, "batch_size": 16, "repeat": 1}))
    'VGG16, 64 pixels, batch 16, repeat 1 on p2.xlarge'
    """
    where = f"{cell['model']}, {cell['pixels']} pixels, batch {cell['batch_size']}, repeat {cell['repeat']}"
    return f"{where} on {cell['instance']}"
