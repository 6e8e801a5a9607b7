"""Arguments: the fields of questions as options, and what several commands take beside them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import wraps
from typing import Any

from profet_core.answers.fields import FLAG, NUMBERS, OFFER_FIELDS, Field, Fields
from profet_core.answers.questions import PREDICT
from profet_core.errors import InputError


def add_format(parser: argparse.ArgumentParser, default: str = "text") -> None:
    """`--format`; `default` is `argparse.SUPPRESS` where a word before has set it."""
    parser.add_argument(
        "--format", choices=["text", "json"], default=default, help="output format; json prints one document"
    )


def add_fields(parser: argparse.ArgumentParser, fields: Fields, *, positional: str = "") -> None:
    """An option for each field, `positional` as TRACE; options that are not given are no attributes."""
    offers = parser.add_argument_group("offers")
    for name, field in fields.items():
        if name == positional:
            absent: dict[str, Any] = {} if field.required else {"nargs": "?", "default": argparse.SUPPRESS}
            parser.add_argument(name, metavar="TRACE", help=field.help, **absent)
        else:
            (offers if name in OFFER_FIELDS else parser).add_argument(
                f"--{name.replace('_', '-')}",
                default=argparse.SUPPRESS,
                required=field.required,
                help=field.help.replace("%", "%%"),
                **_taken(field),
            )


def _taken(field: Field) -> dict[str, Any]:
    """How argparse takes a field."""
    if field.kind is FLAG:
        return {"action": "store_true"}
    if field.choices:
        return {"choices": field.choices, "type": argument(field.read)}
    action = "append" if field.kind is NUMBERS else "store"
    return {"metavar": field.unit or field.kind.metavar, "type": argument(field.kind.parse), "action": action}


def argument(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Parser of an option's text whose refusal argparse shows."""

    @wraps(parse)
    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def add_question(parser: argparse.ArgumentParser, fields: Fields) -> None:
    """Arguments of a command that answers for offers; TRACE is the field `profile`."""
    add_format(parser)
    add_fields(parser, fields, positional="profile")
    add_models(parser)
    add_every_offer(parser)


def add_every_offer(parser: argparse.ArgumentParser) -> None:
    """`--every-offer`: the flag that shows what `print_offers` hides."""
    parser.add_argument(
        "--every-offer",
        action="store_true",
        help="show every offer of the market, with machines of several GPUs (default: the cheapest of each GPU, unless "
        "you filter by more than market and confidence)",
    )


def add_steps(parser: argparse.ArgumentParser) -> None:
    """`--steps`: how many training steps TRACE covers."""
    add_fields(parser, {"steps": PREDICT["steps"]})


def add_models(parser: argparse.ArgumentParser) -> None:
    """`--models`: the folder to predict with."""
    parser.add_argument("--models", metavar="DIR", help="models folder (default: PROFET_HOME or the shipped one)")


def add_data(parser: argparse.ArgumentParser, several: str = "") -> None:
    """`--data`: folders of measurements; `several`: help on giving more than one."""
    help_ = f"folder of measurements (default: PROFET_DATA, else data/){several}"
    parser.add_argument("--data", action="append", metavar="DIR", help=help_)


def add_dask(parser: argparse.ArgumentParser) -> None:
    """`--dask`: who does the fits and folds."""
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run the fits and folds on this Dask scheduler, such as tcp://host:8786"
    )


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """`--anchor`: a choice among the measurements' anchors, which may be given several times."""
    parser.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs with this anchor")
