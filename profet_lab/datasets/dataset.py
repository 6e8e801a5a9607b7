"""Measurements of the data layout in memory: the cells, their operations, and where both are from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from profet_lab.datasets.layout import CELLS, KEY, OPERATIONS


@dataclass(frozen=True, slots=True)
class Source:
    """Where cells are from.

    Attributes
    ----------
    name : what the cells call it; the same name with other files is another source.
    kind : what was read: `profet pickles`, `profet raw`, `profet tables` or `collection`.
    files : name of a file that was read -> its SHA-256.
    licence : its license, in words; empty: unknown.
    """

    name: str
    kind: str
    files: Mapping[str, str]
    licence: str = ""


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """What is known of an instance's machine; empty: unknown."""

    gpu: str = ""
    driver: str = ""
    host: str = ""


@dataclass(frozen=True)
class Dataset:
    """What a folder of the layout holds.

    Attributes
    ----------
    cells : the columns of `layout.CELLS`, sorted by `layout.KEY`; what may be unset is NaN or NA.
    operations : the columns of `layout.OPERATIONS`, sorted by cell and operation.
    sources : in the order they came.
    instances : name -> its machine, of every instance in `cells`.
    sha256 : file -> hash; empty if not read from a folder.
    """

    cells: pd.DataFrame
    operations: pd.DataFrame
    sources: tuple[Source, ...]
    instances: Mapping[str, InstanceFacts]
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def profiled(self) -> pd.DataFrame:
        """The cells that have a profile."""
        return self.cells[self.cells["steps_profiled"].notna()]

    def device_total_us(self) -> pd.Series:
        """Cell -> sum of its device rows, idle included, microseconds of one step; 0 where it has none."""
        device = self.operations[self.operations["operation"].str.startswith("Device_")]
        total_us = device.groupby("cell")["time_us"].sum()
        return total_us.reindex(self.profiled["cell"], fill_value=0.0)


def ordered(cells: pd.DataFrame, operations: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables in their order, cells numbered from 0, without operations that took no time.

    Parameters
    ----------
    cells : `cell` may be any numbers that `operations` names them by, each once.
    """
    cells = cells[CELLS.names].sort_values(KEY, ignore_index=True, kind="stable")
    number = pd.Series(np.arange(len(cells), dtype=np.int32), index=cells["cell"].to_numpy())
    operations = operations.loc[operations["time_us"] != 0, OPERATIONS.names]
    operations = operations.assign(cell=number.reindex(operations["cell"]).to_numpy())
    cells = cells.assign(cell=number.to_numpy())
    return cells, operations.sort_values(["cell", "operation"], ignore_index=True, kind="stable")
