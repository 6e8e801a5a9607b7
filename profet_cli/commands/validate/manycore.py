"""`profet validate --manycore`: the many-core models beside what was published."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from profet_cli.lab import training_set
from profet_cli.output import print_json, print_table
from profet_core.files import models_folder
from profet_core.manycore.checks import CheckRow, check_rows, mean_apart_percent, speedup_row
from profet_core.manycore.published import PUBLISHED, PUBLISHED_ERROR_PERCENT, PUBLISHED_SPEEDUP


def run(options: argparse.Namespace) -> None:
    """Check and print, and with `--card` write the card beside the models."""
    rows, speedup = check_rows(), speedup_row()
    if options.card:
        with training_set():
            from profet_lab.cards.cards import write_manycore_card
        write_manycore_card(rows, speedup, models_folder(options.models))
    if options.format == "json":
        print_json({"rows": [asdict(row) for row in rows], "speedup": asdict(speedup)})
    else:
        print_checks(rows, speedup)


def print_checks(rows: Sequence[CheckRow], speedup: CheckRow) -> None:
    """One table of the published predictions and both models."""
    print("Published predictions of model (a), and both models; minutes.\n")
    print_table(
        ("network", "threads", "published", "(a)", "(b)", "(a) longer by %", "(a) speed-up", "(b) speed-up"),
        [
            (
                row.network,
                f"{row.threads:,}",
                "" if row.published_min is None else f"{row.published_min:.1f}",
                f"{row.a_min:,.1f}",
                f"{row.b_min:,.1f}",
                f"{row.apart_percent:+.1f}",
                f"{row.speedup_a:.1f}",
                f"{row.speedup_b:.1f}",
            )
            for row in rows
        ],
    )
    published = [row for row in rows if row.published_min is not None]
    same = sum(row.same_digits for row in published)
    print(f"\n{same} of {len(published)} published predictions have the same digits.")
    for name in PUBLISHED:
        measured, beyond = (mean_apart_percent(rows, name, extrapolated=beyond) for beyond in (False, True))
        print(f"{name}: {measured:.1f}% apart on average up to 240 threads, {beyond:.1f}% above")
    errors = PUBLISHED_ERROR_PERCENT
    print(
        f"\nPublished: (a) {errors['a']:g}% and (b) {errors['b']:g}% off measured trainings, which we don't "
        f"have.\nPublished speed-up of the {speedup.network} network with {speedup.threads} threads: "
        f"{PUBLISHED_SPEEDUP:.1f}; (a) {speedup.speedup_a:.1f}, (b) {speedup.speedup_b:.1f}"
    )
