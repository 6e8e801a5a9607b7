"""Every recipe of CONTRIBUTING.md works when it is followed to the letter in a copy of the repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.recipes import blocks, follow, run, section

SAMPLE = "sample_traces/vgg16-224px-b16-g3s.json"


def followed(contributing: str, tree: Path, title: str) -> list[str]:
    """Output of each command of a recipe, all of which must succeed."""
    done = follow(section(contributing, title), tree)
    assert done, "a recipe ends in commands"
    for each in done:
        assert each.returncode == 0, f"{each.args}\n{each.stdout}\n{each.stderr}"
    return [each.stdout for each in done]


def predicted(tree: Path, target: str) -> dict:
    """The target's row of a prediction in the copy."""
    done = run(tree, f"profet predict {SAMPLE} --anchor g3s.xlarge --targets {target} --format json")
    assert done.returncode == 0, done.stderr
    (row,) = (row for row in json.loads(done.stdout)["predictions"] if row["instance"] == target)
    return row


def test_a_trace_format_is_a_module_and_a_line(contributing, tree):
    followed(contributing, tree, "Add a trace format")
    mine = tree / "mine.txt"
    mine.write_text("# totals of 2 steps\nDevice_Conv2D 51425.8\nHost_IDLE 613483.8\n")
    done = run(tree, "profet inspect mine.txt --format json")
    assert json.loads(done.stdout)["format"] == "step totals"
    styled = run(tree, "ruff check profet_core/profiles/step_totals.py tests/core/profiles/test_step_totals.py")
    assert styled.returncode == 0, styled.stdout


def test_a_gpu_is_a_row(contributing, tree):
    followed(contributing, tree, "Add a GPU")
    row = predicted(tree, "my.a10")
    assert row["basis"] == "transferred" and 0 < row["low_ms"] < row["latency_ms"] < row["high_ms"]
    assert "data sheet" in row["note"] or "published" in row["note"]


def test_an_instance_is_a_row_and_a_price(contributing, tree):
    listed = followed(contributing, tree, "Add an instance")[1]
    assert "g6.2xlarge" in listed
    row = predicted(tree, "g6.2xlarge")
    assert (row["basis"], row["usd_per_hour"], row["status"]) == ("transferred", 0.9776, "available")
    assert row["latency_ms"] == pytest.approx(predicted(tree, "g6.xlarge")["latency_ms"])


def test_a_page_is_a_script_and_a_line(contributing, tree):
    (output,) = followed(contributing, tree, "Add a page")
    assert " passed" in output and "skipped" not in output


def test_every_recipe_has_its_test(contributing):
    recipes = {line.removeprefix("## ") for line in contributing.splitlines() if line.startswith("## Add ")}
    tested = Path(__file__).read_text(encoding="utf-8")
    assert {title for title in recipes if f'"{title}"' in tested} == recipes
    for title in recipes:
        found = blocks(section(contributing, title))
        assert {"sh"} < {block.language for block in found}, title
