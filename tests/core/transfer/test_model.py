"""`transfer.json` is what it was when written, or one line says that it is not."""

from __future__ import annotations

import json

import pytest

from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum
from profet_core.transfer.model import TRANSFER_NAME, load_transfer
from profet_core.transfer.parts import KINDS


@pytest.fixture
def copied(repository, tmp_path):
    """A folder with a copy of the shipped file, and how to write it anew."""

    def write(change=None, sign=True):
        content = json.loads((repository / "models" / TRANSFER_NAME).read_bytes())
        if change:
            change(content)
        if sign:
            content["checksum"] = manifest_checksum(content)
        (tmp_path / TRANSFER_NAME).write_text(json.dumps(content))
        return tmp_path

    return write


def test_the_shipped_file_knows_the_profiled_instances_and_says_what_it_was_fitted_on(repository):
    model = load_transfer(repository / "models")
    assert set(model.instances) == {"g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge"}
    assert model.reference_gpu == "Tesla V100-SXM2-16GB"
    assert set(model.derived) == {"A10G", "Tesla P100-PCIE-16GB"}
    assert {"L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB"} <= set(model.points)
    assert "L4" not in model.points
    assert "external/cloud_hw_trainpred.csv" in model.fitted_on


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(ArtifactError, match=r"transfer.json is missing: get it again"):
        load_transfer(tmp_path)


def test_a_changed_number_is_noticed(copied):
    with pytest.raises(ArtifactError, match="is damaged or was changed"):
        load_transfer(copied(lambda content: content["step"].update(start_ms=0.0), sign=False))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"checksum": NaN}'])
def test_what_is_no_such_file_is_one_line(tmp_path, text):
    (tmp_path / TRANSFER_NAME).write_text(text)
    with pytest.raises(ArtifactError, match="is damaged or was changed"):
        load_transfer(tmp_path)


def test_another_version_is_told_apart(copied):
    with pytest.raises(ArtifactError, match="has version 99, this program reads"):
        load_transfer(copied(lambda content: content.update(schema_version=99)))


@pytest.mark.parametrize("section", ["step", "spread", "points", "derived", "reference"])
def test_a_signed_file_without_a_part_is_damaged(copied, section):
    with pytest.raises(ArtifactError, match="is damaged"):
        load_transfer(copied(lambda content: content.pop(section)))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("step", "tail_share"), "much"),
        (("step", "instances", "p3.2xlarge", "kind_log_speeds"), [0.1, None, 0.2, 0.3]),
        (("kernels", "L4", "bandwidth"), None),
        (("points", "A10", "log_speed"), float("inf")),
        (("reference",), "p9.xlarge"),
    ],
)
def test_a_signed_file_with_a_value_that_is_no_number_is_damaged(copied, where, value):
    def change(content):
        for key in where[:-1]:
            content = content[key]
        content[where[-1]] = value

    with pytest.raises(ArtifactError, match="is damaged"):
        load_transfer(copied(change))


def test_what_stands_behind_a_gpu(repository):
    model = load_transfer(repository / "models")
    basis = {name: model.basis_of(model.gpus[name]) for name in ("A10G", "Tesla T4", "H100-SXM5-80GB", "L4")}
    assert basis == {"A10G": "derived", "Tesla T4": "derived", "H100-SXM5-80GB": "transferred", "L4": "transferred"}


def test_instances_have_a_speed_a_kind_and_a_known_host(repository):
    law = load_transfer(repository / "models").step
    for name, row in law.instances.items():
        assert len(row.kind_log_speeds) == len(row.benchmark_kinds_ms) == len(KINDS)
        assert law.host(name).log_sd == 0.13
    assert {name: row.host for name, row in law.instances.items()} == {
        "g3s.xlarge": "broadwell",
        "g4dn.xlarge": "cascade-lake",
        "p2.xlarge": "broadwell",
        "p3.2xlarge": "broadwell",
    }
