"""One offer of the catalog: an instance, its GPU, and what renting it costs in one region and market."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from profet_core.catalog.gpus import gpu_model
from profet_core.catalog.tables import Row, number_in
from profet_core.errors import InputError
from profet_core.units import listed_price, positive_number, whole_number

STATUSES = ("available", "retired")
ON_DEMAND, SPOT, RESERVED = "on-demand", "spot", "reserved"
#: Auction prices of private hosts: they change by the hour and are never shown as on-demand.
MARKETPLACE = "marketplace"
#: Hardware of your own, at what an hour of it costs; it is there whatever the market.
OWN_HARDWARE = "own"
MARKETS = (ON_DEMAND, SPOT, RESERVED, MARKETPLACE, OWN_HARDWARE)
#: What `Catalog.with_prices` calls a price that somebody typed in.
OWN_PRICE = "own price"

#: What an instance is, whoever rents it out and for how much.
MACHINE_COLUMNS = ("provider", "gpu", "gpu_count", "gpu_memory_gib", "vcpus", "host", "status")
OFFER_COLUMNS = ("region", "os", "market", "usd_per_hour", "as_of", "source")
#: A catalog in one file: the columns of your own file and of `load_catalog(path)`, in order.
FILE_COLUMNS = (
    "instance",
    "gpu",
    "gpu_count",
    "gpu_memory_gib",
    "vcpus",
    "usd_per_hour",
    "region",
    "os",
    "market",
    "status",
    "as_of",
    "source",
    "provider",
    "host",
)
#: Columns that a file may lack: those that came after the first files were written.
OPTIONAL_COLUMNS = ("provider", "host")
REQUIRED_COLUMNS = tuple(column for column in FILE_COLUMNS[1:] if column not in OPTIONAL_COLUMNS)
#: Who rents out what nobody says of who does: its user.
OWN_PROVIDER = "own"
_WHOLE = ("gpu_count", "vcpus")
_POSITIVE = ("gpu_memory_gib", "usd_per_hour")
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9.-]{0,30}")


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance at one of its prices. A node of several GPUs is one row and its price is never divided.

    Attributes
    ----------
    gpu_memory_gib : of one GPU.
    vcpus : None where it is not known.
    usd_per_hour : of the whole instance with all its GPUs.
    region, os, market : what the price is for; market is one of `MARKETS`, or `OWN_PRICE`.
    as_of : date of the price: year, year-month or year-month-day.
    source : where the price is from.
    own : the row is from the user's file.
    machine_source : where GPU and status are from; of a retired instance also why it is.
    provider : the cloud that rents it out, such as "aws"; `OWN_PROVIDER` for what is your own.
    host : generation of the host's processor, such as "cascade-lake"; "" where it is not known.
    """

    name: str
    gpu: str
    gpu_count: int
    gpu_memory_gib: float
    vcpus: int | None
    usd_per_hour: float
    region: str
    os: str
    market: str
    status: str
    as_of: str
    source: str
    own: bool = False
    machine_source: str = ""
    provider: str = OWN_PROVIDER
    host: str = ""

    def __post_init__(self) -> None:
        for column in _WHOLE:
            if column != "vcpus" or self.vcpus is not None:
                whole_number(f"{self.name}: {column}", getattr(self, column))
        for column in _POSITIVE:
            positive_number(f"{self.name}: {column}", getattr(self, column))
        if self.status not in STATUSES:
            raise InputError(f"{self.name}: status must be one of {', '.join(STATUSES)}, not {self.status!r}.")
        if self.market not in (*MARKETS, OWN_PRICE):
            raise InputError(f"{self.name}: market must be one of {', '.join(MARKETS)}, not {self.market!r}.")
        if not _PROVIDER.fullmatch(self.provider):
            raise InputError(
                f"{self.name}: provider must be a short lowercase name such as aws, not {self.provider!r}."
            )

    @property
    def gpu_model(self) -> str:
        """The GPU's short name: 'T4' of 'Tesla T4', 'V100' of 'Tesla V100-SXM2-16GB'."""
        return gpu_model(self.gpu)

    @property
    def usd_per_gpu_hour(self) -> float:
        """What one of its GPUs comes to; to be shown beside the price, for nobody rents one alone."""
        return self.usd_per_hour / self.gpu_count

    @property
    def node_note(self) -> str | None:
        """What to say beside the price of a node of several GPUs; None for one GPU."""
        if self.gpu_count == 1:
            return None
        return f"{listed_price(self.usd_per_hour)}/h is the price of the whole machine with {self.gpu_count} GPUs"

    @property
    def offer_key(self) -> tuple[str, str, str, str]:
        """What tells one offer from another: name, region, os, market."""
        return self.name, self.region, self.os, self.market


def instance_from_row(row: Row, *, own: bool = False, machine_source: str = "") -> Instance:
    """An `Instance` of the text cells of a file; its price must say when it was seen and where.

    Raises
    ------
    InputError : naming row and column.
    """
    name = row["instance"]
    for column in (*OFFER_COLUMNS, "gpu"):
        if not row[column]:
            more = ": give its price or remove the row" if column == "usd_per_hour" else ""
            raise InputError(f"{name}: {column} is empty{more}.")
    check_date(name, row["as_of"])
    # Text and numbers, by column; `Instance` checks them.
    values: dict[str, Any] = {column: row[column] for column in (*MACHINE_COLUMNS, *OFFER_COLUMNS)}
    values["provider"] = values["provider"] or OWN_PROVIDER
    for column in (*_WHOLE, *_POSITIVE):
        kind = int if column in _WHOLE else float
        values[column] = None if column == "vcpus" and not row[column] else number_in(row, "instance", column, kind)
    return Instance(name=name, own=own, machine_source=machine_source, **values)


def instance_to_row(instance: Instance) -> dict[str, str]:
    """The text cells that `instance_from_row` reads back as the same instance."""
    values = {column: getattr(instance, column) for column in FILE_COLUMNS[1:]}
    return {"instance": instance.name} | {column: "" if v is None else str(v) for column, v in values.items()}


def machine_of(instance: Instance) -> Mapping[str, object]:
    """The columns in which all offers of an instance must agree."""
    return {column: getattr(instance, column) for column in MACHINE_COLUMNS}


def check_date(name: str, text: str) -> None:
    """Refuse what is not a year, year-month or year-month-day; `name` opens the error's sentence.

    Raises
    ------
    InputError : it is none of them.
    """
    if not _is_date(text):
        raise InputError(f"{name}: as_of must be a date such as 2026, 2026-06 or 2026-06-30, not {text!r}.")


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", text, re.ASCII):
        return False
    year, month, day = (*map(int, text.split("-")), 1, 1)[:3]
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
