"""`profet advise`: which instance to rent for a training, and how sure that is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from profet_cli.arguments import (
    EVERY_OFFER_HELP,
    add_format,
    add_narrowing,
    add_parameters,
    add_sureness,
    add_training,
    names,
)
from profet_cli.commands.advise.text import print_advice
from profet_cli.output import print_json, print_warnings
from profet_cli.questions import COMMAND_LINE, open_knowledge, training_question
from profet_core.answers.advise import answer_advise
from profet_core.answers.questions import AdviseQuestion
from profet_core.documents.advice import advice_document
from profet_core.documents.report import report_html, report_source
from profet_core.errors import InputError
from profet_core.whole_files import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The training, its limits, and the offers to choose from."""
    add_format(parser)
    add_training(parser)
    parser.add_argument("--deadline-hours", type=float, metavar="H", help="when it must be done: the cheapest in time")
    parser.add_argument("--budget-usd", type=float, metavar="USD", help="what it may cost: the fastest within it")
    parser.add_argument(
        "--certainty", type=float, default=0.9, metavar="SHARE", help="chance that a limit is kept to (default: 0.9)"
    )
    add_narrowing(parser, market="on-demand")
    add_sureness(parser)
    parser.add_argument("--every-offer", action="store_true", help=EVERY_OFFER_HELP)
    parser.add_argument(
        "--spot-discount",
        type=float,
        metavar="SHARE",
        help="guess spot prices this far below on-demand, 0 to 1, where the catalogue has none",
    )
    parser.add_argument("--include-retired", action="store_true", help="instances that can't be rented any more too")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write the answer as one page of HTML too, to print or send"
    )
    add_parameters(parser)
    parser.add_argument("--compare", type=names, metavar="A,B", help="two instances: which one, and how sure")


def run(options: argparse.Namespace) -> None:
    """Predict, advise and print."""
    question = training_question(options, AdviseQuestion)
    knowledge = open_knowledge(options)
    answer = answer_advise(knowledge, question, COMMAND_LINE)
    warnings = answer.training.warnings
    if options.report is not None:
        name = Path(options.trace).name
        source = report_source(name, answer.training.prediction, knowledge.models, warnings)
        _write(options.report, report_html(answer.advice, source), [options.trace, options.second])
    if options.format == "json":
        print_json(advice_document(answer.advice, answer.comparison, answer.training.prediction.anchor, warnings))
    else:
        print_warnings(warnings)
        print_advice(answer.advice, answer.comparison, every=options.every_offer or question.narrowing.is_narrow)


def _write(target: Path, page: str, read: Sequence[str | Path | None]) -> None:
    if target.exists() and any(path is not None and Path(path).exists() and target.samefile(path) for path in read):
        raise InputError(f"{target} is a trace that was read: name another file for the report.")
    try:
        write_whole(target, page.encode())
    except (OSError, RuntimeError) as error:
        raise InputError(f"{target} can't be written: {getattr(error, 'strerror', None) or error}.") from None
