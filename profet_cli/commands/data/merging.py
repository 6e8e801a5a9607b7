"""`profet data merge`: joins folders of the data layout into a new one."""

from __future__ import annotations

import argparse
from pathlib import Path

from profet_cli.arguments import add_format
from profet_cli.commands.data.written import print_written
from profet_cli.lab import training_set


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folders, and the one to write."""
    add_format(parser)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="folders that `profet data` wrote")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="new folder to write")


def run(options: argparse.Namespace) -> None:
    """Read all folders, then write the new one."""
    with training_set():
        from profet_lab.datasets.merge import merged
        from profet_lab.datasets.read import read_dataset
        from profet_lab.datasets.write import check_new, write_dataset
    check_new(options.out)
    dataset = merged([read_dataset(folder) for folder in options.folders], [str(folder) for folder in options.folders])
    write_dataset(dataset, options.out)
    print_written(dataset, options.out, options.format)
