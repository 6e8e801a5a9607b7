"""The shipped tables of GPUs and links are whole and agree with themselves; names find the GPU they mean."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from profet_core import InputError, load_catalog
from profet_core.catalog import gpu_model, load_gpus
from profet_core.catalog.interconnects import PCIE_GB_PER_S, Link, load_interconnects

#: CUDA cores of one multiprocessor, by architecture.
CORES_PER_SM = {
    "Kepler 2.0": 192,
    "Maxwell 2.0": 128,
    "Pascal": (64, 128),  # P100 has 64, P4 has 128
    "Volta": 64,
    "Turing": 64,
    "Ampere": (64, 128),  # A100 has 64, A10G and RTX 3090 have 128
    "Ada Lovelace": 128,
    "Hopper": 128,
    "Blackwell": 128,
    "Blackwell 2.0": 128,
    "CDNA": 64,
    "CDNA 2": 64,
    "CDNA 3": 64,
}
#: Turing without tensor cores.
TU117 = ("T1000", "T1000 8GB")


@pytest.fixture(scope="module")
def gpus():
    return load_gpus()


def test_the_gpus_of_the_question_are_there_and_every_instance_has_one_and_its_memory(gpus, catalog):
    assert {"M60", "K80", "T4", "V100", "P100", "A10G", "L4", "L40S", "A100", "H100", "H200"} <= {
        gpu.model for gpu in gpus.values()
    }
    t4 = gpus["Tesla T4"]
    assert (t4.sm_count, t4.cuda_cores, t4.memory_gib, t4.bandwidth_gb_per_s, t4.tdp_w) == (40, 2560, 16, 320, 70)
    assert (t4.fp16_tensor_dense_tflops, t4.tf32_tensor_dense_tflops) == (65, None)
    assert gpus["H100-SXM5-80GB"].tf32_tensor_dense_tflops == 494.7
    for instance in catalog.values():
        gpu = gpus.find(instance.gpu, instance.gpu_memory_gib)
        assert gpu.model == instance.gpu_model
        assert instance.gpu_memory_gib == pytest.approx(gpu.memory_gib, rel=0.1), instance.name


def test_figures_agree_with_cores_and_clock_and_are_in_their_units(gpus):
    for gpu in gpus.values():
        assert gpu.fp32_tflops == pytest.approx(gpu.cuda_cores * gpu.boost_mhz * 2e-6, rel=0.03), gpu.name
        allowed = CORES_PER_SM[gpu.architecture]
        assert gpu.cuda_cores / gpu.sm_count in (allowed if isinstance(allowed, tuple) else (allowed,)), gpu.name
    for gpu in gpus.values():
        assert (gpu.compute_capability is None) == gpu.name.startswith("AMD "), gpu.name
        assert gpu.compute_capability is None or 3 <= gpu.compute_capability <= 12, gpu.name
        assert 300 <= gpu.base_mhz <= gpu.boost_mhz <= 3000, gpu.name
        assert 1 <= gpu.fp32_tflops <= 200, gpu.name
        assert 100 <= gpu.bandwidth_gb_per_s <= 10_000, gpu.name
        assert 4 <= gpu.memory_gib <= 288 and gpu.model == gpu_model(gpu.name), gpu.name
        assert gpu.usable_memory_gib is None or 0.9 <= gpu.usable_memory_gib / gpu.memory_gib < 1, gpu.name
        assert 1 <= gpu.l2_mb <= 200 and 40 <= gpu.tdp_w <= 1500, gpu.name
        assert len(gpu.source) > 10, gpu.name
    for gpu in gpus.values():
        capability = gpu.compute_capability or 7
        has_fp16, has_tf32 = capability >= 7 and gpu.name not in TU117, capability >= 8
        assert (gpu.fp16_tensor_dense_tflops is not None) == has_fp16, gpu.name
        assert (gpu.tf32_tensor_dense_tflops is not None) == has_tf32, gpu.name
        if gpu.tf32_tensor_dense_tflops is not None:
            assert gpu.fp16_tensor_dense_tflops == pytest.approx(2 * gpu.tf32_tensor_dense_tflops, rel=0.03), gpu.name


@pytest.mark.parametrize(
    ("name", "memory_gib", "full_name"),
    [
        ("nvidia l4", None, "L4"),
        ("V100", None, "Tesla V100-SXM2-16GB"),
        ("A100", 40, "A100-SXM4-40GB"),
        ("NVIDIA A100 80GB PCIe", 79.3, "A100-PCIE-80GB"),
        ("Tesla V100-PCIE-16GB", None, "Tesla V100-PCIE-16GB"),
        ("NVIDIA H100 NVL", None, "H100-NVL-94GB"),
        ("NVIDIA GeForce RTX 4090", None, "GeForce RTX 4090"),
        ("rtx4090", None, "GeForce RTX 4090"),
        ("4090", None, "GeForce RTX 4090"),
        ("2080ti", None, "GeForce RTX 2080 Ti"),
        ("GTX1080Ti", None, "GeForce GTX 1080 Ti"),
        ("RTXA6000", None, "RTX A6000"),
        ("NVIDIA RTX 6000 Ada Generation", None, "RTX 6000 Ada Generation"),
        ("a100-sxm4-40gb", None, "A100-SXM4-40GB"),
        ("NVIDIA A100-PG509-200", None, "A100-SXM4-40GB"),
        ("Tesla P4", None, "Tesla P4"),
        ("NVIDIA RTX A2000 12GB", None, "RTX A2000 12GB"),
        ("NVIDIA RTX A2000", 12, "RTX A2000 12GB"),
        ("NVIDIA GeForce RTX 4060 Ti", 16, "GeForce RTX 4060 Ti 16GB"),
        ("RTX 4060 Ti 8GB", None, "GeForce RTX 4060 Ti"),
        ("NVIDIA GeForce GTX 1060 6GB", None, "GeForce GTX 1060"),
        ("rtx 4070 ti super", None, "GeForce RTX 4070 Ti SUPER"),
        ("NVIDIA RTX A5000", None, "RTX A5000"),
        ("NVIDIA T1000 8GB", None, "T1000 8GB"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None, "GeForce RTX 4090 Laptop GPU"),
        ("NVIDIA GeForce RTX 5070 Ti Laptop GPU", None, "GeForce RTX 5070 Ti Laptop GPU"),
        ("NVIDIA GH200 480GB", None, "GH200-96GB"),
        ("NVIDIA GH200 144G HBM3e", None, "GH200-144GB"),
        ("NVIDIA H20", None, "H20"),
        ("NVIDIA B300 SXM6 AC", None, "B300"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", None, "RTX PRO 6000 Blackwell Server Edition"),
        ("RTX PRO 6000", 96, "RTX PRO 6000 Blackwell Workstation Edition"),
        ("AMD Instinct MI250X / MI250", None, "AMD Instinct MI250"),
        ("AMD Instinct MI300X OAM", None, "AMD Instinct MI300X"),
    ],
)
def test_a_name_finds_its_gpu(gpus, name, memory_gib, full_name):
    assert gpus.find(name, memory_gib).name == full_name


@pytest.mark.parametrize(
    ("name", "memory_gib", "says"),
    [
        ("A100", None, "A100-SXM4-40GB, A100-SXM4-80GB"),
        ("A100", 640, "40 or 80 GiB, not 640"),
        ("L40X", None, "L40"),
        ("L4", 80, "L4 has 24 GiB, not 80"),
        ("RTX 3080 12GB", None, "Unknown GPU"),
        ("Voodoo", None, "'Voodoo'"),
    ],
)
def test_a_name_that_fits_no_gpu_or_two_is_refused(gpus, name, memory_gib, says):
    with pytest.raises(InputError, match=says):
        gpus.find(name, memory_gib)


@pytest.mark.parametrize(
    ("name", "what"), [("A100-SXM4-40GB MIG 1g.5gb", "a GPU slice"), ("NVIDIA RTX A4000 Laptop GPU", "a laptop GPU")]
)
def test_what_is_no_whole_card_is_not_the_card_of_that_name(gpus, name, what):
    assert gpus.named(name) == []
    with pytest.raises(InputError, match=rf"is {what}, not the card that specs are known for\.$"):
        gpus.find(name)
    described = gpus.with_custom([replace(gpus["L4"], name=name)])
    assert described.find(f"NVIDIA {name.removeprefix('NVIDIA ')}").name == name


@pytest.fixture(scope="module")
def table():
    return load_interconnects()


def test_every_row_is_of_an_instance_or_a_gpu_and_links_that_can_t_be_are_refused(table):
    catalog, gpus = load_catalog(), load_gpus()
    assert [name for name in table if name not in catalog and name not in gpus] == []
    assert [name for name in gpus if name not in table] == []
    for name in table:
        if name in catalog:
            assert table[name].gpus == catalog[name].gpu_count, name
    from msgspec.structs import replace

    node = table["p3.16xlarge"]
    for change in ({"gpus": 0}, {"link_gb_per_s": 0}, {"pcie_generation": 2}, {"network_gbit_per_s": -1}):
        with pytest.raises(InputError):
            replace(node, **change)


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
    node = table.of(load_catalog()[instance])
    assert (node.link, node.link_gb_per_s, node.network_gbit_per_s) == (link, gb_per_s, gbit_per_s)
    assert node.network_gb_per_s == (gbit_per_s / 8, gbit_per_s / 8)


def test_every_node_has_links_and_what_nobody_states_is_assumed_and_noted(table):
    rented = table.of(load_catalog()["lambda/gpu_8x_a100"])
    assert (rented.link, rented.gpus) == (Link.NVSWITCH, 8)
    assert "typical links for this GPU's form factor" in rented.assumed and rented.network_gbit_per_s is None
    # Behind switches machines are sold with 100 to 1,600 Gb/s, others with 10 to 100.
    assert rented.network_gb_per_s == (12.5, 200.0)
    assert table.of_gpu("V100", 8).network_gb_per_s == (1.25, 12.5)
    own = rented.linked("pcie-4", 25.0)
    assert (own.link, own.link_gb_per_s, own.network_gb_per_s, own.assumed) == (Link.PCIE, 31.5, (3.125, 3.125), "")
    for link, gbit_per_s in (("string", None), (None, 0.0), (None, 1e6)):
        with pytest.raises(InputError):
            rented.linked(link, gbit_per_s)
    assert table.of_gpu("Some GPU 9000", 4).assumed.startswith("links assumed: PCIe 4")
    # A GeForce card reaches others through host memory, whatever its PCIe generation.
    geforce = table.of(load_catalog()["runpod/8x-RTX4090"])
    assert (geforce.link, geforce.link_gb_per_s, geforce.pcie_generation) == (Link.PCIE_HOST, PCIE_GB_PER_S[3], 4)
    for name, offer in load_catalog().items():
        node = table.of(offer)
        assert node.gpus == offer.gpu_count and node.source, name
    assert "no peer access" in table.of_gpu("A10G", 8).assumed
    for gpu in ("L4", "L40S", "A10"):
        assert "peer access over PCIe" in table.of_gpu(gpu, 8).assumed
