"""`profet advise`: recommend an instance to rent for a training."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.commands.advise.text import print_advice
from profet_cli.inputs import given_values
from profet_cli.output import print_json, print_warnings
from profet_cli.questions import COMMAND_LINE, open_context
from profet_core.answers.advise import answer_advise
from profet_core.answers.questions import AdviseQuestion
from profet_core.documents.advice import ADVICE
from profet_core.documents.report import report_html, report_source
from profet_core.errors import InputError
from profet_core.fields.training import ADVISE
from profet_core.whole_files import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The training, its limits, and the offers to choose from."""
    add_format(parser)
    add_fields(parser, ADVISE, positional="profile")
    add_models(parser)
    add_every_offer(parser)
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the answer as an HTML page")


def run(options: argparse.Namespace) -> None:
    """Predict, advise and print."""
    question = AdviseQuestion(**given_values(options, ADVISE))
    context = open_context(options)
    answer = answer_advise(context, question, COMMAND_LINE)
    warnings = answer.training.warnings
    if options.report is not None:
        name = Path(options.profile).name
        source = report_source(name, answer.training.prediction, context.models, warnings)
        _write(options.report, report_html(answer.advice, source), [options.profile, getattr(options, "second", None)])
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
