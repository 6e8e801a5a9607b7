"""Options of several commands, those of a question as it declares them, and what is opened with them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from profet_cli.files import network_if_named, read_log_file, read_profile_file
from profet_core.answers.context import Context
from profet_core.catalog import Gpus, load_catalog, load_gpus
from profet_core.catalog.custom_gpus import CUSTOM_GPUS_NAME, custom_gpus_path, read_custom_gpus
from profet_core.catalog.custom_instances import CUSTOM_NAME
from profet_core.errors import ProfetError
from profet_core.prediction.models import load_models
from profet_core.questions import OFFER_FIELDS, Question, QuestionField, ask, fields_of


def add_format(parser: argparse.ArgumentParser, default: str = "text") -> None:
    """`--format`; `default` is `argparse.SUPPRESS` where a word before has set it."""
    parser.add_argument(
        "--format", choices=["text", "json"], default=default, help="output format; json prints one document"
    )


def add_models(parser: argparse.ArgumentParser) -> None:
    """`--models`: the folder to predict with."""
    parser.add_argument("--models", metavar="DIR", help="models folder (default: PROFET_HOME or the shipped one)")


def add_question(
    parser: argparse.ArgumentParser, question: type[Struct], *, first: str = "", **format_default: str
) -> None:
    """Declare an option for each field of a question, `first` without a name; what isn't given is no attribute."""
    add_format(parser, **format_default)
    offers = parser.add_argument_group("offers")
    for name, field in fields_of(question).items():
        more: dict[str, Any] = {"default": argparse.SUPPRESS, "help": field.help.replace("%", "%%")}
        if field.is_flag:
            more |= {"action": "append_const", "const": "true", "dest": name}
        else:
            more["metavar"] = f"{{{','.join(field.choices)}}}" if field.choices else field.unit or "A,B"
        if name == first:
            parser.add_argument(name, nargs=None if field.required else "?", **more)
            continue
        if field.is_mapping:
            more["action"] = "append"
        group = offers if name in OFFER_FIELDS else parser
        group.add_argument(f"--{name.replace('_', '-')}", required=field.required, **more)


def asked(options: argparse.Namespace, question: type[Question]) -> Question:
    """Make the question of the options that were given, its profiles read."""
    given = {name: getattr(options, name) for name in fields_of(question) if hasattr(options, name)}
    texts = {name: value if isinstance(value, list) else [value] for name, value in given.items()}

    def read(field: QuestionField, paths: list[str], values: Mapping[str, object]) -> object:
        path = paths[-1]
        if field.is_log:
            return read_log_file(Path(path))
        return (network_if_named(path, values) if field.name == "profile" else None) or read_profile_file(path)

    return ask(question, texts, of_texts=True, read=read)


def known_gpus() -> Gpus:
    """Return the GPUs with specs, the user's after them."""
    shipped = load_gpus()
    return shipped.with_custom(row.gpu for row in read_custom_gpus(custom_gpus_path(), shipped))


def open_context(options: argparse.Namespace) -> Context:
    """Models, and the catalog with the user's instances and GPUs; lists in the `--models` folder come first."""
    gpus, catalog = load_gpus(), load_catalog(own=_in_folder(options, CUSTOM_NAME))
    custom = read_custom_gpus(_in_folder(options, CUSTOM_GPUS_NAME) or custom_gpus_path(), gpus)
    return Context(load_models(options.models), catalog, gpus).with_custom_gpus(custom)


def _in_folder(options: argparse.Namespace, name: str) -> Path | None:
    path = Path(options.models or "") / name
    return path if options.models and path.is_file() else None


@contextmanager
def training_set() -> Iterator[None]:
    """Around imports of `profet_lab`: where one of its libraries is missing, one line says how to install them."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ProfetError(
            f"This command needs the training set ({error.name} is missing): pip install -r requirements.txt"
        ) from None
