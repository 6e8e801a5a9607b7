"""Arguments: the fields of questions as options, and what several commands take beside them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from profet_core.errors import InputError
from profet_core.fields.field import Field, Fields, Kind, some
from profet_core.fields.training import OFFERS, PREDICT
from profet_core.typed_numbers import typed_count


def add_format(parser: argparse.ArgumentParser, default: str = "text") -> None:
    """`--format`; `default` is `argparse.SUPPRESS` where a word before has set it."""
    parser.add_argument(
        "--format", choices=["text", "json"], default=default, help="output format; json prints one document"
    )


def add_fields(parser: argparse.ArgumentParser, fields: Fields, *, positional: str = "") -> None:
    """An option for each field; those of requests alone have none. Options that are not given are no attributes.

    Parameters
    ----------
    positional : field that is TRACE, without an option's name.
    """
    offers = parser.add_argument_group("offers")
    for name, field in fields.items():
        if name == positional:
            absent: dict[str, Any] = {} if field.required else {"nargs": "?", "default": argparse.SUPPRESS}
            parser.add_argument(name, metavar="TRACE", help=field.help, **absent)
        elif field.kind is not Kind.OWN_GPUS:
            (offers if name in OFFERS else parser).add_argument(
                f"--{name.replace('_', '-')}",
                default=argparse.SUPPRESS,
                required=field.required,
                help=field.help.replace("%", "%%"),
                **_taken(field),
            )


def _reader(field: Field) -> Callable[[str], str]:
    """The field's own reader, with its refusal as argparse shows it."""

    def read(text: str) -> str:
        try:
            return field.read(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _taken(field: Field) -> dict[str, Any]:
    """How argparse takes a kind of field."""
    if field.choices:
        return {"choices": field.choices, "type": _reader(field)}
    taken: dict[Kind, dict[str, Any]] = {
        Kind.TEXT: {},
        Kind.WHOLE: {"type": int, "metavar": "N"},
        Kind.NUMBER: {"type": float},
        Kind.LARGE: {"type": count, "metavar": "N"},
        Kind.FLAG: {"action": "store_true"},
        Kind.NAMES: {"type": names, "metavar": "A,B"},
        Kind.COUNTS: {"type": counts, "metavar": "1,2,4"},
        Kind.NUMBERS: {"type": instance_number, "action": "append"},
        Kind.PROFILE: {"metavar": "TRACE"},
    }
    return {**taken[field.kind], **({"metavar": field.unit} if field.unit else {})}


def add_every_offer(parser: argparse.ArgumentParser) -> None:
    """`--every-offer`: the flag that shows what `cheapest_by_gpu` hides."""
    parser.add_argument(
        "--every-offer",
        action="store_true",
        help="show every offer (default: the cheapest of each GPU, unless you filter by more than market and "
        "confidence)",
    )


def add_steps(parser: argparse.ArgumentParser) -> None:
    """`--steps`: how many training steps TRACE covers."""
    add_fields(parser, some(PREDICT, "steps"))


def add_models(parser: argparse.ArgumentParser) -> None:
    """`--models`: the folder to predict with."""
    parser.add_argument("--models", metavar="DIR", help="models folder (default: PROFET_HOME or the shipped one)")


def add_data(parser: argparse.ArgumentParser) -> None:
    """`--data`: the measurements, of one folder or of several."""
    parser.add_argument(
        "--data",
        action="append",
        metavar="DIR",
        help="folder of measurements (default: PROFET_DATA, else data/); repeat to combine published ones and yours",
    )


def add_dask(parser: argparse.ArgumentParser) -> None:
    """`--dask`: who does the fits and folds."""
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run the fits and folds on this Dask scheduler, such as tcp://host:8786"
    )


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """`--anchor`: a choice among the measurements' anchors, which may be given several times."""
    parser.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs with this anchor")


def names(text: str) -> list[str]:
    """Names, of "A,B"."""
    return [name.strip() for name in text.split(",") if name.strip()]


def count(text: str) -> float:
    """A large number, of "25.6M"."""
    try:
        return typed_count(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def instance_number(text: str) -> tuple[str, float]:
    """An instance and a number, of "INSTANCE=NUMBER"."""
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4") from None


def counts(text: str) -> tuple[int, ...]:
    """Numbers of GPUs, of "1,2,4"."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 1,2,4,8") from None
