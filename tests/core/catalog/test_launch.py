"""What rents an offer: tasks that name the right machine, what is known of it, and nothing where nothing is known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from profet_core import InputError
from profet_core.catalog import load_gpus, load_shipped
from profet_core.catalog.launch import launch_of

SHIPPED, GPUS = load_shipped(), load_gpus()


def launch(name: str, market: str = "", command: str = ""):
    offer = next(offer for offer in SHIPPED.offers(name) if not market or offer.market == market)
    return launch_of(offer, GPUS[offer.gpu], command)


@pytest.mark.parametrize(
    ("name", "market", "task"),
    [
        ("g5.xlarge", "spot", "infra: aws/us-east-1\n  accelerators: A10G:1\n  use_spot: true\n"),
        ("p5.48xlarge", "on-demand", "infra: aws/us-east-1\n  accelerators: H100:8\nrun: |\n"),
        ("verda/1B200.30V", "on-demand", "infra: verda/FIN-03\n  accelerators: B200:1\nrun: |\n"),
        ("runpod/1x-A100-80GB-SXM", "", "infra: runpod\n  accelerators: A100-80GB-SXM:1\n"),
        ("vast/1x-RTX_4090", "", "infra: vast\n  accelerators: RTX4090:1\n"),
        ("seeweb/ECS1GPU11", "", "infra: seeweb\n  accelerators: A30:1\n"),
        ("lambda/gpu_1x_a6000", "", "infra: lambda/us-east-1\n  accelerators: A6000:1\n"),
        (
            *("crusoe/A100-80GB", ""),
            "infra: shadeform/culpeper-usa-1\n  accelerators: A100-80GB:1\n  instance_type: crusoe_A100-80GB\n",
        ),
    ],
)
def test_a_skypilot_task_names_the_machine(name, market, task):
    assert f"resources:\n  {task}" in launch(name, market).skypilot


@pytest.mark.parametrize(
    ("name", "gpu", "backend"),
    [
        ("lambda/gpu_1x_a6000", "A6000:1", "lambda"),
        ("azure/Standard_NC24ads_A100_v4", "A100:80GB:1", "azure"),
        ("vast/1x-RTX_4090", "RTX4090:1", "vastai"),
        ("verda/1RTX6000ADA.10V", "RTX6000Ada:1", "verda"),
        ("g7e.12xlarge", "RTXPRO6000:2", "aws"),
        ("oci/VM.GPU3.1", "V100:16GB:1", "oci"),
        ("digitalocean/gpu-mi300x8-1536gb", "MI300X:8", "digitalocean"),
    ],
)
def test_a_dstack_task_names_the_gpu_and_the_backend(name, gpu, backend):
    task = launch(name).dstack
    assert f"  gpu: {gpu}\nbackends: [{backend}]\n" in task


def test_what_is_known_is_said_and_no_more():
    task = launch("verda/1B200.30V", "on-demand")
    assert task.availability == "on-demand in FIN-03, listed in Jan 2026; whether one is free, Verda knows"
    assert "CUDA 12.8" in task.checklist and "quota" in task.checklist
    crusoe = launch("crusoe/MI300X-192GBx8")
    assert crusoe.availability.startswith("on-demand, region not listed") and "ROCm" in crusoe.checklist
    assert not crusoe.skypilot, "Shadeform doesn't have that name"
    assert launch("p5en.48xlarge").page.endswith("/p5/") and launch("g6e.xlarge").page.endswith("/g6e/")
    old = launch("hyperstack/n3-RTX-A4000x1")
    assert (old.skypilot, old.dstack, bool(old.page)) == ("", "", True)
    retired = launch("p2.xlarge")
    assert (retired.skypilot, retired.page, retired.checklist) == ("", "", "")
    mine = launch_of(replace(SHIPPED["g5.xlarge"], provider="own", name="lab", market="own"))
    assert (mine.skypilot, mine.dstack, mine.page, mine.checklist) == ("", "", "", "")
    for offer in SHIPPED.all_offers:
        task = launch_of(offer, GPUS[offer.gpu])
        assert (task.page != "") == (offer.status == "available"), offer.offer_key


def test_the_command_is_the_users_and_only_text():
    task = launch("g5.xlarge", command="  pip install timm\n\n  python train.py --lr 1e-3 # ok\n").skypilot
    assert task.endswith("run: |\n  pip install timm\n\n  python train.py --lr 1e-3 # ok\n")
    assert launch("g5.xlarge").skypilot.endswith("run: |\n  python train.py\n")
    for command in ("echo \x07", "x" * 2_001):
        with pytest.raises(InputError, match="printable"):
            launch("g5.xlarge", command=command)
