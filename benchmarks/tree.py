"""Size and shape of the code: lines, modules, dataclasses, rooms and floors of the core, parameters and fields."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks import REPOSITORY

_CORE = "profet_core"


def measures() -> dict[str, int]:
    """Name of each measure -> its value; a room is a package or module of the core, a floor a level of imports."""
    sources = [(path, text, ast.parse(text)) for path, text in _sources()]
    ours = [one for one in sources if one[0].parts[0] != "tests"]
    classes = [node for _, _, tree in ours for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    records = [node for node in classes if any("dataclass" in ast.unparse(one) for one in node.decorator_list)]
    functions = [node for _, _, tree in ours for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    rooms = _rooms([(path, tree) for path, _, tree in ours if path.parts[0] == _CORE])
    return {
        "lines outside tests": sum(text.count("\n") for _, text, _ in ours),
        "lines of tests": sum(text.count("\n") for path, text, _ in sources if path.parts[0] == "tests"),
        "modules": len(ours),
        "dataclasses": len(records),
        "profet_core: modules": sum(path.parts[0] == _CORE for path, _, _ in ours),
        "profet_core: rooms": len(rooms),
        "profet_core: floors": _floors(rooms),
        "parameters of a function, most": max(map(_parameters, functions)),
        "functions of more than 6 parameters": sum(_parameters(one) > 6 for one in functions),
        "fields of a record, most": max(map(_fields, records)),
        "records of more than 12 fields": sum(_fields(one) > 12 for one in records),
    }


def _sources() -> Iterator[tuple[Path, str]]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        if (REPOSITORY / name).exists():
            yield Path(name), (REPOSITORY / name).read_text(encoding="utf-8")


def _parameters(function: ast.FunctionDef) -> int:
    """Without `self`, `cls` and those that gather the rest."""
    every = function.args
    names = [one.arg for one in (*every.posonlyargs, *every.args, *every.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def _fields(record: ast.ClassDef) -> int:
    return sum(isinstance(node, ast.AnnAssign) for node in record.body)


def _rooms(modules: list[tuple[Path, ast.Module]]) -> dict[str, set[str]]:
    """Each room and the rooms that it imports when it is loaded."""
    found: dict[str, set[str]] = {}
    for path, tree in modules:
        room = path.parts[1].removesuffix(".py")
        if room != "__init__":
            names = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
            others = {name.split(".")[1] for name in names if name.startswith(f"{_CORE}.")}
            found.setdefault(room, set()).update(others - {room})
    return found


def _floors(rooms: dict[str, set[str]]) -> int:
    @cache
    def floor(room: str) -> int:
        return 1 + max((floor(other) for other in rooms[room] if other in rooms), default=0)

    return max(map(floor, rooms))
