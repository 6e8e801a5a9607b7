"""Emissions per kWh and data-center overhead by cloud region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from profet_core.catalog.tables import Row, number_in, read_records
from profet_core.errors import CatalogError, InputError
from profet_core.units import positive_number


@dataclass(frozen=True, slots=True)
class Region:
    """One region of a cloud.

    Attributes
    ----------
    grid_g_per_kwh : grams of CO2 equivalent per kWh of the grid, mean of `year`, location-based. Compensation that a
        provider buys elsewhere is not counted.
    pue : power usage effectiveness, the data center's energy over its machines'; at least 1.
    source : source of both figures.
    """

    name: str
    provider: str
    grid_g_per_kwh: float
    pue: float
    year: int
    source: str

    def __post_init__(self) -> None:
        positive_number(f"{self.name}: grid_g_per_kwh", self.grid_g_per_kwh)
        if positive_number(f"{self.name}: pue", self.pue) < 1:
            raise InputError(f"{self.name}: pue must be at least 1, not {self.pue:g}.")
        if not self.source:
            raise InputError(f"{self.name}: source is empty: give the source of the figures.")


@cache
def load_regions() -> Mapping[str, Region]:
    """Load the shipped regions by name.

    Raises
    ------
    CatalogError : one line that names the invalid row and column.
    """
    text = resources.files("profet_core.energy").joinpath("regions.csv").read_text(encoding="utf-8")
    required = ("provider", "grid_g_per_kwh", "pue", "year", "source")
    rows = read_records(text, "The region table", key="region", required=required, make=_region)
    found = {region.name: region for region in rows}
    if len(found) != len(rows):
        raise CatalogError("The region table lists a region twice: keep one row.")
    return MappingProxyType(found)


def _region(row: Row) -> Region:
    return Region(
        name=row["region"],
        provider=row["provider"],
        grid_g_per_kwh=number_in(row, "region", "grid_g_per_kwh", float),
        pue=number_in(row, "region", "pue", float),
        year=int(number_in(row, "region", "year", int)),
        source=row["source"],
    )
