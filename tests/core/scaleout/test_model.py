"""`scaleout.json` is read as it was fitted, or refused in one line."""

from __future__ import annotations

import json

import pytest

from profet_core.catalog.interconnects import Link
from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum, shipped_folder
from profet_core.scaleout.model import SCALEOUT_NAME, load_scaleout

SHIPPED = shipped_folder("models") / SCALEOUT_NAME


def test_the_shipped_law_is_one(tmp_path):
    law = load_scaleout(SHIPPED.parent)
    assert set(law.link_efficiency) == set(law.widths) == set(Link)
    assert 0 < law.overlap < 1
    # NVSwitch gives more of its bandwidth than a path through the host's memory.
    assert law.link_efficiency[Link.NVSWITCH] > law.link_efficiency[Link.PCIE_HOST]


@pytest.mark.parametrize(
    "change",
    [
        {"overlap": 1.5},
        {"message_ms": -1},
        {"host_efficiency": 0},
        {"host_efficiency": True},
        {"link_efficiency": {"pcie": 0.5}},
        {"link_efficiency": {"string": 0.5}},
        {"widths": {}},
        {"straggling": "much"},
    ],
)
def test_what_is_no_law_is_refused(tmp_path, change):
    content = {**json.loads(SHIPPED.read_text()), **change}
    content["checksum"] = manifest_checksum(content)
    (tmp_path / SCALEOUT_NAME).write_text(json.dumps(content))
    with pytest.raises(ArtifactError, match="is damaged or was changed"):
        load_scaleout(tmp_path)


def test_a_changed_or_missing_file_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match="is missing"):
        load_scaleout(tmp_path)
    (tmp_path / SCALEOUT_NAME).write_text(SHIPPED.read_text().replace('"overlap": 0', '"overlap": 1'))
    with pytest.raises(ArtifactError, match="is damaged or was changed"):
        load_scaleout(tmp_path)


def test_more_gpus_are_less_sure_and_host_memory_least():
    law = load_scaleout(SHIPPED.parent)
    eight = {link: law.widths[link].log_half_width(0.2, 8) for link in Link}
    assert all(law.widths[link].log_half_width(0.2, 2) <= eight[link] for link in Link)
    assert eight[Link.PCIE_HOST] > law.widths[Link.PCIE_HOST].log_half_width(0.2, 2) + 0.15
    assert eight[Link.PCIE_HOST] > max(eight[Link.PCIE], eight[Link.NVSWITCH], 0.35)
    # What one process is off by is not what others are off by.
    assert law.one_process_widths != law.widths
