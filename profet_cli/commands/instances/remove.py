"""`profet instances remove`: takes rows of the user's file away."""

from __future__ import annotations

import argparse

from profet_cli.arguments import add_format
from profet_cli.commands.instances.own_file import offer_title, writable_path
from profet_cli.output import print_json
from profet_core.catalog import Instance, load_shipped
from profet_core.catalog.own import changing_own, read_own, write_own
from profet_core.documents.parts import OFFER
from profet_core.errors import InputError
from profet_core.units import listed_price


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows."""
    add_format(parser, default=argparse.SUPPRESS)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--region", help="only in this region")
    parser.add_argument("--market", help="only in this market")


def run(options: argparse.Namespace) -> None:
    """Take a user's own rows of an instance away; the shipped ones can't be."""
    path, shipped = writable_path(), load_shipped()
    with changing_own(path):
        rows = read_own(path, shipped)
        removed = [row for row in rows if _is_meant(row, options)]
        if not removed:
            names = ", ".join(dict.fromkeys(row.name for row in rows)) or "none"
            raise InputError(f"Your file {path} has no such row for {options.name!r}; it has rows for: {names}.")
        write_own(path, [row for row in rows if row not in removed], shipped)
    if options.format == "json":
        print_json({"file": str(path), "removed": [OFFER.document(row) for row in removed]})
        return
    for row in removed:
        print(f"{offer_title(row)}: {listed_price(row.usd_per_hour)}/h is removed from {path}")


def _is_meant(row: Instance, options: argparse.Namespace) -> bool:
    return row.name == options.name and options.market in (None, row.market) and options.region in (None, row.region)
