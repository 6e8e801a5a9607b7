"""`profet instances list`: the catalog, or the offers of a market or region, with what predictions rest on."""

from __future__ import annotations

import json

from profet_core.catalog import load_shipped
from profet_core.catalog.naming import old_price_note


def test_instances_lists_the_catalog(document, run, catalog):
    rows = document()
    assert [row["name"] for row in rows] == list(catalog)
    by_name = {row["name"]: row for row in rows}
    assert (by_name["p3.2xlarge"]["usd_per_hour"], by_name["p3.2xlarge"]["basis"]) == (3.06, "measured")
    assert by_name["g5.xlarge"]["basis"] == "derived"
    assert by_name["p5.48xlarge"]["basis"] == "transferred"
    assert len(run()[1].splitlines()) == len(catalog) + 2, "and a line on old prices"
    old = sum(old_price_note(entry) != "" for entry in catalog.values())
    assert old > 0 and run()[1].splitlines()[-1].startswith(f"old: {old} of these prices")
    assert (by_name["verda/1V100.6V"]["provider"], by_name["verda/1V100.6V"]["basis"]) == ("verda", "measured")


def test_a_list_is_narrowed_by_cloud_gpu_and_count(document, run):
    names = [row["name"] for row in document("--provider", "gcp", "--gpu", "V100,T4", "--gpu-count", 1)]
    assert names == ["gcp/n1-standard-4+1xT4", "gcp/n1-standard-4+1xV100"]
    assert {row["name"] for row in document("list", "--provider", "verda")} == {
        row["name"] for row in document() if row["provider"] == "verda"
    }
    assert [row["region"] for row in document("--region", "bg")] == ["Bulgaria, BG, EU"]
    for narrowed in (("--provider", "azure", "--gpu", "H200"), ("list", "--market", "reserved")):
        assert document(*narrowed) == []
        status, out, err = run(*narrowed)
        assert (status, out.count("\n"), err.count("\n")) == (0, 1, 1) and err.startswith("warning: No offer ")


def test_a_list_shows_all_offers_or_those_of_a_market_or_region(run, document):
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.2, "--market", "spot")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.6, "--region", "eu-west-1")
    assert len(document("list")) == len(document()) == len(load_shipped())
    every = len(load_shipped().all_offers)
    assert len(document("list", "--all")) == len(document("--all")) == every + 1, "one is another price of an offer"
    spot = {row["name"]: row["usd_per_hour"] for row in document("--market", "spot")}
    assert (len(spot), spot["g4dn.xlarge"]) == (70, 0.2)
    assert [row["usd_per_hour"] for row in document("list", "--region", "eu-west-1")] == [0.6]
    assert "spot, own" in run("list", "--all")[1]


def test_without_models_every_instance_is_a_price_only_and_one_line_says_why(run, monkeypatch, tmp_path):
    # After `run`, which takes the variable away.
    monkeypatch.setenv("PROFET_HOME", str(tmp_path))
    status, out, err = run("list", "--format", "json")
    assert status == 0 and {row["basis"] for row in json.loads(out)} == {"price only"}
    assert f"no models in {tmp_path.name}" in err and err.count("\n") == 1
