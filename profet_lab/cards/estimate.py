"""The estimate card: figures of `profet validate --estimate` in `templates/estimate_card.md.j2`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from profet_core.estimate.amounts import WORK
from profet_core.estimate.model import METHODS
from profet_lab.cards.render import render

ESTIMATE_CARD_NAME = "ESTIMATE_CARD.md"
ESTIMATE_REPORT_NAME = "estimate_validation.json"
_DOCUMENTED = "log-linear without the law"


def estimate_card(report: Mapping[str, Any], coefficients: Mapping[str, Any]) -> str:
    """The card's text.

    Parameters
    ----------
    report : as `estimate_validation.json` holds it. coefficients : as `estimate.json` does.
    """
    header, rows = regime_table(report)
    return render(
        "estimate_card.md.j2",
        header=header,
        rows=rows,
        report=report,
        sheet=sheet_sentence(report),
        memory=memory_sentence(report),
        published=published_sentence(report),
        instances=coefficients["instances"],
        work=WORK,
        selected=coefficients["methods"]["log-linear"]["selected"],
        intercept=coefficients["methods"]["log-linear"]["intercept"],
        splits={name: coefficients["methods"][name]["splits"] for name in ("xgboost", "lightgbm")},
        widths=coefficients["regimes"],
    )


def regime_table(report: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header, and a row per split."""
    header = ("held out", "n", "paper", *METHODS, _DOCUMENTED, "in 90%", "half-width", "chosen inside", "of")
    return header, [_regime_row(name, row, report["default"]) for name, row in report["regimes"].items()]


def _regime_row(name: str, row: Mapping[str, Any], default: str) -> tuple[str, ...]:
    paper = "" if row["paper_pct"] is None else f"{row['paper_pct']:.0f}%"
    errors = (f"{row['mape'][method]:.1f}%" for method in (*METHODS, _DOCUMENTED))
    chosen = ", ".join(f"{method} {folds}x" if folds > 1 else method for method, folds in row["chosen"].items())
    interval = (f"{row['coverage_90'][default]:.1f}%", f"{row['half_width_pct'][default]:.0f}%")
    return (name, str(row["n"]), paper, *errors, *interval, f"{row['chosen_mape']:.1f}%", chosen)


def sheet_sentence(report: Mapping[str, Any]) -> str:
    """Error on an unseen GPU without a published speed."""
    sheet = report["sheet_only"]
    by_instance = ", ".join(f"{name} {value:.0f}%" for name, value in sheet["by_instance"].items())
    best = min(sheet["mape"].values())
    return (
        f"For an unseen GPU, ResNet-50's step at 224 pixels, batch 32, is known. Specs alone: {best:.0f}% at best "
        f"({by_instance})."
    )


def memory_sentence(report: Mapping[str, Any]) -> str:
    """Accuracy of memory fit from counts."""
    memory = report["memory"]
    right, recall = 100 * memory["accuracy"], 100 * memory["recall"]
    return (
        f"Memory fit by counts, one architecture held out: {right:.1f}% of {memory['cells']} workloads right; "
        f"{recall:.0f}% of the {memory['did_not_run']} that did not run recognized; {100 * memory['false_fits']:.1f}% "
        "false fits."
    )


def published_sentence(report: Mapping[str, Any]) -> str:
    """Error on published steps of other frameworks."""
    every, gpus = report["published"]["all"], len(report["published"]["by_gpu"])
    return (
        f"{every['n']} published FP32 and TF32 steps of TensorFlow 1, PyTorch and MXNet on {gpus} GPUs (without "
        f"ResNet-50), not learned from: {every['mape']:.0f}% ({every['bias']:+.0f}% bias), "
        f"{every['coverage_90']:.0f}% in the 90% intervals, which don't include differences between frameworks."
    )
