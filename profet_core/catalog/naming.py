"""Display names of an offer: cloud, machine and GPU; notes on old prices."""

from __future__ import annotations

import calendar
import difflib
import re
from collections.abc import Iterable
from datetime import date

from profet_core.catalog.instance import CUSTOM_PRICE, CUSTOM_PROVIDER, ON_DEMAND, Instance
from profet_core.units import format_usd

#: Names as the clouds write them; others stay as written.
_CLOUDS = {
    "aws": "AWS",
    "azure": "Azure",
    "gcp": "GCP",
    "lambda": "Lambda",
    "nebius": "Nebius",
    "runpod": "RunPod",
    "vast": "Vast",
    "verda": "Verda",
}
#: Form factors as NVIDIA writes them, and models sold with several memory sizes.
_FORMS, _BY_MEMORY = {"SXM": "SXM", "PCIE": "PCIe", "NVL": "NVL"}, ("A100",)


def cloud_words(provider: str) -> str:
    """A cloud's name as it writes it; 'your own' for custom hardware.

    >>> cloud_words("gcp"), cloud_words("own"), cloud_words("acme")
    ('GCP', 'your own', 'acme')
    """
    return "your own" if provider == CUSTOM_PROVIDER else _CLOUDS.get(provider, provider)


def nearest(name: str, known: Iterable[str]) -> str:
    """End of an unknown name's message: the three most similar names, or the first three.

    >>> nearest("g4dn.xlagre", ["p3.2xlarge", "g4dn.xlarge"])
    'choose one of g4dn.xlarge, p3.2xlarge, or another that `profet instances` lists'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or names[:3]
    return f"choose one of {', '.join(close)}, or another that `profet instances` lists"


def machine_words(offer: Instance) -> str:
    """Machine name as its cloud writes it: 'a2-highgpu-1g' for 'gcp/a2-highgpu-1g'.

    The prefix 'Standard_' of all Azure names is removed.
    """
    return offer.name.removeprefix(f"{offer.provider}/").removeprefix("Standard_")


def gpu_words(offer: Instance) -> str:
    """Short GPU model and variant: 'T4', 'RTX 4090', 'H100 PCIe', 'A100 80 GB SXM'."""
    short = re.sub(r"^(NVIDIA |GeForce )+| Generation$", "", offer.gpu_model)
    form = re.search(r"-(SXM|PCIE|NVL)", offer.gpu)
    memory = re.search(r"-(\d+)GB$", offer.gpu) if offer.gpu_model in _BY_MEMORY else None
    parts = (short, f"{memory[1]} GB" if memory else "", _FORMS[form[1]] if form else "")
    return " ".join(part for part in parts if part)


def offer_name(offer: Instance, gpus: int = 1, *, joined: str = " · ") -> str:
    """The name that people see: 'B200 · Verda', 'A100 (1 of 8) · GCP', with all GPUs of a node '8 × A100 · GCP spot'.

    Custom hardware has its own name in place of a cloud's. `joined` : " at " in a sentence.
    """
    gpu = gpu_words(offer)
    if gpus > 1:
        gpu = f"{gpus} × {gpu}"
    elif offer.gpu_count > 1:
        gpu = f"{gpu} (1 of {offer.gpu_count})"
    if offer.provider == CUSTOM_PROVIDER:
        return f"{gpu}{joined}{offer.name}"
    market = "" if offer.market in (ON_DEMAND, CUSTOM_PRICE) else f" {offer.market}"
    return f"{gpu}{joined}{cloud_words(offer.provider)}{market}"


def price_age_years(as_of: str, today: date | None = None) -> int:
    """Minimum age of a price in whole years: "2024" may mean that year's last day; 0 without a date.

    >>> price_age_years("2024", date(2026, 11, 22)), price_age_years("2025-11-23", date(2026, 11, 22))
    (1, 0)
    """
    if not as_of:
        return 0
    today = today or date.today()
    year, *more = map(int, as_of.split("-"))
    month = more[0] if more else 12
    day = more[1] if len(more) > 1 else calendar.monthrange(year, month)[1]
    return max(0, today.year - year - ((today.month, today.day) < (month, day)))


def old_price_note(offer: Instance, today: date | None = None) -> str:
    """Note for a price that is more than a year old: 'price of 2021, over 4 years old'; else empty."""
    years = price_age_years(offer.as_of, today)
    return f"price from {offer.as_of}, over {'a year' if years == 1 else f'{years} years'} old" if years else ""


def price_words(offer: Instance) -> str:
    """US dollars an hour of the whole machine, with the year where the price is more than a year old."""
    old = f" · {offer.as_of[:4]}" if price_age_years(offer.as_of) else ""
    return f"{format_usd(offer.usd_per_hour)}{old}"


def price_source(entry: Instance) -> str:
    """Where a price is from: '2026, us-east-1, on-demand', on one line."""
    if not entry.as_of:
        return entry.market
    text = f"{entry.as_of}, {entry.region}, {entry.market}"
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")


def price_line(offers: Iterable[Instance]) -> str:
    """When the newest prices are from."""
    dates = sorted({offer.as_of for offer in offers if offer.as_of})
    if not dates:
        return ""
    year, _, more = dates[-1].partition("-")
    newest = f"{calendar.month_name[int(more[:2])]} {year}" if more else year
    mixed = price_age_years(dates[0]) > price_age_years(dates[-1])
    return f"Prices as of {newest}{'; older ones show their year' if mixed else ''}."


def instance_words(entry: Instance) -> str:
    """'g4dn.xlarge (Tesla T4, AWS)', with 'retired' where it can't be rented any more."""
    gpus = entry.gpu if entry.gpu_count == 1 else f"{entry.gpu_count} x {entry.gpu}"
    cloud = "" if entry.provider == CUSTOM_PROVIDER else cloud_words(entry.provider)
    retired = "retired" if entry.status == "retired" else ""
    return f"{entry.name} ({', '.join(filter(None, (gpus, cloud, retired)))})"
