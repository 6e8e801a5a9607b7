"""`profet instances refresh` on a price list in gpuhunt's own format, read by gpuhunt itself."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from profet_core.catalog import load_catalog, load_shipped

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


def test_prices_of_both_markets_are_laid_over_and_the_changes_told(run, own):
    status, out, err = run("refresh", "--format", "json")
    assert (status, err) == (0, "")
    changes = {(row["name"], row["market"]): row for row in json.loads(out)["changes"]}
    dearer = changes["g5.xlarge", "on-demand"]
    assert (dearer["old_usd_per_hour"], dearer["usd_per_hour"]) == (1.006, 1.1066)
    assert dearer["change_percent"] == pytest.approx(10.0)
    assert changes["g4dn.xlarge", "spot"]["old_usd_per_hour"] == 0.2039
    assert json.loads(out)["not_listed"][:3] == ["g3s.xlarge", "p2.xlarge", "p3.2xlarge"]
    catalog = load_catalog()
    assert list(catalog) == list(load_shipped()), "an instance the catalogue lacks is not added"
    assert (catalog["g5.xlarge"].usd_per_hour, catalog["g5.xlarge"].source) == (1.1066, "gpuhunt aws")
    assert [o.usd_per_hour for o in catalog.offers("g4dn.xlarge") if o.market == "spot"] == [0.2244]
    assert len(catalog["g5.xlarge"].as_of) == 10


def test_the_text_says_old_new_and_percent(run):
    lines = [line.split() for line in run("refresh")[1].splitlines()]
    assert ["g5.xlarge", "us-east-1", "on-demand", "$1.006", "$1.1066", "+10.0", "%"] in lines
    assert ["g4dn.xlarge", "us-east-1", "spot", "$0.2039", "$0.2244", "+10.1", "%"] in lines
    assert ["p5.48xlarge", "us-east-1", "on-demand", "$55.04", "$55.04", "same"] in lines


def test_a_second_refresh_replaces_the_first(run, own, publish):
    run("refresh")
    rows = own.read_text().splitlines()
    publish("1.1066", "1.2")
    run("refresh")
    assert len(own.read_text().splitlines()) == len(rows)
    assert load_catalog()["g5.xlarge"].usd_per_hour == 1.2


def test_another_region_is_asked_for_by_name(run):
    assert run("refresh", "--region", "eu-west-1")[0] == 0
    on_demand = {o.region: o.usd_per_hour for o in load_catalog().offers("g4dn.xlarge") if o.market == "on-demand"}
    assert (on_demand["eu-west-1"], on_demand["us-east-1"]) == (0.587, 0.526)


def test_a_price_that_was_typed_in_is_kept(run):
    run("add", "g5.xlarge", "--usd-per-hour", 0.9, "--source", "our contract")
    assert "yours is kept" in run("refresh")[1]
    assert load_catalog()["g5.xlarge"].usd_per_hour == 0.9


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1.1066", "11.066", "g5.xlarge (us-east-1, on-demand) is listed at $11.066 an hour beside $1.006"),
        ("1.1066", "0.11066", "g5.xlarge (us-east-1, on-demand) is listed at $0.11066 an hour beside $1.006"),
        ("0.2244", "0.0002", "g4dn.xlarge (us-east-1, spot) is listed at $0.0002 an hour beside $0.2039"),
        ("55.04,192,2048.0,8", "6.88,192,2048.0,1", "p5.48xlarge (us-east-1, on-demand) is listed with 1 GPUs"),
        ("1.1066", "0", "The published price of g5.xlarge must be a number above 0"),
        ("1.1066", "nan", "The published price of g5.xlarge must be a number above 0"),
    ],
)
def test_an_unbelievable_list_changes_nothing(run, own, publish, old, new, says):
    publish(old, new)
    status, out, err = run("refresh")
    assert (status, out) == (2, "")
    assert says in err and len(err.splitlines()) == 1
    assert not own.exists()


def test_force_believes_it_and_a_dry_run_writes_nothing(run, own, publish):
    publish("1.1066", "11.066")
    assert run("refresh", "--force", "--dry-run")[0] == 0
    assert not own.exists()
    assert run("refresh", "--force")[0] == 0
    assert load_catalog()["g5.xlarge"].usd_per_hour == 11.066


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--region", "mars"], "aws lists no GPU instance in mars: choose among eu-west-1, us-east-1"),
        (["--provider", "nobody"], "Unknown provider 'nobody'"),
        (["--provider", "gcp"], "The price list of gcp can't be fetched"),
    ],
)
def test_a_list_that_is_not_there_is_told_in_one_line(run, own, arguments, says):
    status, out, err = run("refresh", *arguments)
    assert (status, out) == (2, "")
    assert says in err and len(err.splitlines()) == 1
    assert not own.exists()


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


def test_without_a_network_one_line_says_so(run, own, tmp_path, monkeypatch):
    monkeypatch.delenv("GPUHUNT_CATALOG_DIR")
    monkeypatch.setenv("GPUHUNT_CATALOG_URL", (tmp_path / "nothing").as_uri())
    status, out, err = run("refresh")
    assert (status, out) == (2, "")
    assert "The price list of aws can't be fetched" in err and len(err.splitlines()) == 1
    assert not own.exists()


def test_without_gpuhunt_one_line_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    assert run("refresh") == (
        2,
        "",
        "profet: Published prices are read by gpuhunt: pip install 'profet-app[prices]'.\n",
    )


def test_a_dry_run_refuses_what_could_not_be_written(run, own, publish):
    publish("us-east-1", "us\x07east")
    status, out, err = run("refresh", "--region", "us\x07east", "--dry-run")
    assert (status, out) == (2, "")
    assert "holds a line break or control character" in err
