"""What `profet train` did, for a program and for a person."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from profet_cli.output import print_json
from profet_core.documents.records import Document


@dataclass(frozen=True, slots=True)
class Trained:
    """The document that `--format json` prints, and the lines that are printed without it."""

    document: Document
    lines: tuple[str, ...]


def print_trained(options: argparse.Namespace, trained: Trained) -> None:
    """Print it in the format that was asked for."""
    if options.format == "json":
        print_json(trained.document)
    else:
        print("\n".join(trained.lines))
