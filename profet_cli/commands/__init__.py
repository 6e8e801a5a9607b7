"""The commands: each is a module or a package of its name, and a `Command`.

Only the chosen command is imported, so a command imports what it needs at its top. What some installations lack (the
training set, gpuhunt) or only some of its arguments need is imported where it is used.
"""

from __future__ import annotations

import argparse
from typing import Protocol

from profet_cli.parsing import OneLineParser


class Command(Protocol):
    """What the module of a command has.

    One whose command line is not all its own, such as `profile`, also has `parse_arguments(parser, arguments)`, which
    is called in place of the whole parser's `parse_args`.
    """

    def add_arguments(self, parser: OneLineParser) -> None:
        """Declare the arguments, `--format` among them where there is a result to print."""

    def run(self, options: argparse.Namespace) -> None:
        """Do it and print the result; raises ProfetError for what the user can put right."""
