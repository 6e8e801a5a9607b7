"""`profet instances remove`: the user's rows only."""

from __future__ import annotations


def test_removing_takes_own_rows_only(run, document, refused):
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.2, "--market", "spot")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.4)
    assert [row["market"] for row in document("remove", "g4dn.xlarge", "--market", "spot")["removed"]] == ["spot"]
    run("remove", "g4dn.xlarge")
    assert [row["usd_per_hour"] for row in document() if row["name"] == "g4dn.xlarge"] == [0.526]
    assert "has no such row for 'g4dn.xlarge'" in refused("remove", "g4dn.xlarge")
