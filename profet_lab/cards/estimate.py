"""The card on networks without a profile: figures of `profet validate --estimate`; `templates/estimate_card.md.j2`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from profet_core.estimate.amounts import WORK
from profet_core.estimate.model import METHODS
from profet_lab.cards.render import render

ESTIMATE_CARD_NAME = "ESTIMATE_CARD.md"
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
    """Header and a row a regime: the paper's figure, each method's error, the default's interval, the inner choice."""
    header = ("left out", "n", "paper", *METHODS, _DOCUMENTED, "in 90 %", "half width", "chosen inside", "of")
    return header, [_regime_row(name, row, report["default"]) for name, row in report["regimes"].items()]


def _regime_row(name: str, row: Mapping[str, Any], default: str) -> tuple[str, ...]:
    paper = "" if row["paper_pct"] is None else f"{row['paper_pct']:.0f} %"
    errors = (f"{row['mape'][method]:.1f} %" for method in (*METHODS, _DOCUMENTED))
    chosen = ", ".join(f"{method} {folds}x" if folds > 1 else method for method, folds in row["chosen"].items())
    interval = (f"{row['coverage_90'][default]:.1f} %", f"{row['half_width_pct'][default]:.0f} %")
    return (name, str(row["n"]), paper, *errors, *interval, f"{row['chosen_mape']:.1f} %", chosen)


def sheet_sentence(report: Mapping[str, Any]) -> str:
    """What an unseen GPU costs of which nobody published a speed."""
    sheet = report["sheet_only"]
    by_instance = ", ".join(f"{name} {value:.0f} %" for name, value in sheet["by_instance"].items())
    best = min(sheet["mape"].values())
    return (
        f"Of an unseen GPU ResNet-50's step at 224 pixels, batch 32, is known. By its data sheet alone the best method "
        f"errs by {best:.0f} % ({by_instance})."
    )


def memory_sentence(report: Mapping[str, Any]) -> str:
    """How well memory is told by counts."""
    memory = report["memory"]
    right, told = 100 * memory["accuracy"], 100 * memory["recall"]
    return (
        f"Does it fit, by counts, one architecture left out: {right:.1f} % of {memory['cells']} workloads on GPUs are "
        f"judged right; of the {memory['did_not_run']} that did not run {told:.0f} % are told, and "
        f"{100 * memory['false_fits']:.1f} % of all are told to fit that did not."
    )


def published_sentence(report: Mapping[str, Any]) -> str:
    """What published speeds of other frameworks say."""
    every, gpus = report["published"]["all"], len(report["published"]["by_gpu"])
    return (
        f"Beside {every['n']} published FP32 and TF32 steps of other frameworks, versions and hosts on {gpus} GPUs "
        "(TensorFlow 1, PyTorch, MXNet; ResNet-50 left out, whose speed tells the GPU's), which nothing was learned "
        f"from, it errs by {every['mape']:.0f} % ({every['bias']:+.0f} % as a whole), and {every['coverage_90']:.0f} % "
        "lie in its 90 % intervals: these hold what differs between GPUs and networks, not between frameworks."
    )
