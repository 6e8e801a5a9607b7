"""The cards whose templates word a report almost as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from profet_core.from_layers.costs import WORK
from profet_core.from_layers.estimate import FRAMEWORK_LOG_SD
from profet_core.from_layers.model import METHODS
from profet_core.manycore.answer import CheckRow, mean_apart_percent
from profet_core.manycore.models import XEON_PHI_7120P
from profet_core.manycore.published import PUBLISHED, PUBLISHED_ERROR_PERCENT, PUBLISHED_SPEEDUP
from profet_core.precision.model import PrecisionModel
from profet_core.prediction.checks import TYPICAL_RATIO
from profet_core.profiles.profet_json import VERSION_1_STEPS
from profet_lab.cards.render import render
from profet_lab.classes.boosted import REPEATS
from profet_lab.documented.baseline import WITHOUT_TWIN_MAPE
from profet_lab.precision.precision_file import TODAY
from profet_lab.validation.real_profiles import figures, grouped, of_profiled

Report = Mapping[str, Any]


def estimate_card(report: Report, coefficients: Report) -> str:
    """Latency without a profile; `coefficients` : as `estimate.json` holds them."""
    return render(
        "estimate_card.md.j2",
        report=report,
        methods=METHODS,
        instances=coefficients["instances"],
        work=WORK,
        selected=coefficients["methods"]["log-linear"]["selected"],
        intercept=coefficients["methods"]["log-linear"]["intercept"],
        splits={name: coefficients["methods"][name]["splits"] for name in ("xgboost", "lightgbm")},
        widths=coefficients["regimes"],
        framework_log_sd=FRAMEWORK_LOG_SD,
    )


def precision_card(report: Report, model: PrecisionModel) -> str:
    """AMP and TF32: figures of `profet validate --precision`."""
    return render("precision_card.md.j2", report=report, model=model, today=TODAY)


MANYCORE_CARD_NAME = "MANYCORE_CARD.md"


def manycore_card(rows: Sequence[CheckRow], speedup: CheckRow) -> str:
    """Published predictions and both many-core models."""
    return render(
        "manycore_card.md.j2",
        made=datetime.now(UTC).date().isoformat(),
        rows=rows,
        speedup=speedup,
        published_speedup=PUBLISHED_SPEEDUP,
        apart=[
            (name, *(mean_apart_percent(rows, name, extrapolated=each) for each in (False, True))) for name in PUBLISHED
        ],
        large=PUBLISHED["large"],
        published_errors=PUBLISHED_ERROR_PERCENT,
        processor=XEON_PHI_7120P,
    )


def real_section(report: Report) -> str:
    """The section on third-party profiles; `report` : as `real_profiles.json` holds it."""
    checks = report["profiles"]
    # Checks that differ in the profile alone are one row.
    alike = grouped(checks, ("anchor", "target", "framework", "kind"))
    pytorch = [check for check in of_profiled(checks) if check["framework"].startswith("PyTorch")]
    here = {row["profile"]: row["here_ms"] for row in report["read"] if row["here_ms"] is not None}
    steps_here_ms: dict[float, list[float]] = {}
    for name, step_ms in {check["profile"]: check["step_ms"] for check in pytorch}.items():
        if name in here:
            steps_here_ms.setdefault(here[name], []).append(step_ms)
    return render(
        "real_profiles.md.j2",
        report=report,
        compared=len({check["profile"] for check in checks}),
        kinds=len({check["kind"] for check in checks}),
        rows=[(checks, figures(checks)) for checks in alike],
        pytorch=pytorch,
        pytorch_figures=figures(pytorch) if pytorch else None,
        steps_here_ms=steps_here_ms,
        sources=list(dict.fromkeys(row["source"] for row in report["read"] if row["source"])),
    )


#: Networks that are named as the worst.
_WORST_NAMED = 4


def model_card(report: Mapping[str, Any], manifest: Mapping[str, Any], real: str = "") -> str:
    """The card as Markdown.

    Parameters
    ----------
    report : as `validation.json` holds it. real : the section on third-party profiles, if any.
    """
    by_error = sorted(report["default"]["by_model"].items(), key=lambda item: -item[1]["mape_with_latency"])
    documented, original = (
        {(row["anchor"], row["target"]): row for row in report[method]["pairs"]} for method in ("profet", "original")
    )
    return render(
        "model_card.md.j2",
        report={"growth": {}, **report},
        manifest=manifest,
        real=real,
        worst=by_error[:_WORST_NAMED],
        without_twin=WITHOUT_TWIN_MAPE,
        documented_pairs=documented,
        original_pairs=original,
        tree_repeats=REPEATS,
        device_rows=VERSION_1_STEPS * TYPICAL_RATIO,
    )
