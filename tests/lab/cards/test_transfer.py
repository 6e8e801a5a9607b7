"""The card on GPUs nobody profiled says what the report says: another report is another card."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from profet_core.accuracy.transfer_report import TRANSFER_REPORT_NAME, load_transfer_accuracy, read_transfer_accuracy
from profet_core.errors import ArtifactError
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer
from profet_lab.cards.transfer import TRANSFER_CARD_NAME, transfer_card
from profet_lab.reports import write_memory_report, write_transfer_report
from tests.lab.cards.conftest import number_paths, one_more
from tests.made.transfer_report import made_transfer_report, signed

pytestmark = pytest.mark.training

SECTIONS = (
    "# Card: GPUs nobody profiled, and memory",
    "## What to know first",
    "## By GPU",
    "## One GPU left out",
    "## 90 % intervals by GPU left out",
    "## One GPU left out as anchor",
    "## Published tables, held back where possible",
    "## Self-checks",
    "## Derived GPUs: A10G, Tesla P100-PCIE-16GB",
    "## The same GPUs as if nobody had measured them",
    "## Does it fit in memory?",
    "## Method in short",
    "## What was tried",
    "## Data, sources and licences",
    "## Limits",
)
SECTION_NAMES = ("left_out_gpus", "left_out_anchors", "published", "derived", "memory")
REPORT = made_transfer_report("feedface" * 8, "0badcafe" * 8)


@pytest.fixture(scope="module")
def files(repository):
    """What the card is written for."""
    return load_transfer(repository / "models"), load_memory(repository / "models")


def card_of(report: dict, files) -> str:
    return transfer_card(read_transfer_accuracy(report), *files)


def test_every_section_is_there_and_what_to_know_leads(files):
    lines = card_of(REPORT, files).splitlines()
    assert tuple(line for line in lines if line.startswith("#")) == SECTIONS


def test_the_card_names_its_files_sources_and_what_is_exploratory(files):
    card, (transfer, memory) = card_of(REPORT, files), files
    for text in ("2020-02-03", "`feedfacefeedface`", "`0badcafe0badcafe`", "Seed 5.", "exploratory runs"):
        assert text in card
    for name, value in transfer.fitted_on.items():
        assert f"- `{name}`: sha256 `{value}`" in card
    assert f"{memory.fitted_on['cells']} workloads x GPUs" in card
    for licence in (
        "ddps-lab/profet (MIT)",
        "cloud-hw-trainpred (MIT / Apache-2.0)",
        "lambdal/deeplearning-benchmark",
        "lambda-tensorflow-benchmark (BSD-3)",
        "DeepLearningExamples (Apache-2.0 / BSD-3)",
        "zeus (Apache-2.0)",
        "NeuSight (MIT)",
    ):
        assert licence in card


def test_each_gpu_is_a_row_of_what_it_rests_on(files):
    """Every GPU with a data sheet once, the surest first; what is fitted to its own point alone is unchecked."""
    lines, (transfer, _) = card_of(REPORT, files).splitlines(), files
    start = lines.index("## By GPU")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start:] if line.startswith("| ")]
    found = {row[0]: row for row in rows[1 : 1 + len(transfer.gpus)]}
    assert set(found) == set(transfer.gpus)
    assert [row[1] for row in rows[1:5]] == ["profiled"] * 4
    left_out, anchor = REPORT["left_out_gpus"]["by_gpu"]["g4dn.xlarge"], REPORT["left_out_anchors"]["by_anchor"]
    errors = f"{left_out['mape_with_latency']:.1f}; {anchor['g4dn.xlarge']['mape_with_latency']:.1f}"
    assert found["Tesla T4"][2:4] == ["left out; left out as anchor", errors]
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


def test_memory_alone_is_written_beside_the_other_figures(files, tmp_path):
    transfer, memory = files
    whole = write_transfer_report({name: REPORT[name] for name in (*SECTION_NAMES, "seed")}, transfer, memory, tmp_path)
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
    path.unlink()
    with pytest.raises(ArtifactError, match="is missing: run `profet validate --transfer --card`"):
        write_memory_report(found, transfer, memory, tmp_path)


def test_the_verdict_on_memory_follows_from_the_figures(files):
    assert "Made to choose, it is reached with nothing; as said, with nothing." in card_of(REPORT, files)
    report = copy.deepcopy(REPORT)
    report["memory"]["arithmetic"] |= {"recall": 0.9, "false_fits": 0.01}
    report["memory"]["served"]["that it ran"] |= {"strict_recall": 0.8, "strict_false_fits": 0.02}
    assert "reached with layers known; as said, with that it ran." in card_of(report, files)
    report["memory"]["recorded"]["recorded peak"] |= {"recall": 0.9, "false_fits": 0.01}
    assert "reached with layers known, recorded peak; as said" in card_of(report, files)


#: On data sheets the card leaves these out, of other GPUs and per network too: they are in the report.
LEFT_TO_THE_REPORT = ("sheet_only_bias", "sheet_only_mape_without_resnet50", "published_mape_without_resnet50")


def is_shown(path) -> bool:
    name = str(path[-1])
    if "left_out_anchors" in path and name.endswith("without_latency"):
        return name == "mape_without_latency"
    if name == "held_back":
        return False
    if name.startswith(LEFT_TO_THE_REPORT) or (path[0] == "left_out_gpus" and path[1:2] == ("worst",)):
        return False
    if "left_out_gpus" in path and name.endswith("without_latency"):
        per_gpu = "by_gpu" in path or "mean" in path
        return name in ("mape_without_latency", "sheet_only_mape_without_latency") or (
            (per_gpu and "missed" in name) or (per_gpu and "interval" in name)
        )
    if name.startswith("claims") and name.endswith("without_latency"):
        return False
    # The number of workloads is the same in every direction among profiled GPUs.
    return not ("directions" in path and name == "n")


@pytest.mark.parametrize("path", [path for path in number_paths(REPORT, (int, float)) if is_shown(path)], ids=str)
def test_another_number_is_another_card(path, files):
    assert card_of(one_more(REPORT, path), files) != card_of(REPORT, files)


def test_report_and_card_are_written_together_and_tied_to_both_files(files, tmp_path):
    transfer, memory = files
    written = {key: REPORT[key] for key in ("seed", *SECTION_NAMES)}
    content = write_transfer_report(written, transfer, memory, tmp_path)
    found = load_transfer_accuracy(transfer, memory, tmp_path)
    assert (found.transfer_checksum, found.memory_checksum) == (transfer.checksum, memory.checksum)
    assert json.loads(json.dumps(content))["left_out_gpus"] == REPORT["left_out_gpus"]
    assert (tmp_path / TRANSFER_CARD_NAME).read_text() == transfer_card(found, transfer, memory)


def test_the_shipped_card_is_that_of_the_shipped_report(repository, files):
    found = load_transfer_accuracy(*files, repository / "models")
    assert (repository / "models" / TRANSFER_CARD_NAME).read_text() == transfer_card(found, *files)


def test_the_worst_direction_is_named(files):
    accuracy = read_transfer_accuracy(REPORT)
    worst = accuracy.worst(True)
    assert f"worst direction {worst.anchor} to {worst.target}" in transfer_card(accuracy, *files)
    one = replace(accuracy, directions=accuracy.directions[:1])
    assert "worst direction g3s.xlarge to g4dn.xlarge" in transfer_card(one, *files)
