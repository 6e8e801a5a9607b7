"""The model card: figures of a validation report in `templates/model_card.md.j2`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profet_core.accuracy.errors import Errors
from profet_core.accuracy.real import RealReport
from profet_core.accuracy.validation_report import growth_accuracies
from profet_core.prediction.steps import TYPICAL_RATIO
from profet_core.profiles.profet_json.reader import VERSION_1_STEPS
from profet_lab.cards.model_figures import AccuracyRow, Coverage, ModelCard, Overall, ScalerRow, TreeWeights, Unlike
from profet_lab.cards.real import real_section
from profet_lab.cards.render import render
from profet_lab.cases import CASES
from profet_lab.classes.boosted import REPEATS
from profet_lab.documented.baseline import WITHOUT_TWIN_MAPE

CARD_NAME = "MODEL_CARD.md"
_CASES = tuple(CASES.values())
#: Networks that are named as the worst.
_WORST_NAMED = 4


def model_card(report: Mapping, manifest: Mapping, real: RealReport | None = None) -> str:
    """The card as Markdown; `real`: the results on third-party profiles, if any."""
    return render("model_card.md.j2", card=_model_card(report, manifest, real))


def _model_card(report: Mapping, manifest: Mapping, real: RealReport | None) -> ModelCard:
    default, fastest, training = report["default"], report["default"]["fastest"], manifest["training_data"]
    return ModelCard(
        made=report["made"],
        models_checksum=report["models_checksum"],
        default_method=manifest["default_method"],
        unlike=_unlike(default),
        overall=_overall(report),
        noise=report["noise_percent"],
        fastest_right=fastest["right_percent"],
        fastest_right_by_anchor={name: row["right_percent"] for name, row in fastest["by_anchor"].items()},
        fastest_regret=fastest["regret_percent"],
        pairs=_pairs(report),
        architectures=_architectures(report),
        families=[AccuracyRow((name,), _errors(row), _coverage(row)) for name, row in default["by_family"].items()],
        coverage=_coverages(default),
        scalers=_scalers(report),
        growth=list(growth_accuracies(report.get("growth", {}))),
        weights=_weights(manifest),
        tree_weights=_tree_weights(default),
        tree_repeats=REPEATS,
        source=training["source"],
        rows_per_instance=training["rows_per_instance"],
        architecture_count=len(training["architectures"]),
        sha256=training["sha256"],
        versions=manifest["versions"],
        seed=manifest["seed"],
        device_rows=VERSION_1_STEPS * TYPICAL_RATIO,
        real=real_section(real) if real else None,
    )


def _unlike(default: Mapping) -> Unlike:
    worst = sorted(default["by_model"].items(), key=lambda item: -item[1]["mape_with_latency"])[:_WORST_NAMED]
    return Unlike(
        architecture=_errors(default["without_twin"]),
        baseline=Errors(*WITHOUT_TWIN_MAPE),
        family=_errors(default["family"], "mape_without_twin_{}"),
        all_families=_errors(default["family"]),
        worst={name: _errors(row) for name, row in worst},
    )


def _overall(report: Mapping) -> Overall:
    default, baseline = report["default"], report["original"]
    return Overall(
        mean=_errors(default["mean"]),
        worst_pair=_errors(default["worst_pair"], "{}"),
        sizes_known=_errors(default["mean"], "mape_{}_and_sizes"),
        measured=_errors(default["measured"]),
        documented=_errors(report["profet"]["mean"]),
        baseline=_errors(baseline["mean"]),
        baseline_worst_pair=Errors(*(max(row[f"mape_{case}"] for row in baseline["pairs"]) for case in _CASES)),
    )


def _pairs(report: Mapping) -> list[AccuracyRow]:
    documented, baseline = (
        {(row["anchor"], row["target"]): _errors(row) for row in report[method]["pairs"]}
        for method in ("profet", "original")
    )
    return [
        AccuracyRow(
            name=(pair := (row["anchor"], row["target"])),
            error=_errors(row),
            interval=Coverage(row["coverage_90"], row["median_interval_pct"]),
            documented=documented[pair],
            baseline=baseline[pair],
        )
        for row in report["default"]["pairs"]
    ]


def _architectures(report: Mapping) -> list[AccuracyRow]:
    baseline = report["original"]["by_model"]
    return [
        AccuracyRow((name,), _errors(row), _coverage(row), baseline=_errors(baseline[name]))
        for name, row in report["default"]["by_model"].items()
    ]


def _coverages(default: Mapping) -> dict[str, dict[str, Coverage]]:
    mean = default["mean"]
    given, not_given = ("", "_without_latency")
    return {
        "architecture": {
            case: Coverage(mean[f"coverage_90{ending}"], mean[f"median_interval_pct{ending}"])
            for case, ending in zip(_CASES, (given, not_given), strict=True)
        },
        "family": {case: _coverage(default["family"], case) for case in _CASES},
    }


def _scalers(report: Mapping) -> list[ScalerRow]:
    baseline = report["original"]["scaler_mape"]
    rows = []
    for key, method in (("settings_default", "default"), ("settings", "documented")):
        for name, setting in report["scaler"].get(key, {}).items():
            axis, ends = name.rsplit("_", 1)
            beside = baseline[axis]["mean"] if ends == "true" else None
            rows.append(ScalerRow(method, axis, ends, setting["overall"]["n"], setting["mean_mape"], beside))
    return rows


def _weights(manifest: Mapping) -> dict[str, Sequence[float]]:
    rules = manifest["methods"][manifest["default_method"]]
    return {case: rules[case]["weights"] for case in _CASES if rules[case].get("weights")}


def _tree_weights(default: Mapping) -> dict[str, TreeWeights]:
    """The trees' weights of the run; empty for an older report."""
    return {
        case: TreeWeights(row["trees_mean"], row["trees_min"], row["trees_max"])
        for case, row in default.get("weights", {}).items()
    }


def _errors(row: Mapping, name: str = "mape_{}") -> Errors:
    return Errors(*(row[name.format(case)] for case in _CASES))


def _coverage(row: Mapping, case: str = "with_latency") -> Coverage:
    return Coverage(row[f"coverage_90_{case}"], row[f"median_interval_pct_{case}"])
