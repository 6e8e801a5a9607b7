"""`profet cost`: time and cost per epoch and per training on every instance."""

from __future__ import annotations

import argparse

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.inputs import COMMAND_LINE, given_values, open_context
from profet_cli.offers import cheapest_by_gpu, fit_cell, gpus_cell, print_hidden, print_old_prices
from profet_cli.output import MISSING, print_json, print_notes, print_table, print_warnings
from profet_core.answers.cost import CostAnswer, answer_cost
from profet_core.cost import CostRow
from profet_core.documents.answers import COSTS
from profet_core.fields.questions import COST, TrainingQuestion
from profet_core.units import format_duration, format_significant, format_usd


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The training."""
    add_format(parser)
    add_fields(parser, COST, positional="profile")
    add_models(parser)
    add_every_offer(parser)


def run(options: argparse.Namespace) -> None:
    """Predict, cost and print."""
    question = TrainingQuestion(**given_values(options, COST))
    answer = answer_cost(open_context(options), question, COMMAND_LINE)
    training = answer.training
    if options.format == "json":
        print_json(COSTS.document(answer))
    else:
        print_warnings(training.warnings)
        every = options.every_offer or question.narrowing.is_narrow
        _print_costs(answer, training.prediction.anchor, every=every)


def _print_costs(answer: CostAnswer, anchor: str, *, every: bool) -> None:
    table, fits = answer.table, answer.fits
    step_times = {row.instance: row for row in answer.training.steps.step_times}
    shown = table.rows if every else cheapest_by_gpu(table.rows, lambda row: row.offer, {anchor})
    columns = ("instance", "GPU", "memory fit (batch)", "time/epoch", "$/epoch", f"{table.epochs} epochs", "total $")
    print_table(
        (*columns, "images/s", "speed-up", "basis", "status"),
        [_text_row(row, fit_cell(fits, row.instance), step_times[row.instance].basis) for row in shown],
    )
    print_hidden(len(table.rows) - len(shown))
    print_notes(step_times[row.instance] for row in shown)
    print_old_prices(row.offer for row in shown)


def _text_row(row: CostRow, fit: str, basis: str) -> tuple[str, ...]:
    return (
        row.instance,
        gpus_cell(row.offer),
        fit,
        format_duration(row.epoch_s),
        format_usd(row.epoch_usd),
        format_duration(row.total_s),
        format_usd(row.total_usd),
        format_significant(row.images_per_s),
        MISSING if row.speedup is None else f"{row.speedup:.2f}x",
        basis,
        row.status,
    )
