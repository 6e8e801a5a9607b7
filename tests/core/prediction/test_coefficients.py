"""Files of coefficients, each signed with its own checksum: read as they were written, or refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from profet_core.catalog.interconnects import Link
from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.layers.rates import load_rates
from profet_core.prediction.growth import SIGNS, load_growth
from profet_core.prediction.models import load_transfer
from profet_core.training.memory import load_memory
from profet_core.training.scaling_model import load_scaleout

SHIPPED = shipped_folder("models")
INSTANCES = {"g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge"}
LOADERS: dict[str, Callable[[Any], Any]] = {
    "estimate.json": load_rates,
    "growth.json": load_growth,
    "memory.json": load_memory,
    "scaleout.json": load_scaleout,
    "transfer.json": load_transfer,
}


def shipped(name: str) -> dict:
    return json.loads((SHIPPED / name).read_text())


def read(folder, name: str, content: dict, *, sign: bool = True):
    signed = {**content, "checksum": manifest_checksum(content)} if sign else content
    (folder / name).write_text(json.dumps(signed))
    return LOADERS[name](folder)


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_torn_changed_or_newer_one_is_one_line(folder, name):
    content = shipped(name)
    assert read(folder, name, content).checksum == content["checksum"] == LOADERS[name](SHIPPED).checksum
    (folder / name).unlink()
    with pytest.raises(ArtifactError, match=rf"{name} is missing"):
        LOADERS[name](folder)
    for text in ("", "{", "[]", "null", '{"checksum": NaN}', "[" * 100_000):
        (folder / name).write_text(text)
        with pytest.raises(ArtifactError, match=rf"{name} is damaged") as error:
            LOADERS[name](folder)
        assert str(error.value).isprintable()
    with pytest.raises(ArtifactError, match=r"is damaged"):
        read(folder, name, {**content, "fitted_on": {"more": "data"}}, sign=False)
    with pytest.raises(ArtifactError, match=r"has version 99"):
        read(folder, name, {**content, "schema_version": 99})


#: File -> where what is put instead of a coefficient; None takes a part away.
DAMAGE = {
    "estimate.json": [("kinds", []), ("powers/compute", "high"), ("instances/p2.xlarge/log_costs", [0.0])],
    "growth.json": [
        ("curves/g4dn.xlarge/share", [1.0]),
        ("curves/g4dn.xlarge/spread/0", 0.0),
        ("curves/g4dn.xlarge/low/0", "low"),
        ("curves/g4dn.xlarge/sharpness", 0.0),
        ("curves/g4dn.xlarge/offsets/g4dn.xlarge", [1.0]),
    ],
    "memory.json": [("law/per_parameter", -1), ("law/per_parameter", "many"), ("traffic", None)],
    "scaleout.json": [
        ("overlap", 1.5),
        ("network_straggling", -1),
        ("staged_gb_per_s", 0),
        ("backward_left", 1.5),
        ("network_width", {}),
        ("host_efficiency", 0),
        ("host_efficiency", True),
        ("link_efficiency", {"pcie": 0.5}),
        ("link_efficiency", {"string": 0.5}),
        ("widths", {}),
        ("straggling", "much"),
    ],
    "transfer.json": [
        ("profiled", None),
        ("work", None),
        ("profiled/p3.2xlarge/inferred_log_half_width", "wide"),
        ("work/p3.2xlarge/mean", [0.1]),
        ("reference", "p9.xlarge"),
    ],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_one_with_something_else_for_a_coefficient_is_damaged_though_signed(folder, name):
    for where, value in DAMAGE[name]:
        content = shipped(name)
        *path, last = (int(key) if key.isdigit() else key for key in where.split("/"))
        part = content
        for key in path:
            part = part[key]
        part[last] = value
        with pytest.raises(ArtifactError, match=r"is damaged|is invalid"):
            read(folder, name, content)


def test_the_shipped_coefficients_know_every_instance_gpu_and_link(models):
    growth, content = models.growth, shipped("growth.json")
    assert set(growth.models) == set(models.instances) == INSTANCES
    for name, scaling in growth.models.items():
        assert set(scaling.offsets) == INSTANCES
        assert len(content["curves"][name]["share"]) == len(content["curves"][name]["area"]) == 1 + len(SIGNS)
    transfer = models.transfer
    assert set(transfer.profiled) == INSTANCES and transfer.reference_gpu == "Tesla V100-SXM2-16GB"
    assert {name: profiled.host.name for name, profiled in transfer.profiled.items()} == {
        **dict.fromkeys(INSTANCES, "broadwell"),
        "g4dn.xlarge": "cascade-lake",
    }
    assert {profiled.host.log_sd for profiled in transfer.profiled.values()} == {0.13}
    model = load_scaleout(SHIPPED)
    assert set(model.link_efficiency) == set(model.widths[False]) == set(Link) and 0 < model.overlap < 1
    assert 300 * model.link_efficiency[Link.NVSWITCH] > 31.5 * model.link_efficiency[Link.PCIE] > 1
    eight = {link: model.widths[False][link].log_sd(0.2, 8) for link in Link}
    assert all(model.widths[False][link].log_sd(0.2, 2) <= eight[link] for link in Link)
    assert eight[Link.PCIE_HOST] > model.widths[False][Link.PCIE_HOST].log_sd(0.2, 2) + 0.09
    assert eight[Link.PCIE_HOST] > max(eight[Link.PCIE], eight[Link.NVSWITCH], 0.2)
    # What one process is off by is not what others are off by.
    assert model.widths[True] != model.widths[False]
