"""The cards whose templates word a report as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from profet_core.from_layers.costs import WORK
from profet_core.from_layers.model import METHODS
from profet_core.multi_gpu.law import ScaleoutModel
from profet_core.precision.model import PrecisionModel
from profet_lab.cards.render import render
from profet_lab.precision.precision_file import TODAY

Report = Mapping[str, Any]


def cells_card(report: Report) -> str:
    """Errors on a GPU with few measurements: figures of `profet validate --cells` and `--pairs`."""
    return _without_trailing_blanks(render("cells_card.md.j2", report=report, gpus=list(report["rows"][0]["gpus"])))


def pairs_section(report: Report) -> str:
    """The section of `profet validate --pairs`."""
    return _without_trailing_blanks(render("pairs.md.j2", pairs=report, gpus=list(report["rows"][0]["gpus"])))


def estimate_card(report: Report, coefficients: Report) -> str:
    """Latency without a profile; `coefficients` : as `estimate.json` holds them."""
    return render(
        "estimate_card.md.j2",
        report=report,
        methods=(*METHODS, "log-linear without the law"),
        instances=coefficients["instances"],
        work=WORK,
        selected=coefficients["methods"]["log-linear"]["selected"],
        intercept=coefficients["methods"]["log-linear"]["intercept"],
        splits={name: coefficients["methods"][name]["splits"] for name in ("xgboost", "lightgbm")},
        widths=coefficients["regimes"],
    )


def precision_card(report: Report, model: PrecisionModel) -> str:
    """AMP and TF32: figures of `profet validate --precision`."""
    return render("precision_card.md.j2", report=report, model=model, today=TODAY)


def scaleout_card(report: Report, model: ScaleoutModel) -> str:
    """Several GPUs: figures of `profet validate --scaleout`."""
    return render("scaleout_card.md.j2", report=report, model=model)


def _without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))
