"""Which machines a fleet rents, what that costs, and what is refused in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from profet_cli.main import main
from profet_collect.fleet import SETUP_S
from profet_core.catalog import load_catalog
from profet_core.collected.record import CELLS_NAME, read_cells, whole_lines

BUCKET = ("--bucket", "s3://some-bucket")


@pytest.fixture
def planned(document, tmp_path):
    """`planned("--gpu", "T4", ...)` -> the document of a fleet in `tmp_path / "f"`."""
    return lambda *arguments: document("collect", "--cloud", tmp_path / "f", *arguments)


def price(instance: str, market: str) -> float:
    return next(offer.usd_per_hour for offer in load_catalog().offers(instance) if offer.market == market)


def test_of_each_gpu_the_cheapest_machine_is_rented_at_its_price_for_the_planned_time(tmp_path, planned):
    found = planned("--gpu", "t4,l4", "--provider", "aws,gcp", "--quick", "--plan")
    assert found["out"] is None and not (tmp_path / "f").exists()
    rented = [(one["instance"], one["accelerator"]) for one in found["tasks"]]
    assert rented == [("g4dn.xlarge", "T4"), ("gcp/g2-standard-4", "L4")]
    for one in found["tasks"]:
        assert SETUP_S / 60 < one["minutes"] <= SETUP_S / 60 + 20
        for market, key in (("spot", "usd_spot"), ("on-demand", "usd_on_demand")):
            assert one[key] == pytest.approx(price(one["instance"], market) * one["minutes"] / 60, abs=0.006)
    assert found["usd"] == pytest.approx(sum(one["usd_spot"] for one in found["tasks"]), abs=0.011)


def test_market_and_cells_are_those_asked_for(planned):
    grid = ("--models-list", "ResNet50,VGG16", "--pixels", "64", "--batch", "16,32", "--precision", "fp32,tf32")
    asked = ("--gpu", "T4", "--market", "on-demand", *grid, "--plan")
    (one,) = planned(*asked)["tasks"]
    # The T4 has no TF32.
    assert one["cells"] == 4
    both = planned(*asked, "--frameworks", "pytorch,tensorflow")
    assert both["tasks"][0]["cells"] == 8 and both["usd"] == both["tasks"][0]["usd_on_demand"]


def test_named_instances_are_taken_as_they_are(tmp_path, planned):
    found = planned("--instance", "g5.xlarge,gcp/n1-standard-4+1xV100", "--quick", *BUCKET)
    assert [one["instance"] for one in found["tasks"]] == ["g5.xlarge", "gcp/n1-standard-4+1xV100"]
    files = sorted(path.name for path in (tmp_path / "f").iterdir())
    tasks = ["profet-g5-xlarge.yaml", "profet-gcp-n1-standard-4-1xv100.yaml"]
    assert files == ["code", "fetch.sh", "launch.sh", *tasks]
    assert (tmp_path / "f" / "launch.sh").stat().st_mode & 0o111
    # Later CUDAs' builds of PyTorch have no kernels for a V100.
    v100 = (tmp_path / "f" / files[-1]).read_text()
    assert "--instance gcp/n1-standard-4+1xV100 --frameworks tensorflow --quick" in v100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gpu", "Voodoo2"], "Unknown GPU 'Voodoo2'"),
        (["--gpu", "A10", "--provider", "lambda"], "--market on-demand"),
        (["--gpu", "T4", "--provider", "acme"], "Unknown cloud 'acme'"),
        (["--gpu", ","], "Name at least one GPU"),
        (["--instance", "p3.2xlarge"], "retired"),
        (["--instance", "p4d.24xlarge"], "8 GPUs"),
        (["--instance", "runpod/1x-RTX4090"], "SkyPilot has no such machine"),
        (["--instance", "nothing.large"], "Unknown instance 'nothing.large'"),
        (["--instance", "p5.4xlarge"], "no spot price"),
        ([], "Name GPU types with --gpu"),
        (["--gpu", "T4", "--out", "x"], "--out is for this machine"),
        (["--gpu", "T4", "--bucket", "/home/me"], "--bucket '/home/me'"),
        (["--gpu", "T4", "--bucket", "s3://a-b/$(reboot)"], "name an existing bucket"),
        (["--gpu", "T4"], "Name your bucket"),
        (["--gpu", "T4", "--precision", "tf32", *BUCKET], "No cells remain"),
    ],
)
def test_what_can_not_be_done_is_one_line_and_writes_nothing(arguments, said, tmp_path, refused):
    assert said in refused("collect", "--cloud", tmp_path / "f", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_and_a_fleets_options_alone_are_refused(tmp_path, refused):
    (tmp_path / "f").mkdir()
    there = refused("collect", "--cloud", tmp_path / "f", "--gpu", "T4", "--quick", *BUCKET)
    assert "exists: name a new folder" in there and list((tmp_path / "f").iterdir()) == []
    assert "--cloud DIR" in refused("collect", "--instance", "x", "--gpu", "T4")
    assert "--instance NAME" in refused("collect", "--plan", "--device", "cpu", "--frameworks", "tensorflow")


ROOT = Path(__file__).resolve().parents[3]
CELLS = 40
#: Collects made-up cells into the real store, as slowly as a quick GPU; what was measured is printed.
COLLECT = f"""
import runpy, sys, time
from pathlib import Path
from profet_collect.store import open_store
made = runpy.run_path({str(ROOT / "tests" / "made" / "collected.py")!r})
result = made["result"]
arguments = sys.argv[1:]
assert arguments[:3] == ["-m", "profet_cli", "collect"], arguments
with open_store(Path(arguments[arguments.index("--out") + 1]), made["MANIFEST"]) as store:
    for number in range({CELLS}):
        if result(number).cell not in store.finished:
            time.sleep(0.05)
            store.append(result(number))
            print(number, flush=True)
"""


@pytest.fixture
def task(tmp_path, capsys) -> Path:
    arguments = ["--gpu", "T4", "--provider", "gcp", "--quick", "--bucket", "gs://some-bucket/kept"]
    assert main(["collect", "--cloud", str(tmp_path / "fleet"), *arguments]) == 0
    (found,) = (tmp_path / "fleet").glob("*.yaml")
    return found


def started(task: Path, tmp_path: Path, machine: str) -> subprocess.Popen:
    """The task on a fresh machine: its own home, the same bucket."""
    home = tmp_path / machine
    home.mkdir()
    (home / "collect.py").write_text(COLLECT)
    (home / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{home}/collect.py" "$@"\n')
    (home / "python").chmod(0o755)
    script = textwrap.dedent(task.read_text().partition("\nrun: |\n")[2])
    environment = {
        **os.environ,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "PROFET_NAME": task.stem,
        "PROFET_KEPT": str(tmp_path / "bucket"),
        "PROFET_KEEP_EVERY_S": "0.2",
        "PROFET_PYTHON": str(home / "python"),
    }
    return subprocess.Popen(
        ["bash", "-c", script],
        cwd=task.parent / "code",
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kept(task: Path, tmp_path: Path) -> list[int]:
    folder = tmp_path / "bucket" / task.stem
    if not (folder / CELLS_NAME).exists():
        return []
    return [found.cell.repeat for found, _ in whole_lines(read_cells(folder), CELLS_NAME)]


def test_a_machine_that_is_taken_away_loses_no_kept_cell_and_the_next_one_goes_on(task, tmp_path):
    first = started(task, tmp_path, "first")
    deadline = time.monotonic() + 120
    while len(kept(task, tmp_path)) < 5:
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = kept(task, tmp_path)
    assert 5 <= len(before) < CELLS

    second = started(task, tmp_path, "second")
    measured, _ = second.communicate(timeout=120)
    assert second.returncode == 0
    assert kept(task, tmp_path) == list(range(CELLS))
    assert [int(number) for number in measured.split()] == list(range(len(before), CELLS))


def test_a_machine_that_is_told_to_end_keeps_what_it_has(task, tmp_path):
    machine = started(task, tmp_path, "only")
    stated = [int(machine.stdout.readline()) for _ in range(6)]
    os.kill(machine.pid, signal.SIGTERM)
    machine.communicate(timeout=120)
    assert machine.returncode == 143
    assert kept(task, tmp_path)[:6] == stated


def test_a_collector_that_fails_is_the_jobs_failure(task, tmp_path):
    (tmp_path / "bucket" / task.stem).mkdir(parents=True)
    (tmp_path / "bucket" / task.stem / CELLS_NAME).write_text("cells without a manifest\n")
    machine = started(task, tmp_path, "only")
    machine.communicate(timeout=120)
    assert machine.returncode not in (0, None)
    assert (tmp_path / "bucket" / task.stem / CELLS_NAME).read_text() == "cells without a manifest\n"


def test_its_sources_run_alone(task):
    """With the standard library and filelock, as a machine has them beside a framework."""
    import filelock

    copied = [path for path in (task.parent / "code").rglob("*") if path.is_file()]
    assert {path.suffix for path in copied} <= {".py", ".csv", ".html", ".typed"}
    code = (
        f"import sys; sys.path[:0] = ['.', {str(Path(filelock.__file__).parents[1])!r}]\n"
        "import profet_collect.cell\nfrom profet_cli.main import main\nsys.exit(main(['collect', '--help']))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=task.parent / "code", capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "--precision" in done.stdout


def test_what_was_collected_is_joined_by_the_projects_own_commands(task, tmp_path):
    """`fetch.sh` with what the bucket's own command would have copied there already."""
    pytest.importorskip("pyarrow", reason="the training set is not installed: pip install -r requirements.txt")
    machine = started(task, tmp_path, "only")
    machine.communicate(timeout=120)
    tools = tmp_path / "tools"
    tools.mkdir()
    copied = f'#!/bin/sh\n[ "$4" = gs://some-bucket/kept ] && cp -r "{tmp_path}/bucket/." "$5"\n'
    for name, text in {"gcloud": copied, "profet": f'#!/bin/sh\nexec "{sys.executable}" -m profet_cli "$@"\n'}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    done = subprocess.run(
        ["sh", str(task.parent / "fetch.sh"), "measured"],
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (task.parent / "measured" / "cells.parquet").exists()
