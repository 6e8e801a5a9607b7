"""Every recipe of CONTRIBUTING.md works when it is followed to the letter in a copy of the repository."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.recipes import blocks, run, run_commands, section, write

SAMPLE = "sample_traces/vgg16-224px-b16-g3s.json"


def followed(contributing: str, tree: Path, title: str) -> list[str]:
    """Output of each command of a recipe, all of which must succeed."""
    recipe = section(contributing, title)
    write(recipe, tree)
    done = run_commands(recipe, tree)
    assert done, "a recipe ends in commands"
    for process in done:
        assert process.returncode == 0, f"{process.args}\n{process.stdout}\n{process.stderr}"
    return [process.stdout for process in done]


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


def test_a_module_is_a_file_and_its_layer(contributing, tree):
    (output,) = followed(contributing, tree, "Add a module")
    assert " passed" in output


def test_a_gpu_is_a_row_an_instance_a_row_and_a_price_and_a_cloud_told_by_its_machines_names(contributing, tree):
    followed(contributing, tree, "Add a GPU")
    row = predicted(tree, "my.rtx2000")
    assert row["basis"] == "transferred" and 0 < row["low_ms"] < row["latency_ms"] < row["high_ms"]
    assert "data sheet" in row["note"] or "published" in row["note"]
    listed = followed(contributing, tree, "Add an instance")[-2]
    assert "g6.2xlarge" in listed
    row = predicted(tree, "g6.2xlarge")
    assert (row["basis"], row["usd_per_hour"], row["status"]) == ("transferred", 0.9776, "available")
    assert row["latency_ms"] == pytest.approx(predicted(tree, "g6.xlarge")["latency_ms"])
    listed = followed(contributing, tree, "Add a cloud")[-1]
    assert "verda/1V100.6V" in listed and "gcp/" not in listed


def test_a_network_is_two_lines(contributing, tree):
    output, stated = followed(contributing, tree, "Add a network")
    assert "1 passed" in output and "convolutions=53" in stated


def test_a_source_of_measurements_is_a_module_and_a_line(contributing, tree):
    pytest.importorskip("pyarrow", reason="the training set is not installed: pip install -r requirements.txt")
    imported, checked = followed(contributing, tree, "Add a source of measurements")
    assert "2 cells of g5.xlarge" in imported and "g5.xlarge" in checked


def test_a_member_is_a_name_a_recipe_and_weights(contributing, tree):
    if find_spec("tensorflow") is None:
        pytest.skip("the training set is not installed: pip install -r requirements.txt")
    (output,) = followed(contributing, tree, "Add a member")
    assert "1 passed" in output
    imports = "from profet_core.ensemble.members import MEMBERS; from profet_lab.class_folds import WEIGHTS"
    done = run(tree, f"python -c '{imports}; print(len(MEMBERS) == len(WEIGHTS))'")
    assert done.stdout == "True\n", done.stderr


def test_a_cost_component_is_a_field_a_formula_a_word_and_a_test(contributing, tree):
    files = {block.options["file"] for block in blocks(section(contributing, "Add a cost component")) if block.options}
    assert len(files) == 4
    tests = followed(contributing, tree, "Add a cost component")
    assert all(" passed" in output and "skipped" not in output for output in tests)
    done = run(tree, f"profet advise {SAMPLE} --anchor g3s.xlarge --images 50000 --egress-usd 3 --format json")
    costs = [plan["breakdown"] for plan in json.loads(done.stdout)["plans"]]
    assert {one["egress_usd"] for one in costs} == {3.0}
    described = run(tree, "python -c 'from profet_http.endpoints import openapi_document; print(openapi_document())'")
    assert "'egress_usd'" in described.stdout
    linked = run(tree, "python -c 'from ui.session import LINKED; print(LINKED[\"egress_usd\"].tip)'")
    assert linked.stdout.startswith("Price of copying")


def test_a_page_is_a_script_and_a_line(contributing, tree):
    (output,) = followed(contributing, tree, "Add a page")
    assert " passed" in output and "skipped" not in output


def recipes(contributing: str) -> list[str]:
    return [line.removeprefix("## ") for line in contributing.splitlines() if line.startswith("## Add ")]


def test_every_recipe_has_its_test_and_the_house_s_style(contributing, tree):
    tested = Path(__file__).read_text(encoding="utf-8")
    assert [title for title in recipes(contributing) if f'"{title}"' not in tested] == []
    for title in recipes(contributing):
        write(section(contributing, title), tree)
    for line in ("ruff check .", "ruff format --check ."):
        done = run(tree, line)
        assert done.returncode == 0, done.stdout
