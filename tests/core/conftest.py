"""A tiny models folder of hand-made graphs, so that expected predictions can be worked out by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from profet_core.files import manifest_checksum, sha256_hex

#: Latency = factor x anchor latency (line), a constant (forest), microseconds of all features / 1000 (dense).
TINY_LINE = {"fast": 0.5, "slow": 2.0}
TINY_FOREST = {"fast": 40.0, "slow": 300.0}
TINY_INSTANCES = ("g4dn.xlarge", "p3.2xlarge", "p2.xlarge")
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
        "schema_version": 1,
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
def graphs() -> Callable[[str, float], bytes]:
    """Serialised graph of one member: `line(factor)`, `forest(constant)` or `dense(divisor)`."""
    try:
        import onnx
    except ModuleNotFoundError:
        if os.environ.get("PROFET_REQUIRE_ALL"):
            raise
        pytest.skip("needs onnx, part of the training set: pip install -r requirements.txt")
    from onnx import TensorProto, helper

    def number(name: str, *shape: int, value: float):
        count = 1
        for length in shape:
            count *= length
        return helper.make_tensor(name, TensorProto.FLOAT, shape, [value] * count)

    def make(kind: str, value: float) -> bytes:
        width = 1 if kind == "line" else 3
        given = helper.make_tensor_value_info("given", TensorProto.FLOAT, [None, width])
        said = helper.make_tensor_value_info("said", TensorProto.FLOAT, [None, 1])
        weight = {"line": value, "forest": 0.0, "dense": 1 / value}[kind]
        bias = value if kind == "forest" else 0.0
        graph = helper.make_graph(
            [
                helper.make_node("MatMul", ["given", "weights"], ["product"]),
                helper.make_node("Add", ["product", "bias"], ["said"]),
            ],
            kind,
            [given],
            [said],
            [number("weights", width, 1, value=weight), number("bias", 1, value=bias)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model.SerializeToString()

    return make


@pytest.fixture
def tiny_folder(tmp_path: Path, graphs) -> Path:
    """A complete models folder from g4dn.xlarge to p3.2xlarge and p2.xlarge."""
    manifest = tiny_manifest()
    for target, kind in TINY_TARGETS.items():
        values = {"line": TINY_LINE[kind], "forest": TINY_FOREST[kind], "dense": 1000.0}
        for member, value in values.items():
            name = f"g4dn.xlarge/{target}/{member}.onnx"
            data = graphs(member, value)
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
            manifest["files"][name] = sha256_hex(data)
            source = "latency_ms" if member == "line" else "clusters"
            row = {"anchor": "g4dn.xlarge", "target": target, "member": member, "input": source, "file": name}
            manifest["members"].append(row)
    write_manifest(tmp_path, manifest)
    return tmp_path


def write_manifest(folder: Path, manifest: dict) -> None:
    """Write a manifest with the checksum it ought to have."""
    manifest["checksum"] = manifest_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))


@pytest.fixture
def seal() -> Callable[[Path, dict], None]:
    """`seal(folder, manifest)` writes a manifest with a valid checksum."""
    return write_manifest
