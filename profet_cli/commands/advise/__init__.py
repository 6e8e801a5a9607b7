"""`profet advise`: recommend an instance to rent for a training."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from profet_cli.arguments import add_every_offer, add_fields, add_format, add_models
from profet_cli.commands.advise.text import print_advice
from profet_cli.inputs import COMMAND_LINE, given_values, open_context
from profet_cli.output import print_json, print_warnings, write_output
from profet_core.answers.advise import answer_advise
from profet_core.documents.advice import ADVICE
from profet_core.documents.report import report_html, report_source
from profet_core.errors import InputError
from profet_core.fields.questions import ADVISE, AdviseQuestion


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
        _check_target(options.report, [options.profile, getattr(options, "second", None)])
        write_output(options.report, report_html(answer.advice, source).encode())
    if options.format == "json":
        print_json(ADVICE.document(answer))
    else:
        print_warnings(warnings)
        print_advice(answer.advice, answer.comparison, every=options.every_offer or question.narrowing.is_narrow)


def _check_target(target: Path, read: Sequence[str | Path | None]) -> None:
    if target.exists() and any(path is not None and Path(path).exists() and target.samefile(path) for path in read):
        raise InputError(f"{target} is an input trace: name another file for the report.")
