"""The examples in the core's docstrings give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module

from tests.test_imports import module_name, modules_of


def test_examples_give_what_they_show():
    names = {module_name(path) for path in modules_of("profet_core") if ">>> " in path.read_text(encoding="utf-8")}
    assert {"profet_core", "profet_core.units", "profet_core.cost", "profet_core.profiles.reading"} <= names
    for name in names:
        failed, tried = doctest.testmod(import_module(name))
        assert tried and not failed, name
