"""SkyPilot's own parser reads the tasks, and its own checks know their clouds, machines and GPUs; nothing is rented."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from profet_cli.main import main
from profet_collect.fleet import CLOUDS, SKYPILOT, accelerator_of, instance_type
from profet_core.catalog import load_catalog

PYTHON = Path(sys.prefix) / "skypilot" / "bin" / "python"
#: Of SkyPilot's list of accelerators: the clouds of each (skypilot-catalog, catalogs/v8/common/accelerators.csv at
#: 001ca549aad50db24c5670b5438bea0573a2b6c0), of those that are rented on here.
LISTED = {
    "A10": {"azure", "lambda"},
    "A100": {"aws", "azure", "gcp", "lambda"},
    "A100-80GB": {"aws", "azure", "gcp", "lambda"},
    "A10G": {"aws"},
    "A6000": {"lambda"},
    "B200": {"aws", "lambda", "nebius"},
    "H100": {"aws", "azure", "gcp", "lambda", "nebius"},
    "H200": {"aws", "gcp", "nebius"},
    "K80": {"azure"},
    "L4": {"aws", "gcp"},
    "L40S": {"aws", "nebius"},
    "M60": {"azure"},
    "P100": {"gcp"},
    "T4": {"aws", "azure", "gcp"},
    "V100": {"aws", "azure", "gcp", "lambda"},
}
#: Parses what it is given, and prints what SkyPilot made of it, or its refusal.
PARSE = """
import json, os, sys, sky
for path in sys.argv[1:]:
    os.chdir(os.path.dirname(path))
    try:
        task = sky.Task.from_yaml(path)
        task.validate()
    except Exception as error:
        print("TOLD", json.dumps({"refused": str(error)}))
        continue
    (one,) = task.resources
    mounts = {where: (mount.source, mount.mode.value) for where, mount in task.storage_mounts.items()}
    print("TOLD", json.dumps({
        "name": task.name, "cloud": str(one.cloud).lower(), "instance_type": one.instance_type,
        "accelerators": one.accelerators, "use_spot": one.use_spot, "recovery": one.job_recovery,
        "mounts": mounts, "envs": task.envs, "workdir": task.workdir, "has_run": bool(task.run and task.setup),
    }))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """Where SkyPilot finds its catalog, which it would fetch: the price list's machines under its column names."""
    if not PYTHON.exists():
        pytest.skip("SkyPilot is not installed: sh tests/collect/cloud/ensure_skypilot.sh python3 .venv/skypilot")
    home = tmp_path_factory.mktemp("home")
    folder = home / ".sky" / "catalogs" / "v8"
    _write(folder / "common" / "accelerators.csv", [{"AcceleratorName": name, "Clouds": []} for name in LISTED])
    _write(folder / "common" / "metadata.csv", [{"GPU": "T4", "MemoryGB": 16, "Manufacturer": "nvidia"}])
    rows: dict[str, list[dict]] = {name: [] for name in CLOUDS}
    for offer in load_catalog().values():
        if (accelerator := accelerator_of(offer)) is not None:
            row = {
                "InstanceType": instance_type(offer),
                "AcceleratorName": accelerator,
                "AcceleratorCount": 1.0,
                "vCPUs": float(offer.vcpus or 0),
                "MemoryGiB": 64.0,
                "GpuInfo": "",
                "Price": offer.usd_per_hour,
                "SpotPrice": offer.usd_per_hour,
                "Region": offer.region,
                "AvailabilityZone": f"{offer.region}-a",
            }
            if offer.provider == "gcp" and "+" in offer.name:
                # Google's list has the machine and the GPU that is put into it in rows of their own.
                rows["gcp"].append({**row, "AcceleratorName": "", "AcceleratorCount": ""})
                row = {**row, "InstanceType": ""}
            rows[offer.provider].append(row)
    for cloud, found in rows.items():
        _write(folder / cloud / "vms.csv", found)
    return home


def _write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def parsed(home: Path, paths: list[Path]) -> list[dict]:
    """What SkyPilot makes of task files, in their order; one process, for starting takes seconds."""
    done = subprocess.run(
        [PYTHON, "-c", PARSE, *map(str, paths)],
        env={"HOME": str(home), "PATH": os.environ["PATH"], "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("TOLD ")]


def fleet(folder: Path, *arguments: str) -> Path:
    assert main(["collect", "--cloud", str(folder), "--bucket", "s3://some-bucket/profet", *arguments]) == 0
    return folder


def test_skypilot_reads_every_machine_that_can_be_chosen_and_refuses_what_is_wrong(home, tmp_path, capsys):
    rented = [
        offer
        for offer in load_catalog().values()
        if accelerator_of(offer) and offer.status == "available" and offer.market == "on-demand"
    ]
    every = fleet(
        tmp_path / "every", "--market", "on-demand", "--quick", "--instance", ",".join(one.name for one in rented)
    )
    spot = fleet(tmp_path / "spot", "--gpu", "V100,T4,A100", "--quick", "--frameworks", "pytorch,tensorflow")
    good = sorted(every.glob("*.yaml")) + sorted(spot.glob("*.yaml"))
    assert len(good) == len(rented) + 3 > 20

    one = next(path.read_text() for path in good if "n1-standard-4-1xt4" in path.name)
    spoilt = {
        "unknown key": one.replace("workdir:", "workdirectory:"),
        "unknown mode": one.replace("mode: MOUNT", "mode: APPEND"),
        "unknown machine": one.replace('instance_type: "', 'instance_type: "no-'),
        "unknown cloud": one.replace('infra: "gcp"', 'infra: "gcq"'),
    }
    bad = [every / f"{place}.yaml" for place in range(len(spoilt))]
    for path, text in zip(bad, spoilt.values(), strict=True):
        assert text != one
        path.write_text(text)

    found = parsed(home, good + bad)
    for path, task in zip(good, found, strict=False):
        assert "refused" not in task, (path.name, task)
        assert task["name"] == path.stem and task["has_run"] and task["workdir"].endswith("code")
        assert task["use_spot"] is (path.parent == spot)
        assert list(task["accelerators"].values()) == [1]
        assert task["mounts"] == {"/profet-kept": ["s3://some-bucket", "MOUNT"]}
        assert task["envs"]["PROFET_KEPT"] == "/profet-kept/profet"
        assert task["recovery"]["max_restarts_on_errors"] == 2
    assert {task["cloud"] for task in found[: len(good)]} == set(CLOUDS)
    assert [name for name, task in zip(spoilt, found[len(good) :], strict=True) if "refused" not in task] == []


def test_its_list_has_every_gpu_on_the_cloud_where_it_is_rented():
    machines = {(one.provider, accelerator_of(one)) for one in load_catalog().values() if accelerator_of(one)}
    assert len(machines) > 15
    missing = [(cloud, one) for cloud, one in machines if cloud not in LISTED.get(one, ())]
    assert missing == []


def test_the_version_that_tasks_name_is_the_one_that_reads_them_here():
    assert Path(__file__).with_name("skypilot.txt").read_text().strip() == f"skypilot=={SKYPILOT}"
