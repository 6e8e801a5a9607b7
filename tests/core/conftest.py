"""The shipped context; and a tiny models folder of hand-made members, to work out predictions by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from profet_core import Catalog, Models
from profet_core.answers.context import Context
from profet_core.catalog import load_gpus
from profet_core.files import manifest_checksum, sha256_hex, shipped_folder
from profet_core.prediction.models import SCHEMA_VERSION, TRANSFER_NAME
from tests.made.members import tiny_member

#: Latency = factor x anchor latency (line), a constant (forest), microseconds of all features / 1000 (dense).
TINY_LINE = {"fast": 0.5, "slow": 2.0}
TINY_FOREST = {"fast": 40.0, "slow": 300.0}
#: Kind of each target of the anchor g4dn.xlarge.
TINY_TARGETS = {"p3.2xlarge": "fast", "p2.xlarge": "slow"}


def tiny_manifest() -> dict:
    """A manifest without files and checksum; floors are half of the fastest step: 2, 1 and 5 ms."""
    ranges = {
        "device_total_us": [10_000, 1_000_000],
        "latency_per_device_total": [0.3, 0.6],
        "median_latency_per_device_total": 0.5,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "features": {"clusters": [["Conv2D", "Conv3D"], ["IDLE"]], "host_operations": ["IDLE"], "near": 1.5},
        "instances": {
            "g4dn.xlarge": {**ranges, "latency_ms": [4, 900]},
            "p3.2xlarge": {**ranges, "latency_ms": [2, 400]},
            "p2.xlarge": {**ranges, "latency_ms": [10, 3000]},
        },
        "methods": {
            "profet": {
                "with_latency": {"members": ["line", "forest", "dense"], "combine": "median"},
                "without_latency": {"members": ["forest", "dense"], "combine": "mean"},
            },
            "other": {
                "with_latency": {"members": ["line", "forest"], "combine": "geometric mean"},
                "without_latency": {"members": ["dense"], "combine": "median"},
            },
        },
        "default_method": "profet",
        "scalers": [],
        "members": [],
        "files": {},
    }


@pytest.fixture(scope="session")
def context(models: Models, catalog: Catalog) -> Context:
    return Context(models, catalog, load_gpus())


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    """A complete models folder from g4dn.xlarge to p3.2xlarge and p2.xlarge."""
    manifest = tiny_manifest()
    kinds = list(TINY_TARGETS.values())
    members = {
        "line": ("latency_ms", [TINY_LINE[kind] for kind in kinds]),
        "forest": ("clusters", [TINY_FOREST[kind] for kind in kinds]),
        "dense": ("clusters", [1000.0] * len(kinds)),
    }
    (tmp_path / "g4dn.xlarge").mkdir()
    for member, (source, values) in members.items():
        name = f"g4dn.xlarge/{member}.npz"
        data = tiny_member(member, values)
        (tmp_path / name).write_bytes(data)
        manifest["files"][name] = sha256_hex(data)
        row = {"anchor": "g4dn.xlarge", "member": member, "input": source, "file": name, "targets": [*TINY_TARGETS]}
        manifest["members"].append(row)
    write_manifest(tmp_path, manifest)
    shutil.copy(shipped_folder("models") / TRANSFER_NAME, tmp_path)
    return tmp_path


def write_manifest(folder: Path, manifest: dict) -> None:
    """Write a manifest with the checksum it ought to have."""
    manifest["checksum"] = manifest_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))


@pytest.fixture
def seal() -> Callable[[Path, dict], None]:
    """`seal(folder, manifest)` writes a manifest with a valid checksum."""
    return write_manifest
