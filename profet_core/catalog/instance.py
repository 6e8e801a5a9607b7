"""One offer of the catalog: instance, GPU, and price in a market."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from typing import TYPE_CHECKING, Any

from profet_core.catalog.gpus import gpu_model
from profet_core.catalog.tables import Row, cells_of, check_numbers
from profet_core.errors import InputError

if TYPE_CHECKING:
    from profet_core.latency import StepTime


STATUSES = ("available", "retired")
ON_DEMAND, SPOT, RESERVED = "on-demand", "spot", "reserved"
#: Auction prices of private hosts: they change hourly and are never shown as on-demand.
MARKETPLACE = "marketplace"
#: Custom hardware at its hourly cost; it is available in every market.
CUSTOM_HARDWARE = "own"
MARKETS = (ON_DEMAND, SPOT, RESERVED, MARKETPLACE, CUSTOM_HARDWARE)
#: Market name that `Catalog.with_prices` uses for a typed price.
CUSTOM_PRICE = "own price"

#: Columns that describe an instance independently of provider and price.
MACHINE_COLUMNS = ("provider", "gpu", "gpu_count", "gpu_memory_gib", "vcpus", "host", "status")
OFFER_COLUMNS = ("region", "os", "market", "usd_per_hour", "as_of", "source")
#: Columns of a one-file catalog, your own file or `load_catalog(path)`, in order.
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
#: Optional columns, added after the first files were written.
OPTIONAL_COLUMNS = ("provider", "host")
REQUIRED_COLUMNS = tuple(column for column in FILE_COLUMNS[1:] if column not in OPTIONAL_COLUMNS)
#: Default provider: the user.
CUSTOM_PROVIDER = "own"
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9.-]{0,30}")


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance at one of its prices.

    A multi-GPU node is one row, and its price is never divided.

    Attributes
    ----------
    gpu_memory_gib : of one GPU.
    vcpus : None if unknown.
    usd_per_hour : of the whole instance with all its GPUs.
    region, os, market : what the price is for; market is one of `MARKETS`, or `OWN_PRICE`.
    as_of : date of the price: year, year-month or year-month-day.
    source : source of the price.
    own : the row comes from the user's file.
    machine_source : source of GPU and status; for a retired instance also why it is retired.
    provider : the cloud that rents it out, such as "aws"; `OWN_PROVIDER` for custom hardware.
    host : generation of the host CPU, such as "cascade-lake"; "" if unknown.
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
    provider: str = CUSTOM_PROVIDER
    host: str = ""

    def __post_init__(self) -> None:
        check_numbers(self, self.name)
        if self.status not in STATUSES:
            raise InputError(f"{self.name}: status must be one of {', '.join(STATUSES)}, not {self.status!r}.")
        if self.market not in (*MARKETS, CUSTOM_PRICE):
            raise InputError(f"{self.name}: market must be one of {', '.join(MARKETS)}, not {self.market!r}.")
        if not _PROVIDER.fullmatch(self.provider):
            raise InputError(
                f"{self.name}: provider must be a short lowercase name such as aws, not {self.provider!r}."
            )

    @property
    def gpu_model(self) -> str:
        """Short name of the GPU: 'T4' for 'Tesla T4', 'V100' for 'Tesla V100-SXM2-16GB'."""
        return gpu_model(self.gpu)

    @property
    def label(self) -> str:
        """The instance, with its market if that isn't on-demand: 'g5.xlarge', 'g5.xlarge spot'."""
        return self.name if self.market == ON_DEMAND else f"{self.name} {self.market}"

    @property
    def usd_per_gpu_hour(self) -> float:
        """Price per GPU; show it with the instance price, because single GPUs of it can't be rented."""
        return self.usd_per_hour / self.gpu_count

    @property
    def offer_key(self) -> tuple[str, str, str, str]:
        """Key of an offer: name, region, os, market."""
        return self.name, self.region, self.os, self.market


def instance_from_row(row: Row, *, own: bool = False, machine_source: str = "") -> Instance:
    """Parse an `Instance` from text cells, its price with a date and a source; InputError names row and column."""
    name = row["instance"]
    for column in (*OFFER_COLUMNS, "gpu"):
        if not row[column]:
            more = ": give its price or remove the row" if column == "usd_per_hour" else ""
            raise InputError(f"{name}: {column} is empty{more}.")
    check_date(name, row["as_of"])
    cells = {column: row[column] for column in (*MACHINE_COLUMNS, *OFFER_COLUMNS, "instance")}
    cells["provider"] = cells["provider"] or CUSTOM_PROVIDER
    return Instance(name=name, own=own, machine_source=machine_source, **cells_of(Instance, cells, "instance"))


def check_date(name: str, text: str) -> None:
    """Reject anything but a year, year-month or year-month-day; `name` starts the InputError's message."""
    try:
        if not re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", text, re.ASCII):
            raise ValueError(text)
        date.fromisoformat(f"{text}-01-01"[:10])
    except ValueError:
        if text == date.today().isoformat():
            # Nobody typed it: it stands where no date was given.
            raise InputError(f"{name}: this machine's clock says {text}: set it, or give as_of, the date.") from None
        raise InputError(f"{name}: as_of must be a date such as 2026, 2026-06 or 2026-06-30, not {text!r}.") from None


def frame_of(rows: Iterable[Mapping[str, object]]) -> Any:
    """A `pandas.DataFrame` with one column for each key.

    Raises
    ------
    InputError : pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise InputError("to_frame() needs pandas: pip install pandas.") from None
    return pandas.DataFrame(list(rows))


def offer_cells(offer: Instance) -> dict[str, object]:
    """Instance and price of an offer; US dollars per hour of the whole machine."""
    columns = ("provider", "gpu", "gpu_count", "region", "market", "usd_per_hour", "status")
    return {"instance": offer.name, **{column: getattr(offer, column) for column in columns}}


def step_cells(step: StepTime) -> dict[str, object]:
    """A step latency with its prediction interval, milliseconds per step, and its basis."""
    interval = step.interval
    return {
        "latency_ms": step.latency_ms,
        "low_ms": interval and interval.low_ms,
        "high_ms": interval and interval.high_ms,
        "basis": str(step.basis),
        "note": step.note,
    }
