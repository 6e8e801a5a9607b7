"""`profet instances refresh` on SkyPilot's lists, and on a version of gpuhunt's, from a web server on this machine."""

from __future__ import annotations

import json
import zipfile
from datetime import date
from io import BytesIO
from pathlib import Path

import pytest

from profet_cli.prices import PROVIDERS, REFRESHED
from profet_core.catalog import load_catalog, load_shipped

CLOUDS = Path(__file__).parent / "published_clouds"


def prices(run, *arguments: str) -> dict[tuple[str, str], float]:
    status, out, err = run("refresh", "--format", "json", *arguments)
    assert (status, err) == (0, "")
    return {(row["name"], row["market"]): row["usd_per_hour"] for row in json.loads(out)["changes"]}


def test_skypilot_s_prices_are_laid_over_what_the_catalog_has(run, own, skypilot):
    assert prices(run, "--provider", "verda", "--source", "skypilot", "--new") == {
        ("verda/1B200.30V", "on-demand"): 3.99,
        ("verda/1B200.30V", "spot"): 1.5,
    }
    assert prices(run, "--provider", "runpod", "--source", "skypilot") == {("runpod/1x-A40", "on-demand"): 0.5}
    # Of Shadeform's list each cloud has its own, without `--source` too; the new machine's GPU isn't named.
    assert prices(run, "--provider", "crusoe,hyperstack", "--new") == {
        ("crusoe/A100-80GB", "on-demand"): 2.1,
        ("hyperstack/A6000", "on-demand"): 1.1,
    }
    assert prices(run, "--provider", "yotta") == {("yotta/1x-RTX_5090", "on-demand"): 0.7}
    catalog = load_catalog()
    assert list(catalog) == list(load_shipped())
    b200 = catalog["verda/1B200.30V"]
    assert (b200.usd_per_hour, b200.source, b200.as_of) == (3.99, "SkyPilot verda", date.today().isoformat())
    # Rows of a list before are replaced, whosever it was.
    assert prices(run, "--provider", "crusoe") == {("crusoe/A100-80GB", "on-demand"): 2.1}


def test_a_cloud_that_fails_keeps_its_rows_of_yesterday(run, own, skypilot, served):
    assert prices(run, "--provider", "crusoe,yotta")
    served("catalogs/v9/yotta/vms.csv", "InstanceType,damaged\n")
    served("catalogs/v8/shadeform/vms.csv", "InstanceType,damaged\n")
    served(
        "catalogs/v9/jarvislabs/vms.csv",
        "InstanceType,AcceleratorCount,Region,Price,SpotPrice\n1x_L4_28V_124G,1,IN2,0.6,\n",
    )
    status, out, err = run("refresh", "--provider", "crusoe,yotta,jarvislabs")
    assert (status, err.count(" is skipped: The price list of ")) == (0, 2) and "jarvislabs/1x_L4_28V_124G" in out
    catalog = load_catalog()
    assert [
        catalog[name].usd_per_hour for name in ("crusoe/A100-80GB", "yotta/1x-RTX_5090", "jarvislabs/1x_L4_28V_124G")
    ] == [*(2.1, 0.7, 0.6)]


def test_what_a_source_does_not_have_is_one_line(refused, skypilot):
    assert "skypilot lists no azure" in refused("refresh", "--provider", "azure", "--source", "skypilot")
    assert "gpuhunt lists no crusoe" in refused("refresh", "--provider", "crusoe", "--source", "gpuhunt")
    assert "--version is of gpuhunt's lists" in refused("refresh", "--provider", "crusoe", "--version", "20260818-42")
    assert "choose from runpod, aws, azure or 16 others, or all" in refused("refresh", "--provider", "nobody")
    # Not served.
    assert "price list of oci can't be fetched" in refused("refresh", "--provider", "oci", "--source", "skypilot")


def test_a_version_of_gpuhunt_s_lists_is_named_by_its_offers(run, refused, own, served, monkeypatch):
    gpuhunt = pytest.importorskip("gpuhunt", reason="the price lists need gpuhunt")
    version, address = "20260818-42", ""
    head = (CLOUDS / "aws.csv").read_text().splitlines()[0] + "\n"
    for name in gpuhunt._internal.catalog.OFFLINE_PROVIDERS:
        path, data = CLOUDS / f"{name}.csv", BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr(f"{name}.csv", path.read_text() if path.exists() else head)
        address = served(f"{name}/{version}/catalog.zip", data.getvalue())
        served(f"{name}/version", "20261101-1\n")
    monkeypatch.setenv("GPUHUNT_CATALOG_URL", address)
    assert prices(run, "--provider", "azure", "--version", version)["azure/Standard_NC4as_T4_v3", "on-demand"] == 0.55
    row = load_catalog()["azure/Standard_NC4as_T4_v3"]
    assert (row.source, row.as_of) == (f"gpuhunt azure {version}", "2026-08-18")
    assert "of azure of version 20200101-1 can't" in refused(
        "refresh", "--provider", "azure", "--version", "20200101-1"
    )
    assert set(PROVIDERS) < set(REFRESHED)
