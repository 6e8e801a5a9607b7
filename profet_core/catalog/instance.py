"""One offer of the catalog: instance, GPU, and price in a market; its display names."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from importlib import import_module
from typing import Any

from msgspec import Struct

from profet_core.catalog.gpus import gpu_model
from profet_core.catalog.tables import Row, cells_of, check_numbers
from profet_core.errors import InputError
from profet_profiles.units import format_usd

AVAILABLE, RETIRED = STATUSES = ("available", "retired")
ON_DEMAND, SPOT, RESERVED = "on-demand", "spot", "reserved"
#: Auction prices of private hosts: they change hourly and are never shown as on-demand.
MARKETPLACE = "marketplace"
#: Custom hardware at its hourly cost; it is available in every market.
CUSTOM_HARDWARE = "own"
MARKETS = (ON_DEMAND, SPOT, RESERVED, MARKETPLACE, CUSTOM_HARDWARE)
#: Behind the name of what can't be rented any more.
RETIRED_MARK = f" ({RETIRED})"
#: Market name that `Catalog.with_prices` uses for a typed price.
CUSTOM_PRICE = "your price"

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


class Instance(Struct, frozen=True):
    """An instance at one of its prices.

    A multi-GPU node is one row, and its price is never divided.

    Attributes
    ----------
    gpu_memory_gib : of one GPU.
    vcpus : None if unknown.
    usd_per_hour : of the whole instance with all its GPUs.
    region, os, market : what the price is for; market is one of `MARKETS`, or `CUSTOM_PRICE`.
    as_of : date of the price: year-month-day in shipped offers; yours may be a year or year-month.
    source : source of the price.
    custom : the row comes from the user's file.
    machine_source : source of GPU and status; for a retired instance also why it is retired.
    provider : the cloud that rents it out, such as "aws"; `CUSTOM_PROVIDER` for custom hardware.
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
    custom: bool = False
    machine_source: str = ""
    provider: str = CUSTOM_PROVIDER
    host: str = ""

    def __post_init__(self) -> None:
        check_numbers(self, self.name)
        if self.status not in STATUSES:
            raise InputError(f"{self.name}: status must be one of {', '.join(STATUSES)}, not {self.status!r}.")
        if self.market not in MARKETS and self.market != CUSTOM_PRICE:
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
    def price_note(self) -> str:
        """That the price is more than a year old; else empty."""
        return old_price_note(self)

    @property
    def offer_key(self) -> tuple[str, str, str, str]:
        """Key of an offer: name, region, os, market."""
        return self.name, self.region, self.os, self.market


def instance_from_row(row: Row, *, custom: bool = False, machine_source: str = "") -> Instance:
    """Parse an `Instance` from text cells, its price with a date and a source; InputError names row and column."""
    name = row["instance"]
    for column in (*OFFER_COLUMNS, "gpu"):
        if not row[column]:
            more = ": give its price or remove the row" if column == "usd_per_hour" else ""
            raise InputError(f"{name}: {column} is empty{more}.")
    check_date(name, row["as_of"])
    cells = {**cells_of(Instance, row, "instance"), "provider": row["provider"] or CUSTOM_PROVIDER}
    return Instance(name=name, custom=custom, machine_source=machine_source, **cells)


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


def frame_of(columns: Mapping[str, object] | Sequence[Mapping[str, object]]) -> Any:
    """Return a `pandas.DataFrame` of columns, or of rows.

    Raises
    ------
    InputError : pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise InputError("to_frame() needs pandas: pip install pandas.") from None
    return pandas.DataFrame(columns)


def offer_cells(offers: Sequence[Instance]) -> dict[str, list[object]]:
    """Columns of offers: instance and price; US dollars per hour of the whole machine."""
    machine = "provider", "gpu", "gpu_count", "region", "market"
    price = "usd_per_hour", "usd_per_gpu_hour", "as_of", "price_note", "status", "source"
    named = {column: [getattr(offer, column) for offer in offers] for column in (*machine, *price)}
    return {"instance": [offer.name for offer in offers], **named}


def machine_with(gpu: str, memory_gib: float, name: str) -> Instance:
    """Return a machine of no price with one GPU, for steps that no offer's are."""
    return Instance(
        name=name,
        gpu=gpu,
        gpu_count=1,
        gpu_memory_gib=memory_gib,
        vcpus=None,
        usd_per_hour=1.0,
        region="any",
        os="linux",
        market=CUSTOM_HARDWARE,
        status="available",
        as_of="",
        source="no offer",
    )


#: Names as the clouds write them; others stay as written.
_CLOUDS = {
    "aws": "AWS",
    "azure": "Azure",
    "coreweave": "CoreWeave",
    "crusoe": "Crusoe",
    "denvr": "Denvr",
    "digitalocean": "DigitalOcean",
    "gcp": "GCP",
    "hotaisle": "Hot Aisle",
    "hyperstack": "Hyperstack",
    "jarvislabs": "Jarvislabs",
    "lambda": "Lambda",
    "massedcompute": "Massed Compute",
    "nebius": "Nebius",
    "oci": "Oracle",
    "ovh": "OVHcloud",
    "paperspace": "Paperspace (DigitalOcean)",
    "runpod": "RunPod",
    "scaleway": "Scaleway",
    "seeweb": "Seeweb",
    "vast": "Vast",
    "verda": "Verda",
    "vultr": "Vultr",
    "yotta": "Yotta",
}
#: Form factors as NVIDIA writes them, and GPUs whose memory is part of their name.
_FORMS, _FORM = {"SXM": "SXM", "PCIE": "PCIe", "NVL": "NVL"}, re.compile(r"-(SXM|PCIE|NVL)")
_BY_MEMORY, _MEMORY = re.compile(r"A100-|.*V100-.*-32GB"), re.compile(r"-(\d+)GB$")
_NOT_IN_SHORT = re.compile(r"^(NVIDIA |GeForce )+| Generation$")


def cloud_words(provider: str) -> str:
    """Return a cloud's name as it writes it; 'your own' for custom hardware.

    >>> cloud_words("gcp"), cloud_words("own"), cloud_words("acme")
    ('GCP', 'your own', 'acme')
    """
    return "your own" if provider == CUSTOM_PROVIDER else _CLOUDS.get(provider, provider)


def machine_words(offer: Instance) -> str:
    """Machine name as its cloud writes it: 'a2-highgpu-1g' for 'gcp/a2-highgpu-1g'.

    The prefix 'Standard_' of all Azure names is removed.
    """
    return offer.name.removeprefix(f"{offer.provider}/").removeprefix("Standard_")


def gpu_words(offer: Instance) -> str:
    """Short GPU model and variant: 'T4', 'RTX 4090', 'H100 PCIe', 'A100 80 GB SXM'."""
    short, form = _NOT_IN_SHORT.sub("", offer.gpu_model), _FORM.search(offer.gpu)
    memory = _MEMORY.search(offer.gpu) if _BY_MEMORY.match(offer.gpu) else None
    return f"{short}{f' {memory[1]} GB' if memory else ''}{f' {_FORMS[form[1]]}' if form else ''}"


def offer_name(offer: Instance, gpus: int = 1, *, joined: str = " · ") -> str:
    """Return the name that people see: 'B200 · Verda', 'A100 (1 of 8) · GCP', of a whole node '8 × A100 · GCP spot'.

    What can't be rented any more says so: 'K80 · AWS (retired)'. Custom hardware has its own name in place of a
    cloud's. `joined` : " at " in a sentence.
    """
    gpu = gpu_words(offer)
    if gpus > 1:
        gpu = f"{gpus} × {gpu}"
    elif offer.gpu_count > 1:
        gpu = f"{gpu} (1 of {offer.gpu_count})"
    retired = RETIRED_MARK if offer.status == RETIRED else ""
    if offer.provider == CUSTOM_PROVIDER:
        return f"{gpu}{joined}{offer.name}{retired}"
    market = "" if offer.market in (ON_DEMAND, CUSTOM_PRICE) else f" {offer.market}"
    return f"{gpu}{joined}{cloud_words(offer.provider)}{market}{retired}"


#: A price this old says its month beside the number.
FRESH_DAYS = 60


def latest_day(as_of: str) -> date:
    """Return the last day that a date may mean: of a month or a year its end.

    >>> latest_day("2026-02"), latest_day("2024")
    (datetime.date(2026, 2, 28), datetime.date(2024, 12, 31))
    """
    year, *more = map(int, as_of.split("-"))
    month = more[0] if more else 12
    return date(year, month, more[1] if len(more) > 1 else calendar.monthrange(year, month)[1])


def is_fresh(as_of: str, today: date | None = None) -> bool:
    """Whether a price may be no more than `FRESH_DAYS` days old; so is one without a date.

    >>> is_fresh("2026-09-23", date(2026, 11, 22)), is_fresh("2026-09-22", date(2026, 11, 22))
    (True, False)
    """
    return not as_of or ((today or date.today()) - latest_day(as_of)).days <= FRESH_DAYS


def price_age_years(as_of: str, today: date | None = None) -> int:
    """Minimum age of a price in whole years: "2024" may mean that year's last day; 0 without a date.

    >>> price_age_years("2024", date(2026, 11, 22)), price_age_years("2025-11-23", date(2026, 11, 22))
    (1, 0)
    """
    if not as_of:
        return 0
    today, day = today or date.today(), latest_day(as_of)
    return max(0, today.year - day.year - ((today.month, today.day) < (day.month, day.day)))


def date_words(as_of: str) -> str:
    """Return the month of a date as people read it; a year alone stays.

    >>> date_words("2026-11-03"), date_words("2024"), date_words("")
    ('Nov 2026', '2024', '')
    """
    year, _, month = as_of[:7].partition("-")
    return f"{calendar.month_abbr[int(month)]} {year}" if month else year


def old_price_note(offer: Instance, today: date | None = None) -> str:
    """Note for a price that is more than a year old: 'price from Dec 2021, over 4 years old'; else empty."""
    today = today or date.today()
    if offer.as_of[:4] == f"{today.year}":
        # Most prices.
        return ""
    years = price_age_years(offer.as_of, today)
    age = "a year" if years == 1 else f"{years} years"
    return f"price from {date_words(offer.as_of)}, over {age} old" if years else ""


def price_words(offer: Instance, today: date | None = None) -> str:
    """US dollars an hour of the whole machine, with the month of a price that is older than `FRESH_DAYS` days."""
    old = "" if is_fresh(offer.as_of, today) else f" · {date_words(offer.as_of)}"
    return f"{format_usd(offer.usd_per_hour)}{old}"


def price_source(entry: Instance) -> str:
    """Where a price is from: 'Jul 2026, us-east-1, on-demand', on one line."""
    if not entry.as_of:
        return entry.market
    text = f"{date_words(entry.as_of)}, {entry.region}, {entry.market}"
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")


def price_line(offers: Iterable[Instance]) -> str:
    """Say when the prices are from: 'Prices as of June 2026; 2021: M60 · AWS.'."""
    by_month: dict[str, dict[str, None]] = {}
    for offer in sorted(offers, key=lambda offer: offer.as_of, reverse=True):
        by_month.setdefault(offer.as_of[:7], {})[offer_name(offer).removesuffix(RETIRED_MARK)] = None
    by_month.pop("", None)
    if not by_month:
        return ""
    words = {month: _month_words(month, list(names)) for month, names in by_month.items()}
    most = max(by_month, key=lambda month: len(by_month[month]))
    if len(by_month[most]) > _NAMED_PRICES or len(words) == 1:
        words = {most: _month_words(most, [])} | {month: text for month, text in words.items() if month != most}
    return f"Prices as of {'; '.join(words.values())}."


#: Offers whose price date a line names one by one.
_NAMED_PRICES = 4


def _month_words(month: str, names: Sequence[str]) -> str:
    year, _, number = month.partition("-")
    words = f"{calendar.month_name[int(number)]} {year}" if number else year
    named = ", ".join(names) if len(names) <= _NAMED_PRICES else f"{len(names)} offers"
    return f"{words}: {named}" if names else words
