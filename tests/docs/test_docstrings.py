"""Docstrings list parameters, attributes and errors as numpydoc does: one a line, below a heading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NAMES = r"\*{0,2}[A-Za-z_][\w.]*(?:, \*{0,2}[A-Za-z_][\w.]*)*"
#: What begins an entry of a section, such as "low_ms, high_ms : ends of the interval."
ENTRY = re.compile(rf"{_NAMES} : \S")
#: Another entry behind one.
SECOND = re.compile(rf"[.;)] {_NAMES} : \S")
HEADING = re.compile(r"(Parameters|Attributes|Returns|Raises)\n\s*-{4,}$", re.MULTILINE)
#: Where each section has its heading.
WITH_HEADINGS = ("ui", "pages")


def entries(docstring: str) -> Iterator[str]:
    """Each entry with the indented lines that go on with it."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        if ENTRY.match(line):
            below = lines[number + 1 :]
            end = next((n for n, one in enumerate(below) if not one.startswith("    ")), len(below))
            yield " ".join([line, *(line_below.strip() for line_below in below[:end])])


def problems(source: str, *, needs_heading: bool) -> list[str]:
    """Entries of a module's docstrings that share a line with another, or stand below no heading."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            listed = list(entries(text))
            wrong += [entry for entry in listed if SECOND.search(entry)]
            if listed and needs_heading and not HEADING.search(text):
                wrong.append(f"no heading: {listed[0]}")
    return wrong


def test_each_entry_has_a_line_and_in_the_app_a_heading():
    folders = [path for path in ROOT.iterdir() if path.name.startswith("profet_") or path.name in WITH_HEADINGS]
    folders += [ROOT / name for name in ("benchmarks", "docs", "deploy", "tests")]
    missing = {
        path.relative_to(ROOT).as_posix(): wrong
        for folder in folders
        for path in folder.rglob("*.py")
        if (wrong := problems(path.read_text(encoding="utf-8"), needs_heading=folder.name in WITH_HEADINGS))
    }
    assert missing == {}


def test_two_entries_on_a_line_are_seen():
    one = 'def f(a, b):\n    """F.\n\n    Parameters\n    ----------\n    a : of\n        one. b : of two.\n    """\n'
    assert problems(one, needs_heading=True) == ["a : of one. b : of two."]
    assert problems(one.replace(" b : of two.", ""), needs_heading=True) == []
    assert problems(one.replace("-" * 10, ""), needs_heading=True)[-1].startswith("no heading: a : of one.")
