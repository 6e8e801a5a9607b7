"""The shipped tables are what the lists of offers give, and rows that can't be offers are refused in one line."""

from __future__ import annotations

import pytest

from profet_core import InputError
from profet_core.catalog import load_gpus
from profet_core.shipped import shipped_text
from profet_lab.catalog import (
    CLOUDS_FILE,
    INSTANCE_COLUMNS,
    PRICE_COLUMNS,
    catalog_tables,
    listed_prices,
    read_rows,
    table_text,
)
from profet_lab.measurements.tables import data_folder

LISTED = {
    "provider": "gcp",
    "instance": "n1-standard-8+2xV100",
    "gpu": "V100-16GB",
    "gpu_count": "2",
    "vcpus": "8",
    "memory_gib": "30",
    "usd_per_hour_on_demand": "5.34",
    "usd_per_hour_spot": "2.28146",
    "region": ", US, NA",
    "source_path": "catalogs/v8/gcp/vms.csv",
    "source_commit": "006059e0f18acb1341e22a27751e9f80df6ba92f",
    "as_of": "2026",
}


def tables(*listed: dict[str, str]):
    return catalog_tables([], [], listed_prices(listed, load_gpus()))


def test_the_shipped_tables_are_made_from_the_lists():
    listed = read_rows((data_folder() / CLOUDS_FILE).read_text(encoding="utf-8"))
    shipped = [read_rows(shipped_text(name)) for name in ("catalog/instances.csv", "catalog/prices.csv")]
    machines, offers = catalog_tables(*shipped, listed_prices(listed, load_gpus()))
    assert sum("listed " not in row["source"] for row in machines) == 10, "the others are made anew"
    assert table_text(INSTANCE_COLUMNS, machines) == shipped_text("catalog/instances.csv")
    assert table_text(PRICE_COLUMNS, offers) == shipped_text("catalog/prices.csv")


def test_an_offer_becomes_a_machine_and_prices_beside_what_was_looked_up_by_hand():
    (machine,), offers = tables(LISTED)
    assert machine == {
        "instance": "gcp/n1-standard-8+2xV100",
        "provider": "gcp",
        "gpu": "Tesla V100-SXM2-16GB",
        "gpu_count": "2",
        "gpu_memory_gib": "16",
        "vcpus": "8",
        "host": "skylake",
        "status": "available",
        "source": "listed by SkyPilot as V100-16GB, 2026",
    }
    assert [(row["market"], row["usd_per_hour"], row["region"]) for row in offers] == [
        ("on-demand", "5.34", "US, NA"),
        ("spot", "2.28146", "US, NA"),
    ]
    assert offers[0]["source"] == "SkyPilot catalogs/v8/gcp/vms.csv @ 006059e0f (Apache-2.0)"
    mine = {"instance": "gcp/n1-standard-8+2xV100", "source": "my own eyes", "gpu": "Voodoo"}
    price = {
        **dict.fromkeys(PRICE_COLUMNS, ""),
        "instance": mine["instance"],
        "market": "on-demand",
        "region": "US, NA",
    }
    machines, offers = catalog_tables([mine], [price], listed_prices([LISTED], load_gpus()))
    assert machines == [mine]
    assert [row["usd_per_hour"] for row in offers] == ["", "2.28146"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"usd_per_hour_on_demand": "", "usd_per_hour_spot": ""}, "has no price"),
        ({"usd_per_hour_on_demand": "0"}, "has no price"),
        ({"provider": "nimbus"}, "cloud 'nimbus'"),
        ({"gpu": "Voodoo"}, "GPU 'Voodoo'"),
    ],
)
def test_what_can_not_be_an_offer_is_refused_in_one_line(change, says):
    with pytest.raises(InputError, match=says):
        tables({**LISTED, **change})
    with pytest.raises(InputError, match="listed twice"):
        tables(LISTED, LISTED)
