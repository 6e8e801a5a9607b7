"""`profet instances refresh` for every cloud, on rows as gpuhunt's lists have them, read by gpuhunt itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from profet_cli import prices
from profet_core.catalog import load_catalog, load_shipped

pytest.importorskip("gpuhunt", reason="the price lists need gpuhunt")

import gpuhunt
from gpuhunt.providers import vultr
from gpuhunt.providers.base import AbstractProvider

PUBLISHED = Path(__file__).parent / "published_clouds"


def vast_item(number: str, gpu: str, gib: float, count: int, price: float, *, spot: bool = False, cpu: int = 16):
    return gpuhunt.CatalogItem(
        provider="vastai",
        instance_name=number,
        location="US-Texas",
        price=price,
        cpu=cpu,
        memory=64,
        gpu_count=count,
        gpu_name=gpu,
        gpu_memory=gib,
        spot=spot,
        disk_size=100,
        gpu_vendor=gpuhunt.AcceleratorVendor.NVIDIA,
    )


@pytest.fixture
def market(monkeypatch):
    """`market(*items)`: what the API of Vast answers, as gpuhunt's own items."""

    class Market(AbstractProvider):
        NAME = "vastai"

        def get(self, query_filter=None, balance_resources=True):
            return self.items

    def answers(*items):
        Market.items = list(items)

    live = prices._live_provider
    monkeypatch.setattr(prices, "_live_provider", lambda cloud: Market() if cloud == "vast" else live(cloud))
    return answers


#: As Vultr's own API answers, without a key.
PLAN = {"ram": 122880, "disk": 1400, "type": "vdm", "hourly_cost": 1.5, "locations": ["blr", "ewr"]}
PLANS = {
    "plans": [
        {**PLAN, "id": "vcg-a40-24c-120g-48vram", "vcpu_count": 24},
        {**PLAN, "id": "vcg-a40-6c-30g-12vram", "vcpu_count": 6},
    ]
}


@pytest.fixture(autouse=True)
def published(monkeypatch, market, skypilot, served):
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(PUBLISHED))
    served("vultr/plans-metal", json.dumps({"plans_metal": []}))
    monkeypatch.setattr(vultr, "API_URL", served("vultr/plans", json.dumps(PLANS)) + "/vultr")
    market(
        vast_item("101", "RTX4090", 24, 1, 0.44),
        vast_item("102", "RTX4090", 24, 1, 0.41),
        vast_item("103", "RTX4090", 24, 1, 0.2, spot=True),
        vast_item("104", "A100", 80, 1, 0.9),
        vast_item("105", "L4", 24, 2, 0.6),
    )


def changes(run, *arguments: str) -> dict[tuple[str, str], dict]:
    status, out, err = run("refresh", "--format", "json", *arguments)
    assert (status, err) == (0, "")
    return {(row["name"], row["market"]): row for row in json.loads(out)["changes"]}


def test_all_clouds_are_refreshed_at_once(run, own):
    changed = changes(run, "--provider", "all")
    listed = prices.PROVIDERS.keys() - {"aws"}
    assert {key: row["usd_per_hour"] for key, row in changed.items() if row["provider"] in listed} == {
        ("azure/Standard_NC4as_T4_v3", "on-demand"): 0.55,
        ("azure/Standard_NC40ads_H100_v5", "spot"): 6.98,
        ("gcp/n1-standard-4+1xV100", "on-demand"): 2.6,
        ("gcp/a2-highgpu-1g", "spot"): 3.7,
        ("lambda/gpu_1x_a10", "on-demand"): 1.29,
        ("lambda/gpu_1x_gh200", "on-demand"): 1.49,
        ("nebius/gpu-h100-sxm_1gpu-16vcpu-200gb", "on-demand"): 3.1,
        ("oci/VM.GPU.A10.1", "on-demand"): 2.1,
        ("runpod/1x-A100-80GB", "on-demand"): 1.45,
        ("runpod/1x-A100-80GB-SXM", "on-demand"): 1.65,
        ("vast/1x-RTX_4090", "marketplace"): 0.41,
        ("vast/1x-RTX_4090", "spot"): 0.2,
        ("verda/1V100.6V", "on-demand"): 0.15,
        ("verda/1RTX6000ADA.10V", "on-demand"): 0.85,
        ("vultr/vcg-a40-24c-120g-48vram", "on-demand"): 1.5,
    }
    catalog = load_catalog()
    assert list(catalog) == list(load_shipped())
    v100 = catalog["gcp/n1-standard-4+1xV100"]
    assert (v100.usd_per_hour, v100.region, v100.source) == (2.6, "us-central1", "gpuhunt gcp")
    assert catalog["vast/1x-RTX_4090"].region == "any"


def test_new_offers_come_if_asked_for_and_if_their_gpu_is_known(run, own):
    assert "4 more offers have a known GPU: --new adds them" in run("refresh", "--provider", "all", "--dry-run")[1]
    changes(run, "--provider", "all", "--new")
    catalog = load_catalog()
    new = {name: row for name, row in catalog.items() if name not in load_shipped()}
    assert {name: (row.gpu, row.gpu_count, row.usd_per_hour, row.provider, row.host) for name, row in new.items()} == {
        "azure/Standard_NC8as_T4_v3": ("Tesla T4", 1, 0.752, "azure", "rome"),
        "gcp/g2-standard-8": ("L4", 1, 0.85, "gcp", "cascade-lake"),
        "runpod/2x-GeForce_RTX_4090": ("GeForce RTX 4090", 2, 1.48, "runpod", ""),
        "vast/2x-L4": ("L4", 2, 0.6, "vast", ""),
    }


def test_a_cloud_named_before_the_action_counts_and_none_is_the_default(run):
    lambdas = [name for name, _ in changes(run, "--provider", "lambdalabs")]
    assert lambdas == ["lambda/gpu_1x_a10", "lambda/gpu_1x_gh200"], "gpuhunt's name"
    assert changes(run, "--provider", "Verda").keys() == changes(run, "--provider", "verda").keys()
    assert {name for name, _ in changes(run, "--provider", "")} == {name for name, _ in changes(run)}
    status, out, _ = run("--provider", "gcp", "refresh", "--format", "json")
    assert status == 0
    assert {row["provider"] for row in json.loads(out)["changes"]} == {"gcp"}


def test_a_new_offer_of_unlike_hosts_is_one_machine(run, own, market):
    market(vast_item("101", "L4", 24, 2, 0.6, cpu=64), vast_item("102", "L4", 24, 2, 0.2, spot=True, cpu=12))
    for arguments in (["--dry-run"], [], []):
        changed = changes(run, "--provider", "vast", "--new", *arguments)
        assert {key: row["usd_per_hour"] for key, row in changed.items()} == {
            ("vast/2x-L4", "marketplace"): 0.6,
            ("vast/2x-L4", "spot"): 0.2,
        }
    assert [offer.vcpus for offer in load_catalog().offers("vast/2x-L4")] == [None, None]


def test_damaged_rows_and_names_are_left_out_and_counted(run, own, market, tmp_path, monkeypatch):
    damaged = (vast_item("102", "L4", 24, 2, float("nan")), vast_item("103", "L4", 24, 2, -1.0))
    market(vast_item("101", "RTX4090", 24, 1, 0.44), *damaged)
    status, out, err = run("refresh", "--provider", "vast", "--new", "--format", "json")
    assert (status, err) == (0, "warning: 2 damaged rows are skipped\n")
    assert [row["usd_per_hour"] for row in json.loads(out)["changes"]] == [0.44]
    text = (PUBLISHED / "azure.csv").read_text()
    assert "Standard_NC8as_T4_v3" in text
    (tmp_path / "azure.csv").write_text(text.replace("Standard_NC8as_T4_v3", "Standard\x07NC8as_T4_v3"))
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(tmp_path))
    assert run("refresh", "--provider", "azure", "--new")[2] == "warning: 1 damaged row is skipped\n"


def test_a_missing_or_damaged_list_does_not_stop_the_other_clouds(run, own, tmp_path, monkeypatch):
    for name, price in (("aws", "0.15,"), ("verda", "nan,")):
        (tmp_path / f"{name}.csv").write_text((PUBLISHED / f"{name}.csv").read_text().replace("0.15,", price))
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(tmp_path))
    status, out, err = run("refresh", "--provider", "aws,gcp,verda", "--format", "json")
    missing, damaged = sorted(err.splitlines())
    assert status == 0 and "price list of gcp can't be fetched" in missing and "verda is damaged" in damaged
    assert load_catalog()["verda/1V100.6V"] == load_shipped()["verda/1V100.6V"]
    # Offers of the cloud whose list is gone are not said to be unlisted.
    not_listed = json.loads(out)["not_listed"]
    assert not_listed and {load_shipped()[name].provider for name in not_listed} == {"aws"}
