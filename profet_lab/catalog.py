"""Write the catalog's offers, `instances.csv` and `prices.csv`: `python -m profet_lab.catalog [DATA]`.

DATA is the folder of the measurements, whose `prices_clouds.csv` lists the clouds' offers.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from profet_core.catalog.clouds import machine_facts, market_of, offer_name
from profet_core.catalog.gpus import Gpus, load_gpus
from profet_core.catalog.instance import MACHINE_COLUMNS, OFFER_COLUMNS, ON_DEMAND, SPOT, Instance
from profet_core.errors import InputError
from profet_core.shipped import shipped_text, write_shipped
from profet_lab.measurements.tables import data_folder

#: The catalog in the checkout.
INSTANCES, PRICES = "catalog/instances.csv", "catalog/prices.csv"
#: The list of all clouds among the measurements.
CLOUDS_FILE = Path("prices_clouds.csv")
INSTANCE_COLUMNS = ("instance", *MACHINE_COLUMNS, "source")
PRICE_COLUMNS = ("instance", *OFFER_COLUMNS)
_MARKETS = {ON_DEMAND: "usd_per_hour_on_demand", SPOT: "usd_per_hour_spot"}
#: What the sources of rows say that were made here; others were looked up by hand, and stay.
_MACHINE_MADE, _PRICES_MADE = (
    re.compile(r"listed (by SkyPilot )?as "),
    re.compile(r"SkyPilot catalogs/|gpuhunt |\S+/\S*pricing "),
)
#: Where SkyPilot's lists are in its repository.
_CATALOGS = "catalogs/"
#: Digits of a commit that name it.
_COMMIT_DIGITS = 9

Row = dict[str, str]


def read_rows(text: str) -> list[Row]:
    """Return the rows of a CSV file's text."""
    return list(csv.DictReader(io.StringIO(text)))


def table_text(columns: Iterable[str], rows: Iterable[Row]) -> str:
    """Rows as the text of a CSV file."""
    return pd.DataFrame(rows, columns=list(columns)).to_csv(index=False, lineterminator="\n")


def catalog_tables(
    instances: Iterable[Row], prices: Iterable[Row], listed: Iterable[Instance]
) -> tuple[list[Row], list[Row]]:
    """Rows of `instances.csv` and `prices.csv`.

    Parameters
    ----------
    instances, prices : the rows so far; those that were looked up by hand stay, and come first.
    """
    machines = {row["instance"]: row for row in instances if not _MACHINE_MADE.search(row["source"])}
    offers = {
        (row["instance"], row["region"], row["market"]): row for row in prices if not _PRICES_MADE.match(row["source"])
    }
    for offer in listed:
        cells = {name: str(getattr(offer, name)) for name in (*MACHINE_COLUMNS, *OFFER_COLUMNS)}
        cells |= {
            "instance": offer.name,
            "gpu_memory_gib": f"{offer.gpu_memory_gib:g}",
            "vcpus": f"{offer.vcpus or ''}",
        }
        machine = {**cells, "source": offer.machine_source}
        machines.setdefault(offer.name, {name: machine[name] for name in INSTANCE_COLUMNS})
        offers.setdefault((offer.name, offer.region, offer.market), {name: cells[name] for name in PRICE_COLUMNS})
    place = {name: number for number, name in enumerate(machines)}
    return list(machines.values()), sorted(offers.values(), key=lambda row: place[row["instance"]])


def listed_prices(rows: Iterable[Row], gpus: Gpus) -> Iterator[Instance]:
    """Return the offers of `CLOUDS_FILE`, a price for each market that has one.

    Raises InputError for a machine that is listed twice, has no price, or whose cloud or GPU is unknown.
    """
    seen: set[str] = set()
    for row in rows:
        provider, name = row["provider"], offer_name(row["provider"], row["instance"])
        if name in seen:
            raise InputError(f"{name} is listed twice: give one of them another name.")
        seen.add(name)
        facts = machine_facts(provider, row["instance"])
        usd_per_hour = {market: float(row[column]) for market, column in _MARKETS.items() if row[column]}
        if not usd_per_hour or min(usd_per_hour.values()) <= 0:
            raise InputError(f"{name} has no price: take its row out of {CLOUDS_FILE}.")
        path, is_skypilot = row["source_path"], row["source_path"].startswith(_CATALOGS)
        listed = f"listed {'by SkyPilot ' if is_skypilot else ''}as {row['gpu']}, {row['as_of']}"
        commit = f" @ {row['source_commit'][:_COMMIT_DIGITS]}" if row["source_commit"] else ""
        source = f"SkyPilot {path}{commit} (Apache-2.0)" if is_skypilot else f"{path}{commit}"
        for market, price in usd_per_hour.items():
            gpu = gpus[facts.gpu_of(row["gpu"])]
            yield Instance(
                name=name,
                gpu=gpu.name,
                gpu_count=int(row["gpu_count"]),
                gpu_memory_gib=gpu.memory_gib,
                vcpus=int(row["vcpus"]) if row["vcpus"] else None,
                usd_per_hour=price,
                region=", ".join(part.strip() for part in row["region"].split(",") if part.strip()),
                os="linux",
                market=market_of(provider, spot=market == SPOT),
                status="retired" if facts.retired else "available",
                as_of=row["as_of"],
                source=source,
                provider=provider,
                host=facts.host,
                machine_source="; ".join(part for part in (facts.retired, listed, facts.assumed) if part),
            )


def main() -> None:
    """Write both tables; rows that were looked up by hand stay."""
    data = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    listed = read_rows((data / CLOUDS_FILE).read_text(encoding="utf-8"))
    instances, prices = (read_rows(shipped_text(name)) for name in (INSTANCES, PRICES))
    machines, offers = catalog_tables(instances, prices, listed_prices(listed, load_gpus()))
    write_shipped(INSTANCES, table_text(INSTANCE_COLUMNS, machines).encode())
    write_shipped(PRICES, table_text(PRICE_COLUMNS, offers).encode())
    print(f"{len(machines)} instances, {len(offers)} offers")


if __name__ == "__main__":
    main()
