"""The examples in the core's docstrings give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ">>> "


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "profet_core").rglob("*.py"))}
MODULES = [module_name(path) for path, source in SOURCES.items() if EXAMPLE in source]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name):
    failed, tried = doctest.testmod(import_module(name))
    assert tried and not failed


def test_what_people_call_has_examples():
    shown = {"profet_core", "profet_core.units", "profet_core.cost", "profet_core.profiles.reading"}
    assert shown <= set(MODULES)
