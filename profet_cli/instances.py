"""`profet instances`: the catalogue."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.output import print_json, print_table
from profet_core.artifacts import load_models
from profet_core.catalog import load_catalog
from profet_core.units import format_price


def run(options: argparse.Namespace) -> None:
    """Print every instance; "measured" ones can be anchor or target."""
    measured = load_models().instances
    rows = [(instance, "measured" if name in measured else "price only") for name, instance in load_catalog().items()]
    if options.format == "json":
        print_json([{**asdict(instance), "basis": basis} for instance, basis in rows])
        return
    print_table(
        ("instance", "GPU", "GPUs", "$ an hour", "region", "market", "as of", "status", "basis"),
        [
            (
                i.name,
                i.gpu,
                str(i.gpu_count),
                format_price(i.usd_per_hour),
                i.region,
                i.market,
                i.as_of,
                i.status,
                basis,
            )
            for i, basis in rows
        ],
    )
