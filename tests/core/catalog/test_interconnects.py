"""What links the GPUs of each offer: from its row, else by its GPU's form, which is said."""

from __future__ import annotations

import pytest

from profet_core import InputError, load_catalog
from profet_core.catalog import load_gpus
from profet_core.catalog.interconnects import PCIE_GB_PER_S, Link, load_interconnects


@pytest.fixture(scope="module")
def table():
    return load_interconnects()


def test_every_row_is_of_an_instance_or_a_gpu(table):
    catalog, gpus = load_catalog(), load_gpus()
    assert [name for name in table if name not in catalog and name not in gpus] == []
    assert [name for name in gpus if name not in table] == []
    for name in table:
        if name in catalog:
            assert table[name].gpus == catalog[name].gpu_count, name


@pytest.mark.parametrize(
    ("instance", "link", "gb_per_s", "gbit_per_s"),
    [
        ("p3.16xlarge", Link.NVLINK, 150, 25),
        ("p4d.24xlarge", Link.NVSWITCH, 300, 400),
        ("p5.48xlarge", Link.NVSWITCH, 450, 3200),
        ("g4dn.12xlarge", Link.PCIE, 15.75, 50),
        # AWS virtualises these without peer access: gradients go through host memory.
        ("g5.48xlarge", Link.PCIE_HOST, 15.75, 100),
    ],
)
def test_what_clouds_say(table, instance, link, gb_per_s, gbit_per_s):
    found = table.of(load_catalog()[instance])
    assert (found.link, found.link_gb_per_s, found.network_gbit_per_s) == (link, gb_per_s, gbit_per_s)
    assert found.network_gb_per_s == gbit_per_s / 8


def test_what_nobody_says_is_assumed_and_said(table):
    rented = table.of(load_catalog()["lambda/gpu_8x_a100"])
    assert (rented.link, rented.gpus) == (Link.NVSWITCH, 8)
    assert "typical links for this GPU's form factor" in rented.assumed and "10 Gb/s between nodes" in rented.assumed
    assert table.of_gpu("Some GPU 9000", 4).assumed.startswith("links assumed: PCIe 4")
    # A GeForce card reaches others through host memory, whatever its PCIe generation.
    geforce = table.of(load_catalog()["runpod/8x-RTX4090"])
    assert (geforce.link, geforce.link_gb_per_s, geforce.pcie_generation) == (Link.PCIE_HOST, PCIE_GB_PER_S[3], 4)


def test_every_node_of_several_gpus_has_links(table):
    for name, offer in load_catalog().items():
        found = table.of(offer)
        assert found.gpus == offer.gpu_count and found.source, name


def test_links_that_can_t_be_are_refused(table):
    from dataclasses import replace

    node = table["p3.16xlarge"]
    for change in ({"gpus": 0}, {"link_gb_per_s": 0}, {"pcie_generation": 2}, {"network_gbit_per_s": -1}):
        with pytest.raises(InputError):
            replace(node, **change)


def test_peer_access_over_pcie_is_named_where_it_is_assumed(table):
    assert "no peer access" in table.of_gpu("A10G", 8).assumed
    for gpu in ("L4", "L40S", "A10"):
        assert "peer access over PCIe" in table.of_gpu(gpu, 8).assumed
