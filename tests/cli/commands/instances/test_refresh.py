"""`profet instances refresh` on a price list in gpuhunt's own format, read by gpuhunt itself."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from profet_core.catalog import load_catalog, load_shipped
from profet_core.catalog.collection import prices_version

PUBLISHED = Path(__file__).parent / "published"
gpuhunt = pytest.importorskip("gpuhunt", reason="the price lists need gpuhunt")


@pytest.fixture(autouse=True)
def published(monkeypatch):
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(PUBLISHED))


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """`publish(replaced, by)` -> the list with a change."""

    def write(old: str, new: str) -> None:
        text = (PUBLISHED / "aws.csv").read_text()
        assert old in text
        (tmp_path / "aws.csv").write_text(text.replace(old, new))
        monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(tmp_path))

    return write


def test_prices_of_both_markets_are_laid_over_and_the_changes_told(run):
    lines = [line.split() for line in run("refresh", "--dry-run")[1].splitlines()]
    assert ["g5.xlarge", "us-east-1", "on-demand", "$1.006", "$1.1066", "+10.0%"] in lines
    assert ["p5.48xlarge", "us-east-1", "on-demand", "$55.04", "$55.04", "same"] in lines
    status, out, err = run("refresh", "--format", "json")
    assert (status, err) == (0, "")
    changes = {(row["name"], row["market"]): row for row in json.loads(out)["changes"]}
    dearer = changes["g5.xlarge", "on-demand"]
    assert (dearer["old_usd_per_hour"], dearer["usd_per_hour"]) == (1.006, 1.1066)
    assert dearer["change_percent"] == pytest.approx(10.0)
    assert changes["g4dn.xlarge", "spot"]["old_usd_per_hour"] == 0.2039
    assert json.loads(out)["not_listed"][:3] == ["g3s.xlarge", "p2.xlarge", "p3.2xlarge"]
    catalog = load_catalog()
    assert list(catalog) == list(load_shipped()), "an instance the catalog lacks is not added"
    assert (catalog["g5.xlarge"].usd_per_hour, catalog["g5.xlarge"].source) == (1.1066, "gpuhunt aws")
    assert [o.usd_per_hour for o in catalog.offers("g4dn.xlarge") if o.market == "spot"] == [0.2244]
    assert len(catalog["g5.xlarge"].as_of) == 10
    assert run("refresh", "--region", "eu-west-1")[0] == 0
    on_demand = {o.region: o.usd_per_hour for o in load_catalog().offers("g4dn.xlarge") if o.market == "on-demand"}
    assert on_demand["eu-west-1"] == 0.587


def test_a_price_that_was_typed_in_is_kept(run):
    run("add", "g5.xlarge", "--usd-per-hour", 0.9, "--source", "our contract")
    assert "yours is kept" in run("refresh")[1]
    assert load_catalog()["g5.xlarge"].usd_per_hour == 0.9


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1.1066", "11.066", "$11.066/h, but the catalog has $1.006"),
        ("0.2244", "0.0002", "$0.0002/h, but the catalog has $0.2039"),
        ("55.04,192,2048.0,8", "6.88,192,2048.0,1", "listed with 1 GPUs"),
        ("1.1066", "nan", "price of g5.xlarge must be a number above 0"),
    ],
)
def test_an_unbelievable_list_changes_nothing(refused, publish, old, new, says):
    publish(old, new)
    assert says in refused("refresh")


def test_force_believes_it_in_place_of_the_row_before_and_a_dry_run_writes_nothing(run, own, publish):
    run("refresh")
    before = own.read_bytes()
    publish("1.1066", "11.066")
    assert run("refresh", "--force", "--dry-run")[0] == 0 and own.read_bytes() == before
    assert run("refresh", "--force")[0] == 0
    assert load_catalog()["g5.xlarge"].usd_per_hour == 11.066
    assert len(own.read_bytes().splitlines()) == len(before.splitlines())


def test_a_list_that_is_not_there_is_told_in_one_line(refused, publish, tmp_path, monkeypatch):
    assert "choose from eu-west-1, us-east-1" in refused("refresh", "--region", "mars")
    assert "Unknown cloud 'nobody'" in refused("refresh", "--provider", "nobody")
    assert "price list of gcp can't be fetched" in refused("refresh", "--provider", "gcp")
    publish("us-east-1", "us\x07east")
    assert "control character" in refused("refresh", "--region", "us\x07east", "--dry-run")
    monkeypatch.delenv("GPUHUNT_CATALOG_DIR")
    monkeypatch.setenv("GPUHUNT_CATALOG_URL", (tmp_path / "nothing").as_uri())
    assert "price list of aws can't be fetched" in refused("refresh")
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    assert "pip install gpuhunt." in refused("refresh")


def test_the_published_archive_is_fetched_and_dated(run, tmp_path, monkeypatch):
    (tmp_path / "site" / "aws" / "20260601-17").mkdir(parents=True)
    (tmp_path / "site" / "aws" / "version").write_text("20260601-17\n")
    with zipfile.ZipFile(tmp_path / "site" / "aws" / "20260601-17" / "catalog.zip", "w") as archive:
        archive.write(PUBLISHED / "aws.csv", "aws.csv")
    monkeypatch.delenv("GPUHUNT_CATALOG_DIR")
    monkeypatch.setenv("GPUHUNT_CATALOG_URL", (tmp_path / "site").as_uri())
    status, _, err = run("refresh")
    assert (status, err) == (0, "")
    entry = load_catalog()["g5.xlarge"]
    assert (entry.usd_per_hour, entry.as_of, entry.source) == (1.1066, "2026-06-01", "gpuhunt aws 20260601-17")
    shipped = max(offer.as_of for offer in load_shipped().all_offers)
    assert prices_version(load_catalog().all_offers) == f"{shipped}, gpuhunt 20260601-17"


def test_a_market_out_of_reach_is_one_line_without_the_library_s_words(run, own, monkeypatch):
    # Nobody listens there.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    status, out, err = run("refresh", "--provider", "vast")
    assert (status, out, own.exists()) == (2, "", False)
    assert "vast can't be fetched" in err and err.count("\n") == 1 and "127.0.0.1" not in err
