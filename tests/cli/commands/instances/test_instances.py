"""`profet instances`: the catalog with your own rows; many programs change them at once."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from profet_cli.main import main
from profet_core.catalog import load_shipped
from profet_core.catalog.custom_instances import read_custom_instances
from profet_core.catalog.instance import old_price_note
from profet_core.files import lock_path


def test_an_added_instance_is_listed_with_what_was_said(document):
    added = document(
        *("add", "my.l4", "--gpu", "l4", "--usd-per-hour", 0.7, "--market", "spot", "--region", "eu-north-1"),
        *("--as-of", "2026-11-21", "--source", "an invoice", "--vcpus", 8),
    )
    row = next(row for row in document() if row["name"] == "my.l4")
    assert {key: row[key] for key in added["offer"]} == added["offer"]
    assert (row["gpu"], row["gpu_count"], row["gpu_memory_gib"], row["vcpus"]) == ("L4", 1, 24, 8)
    assert (row["usd_per_hour"], row["market"], row["region"]) == (0.7, "spot", "eu-north-1")
    assert (row["as_of"], row["source"], row["custom"], row["basis"]) == (
        "2026-11-21",
        "an invoice",
        True,
        "transferred",
    )


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
        (["x", "--gpu", "L40X"], "did you mean L40?"),
        (["x", "--gpu", "GTX 980 Ti"], "Unknown GPU 'GTX 980 Ti'. `profet gpus known`"),
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
        (["@SUM(1)", "--gpu", "L4"], "can't be a name"),
        (["<script>", "--gpu", "L4"], "can't be a name"),
        (["../../x", "--gpu", "L4"], "can't be a name"),
        (["x/../../y", "--gpu", "L4"], "can't be a name"),
    ],
)
def test_a_wrong_row_is_refused_and_nothing_is_written(refused, own, arguments, says):
    assert says in refused("add", arguments[0], "--usd-per-hour", "1", *arguments[1:])
    assert not own.exists()


@pytest.mark.parametrize("name", ["my-l4.lab", "büro-rechner", "team/a:gpu_1", "4090", "box(2)"])
def test_ordinary_names_are_taken(run, own, name):
    assert run("add", name, "--gpu", "L4", "--usd-per-hour", 1)[0] == 0
    assert names(own) == {name}


def test_a_wrong_clock_is_named_where_nobody_typed_a_date(refused, run, monkeypatch):
    class Reset(date):
        @classmethod
        def today(cls) -> date:
            return date(1970, 1, 1)

    for module in ("profet_core.catalog.instance", "profet_core.catalog.custom_instances"):
        monkeypatch.setattr(f"{module}.date", Reset)
    assert "this machine's clock says 1970-01-01" in refused("add", "x", "--gpu", "L4", "--usd-per-hour", "1")
    assert run("add", "x", "--gpu", "L4", "--usd-per-hour", "1", "--as-of", "2026-11")[0] == 0


def test_a_gpu_of_another_memory_is_added_on_purpose_for_its_price(refused, document):
    p100 = ("my.p32", "--gpu", "Tesla P100-SXM2-32GB", "--memory-gib", 32, "--usd-per-hour", 1)
    assert "--other-gpu" in refused("add", *p100)
    assert document("add", *p100, "--other-gpu")["offer"]["gpu_memory_gib"] == 32
    assert next(row for row in document() if row["name"] == "my.p32")["basis"] == "price only"


def test_a_damaged_file_or_no_place_for_it_is_one_line(refused, own, monkeypatch):
    own.parent.mkdir()
    own.write_text("instance,gpu\nmine,L4\n")
    for arguments in ([], ["list"], ["add", "g4dn.xlarge", "--usd-per-hour", 1], ["remove", "mine"]):
        assert "row mine has no column 'gpu_count'" in refused(*arguments)
    monkeypatch.setenv("PROFET_INSTANCES", "")
    assert "set PROFET_INSTANCES" in refused("add", "g4dn.xlarge", "--usd-per-hour", 1)


def test_an_instance_of_one_s_own_may_say_who_rents_it_out(run, document, refused):
    run("add", "my.l4", "--gpu", "L4", "--usd-per-hour", 0.5, "--provider", "hetzner")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.4)
    rows = {row["name"]: row for row in document()}
    assert (rows["my.l4"]["provider"], rows["g4dn.xlarge"]["provider"]) == ("hetzner", "aws")
    assert [row["name"] for row in document("--provider", "hetzner")] == ["my.l4"]
    assert "g4dn.xlarge has --provider aws, not gcp" in refused(
        "add", "g4dn.xlarge", "--usd-per-hour", 1, "--provider", "gcp"
    )


def test_removing_takes_own_rows_only(run, document, refused):
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.2, "--market", "spot")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.4)
    assert [row["market"] for row in document("remove", "g4dn.xlarge", "--market", "spot")["removed"]] == ["spot"]
    run("remove", "g4dn.xlarge")
    assert [row["usd_per_hour"] for row in document() if row["name"] == "g4dn.xlarge"] == [0.526]
    assert "has no such row for 'g4dn.xlarge'" in refused("remove", "g4dn.xlarge")


def test_instances_lists_the_catalog(document, run, catalog):
    rows = document()
    assert [row["name"] for row in rows] == list(catalog)
    by_name = {row["name"]: row for row in rows}
    assert (by_name["p3.2xlarge"]["usd_per_hour"], by_name["p3.2xlarge"]["basis"]) == (3.06, "measured")
    assert by_name["g5.xlarge"]["basis"] == "transferred"
    assert by_name["p5.48xlarge"]["basis"] == "transferred"
    assert len(run()[1].splitlines()) == len(catalog) + 2, "and a line on old prices"
    old = sum(old_price_note(entry) != "" for entry in catalog.values())
    assert old > 0 and run()[1].splitlines()[-1].startswith(f"old: {old} of these prices")
    assert (by_name["verda/1V100.6V"]["provider"], by_name["verda/1V100.6V"]["basis"]) == ("verda", "measured")


def test_a_list_is_filtered_by_cloud_gpu_count_market_and_region(document, run):
    names = [row["name"] for row in document("--provider", "gcp", "--gpu", "V100,T4", "--gpu-count", 1)]
    assert names == ["gcp/n1-standard-4+1xT4", "gcp/n1-standard-4+1xV100"]
    assert {row["name"] for row in document("list", "--provider", "verda")} == {
        row["name"] for row in document() if row["provider"] == "verda"
    }
    assert [row["region"] for row in document("--region", "bg")] == ["Bulgaria, BG, EU"]
    for filtered in (("--provider", "azure", "--gpu", "H200"), ("list", "--market", "reserved")):
        assert document(*filtered) == []
        status, out, err = run(*filtered)
        assert (status, out.count("\n"), err.count("\n")) == (0, 1, 1) and err.startswith("warning: No offer ")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.2, "--market", "spot")
    run("add", "g4dn.xlarge", "--usd-per-hour", 0.6, "--region", "eu-west-1")
    assert len(document("list")) == len(document()) == len(load_shipped())
    every = len(load_shipped().all_offers)
    assert len(document("list", "--all")) == len(document("--all")) == every + 1, "one is another price of an offer"
    spot = {row["name"]: row["usd_per_hour"] for row in document("--market", "spot")}
    assert (len(spot), spot["g4dn.xlarge"]) == (100, 0.2)
    assert [row["usd_per_hour"] for row in document("list", "--region", "eu-west-1")] == [0.6]
    assert "spot, own" in run("list", "--all")[1]


def test_an_empty_home_takes_instances_and_answers_from_the_shipped_models(run, monkeypatch, tmp_path, repository):
    trace = repository / "sample_traces" / "vgg16-224px-b16-g3s.json"
    monkeypatch.delenv("PROFET_INSTANCES")
    monkeypatch.setenv("PROFET_HOME", str(tmp_path / "new"))
    assert run("add", "my.l4", "--gpu", "L4", "--usd-per-hour", "1")[0] == 0
    assert (tmp_path / "new" / "instances.csv").is_file()
    assert any(row["basis"] == "transferred" for row in json.loads(run("list", "--format", "json")[1]))
    assert main(["predict", str(trace), "--targets", "my.l4"]) == main(["estimate", "vgg16", "--batch", "8"]) == 0


def test_without_models_every_instance_is_a_price_only_and_one_line_says_why(run, monkeypatch, tmp_path):
    # After `run`, which takes the variable away.
    monkeypatch.setenv("PROFET_HOME", str(tmp_path))
    (tmp_path / "transfer.json").write_text("{}")
    status, out, err = run("list", "--format", "json")
    assert status == 0 and {row["basis"] for row in json.loads(out)} == {"price only"}
    assert f"no models in {tmp_path.name}" in err and err.count("\n") == 1


PROCESSES, ROWS = 4, 8
#: Begins with the others, at a line on stdin: most of a program's time is its start. Then changes row after row.
CHANGES = """
import sys
from profet_cli.main import main
action, *names = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
more = ["--gpu", "L4", "--usd-per-hour", "1"] if action == "add" else []
sys.exit(max(main(["instances", action, name, *more]) for name in names))
"""


def changed_at_once(changes: list[tuple[str, list[str]]], repository: Path) -> None:
    """Each `profet instances ACTION` of its names in a process of its own, all at once."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CHANGES, action, *names],
            cwd=repository,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for action, names in changes
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=300)[1] for process in running]
    assert errors == [""] * len(running) and not any(process.returncode for process in running)


def names(path: Path) -> set[str]:
    return {row.name for row in read_custom_instances(path, load_shipped())}


def test_many_adds_at_once_keep_every_row_and_removals_beside_them_theirs(own, repository):
    rows = [[f"my.{number}.{row}" for row in range(ROWS)] for number in range(PROCESSES)]
    changed_at_once([("add", each) for each in rows], repository)
    added = {name for each in rows for name in each}
    assert names(own) == added
    new = [[f"new.{number}.{row}" for row in range(ROWS)] for number in range(2)]
    changed_at_once([*(("add", each) for each in new), *(("remove", each) for each in rows[:2])], repository)
    assert names(own) == added - {*rows[0], *rows[1]} | {*new[0], *new[1]}
    assert [path.name for path in own.parent.iterdir()] == [own.name]


@pytest.mark.parametrize("left", ["lock", "scratch"])
def test_what_a_killed_program_left_is_harmless_and_goes(own, run, left):
    own.parent.mkdir(parents=True, exist_ok=True)
    behind = lock_path(own) if left == "lock" else own.with_name(f".{own.name}.new")
    behind.write_bytes(b"" if left == "lock" else b"instance,gpu\nhal")
    assert run("add", "my.l4", "--gpu", "L4", "--usd-per-hour", 1)[0] == 0
    assert names(own) == {"my.l4"}
    assert [path.name for path in own.parent.iterdir()] == [own.name]
