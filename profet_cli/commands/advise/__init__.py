"""`profet advise`: recommend an instance to rent for a training."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from profet_cli.arguments import (
    EVERY_OFFER_HELP,
    add_format,
    add_narrowing,
    add_parameters,
    add_spot_discount,
    add_sureness,
    add_training,
    names,
)
from profet_cli.commands.advise.text import print_advice
from profet_cli.output import print_json, print_warnings
from profet_cli.questions import COMMAND_LINE, open_knowledge, training_question
from profet_core.answers.advise import answer_advise
from profet_core.answers.questions import AdviseQuestion
from profet_core.documents.advice import ADVICE
from profet_core.documents.report import report_html, report_source
from profet_core.errors import InputError
from profet_core.whole_files import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The training, its limits, and the offers to choose from."""
    add_format(parser)
    add_training(parser)
    parser.add_argument(
        "--deadline-hours", type=float, metavar="H", help="deadline; recommends the cheapest offer that meets it"
    )
    parser.add_argument(
        "--budget-usd", type=float, metavar="USD", help="budget; recommends the fastest offer within it"
    )
    parser.add_argument(
        "--certainty",
        type=float,
        default=0.9,
        metavar="SHARE",
        help="required probability of meeting the limits (default: 0.9)",
    )
    add_narrowing(parser, market="on-demand")
    add_sureness(parser)
    parser.add_argument("--every-offer", action="store_true", help=EVERY_OFFER_HELP)
    add_spot_discount(parser)
    parser.add_argument("--with-loading", action="store_true", help="add the measured data-loading overhead, 6 to 9%%")
    parser.add_argument("--include-retired", action="store_true", help="include retired instances")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the answer as an HTML page")
    add_parameters(parser)
    parser.add_argument("--compare", type=names, metavar="A,B", help="compare two instances")


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
        print_json(ADVICE.document(answer))
    else:
        print_warnings(warnings)
        print_advice(answer.advice, answer.comparison, every=options.every_offer or question.narrowing.is_narrow)


def _write(target: Path, page: str, read: Sequence[str | Path | None]) -> None:
    if target.exists() and any(path is not None and Path(path).exists() and target.samefile(path) for path in read):
        raise InputError(f"{target} is an input trace: name another file for the report.")
    try:
        write_whole(target, page.encode())
    except (OSError, RuntimeError) as error:
        raise InputError(f"{target} can't be written: {getattr(error, 'strerror', None) or error}.") from None
