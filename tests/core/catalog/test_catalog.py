"""The shipped catalog holds what it must, and a catalog of your own is checked cell by cell."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date

import pytest

from profet_core import CatalogError, InputError, load_catalog
from profet_core.catalog import MARKETS, gpu_model, load_gpus, load_shipped

HEADER = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"
ROW = "my.box,Tesla T4,1,16,8,0.5,home,linux,own,available,2026,an invoice"
SPOT = ROW.replace("own", "spot").replace("0.5", "0.2").replace("home", "eu-west-1")
FARAWAY = ROW.replace("own", "on-demand").replace("0.5", "0.4").replace("home", "eu-west-1")
USUAL = FARAWAY.replace("eu-west-1", "us-east-1").replace("0.4", "0.6")


def test_the_profiled_instances_are_there_and_an_unknown_one_is_refused(catalog, models):
    rows = {name: catalog[name] for name in models.instances}
    assert {name: (row.usd_per_hour, row.gpu_model, row.status, row.gpu_count) for name, row in rows.items()} == {
        "g3s.xlarge": (0.75, "M60", "retired", 1),
        "g4dn.xlarge": (0.526, "T4", "available", 1),
        "p2.xlarge": (0.90, "K80", "retired", 1),
        "p3.2xlarge": (3.06, "V100", "retired", 1),
    }
    with pytest.raises(InputError, match=r"'p9'.* g3s\.xlarge, "):
        catalog["p9"]
    assert "p9" not in catalog
    assert catalog.get("p9") is None
    assert catalog.get("g4dn.xlarge") is catalog["g4dn.xlarge"]


def test_the_model_inside_a_gpus_name():
    models = {
        "tesla t4": "T4",
        "Tesla V100-SXM2-16GB": "V100",
        "nvidia-tesla-k80": "K80",
        "A10G": "A10G",
        "A100-SXM4-40GB": "A100",
        "NVIDIA H100 80GB HBM3": "H100",
        "Quadro P4000": "P4000",
        " NVIDIA GeForce RTX 3090 ": "NVIDIA GeForce RTX 3090",
        "": "",
    }
    assert {name: gpu_model(name) for name in models} == models


def test_a_custom_price_is_marked_as_such_and_the_rest_stays(catalog):
    own = catalog.with_prices({"g3s.xlarge": 0.4})
    entry = own["g3s.xlarge"]
    assert (entry.usd_per_hour, entry.market, entry.as_of, entry.source) == (0.4, "your price", "", "given by the user")
    assert (entry.gpu, entry.status) == ("Tesla M60", "retired")
    assert own["p2.xlarge"] == catalog["p2.xlarge"] and list(own) == list(catalog)
    assert catalog["g3s.xlarge"].usd_per_hour == 0.75
    for name, price in (("g3s.xlarge", 0), ("g3s.xlarge", 1e300), ("p9", 1)):
        with pytest.raises(InputError, match=name):
            catalog.with_prices({name: price})


def written(tmp_path, *lines: str, encoding: str = "utf-8"):
    path = tmp_path / "mine.csv"
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


def test_a_custom_catalog_is_read_or_refused_in_one_line(tmp_path):
    entry = load_catalog(written(tmp_path, HEADER, ROW, encoding="utf-8-sig"))["my.box"]
    assert (entry.gpu, entry.gpu_count, entry.vcpus, entry.usd_per_hour) == ("Tesla T4", 1, 8, 0.5)
    assert type(entry.gpu_count) is int
    header = f"{HEADER},provider,host"
    assert load_catalog(written(tmp_path, HEADER, ROW))["my.box"].provider == "own"
    assert load_catalog(written(tmp_path, header, f"{ROW},ovh,milan"))["my.box"].provider == "ovh"
    with pytest.raises(CatalogError, match=r"my\.box: provider"):
        load_catalog(written(tmp_path, header, f"{ROW},My Cloud!,"))
    for path in (tmp_path / "nowhere.csv", tmp_path, written(tmp_path, HEADER, ROW, encoding="utf-16")):
        with pytest.raises(CatalogError, match=r"^The catalog .* can't be read") as caught:
            load_catalog(path)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "no rows"),
        ([HEADER, ROW.replace("0.5", "cheap")], "my.box: usd_per_hour"),
        ([HEADER, ROW.replace("0.5", "-1")], "not -1"),
        ([HEADER, ROW.replace("0.5", "")], "my.box: usd_per_hour is empty"),
        ([HEADER, ROW.replace(",1,16,", ",1.5,16,")], "my.box: gpu_count"),
        ([HEADER, ROW.replace(",1,16,", ",1,-16,")], "my.box: gpu_memory_gib"),
        ([HEADER, ROW.replace("available", "gone")], "not 'gone'"),
        ([HEADER, ROW.replace("my.box", " ")], "no instance name"),
        ([HEADER, ROW.replace("my.box", "x" * 101)], "more than 100"),
        ([HEADER, ROW.rsplit(",", 2)[0]], "no column 'as_of'"),
        ([HEADER, ROW.replace("my.box", '"my\nbox"')], "line break"),
        ([HEADER, ROW.replace("home", '"ho\nme"')], "region of 'my.box'"),
        ([HEADER, ROW.replace("an invoice", "x" * 200_000)], "not valid CSV"),
        ([HEADER, ROW.replace("1,16", "8,128")], "not 128"),
        ([HEADER, USUAL, SPOT.replace("T4", "P4")], "'Tesla P4' in another"),
        ([HEADER, USUAL, SPOT.replace("available", "retired")], "status is 'available'"),
        ([HEADER, SPOT.replace("spot", "auction")], "not 'auction'"),
        ([HEADER, SPOT.replace("2026", "last year")], "not 'last year'"),
        ([HEADER, SPOT.replace("2026", "2026-13")], "not '2026-13'"),
        ([HEADER, SPOT.replace("an invoice", "")], "my.box: source"),
        ([HEADER, SPOT + ",more"], "more cells"),
    ],
)
def test_a_wrong_catalog_is_refused_in_one_line(tmp_path, lines, says):
    with pytest.raises(CatalogError) as caught:
        load_catalog(written(tmp_path, *lines))
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


def test_shipped_prices_are_dated_and_sourced_of_every_cloud_and_retired_instances_say_why():
    for offer in load_shipped().all_offers:
        assert "2021" <= date.fromisoformat(offer.as_of).isoformat() <= date.today().isoformat(), offer.offer_key
        assert len(offer.source) > 5 and len(offer.machine_source) > 5, offer.offer_key
        assert offer.market in MARKETS and offer.os == "linux" and not offer.custom
        assert re.fullmatch(r"[\w-]+( [\w-]+)*(, [\w-]+)*", offer.region), offer.offer_key
    retired = [entry for entry in load_shipped().values() if entry.status == "retired"]
    assert {entry.name.rpartition("/")[2].partition(".")[0] for entry in retired} == {
        *("g3s", "p2", "p3"),
        *(f"Standard_NV{size}s_v3" for size in (12, 24, 48)),
        *(f"Standard_NC{size}s_v3" for size in (6, 12, 24)),
    }
    assert {offer.status for offer in load_shipped().offers("p3.2xlarge")} == {"retired"}
    for entry in retired:
        assert re.search(r"retired|migration", entry.machine_source, re.IGNORECASE), entry.name
    shipped = load_shipped()
    least = {"aws": 27, "azure": 18, "gcp": 27, "lambda": 21, "nebius": 9, "runpod": 38, "vast": 45, "verda": 19}
    least |= {"crusoe": 8, "hyperstack": 7, "oci": 14, "paperspace": 13, "scaleway": 8, "massedcompute": 20}
    assert Counter(entry.provider for entry in shipped.values()) >= Counter(least)
    markets = Counter(offer.market for offer in shipped.all_offers)
    assert markets >= Counter({"on-demand": 240, "spot": 80, "marketplace": 45})
    shipped = load_shipped()
    assert "SXM2 assumed" in shipped["verda/1V100.6V"].machine_source
    assert "PCIe assumed" in shipped["lambda/gpu_1x_a100"].machine_source
    assert "assumed" not in shipped["gcp/a2-highgpu-1g"].machine_source


@pytest.mark.parametrize(
    ("name", "gpu", "gpu_count", "host", "usd_per_hour"),
    [
        ("verda/1V100.6V", "Tesla V100-SXM2-16GB", 1, "", 0.1381),
        ("azure/Standard_NC24ads_A100_v4", "A100-PCIE-80GB", 1, "milan", 3.673),
        ("runpod/1x-A100-80GB", "A100-PCIE-80GB", 1, "", 1.39),
        ("lambda/gpu_1x_a100", "A100-PCIE-40GB", 1, "", 1.99),
        ("nebius/gpu-h200-sxm_1gpu-16vcpu-200gb", "H200-SXM-141GB", 1, "sapphire-rapids", 3.5),
        ("verda/1B300.30V", "B300", 1, "", 6.99),
        ("g7e.2xlarge", "RTX PRO 6000 Blackwell Server Edition", 1, "emerald-rapids", 3.36312),
        ("vast/1x-RTX_PRO_6000_WS", "RTX PRO 6000 Blackwell Workstation Edition", 1, "", 0.93),
        ("crusoe/A100-80GB", "A100-PCIE-80GB", 1, "", 2.0),
        ("crusoe/A100-80G-sxm4x8", "A100-SXM4-80GB", 8, "", 18.4),
        ("lambda/gpu_1x_gh200", "GH200-96GB", 1, "", 2.29),
        ("yotta/2x-RTX_5090", "GeForce RTX 5090", 2, "", 1.3),
    ],
)
def test_an_offers_gpu_is_inferred_from_its_name(name, gpu, gpu_count, host, usd_per_hour):
    entry = load_shipped()[name]
    assert (entry.gpu, entry.gpu_count, entry.host) == (gpu, gpu_count, host)
    assert entry.usd_per_hour == usd_per_hour
    assert entry.gpu in load_gpus() and entry.usd_per_gpu_hour == usd_per_hour / gpu_count


def test_the_usual_price_is_on_demand_at_home_and_a_custom_one_replaces_it_alone(tmp_path):
    mine = load_catalog(written(tmp_path, HEADER, SPOT, FARAWAY, USUAL))
    assert list(mine) == ["my.box"]
    assert (mine["my.box"].market, mine["my.box"].region, mine["my.box"].usd_per_hour) == (
        "on-demand",
        "us-east-1",
        0.6,
    )
    assert [offer.usd_per_hour for offer in mine.offers("my.box")] == [0.6, 0.4, 0.2]
    assert mine.all_offers == mine.offers("my.box")
    with pytest.raises(InputError, match="Unknown instance"):
        mine.offers("p9")
    mine = load_catalog(written(tmp_path, HEADER, SPOT, USUAL)).with_prices({"my.box": 0.3})
    assert [(o.usd_per_hour, o.market) for o in mine.offers("my.box")] == [(0.3, "your price"), (0.2, "spot")]
