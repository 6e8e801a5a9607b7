"""What is called after an import, and when."""

from __future__ import annotations

import importlib
import importlib.util
import sys

import pytest

from profet_recorder.script.run import after_import


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Name of a module that can be imported, and of one that asks for its spec first, as TensorFlow asks for Keras'."""
    (tmp_path / "imported_late.py").write_text("value = 1")
    (tmp_path / "asks_first.py").write_text(
        "import importlib.util\nassert importlib.util.find_spec('imported_late')\nimport imported_late"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("imported_late", "asks_first"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "imported_late"


@pytest.mark.parametrize("first", ["imported_late", "asks_first"])
def test_it_is_called_once_when_the_module_has_run_whoever_asked_for_it_before(module, first):
    values = []
    with after_import({module: lambda found: values.append(found.value)}):
        importlib.util.find_spec(module)
        assert values == []
        importlib.import_module(first)
        importlib.import_module(module)
        importlib.reload(sys.modules[module])
    assert values == [1]
    assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("profet_recorder")]


def test_what_is_loaded_already_counts_and_what_is_not_there_is_as_ever(module):
    importlib.import_module(module)
    values = []
    with after_import({module: values.append, "not_there_at_all": values.append}):
        assert [found.__name__ for found in values] == [module]
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("not_there_at_all")
        assert importlib.util.find_spec("not_there_at_all") is None
