"""Takes the fenced blocks of a document and does in a copy of the repository what they show.

What follows a fence's language says what the block is for: `file=PATH` (a new file, or in a diff the file to change),
`append=PATH` (rows for a CSV file, below its own header), `not-run="why"` (no test runs it), nothing (of `sh`:
commands).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, what stands behind it ("file=..." -> {"file": "..."}), and its text."""

    language: str
    options: dict[str, str]
    text: str


def blocks(document: str) -> list[Block]:
    """All fenced blocks of a document, in order."""
    return [
        Block(language, dict(word.partition("=")[::2] for word in shlex.split(info)), text)
        for language, info, text in _FENCE.findall(document)
    ]


def section(document: str, title: str) -> str:
    """What stands below a heading, up to the next one of its level or above."""
    bare = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), document)
    headings = list(_HEADING.finditer(bare))
    (at,) = (number for number, heading in enumerate(headings) if heading[2] == title)
    level = len(headings[at][1])
    later = (heading.start() for heading in headings[at + 1 :] if len(heading[1]) <= level)
    return document[headings[at].end() : next(later, len(document))]


def write(recipe: str, tree: Path) -> None:
    """Write and change what a recipe shows."""
    for block in blocks(recipe):
        _apply(block, tree)


def run_commands(recipe: str, tree: Path) -> list[subprocess.CompletedProcess]:
    """What each command of a recipe came to."""
    commands = [line for block in blocks(recipe) if block.language == "sh" for line in block.text.splitlines()]
    return [run(tree, line) for line in commands]


def run(tree: Path, line: str, folder: Path | None = None) -> subprocess.CompletedProcess:
    """Run `profet ...`, `python ...`, `ruff ...` or `pytest ...` with the code of `tree`, in it or in `folder`."""
    program, *arguments = shlex.split(line, comments=True)
    start = {
        "profet": ["-m", "profet_cli"],
        "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"],
        "ruff": ["-m", "ruff"],
        "python": [],
    }[program]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=folder or tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PROFET_INSTANCES": str(tree / "own.csv"), "PROFET_HOME": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _apply(block: Block, tree: Path) -> None:
    if block.language == "diff":
        path = tree / block.options["file"]
        path.write_text(_changed(path.read_text(encoding="utf-8"), block), encoding="utf-8")
    elif "file" in block.options:
        path = tree / block.options["file"]
        assert not path.exists(), f"{path} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    elif "append" in block.options:
        path = tree / block.options["append"]
        header, rows = block.text.split("\n", 1)
        before = path.read_text(encoding="utf-8")
        assert header == before.splitlines()[0], f"{path} has another header"
        path.write_text(before + rows, encoding="utf-8")


def _changed(text: str, block: Block) -> str:
    lines = block.text.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"{block.options['file']} has these lines {text.count(before)} times:\n{before}"
    return text.replace(before, after)
