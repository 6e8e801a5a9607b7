"""`profet data import`: convert measurements to the data layout."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import add_format
from profet_cli.commands.data.written import print_written
from profet_cli.lab import training_set


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sources, and the folder to write."""
    add_format(parser)
    parser.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        type=Path,
        help="folder of `profet collect`, PROFET pickles or tables; or pickles of one release",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="new folder to write")


def run(options: argparse.Namespace) -> None:
    """Read everything, then write the folder."""
    with training_set():
        from profet_lab.datasets.sources.choose import read_sources
        from profet_lab.datasets.write import check_new, write_dataset
    check_new(options.out)
    dataset = read_sources(options.sources)
    write_dataset(dataset, options.out)
    print_written(dataset, options.out, options.format)
