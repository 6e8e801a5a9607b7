"""Imports the training side, or says in one line how to install it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from profet_core.errors import ProfetError


def import_lab(module: str) -> ModuleType:
    """`profet_lab.<module>`; training libraries are not part of the serving set."""
    try:
        return import_module(f"profet_lab.{module}")
    except ModuleNotFoundError as error:
        raise ProfetError(
            f"This command needs the training set ({error.name} is missing): pip install -r requirements.txt"
        ) from None
