"""The table "Your script, and what to type" of docs/PROFILES.md: each row's script is one that the tests record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from profet_cli.parsing import parsed
from tests.recorder.small_scripts import FOLDER, read_script

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "PROFILES.md"
ROWS = re.findall(
    r"^\| (.+?) \| (.+?) \| (.*?) ?\|$",
    DOCUMENT.read_text().split("### Your script, and what to type")[1].split("\n## ")[0],
    re.MULTILINE,
)[2:]


def test_there_is_a_row_for_each_shape():
    assert len(ROWS) >= 25 and len({shape for shape, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("shape, typed, example", ROWS, ids=[row[0] for row in ROWS])
def test_what_is_typed_is_what_the_tests_run(shape, typed, example):
    (command,) = re.findall(r"`(.*?profet profile [^`]+)`", typed) or [None]
    if command is not None:
        options = parsed(command.partition("profet ")[2].split())
        assert options.module or options.script == "train.py"
    link = re.match(r"\[(\w+)\]\(\.\./tests/recorder/scripts/(\w+)\.py\)(.*)", example)
    if link is None:
        # Tested in script/test_run.py.
        assert example == "" and ("module" in shape or "notebook" in shape)
        return
    script = read_script(FOLDER / f"{link[2]}.py")
    assert link[1] == link[2]
    if link[3]:
        assert link[3] == " is refused" and script.facts["status"] == "2" and script.lines["says"]
    elif command is None:
        assert "plain" in script.facts and typed.strip("`") in script.source
    else:
        assert "batch" in script.facts and "plain" not in script.facts
        assert options.keep_running == ("--keep-running" in script.lines.get("command", ""))
