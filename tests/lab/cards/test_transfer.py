"""The card on unprofiled GPUs says what the report says: another report is another card."""

from __future__ import annotations

import copy
import json
import math
import random
import shutil
from pathlib import Path

import pytest

from profet_core.files import shipped_folder
from profet_core.latency import quantile
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer
from profet_core.transfer.speed import known_speed
from profet_core.transfer.targets import Source
from profet_lab.cards.cards import accuracy_by_gpu, fixed, transfer_card
from profet_lab.reports import read_report
from tests.lab.cards.conftest import number_paths, one_more

pytestmark = pytest.mark.training

SECTION_NAMES = ("left_out_gpus", "left_out_anchors", "published", "derived", "memory")
REPORT = json.loads((shipped_folder("models") / "transfer_validation.json").read_text())
#: Of the numbers that a card shows so many are changed, each time another one.
CHANGED = 60


@pytest.fixture(scope="module")
def files(repository):
    """What the card is written for."""
    return load_transfer(repository / "models"), load_memory(repository / "models")


def card_of(report: dict, files) -> str:
    return transfer_card(report, *files)


def test_the_card_names_its_files_and_sources(files):
    card, (transfer, memory) = card_of(REPORT, files), files
    for text in (REPORT["made"], f"`{transfer.checksum[:16]}`", f"`{memory.checksum[:16]}`", "ddps-lab/profet (MIT)"):
        assert text in card
    for name, value in transfer.fitted_on.items():
        assert f"- `{name}`: sha256 `{value}`" in card
    assert f"{memory.fitted_on['cells']} workloads x GPUs" in card


def test_each_gpu_is_a_row_of_what_it_rests_on(files):
    """Every GPU with specs once, best evidence first; what is fitted to its own point alone is unchecked."""
    lines, (transfer, _) = card_of(REPORT, files).splitlines(), files
    start = lines.index("## By GPU")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start:] if line.startswith("| ")]
    found = {row[0]: row for row in rows[1 : 1 + len(transfer.gpus)]}
    assert set(found) == set(transfer.gpus)
    assert [row[1] for row in rows[1:5]] == ["profiled"] * 4
    held_out, anchor = REPORT["left_out_gpus"]["by_gpu"]["g4dn.xlarge"], REPORT["left_out_anchors"]["by_anchor"]
    errors = "; ".join(fixed(row["mape_with_latency"]) for row in (held_out, anchor["g4dn.xlarge"]))
    assert found["Tesla T4"][2:4] == ["held out; held out as anchor", errors]
    assert found["L4"][1:3] == ["specs, and published speeds of its generation", "nothing"]
    assert found["H200-SXM-141GB"][2] == "its speed left out"
    assert found["GeForce RTX 2080 Ti"][2] == "published steps; its speed left out"
    (unchecked,) = (line for line in lines if line.startswith("- **Nothing checks the numbers of these rented GPUs"))
    assert "L40S" in unchecked and "H200-SXM-141GB" not in unchecked and "Laptop" not in unchecked


def test_published_speeds_stand_beside_what_the_law_says_without_them(files):
    point = files[0].points["H100-SXM5-80GB"]
    off = [100 * math.expm1(value - point.published) for value in (point.log_speed, point.held_out)]
    row = f"| H100-SXM5-80GB | 1 | {math.exp(point.published):.2f} | {off[0]:+.1f} | {off[1]:+.1f} |"
    assert row in card_of(REPORT, files).splitlines()


@pytest.fixture
def folder(repository, tmp_path):
    """The shipped models, whose report may be written over."""
    return Path(shutil.copytree(repository / "models", tmp_path / "models"))


def test_report_and_card_are_written_together(files, folder):
    from profet_lab.reports import PARTS

    transfer, memory = files
    part = PARTS["transfer"]
    path, card = folder / part.report_name, folder / part.card_name
    whole = part.write({name: REPORT[name] for name in (*SECTION_NAMES, "seed")}, folder)
    read = read_report(path, "", transfer=transfer.checksum, memory=memory.checksum)
    assert read == json.loads(json.dumps(whole)) and read["left_out_gpus"] == REPORT["left_out_gpus"]
    assert card.read_text() == card_of(read, files)


def test_the_verdict_on_memory_follows_from_the_figures(files):
    report = copy.deepcopy(REPORT)
    for part in ({"layers": report["memory"]["arithmetic"]}, report["memory"]["served"], report["memory"]["recorded"]):
        for row in part.values():
            row |= {"recall": 0.9, "false_fits": 0.03, "strict_recall": 0.7, "strict_false_fits": 0.01}
    assert "reached with nothing; as said, with nothing" in card_of(report, files)
    report["memory"]["arithmetic"] |= {"false_fits": 0.01}
    report["memory"]["served"]["that it ran"] |= {"strict_recall": 0.8, "strict_false_fits": 0.02}
    assert "reached with layers known; as said, with that it ran." in card_of(report, files)


#: These are in the report alone.
LEFT_TO_THE_REPORT = (
    "sheet_only_bias",
    "sheet_only_mape_without_resnet50",
    "sheet_only_missed_90",
    "sheet_only_median_interval_pct",
    "published_mape_without_resnet50",
)


def is_shown(path) -> bool:
    name = str(path[-1])
    # Of the self-checks the card has the largest alone.
    if "worst" in path or name == "seed" or "self_checks" in path:
        return False
    if "left_out_anchors" in path and name.endswith("without_latency"):
        return name == "mape_without_latency"
    if name.startswith(LEFT_TO_THE_REPORT):
        return False
    if "left_out_gpus" in path and name.endswith("without_latency"):
        return name in ("mape_without_latency", "sheet_only_mape_without_latency")
    # The number of workloads is the same in every direction among profiled GPUs.
    return not ("directions" in path and name == "n")


def test_another_number_is_another_card(files):
    card = card_of(REPORT, files)
    shown = [path for path in number_paths(REPORT, (int, float)) if is_shown(path)]
    assert len(shown) > 220
    changed = random.Random(0).sample(shown, CHANGED)
    assert [path for path in changed if card_of(one_more(REPORT, path), files) == card] == []


@pytest.mark.parametrize("name", ["cells", "estimate", "precision", "scaleout", "transfer"])
def test_the_shipped_card_is_that_of_the_shipped_report(repository, name):
    from profet_lab.reports import PARTS

    part, models = PARTS[name], repository / "models"
    report = read_report(models / part.report_name, "", **part.checksums(models))
    assert (models / part.card_name).read_text() == part.text(report, models)


# --- by GPU ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows(files):
    return {row.gpu.name: row for row in accuracy_by_gpu(REPORT, files[0])}


def tables_of(gpu: str) -> list[dict]:
    return [row for row in REPORT["published"]["tables"] if row["gpu"] == gpu]


def left_out(files, gpu: str) -> float:
    """Error of a GPU's published speed by the law without it, percent of the latency."""
    point = files[0].points[gpu]
    return abs(100 * math.expm1(point.published - point.held_out))


def test_a_derived_gpu_is_checked_by_its_source_and_by_tables(rows, files):
    row, tables = rows["Tesla P100-PCIE-16GB"], tables_of("Tesla P100-PCIE-16GB")
    total = sum(table["n"] for table in tables)
    mape = sum(table["n"] * table["mape"] for table in tables) / total
    log_bias = sum(table["n"] * math.log1p(table["bias"] / 100) for table in tables) / total
    source = REPORT["derived"]["gpus"]["Tesla P100-PCIE-16GB"]["mean_with_latency"]
    assert [(check.how, check.mape) for check in row.checks] == [
        ("another source", source),
        ("published steps", pytest.approx(mape)),
        ("its speed left out", pytest.approx(left_out(files, row.gpu.name))),
    ]
    assert row.checks[0].bias is None and row.checks[1].bias == pytest.approx(100 * math.expm1(log_bias))
    law = files[0].derived["Tesla P100-PCIE-16GB"]
    assert row.half_width == pytest.approx(100 * (math.exp(quantile() * math.hypot(law.log_sd, law.bias_log_sd)) - 1))


def test_a_gpu_with_a_point_alone_is_checked_without_it(rows, files):
    row = rows["H200-SXM-141GB"]
    (check,) = row.checks
    assert check.how == "its speed left out" and row.measured
    assert check.mape == pytest.approx(left_out(files, "H200-SXM-141GB")) and abs(check.bias) == check.mape
    width = quantile() * known_speed(files[0], row.gpu, True).step_log_sd
    assert row.half_width == pytest.approx(100 * (math.exp(width) - 1))
    assert rows["L4"].checks == () and not rows["L4"].measured
    assert rows["L4"].evidence.source is Source.GENERATION
