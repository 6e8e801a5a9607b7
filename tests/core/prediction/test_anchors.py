"""What a prediction can start from: instances, GPUs by every name they go by, and one line for all else."""

from __future__ import annotations

import pytest

from profet_core import InputError
from profet_core.prediction.anchors import anchor_gpu, anchor_names, find_anchor, recorded_on, unknown_gpu

#: What drivers call GPUs -> full names of the data sheets.
DRIVER_NAMES = {
    "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA H100 PCIe": "H100-PCIE-80GB",
    "NVIDIA H100 NVL": "H100-NVL-94GB",
    "NVIDIA H200": "H200-SXM-141GB",
    "NVIDIA B200": "B200",
    "NVIDIA A100-SXM4-40GB": "A100-SXM4-40GB",
    "NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB",
    "NVIDIA A100-PCIE-40GB": "A100-PCIE-40GB",
    "NVIDIA A100 80GB PCIe": "A100-PCIE-80GB",
    "NVIDIA A10G": "A10G",
    "NVIDIA A10": "A10",
    "NVIDIA A40": "A40",
    "NVIDIA L4": "L4",
    "NVIDIA L40S": "L40S",
    "NVIDIA RTX A6000": "RTX A6000",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada Generation",
    "NVIDIA GeForce RTX 2080 Ti": "GeForce RTX 2080 Ti",
    "NVIDIA GeForce RTX 3090": "GeForce RTX 3090",
    "NVIDIA GeForce RTX 4090": "GeForce RTX 4090",
    "NVIDIA GeForce RTX 5090": "GeForce RTX 5090",
    "Tesla P100-PCIE-16GB": "Tesla P100-PCIE-16GB",
    "Tesla P100-SXM2-16GB": "Tesla P100-SXM2-16GB",
    "Tesla V100-PCIE-16GB": "Tesla V100-PCIE-16GB",
}
PROFILED = {
    "Tesla M60": "g3s.xlarge",
    "Tesla T4": "g4dn.xlarge",
    "Tesla K80": "p2.xlarge",
    "Tesla V100-SXM2-16GB": "p3.2xlarge",
}
SLICES = (
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
    "GRID V100D-8Q",
    "GRID A100X-40C",
    "NVIDIA A10-24Q",
    "NVIDIA A40-48C",
)
LAPTOPS = ("NVIDIA GeForce RTX 4090 Laptop GPU", "Quadro RTX 5000 with Max-Q Design", "GeForce RTX 3080 Mobile")
UNKNOWN = ("AMD Instinct MI300X", "some GPU", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA T4G", "NVIDIA GH200 480GB", "")


def test_every_gpu_with_a_data_sheet_is_an_anchor_by_its_full_name(models, catalog):
    for name, gpu in models.transfer.gpus.items():
        anchor = find_anchor(models, catalog, name)
        assert anchor.name == name
        assert (anchor.instance, anchor.gpu) == ((PROFILED[name], None) if name in PROFILED else ("p3.2xlarge", gpu))
        assert anchor_gpu(models, anchor) == name
        assert recorded_on(models, name) == PROFILED.get(name, name)
        assert unknown_gpu(models, name) == ""


@pytest.mark.parametrize(("driver", "full"), DRIVER_NAMES.items())
def test_what_a_driver_calls_a_gpu_is_that_gpu(models, catalog, driver, full):
    assert find_anchor(models, catalog, driver).gpu.name == full
    assert recorded_on(models, driver) == full
    assert unknown_gpu(models, driver) == ""


def test_every_data_sheet_is_reached_by_what_its_driver_says(models):
    assert {*DRIVER_NAMES.values(), *PROFILED} == set(models.transfer.gpus)


@pytest.mark.parametrize(("gpu", "instance"), PROFILED.items())
def test_a_profiled_gpu_takes_its_instances_models_in_a_host_nobody_knows(models, catalog, gpu, instance):
    for name in (gpu, f"NVIDIA {gpu}", gpu.removeprefix("Tesla ").partition("-")[0]):
        anchor = find_anchor(models, catalog, name)
        assert (anchor.instance, anchor.gpu, anchor.host.name) == (instance, None, "")
    assert find_anchor(models, catalog, instance).host.name in ("broadwell", "cascade-lake")


@pytest.mark.parametrize(
    ("offer", "instance", "gpu", "host"),
    [
        ("gcp/n1-standard-4+1xV100", "p3.2xlarge", None, "skylake"),
        ("gcp/n1-standard-4+1xP100", "p3.2xlarge", "Tesla P100-PCIE-16GB", "skylake"),
        ("g5.xlarge", "p3.2xlarge", "A10G", "rome"),
        ("azure/Standard_NC6s_v3", "p3.2xlarge", "Tesla V100-PCIE-16GB", "broadwell"),
    ],
)
def test_an_offer_is_an_anchor_in_its_own_host(models, catalog, offer, instance, gpu, host):
    anchor = find_anchor(models, catalog, offer)
    assert (anchor.name, anchor.instance, anchor.host.name) == (offer, instance, host)
    assert (anchor.gpu and anchor.gpu.name) == gpu


def test_every_offer_with_a_data_sheet_is_an_anchor(models, catalog):
    for name in catalog:
        assert find_anchor(models, catalog, name).name == name


@pytest.mark.parametrize("name", SLICES)
def test_a_part_of_a_gpu_is_none(models, catalog, name):
    line = f"The profile says it was recorded on {name}, a part of a GPU, whose speed is its slice's: record the step"
    assert unknown_gpu(models, name) == f"{line} on a whole GPU."
    assert recorded_on(models, name) is None
    with pytest.raises(InputError, match=r"^The anchor can't be '.*', a part of a GPU, whose speed .* whole GPU\.$"):
        find_anchor(models, catalog, name)


@pytest.mark.parametrize("name", LAPTOPS)
def test_a_laptops_gpu_is_not_the_card_of_that_name(models, catalog, name):
    assert unknown_gpu(models, name).startswith(f"The profile says it was recorded on {name}, a laptop's GPU, which")
    assert recorded_on(models, name) is None
    with pytest.raises(InputError, match=r"^The anchor can't be '.*', a laptop's GPU, which runs slower"):
        find_anchor(models, catalog, name)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_gpu_without_a_data_sheet_is_one_line(models, catalog, name):
    said = unknown_gpu(models, name)
    assert "of which no data sheet is known here: add it as a GPU of your own" in said and said.isprintable()
    assert recorded_on(models, name) is None
    with pytest.raises(InputError, match=r"^Unknown anchor '.*': choose one of g3s") as error:
        find_anchor(models, catalog, name)
    assert str(error.value).isprintable()


def test_a_model_that_may_be_several_asks_which(models, catalog):
    with pytest.raises(InputError, match=r"'A100' may be any of A100-SXM4-40GB, A100-SXM4-80GB.*: give the full name"):
        find_anchor(models, catalog, "A100")
    assert unknown_gpu(models, "A100") == "", "whoever asks says which"
    assert recorded_on(models, "A100") is None


def test_a_profile_that_names_no_gpu_means_none(models):
    assert recorded_on(models, None) is None


def test_what_can_be_chosen_is_the_profiled_instances_then_the_other_gpus(models):
    names = anchor_names(models)
    assert names[:4] == models.instances
    assert set(names[4:]) == set(models.transfer.gpus) - set(PROFILED)
    assert list(names[4:]) == sorted(names[4:], key=str.lower)
