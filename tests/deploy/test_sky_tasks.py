"""The SkyPilot tasks: its own parser reads them, cells outlive a spot machine, and their sources run alone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from profet_collect.store import CELLS_NAME, read_cells, whole_lines
from profet_core.catalog import Instance, load_shipped
from profet_core.catalog.launch import launch_of

ROOT = Path(__file__).resolve().parents[2]
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


CLUSTER, SPOT = (ROOT / "deploy" / name for name in ("collect.sky.yaml", "collect_spot.sky.yaml"))
INSTANCE = "g4dn.xlarge"
PYTHON = Path(sys.prefix) / "skypilot" / "bin" / "python"
#: Parses each file with the variables beside it, and prints what SkyPilot made of it, or its refusal.
PARSE = """
import json, sys, yaml, sky
for path, variables in json.loads(sys.argv[1]):
    try:
        task = sky.Task.from_yaml_config(yaml.safe_load(open(path)), variables)
    except Exception as error:
        print("TOLD", json.dumps({"refused": str(error)}))
        continue
    (one,) = task.resources
    mounts = {where: (mount.source, mount.mode.value) for where, mount in task.storage_mounts.items()}
    print("TOLD", json.dumps({
        "accelerators": one.accelerators, "use_spot": one.use_spot, "recovery": one.job_recovery, "mounts": mounts,
        "envs": task.envs, "workdir": task.workdir, "has_run": bool(task.run and task.setup),
    }))
"""


def parsed(tmp_path: Path, asked: list[tuple[Path, dict[str, str]]]) -> list[dict]:
    """What SkyPilot makes of task files, in their order; one process, for starting takes seconds."""
    if not PYTHON.exists():
        pytest.skip("SkyPilot is not installed: sh tests/deploy/ensure_skypilot.sh python3 .venv/skypilot")
    done = subprocess.run(
        [PYTHON, "-c", PARSE, json.dumps([(str(path), variables) for path, variables in asked])],
        cwd=ROOT,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("TOLD ")]


def test_skypilot_reads_the_tasks_and_refuses_what_is_wrong(tmp_path):
    given = {"INSTANCE": INSTANCE}
    unknown, mode = tmp_path / "unknown.yaml", tmp_path / "mode.yaml"
    unknown.write_text(CLUSTER.read_text().replace("workdir:", "workdirectory:"))
    mode.write_text(SPOT.read_text().replace("mode: MOUNT", "mode: APPEND"))
    in_bucket = {**given, "BUCKET": "s3://some-bucket"}
    good = [(CLUSTER, given), (SPOT, in_bucket)]
    cluster, spot, *refused = parsed(
        tmp_path, [*good, (CLUSTER, {}), (SPOT, given), (unknown, given), (mode, in_bucket)]
    )
    for task in (cluster, spot):
        assert "refused" not in task, task
        assert (task["accelerators"], task["workdir"], task["has_run"]) == ({"T4": 1}, ".", True)
        assert (task["envs"]["INSTANCE"], task["envs"]["COLLECT"]) == (INSTANCE, "--quick")
    assert (cluster["use_spot"], cluster["mounts"]) == (False, {})
    assert (spot["use_spot"], spot["mounts"]) == (True, {"/profet-bucket": ["s3://some-bucket", "MOUNT"]})
    assert spot["recovery"]["max_restarts_on_errors"] == 2
    assert [task for task in refused if "refused" not in task] == []


def test_skypilot_reads_what_rents_each_offer(tmp_path):
    catalogs = tmp_path / ".sky" / "catalogs" / "v8" / "shadeform"
    catalogs.mkdir(parents=True)
    rows = ["InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice"]
    tasks: dict[str, Instance] = {}
    for offer in load_shipped().all_offers:
        if task := launch_of(offer, command="cd work\npython train.py").skypilot:
            tasks.setdefault(task, offer)
        if "instance_type: " in task:
            of = dict(re.findall(r"(accelerators|instance_type): (\S+)", task))
            name, count = of["accelerators"].split(":")
            rows.append(f"{of['instance_type']},{name},{count},8,64,{offer.usd_per_hour},{offer.region},GPU,")
    (catalogs / "vms.csv").write_text("\n".join(rows) + "\n")
    files = []
    for number, task in enumerate(tasks):
        files.append((tmp_path / f"{number}.yaml", {}))
        files[-1][0].write_text(task)
    assert len(tasks) > 150
    for (task, offer), resources in zip(tasks.items(), parsed(tmp_path, files), strict=True):
        assert "refused" not in resources, (task, resources)
        assert list(resources["accelerators"].values()) == [offer.gpu_count]
        assert resources["use_spot"] == (offer.market == "spot")


def started(task: Path, tmp_path: Path, machine: str) -> subprocess.Popen:
    """What a task runs on a fresh machine: its own home, the same bucket."""
    home = tmp_path / machine
    home.mkdir()
    (home / "collect.py").write_text(COLLECT)
    (home / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{home}/collect.py" "$@"\n')
    (home / "python").chmod(0o755)
    environment = {
        **os.environ,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "INSTANCE": INSTANCE,
        "COLLECT": "--quick",
        "MOUNTED": str(tmp_path / "bucket"),
        "KEEP_EVERY_S": "0.2",
        "PYTHON": str(home / "python"),
    }
    return subprocess.Popen(
        ["bash", "-c", textwrap.dedent(task.read_text().partition("\nrun: |\n")[2])],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def cells_in(place: Path) -> list[int]:
    folder = place / "collected" / INSTANCE
    if not (folder / CELLS_NAME).exists():
        return []
    return [result.cell.repeat for result, _ in whole_lines(read_cells(folder), CELLS_NAME)]


def test_a_cluster_has_what_is_brought_back(tmp_path):
    machine = started(CLUSTER, tmp_path, "only")
    machine.communicate(timeout=120)
    assert machine.returncode == 0 and cells_in(tmp_path / "only") == list(range(CELLS))


def test_a_machine_that_is_taken_away_loses_no_kept_cell_and_the_next_one_goes_on(tmp_path):
    bucket = tmp_path / "bucket"
    first = started(SPOT, tmp_path, "first")
    deadline = time.monotonic() + 120
    while len(cells_in(bucket)) < 5:
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = cells_in(bucket)
    assert 5 <= len(before) < CELLS

    second = started(SPOT, tmp_path, "second")
    measured, _ = second.communicate(timeout=120)
    assert second.returncode == 0 and cells_in(bucket) == list(range(CELLS))
    assert [int(number) for number in measured.split()] == list(range(len(before), CELLS))


def test_a_machine_that_is_told_to_end_keeps_what_it_has(tmp_path):
    machine = started(SPOT, tmp_path, "only")
    stated = [int(machine.stdout.readline()) for _ in range(6)]
    os.kill(machine.pid, signal.SIGTERM)
    machine.communicate(timeout=120)
    assert machine.returncode == 143 and cells_in(tmp_path / "bucket")[:6] == stated


def test_a_collector_that_fails_is_the_jobs_failure(tmp_path):
    kept = tmp_path / "bucket" / "collected" / INSTANCE
    kept.mkdir(parents=True)
    (kept / CELLS_NAME).write_text("cells without a manifest\n")
    machine = started(SPOT, tmp_path, "only")
    machine.communicate(timeout=120)
    assert machine.returncode not in (0, None)
    assert (kept / CELLS_NAME).read_text() == "cells without a manifest\n"


def test_collecting_needs_filelock_msgspec_and_what_a_framework_brings():
    code = """
import sys
import profet_collect.cell
from profet_cli.main import main
try:
    main(["collect", "--help"])
except SystemExit:
    loaded = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
    print("LOADED", *sorted(name for name in loaded if not name.startswith(("_", "profet_"))))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "--precision" in done.stdout, done.stderr
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert loaded <= {"filelock", "msgspec", "numpy", "typing_extensions"}, loaded
    for task in (CLUSTER, SPOT):
        assert "filelock" in task.read_text() and "msgspec" in task.read_text()
