"""The model card: figures of `profet validate --card`, `--sizes` and `--real`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from profet_core.prediction.checks import TYPICAL_RATIO
from profet_core.profiles.profet_json.reader import VERSION_1_STEPS
from profet_lab.cards.render import render
from profet_lab.classes.boosted import REPEATS
from profet_lab.documented.baseline import WITHOUT_TWIN_MAPE

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
