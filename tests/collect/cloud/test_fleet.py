"""Which machines a fleet rents, what that costs, and what is refused in one line."""

from __future__ import annotations

import pytest

from profet_collect.fleet import SETUP_S
from profet_core.catalog import load_catalog

BUCKET = ("--bucket", "s3://some-bucket")


@pytest.fixture
def planned(document, tmp_path):
    """`planned("--gpu", "T4", ...)` -> the document of a fleet in `tmp_path / "f"`."""
    return lambda *arguments: document("collect", "--cloud", tmp_path / "f", *arguments)


def price(instance: str, market: str) -> float:
    return next(offer.usd_per_hour for offer in load_catalog().offers(instance) if offer.market == market)


def test_of_each_gpu_the_cheapest_machine_is_rented_at_its_price_for_the_planned_time(tmp_path, planned):
    found = planned("--gpu", "t4,l4", "--provider", "aws,gcp", "--quick", "--plan")
    assert found["out"] is None and not (tmp_path / "f").exists()
    rented = [(one["instance"], one["accelerator"]) for one in found["tasks"]]
    assert rented == [("g4dn.xlarge", "T4"), ("gcp/g2-standard-4", "L4")]
    for one in found["tasks"]:
        assert SETUP_S / 60 < one["minutes"] <= SETUP_S / 60 + 20
        for market, key in (("spot", "usd_spot"), ("on-demand", "usd_on_demand")):
            assert one[key] == pytest.approx(price(one["instance"], market) * one["minutes"] / 60, abs=0.006)
    assert found["usd"] == pytest.approx(sum(one["usd_spot"] for one in found["tasks"]), abs=0.011)


def test_market_and_cells_are_those_asked_for(planned):
    grid = ("--models-list", "ResNet50,VGG16", "--pixels", "64", "--batch", "16,32", "--precision", "fp32,tf32")
    asked = ("--gpu", "T4", "--market", "on-demand", *grid, "--plan")
    (one,) = planned(*asked)["tasks"]
    # The T4 has no TF32.
    assert one["cells"] == 4
    both = planned(*asked, "--frameworks", "pytorch,tensorflow")
    assert both["tasks"][0]["cells"] == 8 and both["usd"] == both["tasks"][0]["usd_on_demand"]


def test_named_instances_are_taken_as_they_are(tmp_path, planned):
    found = planned("--instance", "g5.xlarge,gcp/n1-standard-4+1xV100", "--quick", *BUCKET)
    assert [one["instance"] for one in found["tasks"]] == ["g5.xlarge", "gcp/n1-standard-4+1xV100"]
    files = sorted(path.name for path in (tmp_path / "f").iterdir())
    tasks = ["profet-g5-xlarge.yaml", "profet-gcp-n1-standard-4-1xv100.yaml"]
    assert files == ["code", "fetch.sh", "launch.sh", *tasks]
    assert (tmp_path / "f" / "launch.sh").stat().st_mode & 0o111
    # Later CUDAs' builds of PyTorch have no kernels for a V100.
    v100 = (tmp_path / "f" / files[-1]).read_text()
    assert "--instance gcp/n1-standard-4+1xV100 --frameworks tensorflow --quick" in v100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gpu", "Voodoo2"], "Unknown GPU 'Voodoo2'"),
        (["--gpu", "A10", "--provider", "lambda"], "--market on-demand"),
        (["--gpu", "T4", "--provider", "acme"], "Unknown cloud 'acme'"),
        (["--gpu", ","], "Name at least one GPU"),
        (["--instance", "p3.2xlarge"], "retired"),
        (["--instance", "p4d.24xlarge"], "8 GPUs"),
        (["--instance", "runpod/1x-RTX4090"], "SkyPilot has no such machine"),
        (["--instance", "nothing.large"], "Unknown instance 'nothing.large'"),
        (["--instance", "p5.4xlarge"], "no spot price"),
        ([], "Name GPU types with --gpu"),
        (["--gpu", "T4", "--out", "x"], "--out is for this machine"),
        (["--gpu", "T4", "--bucket", "/home/me"], "--bucket '/home/me'"),
        (["--gpu", "T4", "--bucket", "s3://a-b/$(reboot)"], "name an existing bucket"),
        (["--gpu", "T4"], "Name your bucket"),
        (["--gpu", "T4", "--precision", "tf32", *BUCKET], "No cells remain"),
    ],
)
def test_what_can_not_be_done_is_one_line_and_writes_nothing(arguments, said, tmp_path, refused):
    assert said in refused("collect", "--cloud", tmp_path / "f", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_and_a_fleets_options_alone_are_refused(tmp_path, refused):
    (tmp_path / "f").mkdir()
    there = refused("collect", "--cloud", tmp_path / "f", "--gpu", "T4", "--quick", *BUCKET)
    assert "exists: name a new folder" in there and list((tmp_path / "f").iterdir()) == []
    assert "--cloud DIR" in refused("collect", "--instance", "x", "--gpu", "T4")
    assert "--instance NAME" in refused("collect", "--plan", "--device", "cpu", "--frameworks", "tensorflow")
