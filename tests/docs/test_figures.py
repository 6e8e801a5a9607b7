"""The figures of README and Accuracy are those of the shipped reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import asdict

from docs.figures import README, report, with_figures
from profet_core.layers.measured import SHARES
from profet_core.prediction.counts import WEIGHTS

ROOT = Path(__file__).resolve().parents[2]


def rows(name: str) -> dict[str, list[str]]:
    """First cell of each table row -> the other cells, without bold."""
    lines = (ROOT / name).read_text(encoding="utf-8").replace("**", "").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {first: others for first, *others in cells}


def percent(*values: float) -> list[str]:
    return [f"{value:.1f}%" for value in values]


def both(part: dict, what: str = "mape") -> list[str]:
    return percent(part[f"{what}_with_latency"], part[f"{what}_without_latency"])


@pytest.fixture(scope="module")
def validation() -> dict:
    return report("validation.json")


def without_twin(validation: dict) -> tuple[float, float]:
    """The original's error on the networks without a near twin, as the model card has it."""
    twins = ("VGG", "ResNet1", "ResNet3", "ResNet5")
    kept = [row for model, row in validation["original"]["by_model"].items() if not model.startswith(twins)]
    assert len(kept) == 8
    return tuple(sum(row[f"mape_{case}_latency"] for row in kept) / 8 for case in ("with", "without"))


def test_accuracy_s_table_is_the_validation_s_its_first_line_that_of_networks_unlike_any(validation):
    table, default = rows("docs/ACCURACY.md"), validation["default"]
    mean, original = default["mean"], validation["original"]["mean"]
    assert table["one family held out"] == both(default["family"])
    assert table["network known by name too"] == both(validation["counts"])
    assert table["its family held out, also from published speeds"] == percent(
        *(validation["counts"][f"mape_{case}_latency_family"] for case in ("with", "without"))
    )
    for known, weight in WEIGHTS.items():
        fitted = validation["counts"]["fitted"]["with_latency" if known else "without_latency"]
        assert asdict(weight) == pytest.approx(fitted, abs=0.01)
    assert table["its worst pair"] == percent(*default["worst_pair"].values())
    assert table["the documented ensemble, `--method profet`"] == both(validation["profet"]["mean"])
    assert table["one architecture held out"] == [
        f"{ours} (original {theirs})" for ours, theirs in zip(both(mean), both(original), strict=True)
    ]
    assert table["batch and pixel size known too"] == percent(
        mean["mape_with_latency_and_sizes"], mean["mape_without_latency_and_sizes"]
    )
    assert table["90% intervals: coverage; median half-width"] == [
        "; ".join(percent(mean[f"coverage_90{case}"], mean[f"median_interval_pct{case}"]))
        for case in ("", "_without_latency")
    ]
    cells = rows("docs/ACCURACY.md")["networks unlike any in the data (8 networks unlike any other in the data)"]
    ours = both(validation["default"]["without_twin"])
    assert [cell.split(" (")[0] for cell in cells] == ours
    for cell, theirs in zip(cells, without_twin(validation), strict=True):
        assert abs(float(cell.split("original ")[1].split("%")[0]) - theirs) < 0.3


def test_readme_s_figures_are_of_today():
    readme = README.read_text(encoding="utf-8")
    assert with_figures(readme) == readme, "python -m docs.figures"


def test_accuracy_s_other_figures_are_the_reports():
    text = " ".join((ROOT / "docs" / "ACCURACY.md").read_text(encoding="utf-8").split())
    transfer, real = report("gpus_validation.json"), report("real_profiles.json")
    mean, worst = (transfer["left_out_gpus"][of] for of in ("mean", "worst"))
    anchors = [transfer["left_out_anchors"][of]["mape_with_latency"] for of in ("mean", "worst")]
    published, memory = transfer["published"], transfer["memory"]
    steps = report("steps_validation.json")
    named = [row for row in steps["ratios"] if row["named"]]
    for sentence in (
        "are met within {:.1f}% in FP32 or TF32 and {:.1f}% in AMP".format(*(row["mape"] for row in steps["unseen"])),
        f"at most {max(row['largest'] for row in named):.2f} times what it takes by its named profile, or the reverse "
        f"(mean {sum(row['mean'] for row in named) / len(named):.2f})",
        f"**{both(real['mean'])[0]}** with the latency, **{both(real['mean'])[1]}** without",
        f"pairs **{mean['mape_with_latency']:.1f}%**, worst {worst['mape_with_latency']:.1f}% (one constant ratio: "
        f"{mean['one_constant']:.1f}%)",
        f"Held out as anchor: **{anchors[0]:.1f}%**, worst {anchors[1]:.1f}%",
        "{:.1f}% as target, {:.1f}% as anchor".format(
            *(transfer["known_gpus"][role]["mape_with_latency"] for role in ("target", "anchor"))
        ),
        f"**{published['mape_with_latency']:.1f}%**, {100 - published['missed_90_with_latency']:.0f}% inside",
    ):
        assert sentence in text
    table = rows("docs/ACCURACY.md")
    for name, scores in (
        ("layers", memory["arithmetic"]),
        ("profile", memory["served"]["profile and its meta"]),
        ("recorded peak, parameters", memory["recorded"]["recorded peak"]),
        ("peaks at two batch sizes", memory["recorded"]["peaks at batch 16 and 64"]),
        ("recorded peak alone", memory["recorded"]["recorded peak without parameters"]),
        (
            "peak, other pixels, same parameters",
            memory["recorded"]["recorded peak at other pixels with the same parameters"],
        ),
        (
            "peak, other pixels, dense layers grow",
            memory["recorded"]["recorded peak at other pixels with other parameters"],
        ),
    ):
        assert table[name] == percent(100 * scores["strict_recall"], 100 * scores["strict_false_fits"])


def test_several_gpus_are_the_report_s():
    table, scaleout = rows("docs/ACCURACY.md"), report("scaleout_validation.json")
    networks, frameworks = (
        (("network", "network"), ("gpu", "GPU model")),
        (("group", "framework"), ("count", "number of GPUs")),
    )
    for name, title, steps, folds in (
        ("tensorflow 2017", "TensorFlow 2017", 89, networks),
        ("throughputs", "published throughputs", 1510, networks),
        ("dlperf", "DLPerf", 95, frameworks),
    ):
        data = scaleout["data_sets"][name]
        assert data["n"] == steps
        for count, (by, what) in zip((f" ({steps:,} steps)", ""), folds, strict=True):
            every, hard = data[by]["every"], data[by]["hard"]
            errors = [part[kind] for part in (every, hard) for kind in ("mape", "perfect_mape")]
            assert table[f"{title}{count}, {what} held out"] == percent(*errors, data[by]["covered_90"])
    for kind, row in scaleout["links"].items():
        if "one process" not in kind:
            n, mape, bias, *rest = table[kind]
            assert [mape, *rest] == percent(row["mape"], row["perfect_mape"], row["covered_90"]), kind
            assert (n, bias) == (str(row["n"]), f"{row['bias']:+.1f}%")
    on_64 = percent(*(scaleout["on_64"][kind] for kind in ("mape", "perfect_mape")))
    assert table["64 K80 over a network, network held out"][:2] == on_64
    throughputs = scaleout["data_sets"]["throughputs"]
    by_strategy = throughputs["network"]["by_strategy"]
    ring = by_strategy["ring"]
    for title, errors in (
        ("ring all-reduce of the throughputs", ring),
        ("DataParallel of the throughputs", by_strategy["one-process"]),
        ("throughputs with excluded rows", throughputs["with_excluded"]),
    ):
        stated = table[f"{title} ({errors['n']:,}), network held out"]
        assert stated[:2] == percent(errors["mape"], errors["perfect_mape"])
    geforce = throughputs["gpu"]["by_fold"]["GeForce RTX 3090"]["mape"]
    assert f"{geforce:.1f}%)" in (ROOT / "docs/ACCURACY.md").read_text(encoding="utf-8")


def test_errors_by_measured_cells_are_the_report_s():
    text = " ".join((ROOT / "docs" / "ACCURACY.md").read_text(encoding="utf-8").split())
    for row in report("cells_validation.json")["rows"]:
        assert f"{row['cells']} cell{'s' if row['cells'] > 1 else ''} {row['mean']:.1f}%" in text


def test_accuracy_s_table_without_a_profile_is_the_report_s():
    table, accuracy = rows("docs/ACCURACY.md"), report("estimate_validation.json")
    for row in accuracy["judged"]:
        assert table[row["held_out"]] == [str(row["n"]), *percent(row["mape"], row["median"], row["coverage_90"])]
    for row in accuracy["measured_pairs"]:
        figures = percent(row["mape"], row["alone"], row["ratio"], row["peaks"], row["coverage_90"])
        assert table[row["kind"]] == [str(row["n"]), *figures]
    assert accuracy["measured_shares"] == SHARES._asdict()
