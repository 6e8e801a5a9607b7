"""Writes the map of docs/ARCHITECTURE.md from the first sentence of each package and module: `python -m docs.map`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = REPOSITORY / "docs" / "ARCHITECTURE.md"
PARTS = ("profet_core", "profet_lab", "profet_cli", "profet_recorder", "profet_collect", "profet_http", "ui", "pages")
BEGIN, END = "<!-- map: python -m docs.map -->\n", "<!-- end of map -->\n"


def main() -> None:
    """Put the map of the code as it is in the place of the one in the document."""
    DOCUMENT.write_text(with_map(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


def with_map(document: str) -> str:
    """The document with the map of the code as it is."""
    before, rest = document.split(BEGIN)
    _, after = rest.split(END)
    lines = "\n".join(line for part in PARTS for line in _table(part))
    return f"{before}{BEGIN}\n{lines}\n{END}{after}"


def _table(part: str) -> Iterator[str]:
    """One part of the project: a row for each module that has no room, and for each room."""
    folder = REPOSITORY / part
    own = _sentence(folder / "__init__.py")
    yield f"**`{part}/`**{own and ': '}{own}"
    yield ""
    yield "| where | what it is for | modules in it |"
    yield "|---|---|---|"
    modules = (path for path in _modules(folder) if path.stem != "__main__")
    yield from (f"| {_path(path)} | {_sentence(path)} | |" for path in modules)
    yield from (f"| {_path(room)} | {_sentence(_says_what_it_is(room))} | {_inside(room)} |" for room in _rooms(folder))
    yield ""


def _rooms(folder: Path) -> Iterator[Path]:
    for room in sorted(path for path in folder.iterdir() if path.is_dir() and list(path.glob("*.py"))):
        yield room
        yield from _rooms(room)


def _says_what_it_is(room: Path) -> Path:
    """The file whose first sentence is the room's: the package's, or the script of a page."""
    script = room / f"{room.name}.py"
    return script if script.exists() and not (room / "__init__.py").exists() else room / "__init__.py"


def _modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if path.stem != "__init__")


def _inside(room: Path) -> str:
    return ", ".join(path.stem for path in _modules(room) if path != _says_what_it_is(room))


def _path(path: Path) -> str:
    return f"`{path.relative_to(REPOSITORY).as_posix()}{'/' if path.is_dir() else ''}`"


def _sentence(path: Path) -> str:
    """The first sentence of a file's docstring, "" where there is none."""
    if not path.exists():
        return ""
    paragraph = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    text = " ".join(paragraph.split()).replace("|", "\\|")
    found = re.match(r".+?[.?!](?= [A-Z]|$)", text)
    return found[0] if found else text


if __name__ == "__main__":
    main()
