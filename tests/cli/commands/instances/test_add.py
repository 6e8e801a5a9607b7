"""`profet instances add` and `remove`: rows of your own are shown everywhere; wrong ones are refused in one line."""

from __future__ import annotations

import pytest

from profet_core.catalog import load_shipped


def test_an_added_instance_is_listed_with_what_was_said(document):
    added = document(
        *("add", "my.l4", "--gpu", "l4", "--usd-per-hour", 0.7, "--market", "spot", "--region", "eu-north-1"),
        *("--as-of", "2026-11-21", "--source", "an invoice", "--vcpus", 8),
    )
    row = next(row for row in document() if row["name"] == "my.l4")
    assert {key: row[key] for key in added["offer"]} == added["offer"]
    assert (row["gpu"], row["gpu_count"], row["gpu_memory_gib"], row["vcpus"]) == ("L4", 1, 24, 8)
    assert (row["usd_per_hour"], row["market"], row["region"]) == (0.7, "spot", "eu-north-1")
    assert (row["as_of"], row["source"], row["own"], row["basis"]) == ("2026-11-21", "an invoice", True, "transferred")


def test_a_price_added_twice_is_one_row_and_says_the_old_one(run, document, own):
    assert run("add", "g4dn.xlarge", "--usd-per-hour", 0.4)[0] == 0
    status, out, _ = run("add", "g4dn.xlarge", "--usd-per-hour", 0.45, "--gpu", "T4")
    assert status == 0
    assert "$0.45/h, was $0.40" in out and str(own) in out and out.count("\n") == 1
    assert len(own.read_text().splitlines()) == 2
    assert len(document()) == len(load_shipped())
    status, out, _ = run("add", "my.node", "--gpu", "H100", "--gpu-count", 8, "--usd-per-hour", 20)
    assert status == 0 and "the whole machine with 8 GPUs" in out.splitlines()[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["x"], "give its GPU"),
        (["x", "--gpu", "L40X"], "did you mean L40S?"),
        (["x", "--gpu", "A100"], "A100-SXM4-40GB, A100-SXM4-80GB"),
        (["x", "--gpu", "B200", "--other-gpu"], "give its memory"),
        (["x", "--gpu", "L4", "--memory-gib", "80"], "L4 has 24 GiB, not 80"),
        (["x", "--gpu", "L4", "--usd-per-hour", "nan"], "usd_per_hour must be a number above 0, not nan"),
        (["x", "--gpu", "L4", "--gpu-count", "0"], "gpu_count"),
        (["x", "--gpu", "L4", "--as-of", "today"], "as_of"),
        (["x", "--gpu", "L4", "--source", "a\nb"], "line break"),
        (["a,b", "--gpu", "L4"], "commas"),
        (["G4DN.xlarge"], "as 'g4dn.xlarge'"),
        (["g4dn.xlarge", "--gpu", "A10G"], "Tesla T4, not A10G"),
        (["g4dn.xlarge", "--gpu-count", "4"], "1, not 4"),
        (["x" * 101, "--gpu", "L4"], "more than 100"),
        (["x", "--gpu", "L4", "--source", "y" * 501], "more than 500"),
        (["x", "--gpu", "L4", "--market", "auction"], "--market"),
    ],
)
def test_a_wrong_row_is_refused_and_nothing_is_written(refused, own, arguments, says):
    assert says in refused("add", arguments[0], "--usd-per-hour", "1", *arguments[1:])
    assert not own.exists()


def test_a_gpu_of_another_memory_is_added_on_purpose_for_its_price(refused, document):
    v100 = ("my.v32", "--gpu", "Tesla V100-SXM2-32GB", "--memory-gib", 32, "--usd-per-hour", 1)
    assert "--other-gpu" in refused("add", *v100)
    assert document("add", *v100, "--other-gpu")["offer"]["gpu_memory_gib"] == 32
    assert next(row for row in document() if row["name"] == "my.v32")["basis"] == "price only"


def test_a_damaged_own_file_stops_every_command_in_one_line(refused, own):
    own.parent.mkdir()
    own.write_text("instance,gpu\nmine,L4\n")
    for arguments in ([], ["list"], ["add", "g4dn.xlarge", "--usd-per-hour", 1], ["remove", "mine"]):
        assert "row mine has no column 'gpu_count'" in refused(*arguments)


def test_without_a_place_for_the_file_the_variable_is_named(refused, monkeypatch):
    monkeypatch.setenv("PROFET_INSTANCES", "")
    assert "set PROFET_INSTANCES" in refused("add", "g4dn.xlarge", "--usd-per-hour", 1)


def test_an_instance_of_one_s_own_may_say_who_rents_it_out(run, document, refused):
    run("add", "my.l4", "--gpu", "L4", "--usd-per-hour", 0.5, "--provider", "hetzner")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.4)
    rows = {row["name"]: row for row in document()}
    assert (rows["my.l4"]["provider"], rows["g4dn.xlarge"]["provider"]) == ("hetzner", "aws")
    assert [row["name"] for row in document("--provider", "hetzner")] == ["my.l4"]
    assert "g4dn.xlarge is from aws, not gcp: remove --provider." in refused(
        "add", "g4dn.xlarge", "--usd-per-hour", 1, "--provider", "gcp"
    )


def test_removing_takes_own_rows_only(run, document, refused):
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.2, "--market", "spot")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.4)
    assert [row["market"] for row in document("remove", "g4dn.xlarge", "--market", "spot")["removed"]] == ["spot"]
    run("remove", "g4dn.xlarge")
    assert [row["usd_per_hour"] for row in document() if row["name"] == "g4dn.xlarge"] == [0.526]
    assert "has no such row for 'g4dn.xlarge'" in refused("remove", "g4dn.xlarge")
