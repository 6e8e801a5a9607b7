"""Writes the list of packages in docs/ARCHITECTURE.md: `python -m docs.map`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = REPOSITORY / "docs" / "ARCHITECTURE.md"
PARTS = ("profet_core", "profet_lab", "profet_cli", "profet_recorder", "profet_collect", "profet_http", "ui", "pages")
#: Its packages have a line each; those of the others are named in one.
IN_DETAIL = "profet_core"
BEGIN, END = "<!-- packages: python -m docs.map -->\n", "<!-- end of packages -->\n"


def main() -> None:
    """Replace the list in the document."""
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    rows = "\n".join(_rows())
    DOCUMENT.write_text(f"{before}{BEGIN}\n{rows}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


def packages(parent: str) -> list[str]:
    """Names of the packages in one, at any depth, as paths below it."""
    folder = REPOSITORY / parent
    return sorted(path.relative_to(folder).as_posix() for path in _packages(folder))


def listed(document: str) -> dict[str, list[str]]:
    """Package -> the packages in it, as the document has them."""
    rows = re.findall(r"^- `([\w/]+)/`:.*?(?: \[(.+)\])?$", document, re.MULTILINE)
    return {name: inside.split(", ") if inside else [] for name, inside in rows}


def expected() -> dict[str, list[str]]:
    """Package -> the packages in it, as they exist."""
    inner = sorted({name.partition("/")[0] for name in packages(IN_DETAIL)})
    detailed = {f"{IN_DETAIL}/{name}": packages(f"{IN_DETAIL}/{name}") for name in inner}
    others = {name: packages(name) for name in PARTS if name != IN_DETAIL}
    return {IN_DETAIL: [], **detailed, **others}


def _packages(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_dir() and any(path.glob("*.py")))


def _rows() -> Iterator[str]:
    for name, inside in expected().items():
        sentence = _first_sentence(REPOSITORY / name / "__init__.py")
        names = f" [{', '.join(inside)}]" if inside else ""
        yield f"- `{name}/`: {sentence or 'The pages.'}{names}"


def _first_sentence(path: Path) -> str:
    """First sentence of a file's docstring; empty without one."""
    if not path.exists():
        return ""
    paragraph = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    text = " ".join(paragraph.split())
    found = re.match(r".+?[.?!](?= [A-Z]|$)", text)
    return found[0] if found else text


if __name__ == "__main__":
    main()
