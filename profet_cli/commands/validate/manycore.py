"""`profet validate --manycore`: the many-core models beside what was published."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from profet_cli.lab import training_set
from profet_cli.output import print_json, print_markdown
from profet_core.files import models_folder
from profet_core.manycore.answer import check_rows, speedup_row
from profet_core.whole_files import write_whole


def run(options: argparse.Namespace) -> None:
    """Check and print the card, and with `--card` write it beside the models."""
    with training_set():
        from profet_lab.cards.cards import MANYCORE_CARD_NAME, manycore_card
    rows, speedup = check_rows(), speedup_row()
    card = manycore_card(rows, speedup)
    if options.card:
        write_whole(models_folder(options.models) / MANYCORE_CARD_NAME, card.encode())
    if options.format == "json":
        print_json({"rows": [asdict(row) for row in rows], "speedup": asdict(speedup)})
    else:
        print_markdown(card)
