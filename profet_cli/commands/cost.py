"""`profet cost`: time and cost per epoch and per training on every instance."""

from __future__ import annotations

import argparse

from profet_cli.inputs import COMMAND_LINE, given_values, open_context
from profet_cli.offers import Column, add_question, fit_words, gpus_cell, print_offers, print_old_prices
from profet_cli.output import cell, print_json, print_notes, print_warnings
from profet_core.answers.advise import answer_cost
from profet_core.cost import CostRow
from profet_core.documents.answers import COSTS
from profet_core.fields.questions import COST, TrainingQuestion
from profet_core.units import format_duration, format_significant, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The training."""
    add_question(parser, COST)


def run(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    question = TrainingQuestion(**given_values(options, COST))
    answer = answer_cost(open_context(options), question, COMMAND_LINE)
    if options.format == "json":
        print_json(COSTS.document(answer))
        return
    training, table = answer.training, answer.table
    print_warnings(training.warnings)
    steps = {row.instance: row for row in training.steps.step_times}
    columns: list[Column[CostRow]] = [
        ("instance", lambda row: row.instance),
        ("GPU", lambda row: gpus_cell(row.offer)),
        ("memory fit (batch)", lambda row: fit_words(answer.fits.get(row.instance))),
        ("time/epoch", lambda row: format_duration(row.epoch_s)),
        ("$/epoch", lambda row: format_usd(row.epoch_usd)),
        (f"{table.epochs} epochs", lambda row: format_duration(row.total_s)),
        ("total $", lambda row: format_usd(row.total_usd)),
        ("images/s", lambda row: format_significant(row.images_per_s)),
        ("speed-up", lambda row: cell(row.speedup, lambda times: f"{times:.2f}x")),
        ("basis", lambda row: steps[row.instance].basis),
        ("status", lambda row: row.status),
    ]
    every = options.every_offer or question.narrowing.is_narrow
    shown = print_offers(table.rows, columns, every=every, keep={training.prediction.anchor})
    print_notes(steps[row.instance] for row in shown)
    print_old_prices(shown)
