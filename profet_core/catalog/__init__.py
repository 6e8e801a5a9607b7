"""The instance catalogue: GPU, price, region, date and status of each instance that can be rented or could be."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from profet_core.catalog.gpus import Gpu, Gpus, gpu_model, load_gpus
from profet_core.errors import CatalogError, InputError
from profet_core.units import positive_number, whole_number

__all__ = ["STATUSES", "Catalog", "Gpu", "Gpus", "Instance", "gpu_model", "load_catalog", "load_gpus"]

STATUSES = ("available", "retired")
_WHOLE = ("gpu_count", "vcpus")
_POSITIVE = ("gpu_memory_gib", "usd_per_hour")


@dataclass(frozen=True, slots=True)
class Instance:
    """One row of the catalogue. A node of several GPUs is one row and its price is never divided."""

    name: str
    gpu: str
    gpu_count: int
    gpu_memory_gib: float
    vcpus: int
    usd_per_hour: float
    region: str
    os: str
    market: str
    status: str
    as_of: str
    source: str

    def __post_init__(self) -> None:
        for column in _WHOLE:
            whole_number(f"{self.name}: {column}", getattr(self, column))
        for column in _POSITIVE:
            positive_number(f"{self.name}: {column}", getattr(self, column))
        if self.status not in STATUSES:
            raise InputError(f"{self.name}: status must be one of {', '.join(STATUSES)}, not {self.status!r}.")

    @property
    def gpu_model(self) -> str:
        """The GPU's short name: 'T4' of 'Tesla T4', 'V100' of 'Tesla V100-SXM2-16GB'."""
        return gpu_model(self.gpu)


class Catalog(Mapping[str, Instance]):
    """Instances by name, in the catalogue's order. Immutable."""

    def __init__(self, instances: list[Instance]) -> None:
        self._by_name = MappingProxyType({instance.name: instance for instance in instances})
        if len(self._by_name) != len(instances):
            raise CatalogError("The catalogue names an instance twice: keep one row each.")

    def __getitem__(self, name: str) -> Instance:
        try:
            return self._by_name[name]
        except KeyError:
            raise InputError(f"Unknown instance {name!r}: choose one of {', '.join(self._by_name)}.") from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str, default: Instance | None = None) -> Instance | None:
        """The instance of that name, or `default`; Mapping's own would raise, as `[]` raises no KeyError."""
        return self._by_name.get(name, default)

    def __iter__(self):
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def with_prices(self, usd_per_hour: Mapping[str, float]) -> Catalog:
        """A copy in which the named instances cost a price of the user's own, US dollars an hour."""
        own = {name: positive_number(f"The price of {self[name].name}", price) for name, price in usd_per_hour.items()}
        return Catalog(
            [
                replace(row, usd_per_hour=own[row.name], market="own price", as_of="", source="given by the user")
                if row.name in own
                else row
                for row in self.values()
            ]
        )


def load_catalog(path: Path | None = None) -> Catalog:
    """Read and validate a catalogue.

    Parameters
    ----------
    path : a CSV file with the columns of `Instance`; the shipped one if None.

    Raises
    ------
    CatalogError : one line that names the row and column that is wrong.
    """
    if path is None:
        text = resources.files("profet_core.catalog").joinpath("instances.csv").read_text(encoding="utf-8")
    else:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CatalogError(f"The catalogue {path} can't be read: {error}") from None
    try:
        rows = list(csv.DictReader(io.StringIO(text)))
    except csv.Error as error:
        raise CatalogError(f"The catalogue is not valid CSV: {error}.") from None
    if not rows:
        raise CatalogError("The catalogue has no rows.")
    try:
        return Catalog([_instance(row) for row in rows])
    except InputError as error:
        raise CatalogError(f"Catalogue: {error}") from None


def _instance(row: Mapping[str, str | None]) -> Instance:
    values: dict[str, object] = {"name": (row.get("instance") or "").strip()}
    if not str(values["name"]).isprintable():
        raise InputError(f"the instance name {values['name']!r} holds a line break or control character.")
    for column in (field.name for field in fields(Instance) if field.name != "name"):
        text = row.get(column)
        if text is None:
            raise InputError(f"row {values['name'] or '?'} has no column {column!r}.")
        if not text.strip().isprintable():
            raise InputError(f"{column} of {values['name']!r} holds a line break or control character: {text!r}.")
        values[column] = _number(values["name"], column, text) if column in (*_WHOLE, *_POSITIVE) else text.strip()
    if not values["name"]:
        raise InputError("a row has no instance name.")
    return Instance(**values)


def _number(name: object, column: str, text: str) -> float | int:
    try:
        return int(text) if column in _WHOLE else float(text)
    except ValueError:
        raise InputError(f"{name}: {column} must be a number, not {text!r}.") from None
