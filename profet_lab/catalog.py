"""Write the catalog's offers, `instances.csv` and `prices.csv`: `python -m profet_lab.catalog [DATA]`.

DATA is the folder of the measurements, whose `prices_clouds.csv` lists the clouds' offers.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from profet_core.catalog.clouds import Machines, machine_facts, market_of, offer_name
from profet_core.catalog.gpus import Gpus, load_gpus
from profet_core.catalog.instance import MACHINE_COLUMNS, OFFER_COLUMNS, ON_DEMAND, SPOT
from profet_core.catalog.tables import shipped_text
from profet_core.errors import InputError
from profet_lab.measurements.tables import data_folder

#: The catalog in the checkout.
SHIPPED = Path(__file__).resolve().parents[1] / "profet_core" / "catalog"
#: The list of all clouds among the measurements.
CLOUDS_FILE = Path("prices_clouds.csv")
INSTANCE_COLUMNS = ("instance", *MACHINE_COLUMNS, "source")
PRICE_COLUMNS = ("instance", *OFFER_COLUMNS)
_MARKETS = {ON_DEMAND: "usd_per_hour_on_demand", SPOT: "usd_per_hour_spot"}
#: What the sources of rows say that were made here; others were looked up by hand, and stay.
_MACHINE_MADE, _PRICE_MADE = "listed by SkyPilot as ", "SkyPilot catalogs/"
#: Digits of a commit that name it.
_COMMIT_DIGITS = 9

Row = dict[str, str]


def read_rows(text: str) -> list[Row]:
    """The rows of a CSV file's text."""
    return list(csv.DictReader(io.StringIO(text)))


def table_text(columns: Iterable[str], rows: Iterable[Row]) -> str:
    """Rows as the text of a CSV file."""
    return pd.DataFrame(rows, columns=list(columns)).to_csv(index=False, lineterminator="\n")


def catalog_tables(
    instances: Iterable[Row], prices: Iterable[Row], listed: Iterable[Row], gpus: Gpus
) -> tuple[list[Row], list[Row]]:
    """Rows of `instances.csv` and `prices.csv`.

    instances, prices : the rows so far; those that were looked up by hand stay, and come first.
    listed : rows of `CLOUDS_FILE`.
    """
    machines = {row["instance"]: row for row in instances if _MACHINE_MADE not in row["source"]}
    offers = {
        (row["instance"], row["region"], row["market"]): row for row in prices if _PRICE_MADE not in row["source"]
    }
    seen: set[str] = set()
    for row in listed:
        name = offer_name(row["provider"], row["instance"])
        if name in seen:
            raise InputError(f"{name} is listed twice: give one of them another name.")
        seen.add(name)
        machines.setdefault(name, _machine(name, row, gpus))
        for offer in _offers(name, row):
            offers.setdefault((name, offer["region"], offer["market"]), offer)
    place = {name: number for number, name in enumerate(machines)}
    return list(machines.values()), sorted(offers.values(), key=lambda row: place[row["instance"]])


def _machine(name: str, row: Row, gpus: Gpus) -> Row:
    facts = machine_facts(row["provider"], row["instance"])
    gpu = gpus[facts.gpu_of(row["gpu"])]
    return {
        "instance": name,
        "provider": row["provider"],
        "gpu": gpu.name,
        "gpu_count": row["gpu_count"],
        "gpu_memory_gib": f"{gpu.memory_gib:g}",
        "vcpus": row["vcpus"],
        "host": facts.host,
        "status": "retired" if facts.retired else "available",
        "source": _machine_source(row, facts),
    }


def _machine_source(row: Row, facts: Machines) -> str:
    listed = f"{_MACHINE_MADE}{row['gpu']}, {row['as_of']}"
    return "; ".join(part for part in (facts.retired, listed, facts.assumed) if part)


def _offers(name: str, row: Row) -> Iterable[Row]:
    """An offer a market that has a price."""
    prices = {market: row[column] for market, column in _MARKETS.items() if row[column]}
    if not prices or any(float(price) <= 0 for price in prices.values()):
        raise InputError(f"{name} has no price: take its row out of {CLOUDS_FILE}.")
    path = row["source_path"].removeprefix("catalogs/")
    source = f"{_PRICE_MADE}{path} @ {row['source_commit'][:_COMMIT_DIGITS]} (Apache-2.0)"
    for market, price in prices.items():
        yield {
            "instance": name,
            "region": ", ".join(part.strip() for part in row["region"].split(",") if part.strip()),
            "os": "linux",
            "market": market_of(row["provider"], spot=market == SPOT),
            "usd_per_hour": price,
            "as_of": row["as_of"],
            "source": source,
        }


def main() -> None:
    """Write both tables; rows that were looked up by hand stay."""
    data = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    listed = read_rows((data / CLOUDS_FILE).read_text(encoding="utf-8"))
    instances, prices = (read_rows(shipped_text(name)) for name in ("instances.csv", "prices.csv"))
    machines, offers = catalog_tables(instances, prices, listed, load_gpus())
    (SHIPPED / "instances.csv").write_text(table_text(INSTANCE_COLUMNS, machines), encoding="utf-8")
    (SHIPPED / "prices.csv").write_text(table_text(PRICE_COLUMNS, offers), encoding="utf-8")
    print(f"{len(machines)} instances, {len(offers)} offers")


if __name__ == "__main__":
    main()
