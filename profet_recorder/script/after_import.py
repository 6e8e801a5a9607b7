"""Calls a function right after a module is imported, whoever imports it; the script chooses its framework itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

OnImport = Callable[[ModuleType], None]


@contextmanager
def after_import(on_import: Mapping[str, OnImport]) -> Iterator[None]:
    """Inside the block, call `on_import[name](module)` once each top-level module `name` is imported, or already is."""
    finder = _Finder(dict(on_import))
    for name in list(finder.waiting):
        if name in sys.modules:
            finder.waiting.pop(name)(sys.modules[name])
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Finds nothing itself: it asks the others, and has the loader call back."""

    def __init__(self, waiting: dict[str, OnImport]) -> None:
        self.waiting = waiting
        self._asking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.waiting or fullname in self._asking:
            return None
        self._asking.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            self._asking.discard(fullname)
        if spec is not None and spec.loader is not None:
            # Only an import runs the module: TensorFlow asks for Keras' spec long before it imports Keras.
            execute = spec.loader.exec_module

            def execute_and_call(module: ModuleType) -> None:
                execute(module)
                if on_import := self.waiting.pop(fullname, None):
                    on_import(module)

            spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]  # this one loader's
        return spec
