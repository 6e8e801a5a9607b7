"""The card on unprofiled GPUs says what the report says: another report is another card."""

from __future__ import annotations

import copy
import json

import pytest

from profet_core.accuracy.transfer_report import TRANSFER_REPORT_NAME, load_transfer_accuracy, read_transfer_accuracy
from profet_core.errors import ArtifactError
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer
from profet_lab.cards.transfer import TRANSFER_CARD_NAME, transfer_card
from tests.lab.cards.conftest import number_paths, one_more
from tests.made.transfer_report import made_transfer_report, signed

pytestmark = pytest.mark.training

SECTION_NAMES = ("left_out_gpus", "left_out_anchors", "published", "derived", "memory")
REPORT = made_transfer_report("feedface" * 8, "0badcafe" * 8)


@pytest.fixture(scope="module")
def files(repository):
    """What the card is written for."""
    return load_transfer(repository / "models"), load_memory(repository / "models")


def card_of(report: dict, files) -> str:
    return transfer_card(read_transfer_accuracy(report), *files)


def test_the_card_names_its_files_and_sources(files):
    card, (transfer, memory) = card_of(REPORT, files), files
    for text in ("2020-02-03", "`feedfacefeedface`", "`0badcafe0badcafe`", "Seed 5.", "ddps-lab/profet (MIT)"):
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
    errors = f"{held_out['mape_with_latency']:.1f}; {anchor['g4dn.xlarge']['mape_with_latency']:.1f}"
    assert found["Tesla T4"][2:4] == ["held out; held out as anchor", errors]
    assert found["L4"][1:3] == ["its kernels", "nothing"]
    assert found["H200-SXM-141GB"][2] == "own point alone"
    assert found["GeForce RTX 2080 Ti"][2] == "its table's other networks"
    (unchecked,) = (line for line in lines if line.startswith("- **No measurement of these GPUs"))
    assert "H200-SXM-141GB" in unchecked and "A100-PCIE-40GB" not in unchecked


def test_a_table_says_whether_it_was_held_back(files):
    report = copy.deepcopy(REPORT)
    (row,) = (one for one in report["published"]["tables"] if not one["held_back"])
    row["held_back"] = True
    for one, said in ((REPORT, "no"), (report, "yes")):
        assert f"| {row['gpu']} | {row['table']} | {said} |" in card_of(one, files)


def sealed(report: dict) -> dict:
    """Signed anew."""
    return signed({name: value for name, value in report.items() if name != "checksum"})


def test_report_and_card_are_written_together_and_memory_alone_beside_the_other_figures(files, tmp_path):
    from profet_lab.reports import write_memory_report, write_transfer_report

    transfer, memory = files
    whole = write_transfer_report({name: REPORT[name] for name in (*SECTION_NAMES, "seed")}, transfer, memory, tmp_path)
    read = load_transfer_accuracy(transfer, memory, tmp_path)
    assert (read.transfer_checksum, read.memory_checksum) == (transfer.checksum, memory.checksum)
    assert json.loads(json.dumps(whole))["left_out_gpus"] == REPORT["left_out_gpus"]
    assert (tmp_path / TRANSFER_CARD_NAME).read_text() == transfer_card(read, transfer, memory)
    found = {**REPORT["memory"], "architectures": 14}
    path = tmp_path / TRANSFER_REPORT_NAME
    path.write_text(json.dumps(sealed({**whole, "memory_checksum": "0" * 64})))
    write_memory_report(found, transfer, memory, tmp_path)
    written = load_transfer_accuracy(transfer, memory, tmp_path)
    assert json.loads(path.read_text()) == sealed({**whole, "memory": found})
    assert (tmp_path / TRANSFER_CARD_NAME).read_text() == transfer_card(written, transfer, memory)
    for content, says in (
        ({**whole, "seed": 6}, "damaged or was changed"),
        (sealed({**whole, "transfer_checksum": "0" * 64}), r"belongs to another transfer\.json"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(ArtifactError, match=says):
            write_memory_report(found, transfer, memory, tmp_path)
        assert json.loads(path.read_text()) == content, "left as it was"
    path.write_text("{")
    with pytest.raises(ArtifactError, match="damaged or was changed"):
        write_memory_report(found, transfer, memory, tmp_path)
    path.unlink()
    with pytest.raises(ArtifactError, match="is missing: run `profet validate --transfer --card`"):
        write_memory_report(found, transfer, memory, tmp_path)


def test_the_verdict_on_memory_follows_from_the_figures(files):
    assert "reached with nothing; as said, with nothing" in card_of(REPORT, files)
    report = copy.deepcopy(REPORT)
    report["memory"]["arithmetic"] |= {"recall": 0.9, "false_fits": 0.01}
    report["memory"]["served"]["that it ran"] |= {"strict_recall": 0.8, "strict_false_fits": 0.02}
    assert "reached with layers known; as said, with that it ran." in card_of(report, files)
    report["memory"]["recorded"]["recorded peak"] |= {"recall": 0.9, "false_fits": 0.01}
    assert "reached with layers known, recorded peak; as said" in card_of(report, files)


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
    if "left_out_anchors" in path and name.endswith("without_latency"):
        return name == "mape_without_latency"
    # Of the self-checks the card has the largest alone.
    if name == "held_back" or "self_checks" in path:
        return False
    if name.startswith(LEFT_TO_THE_REPORT) or (path[0] == "left_out_gpus" and path[1:2] == ("worst",)):
        return False
    if "left_out_gpus" in path and name.endswith("without_latency"):
        return name in ("mape_without_latency", "sheet_only_mape_without_latency")
    if name.startswith("claims") and name.endswith("without_latency"):
        return False
    # The number of workloads is the same in every direction among profiled GPUs.
    return not ("directions" in path and name == "n")


def test_another_number_is_another_card(files):
    card = card_of(REPORT, files)
    shown = [path for path in number_paths(REPORT, (int, float)) if is_shown(path)]
    assert len(shown) > 220
    assert [path for path in shown if card_of(one_more(REPORT, path), files) == card] == []


def test_the_shipped_card_is_that_of_the_shipped_report(repository, files):
    found = load_transfer_accuracy(*files, repository / "models")
    card = transfer_card(found, *files)
    assert (repository / "models" / TRANSFER_CARD_NAME).read_text() == card
    worst = found.worst(True)
    assert f"worst direction {worst.anchor} to {worst.target}" in card
