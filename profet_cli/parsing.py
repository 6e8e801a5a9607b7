"""Parsers of the command line: errors of one line, and a table of commands (or of a command's actions)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from profet_core.errors import InputError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

PROGRAM = "profet"


class OneLineParser(argparse.ArgumentParser):
    """Reports what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError instead of ending the process."""
        raise InputError(f"{message} (see `{self.prog} --help`)")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help or the version; argparse's own hides that the output can't be written."""
        print(message, end="", file=file)


def add_commands(
    parser: OneLineParser, descriptions: Mapping[str, str], *, dest: str, required: bool = False
) -> dict[str, OneLineParser]:
    """Declare commands, or actions of a command; returns the parser of each by its name.

    Parameters
    ----------
    descriptions : name -> its line in the list of commands, which is also the sentence above its own help.
    dest : attribute of the options that holds the chosen name.
    required : whether one must be chosen.
    """
    commands = parser.add_subparsers(dest=dest, required=required, metavar=dest.upper(), parser_class=OneLineParser)
    return {
        name: commands.add_parser(name, help=description, description=f"{description[0].upper()}{description[1:]}.")
        for name, description in descriptions.items()
    }
