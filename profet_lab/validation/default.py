"""Out-of-fold accuracy and intervals of the default method, by architecture and family."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, root_mean_squared_error

from profet_core.ensemble.members import IntervalScale
from profet_core.prediction.correction import share_transferred
from profet_lab.classes.bank import ClassBank, TrainingRows
from profet_lab.classes.folds import (
    ClassFold,
    FoldCase,
    OutOfFold,
    Weights,
    distances,
    half_widths,
    least_error,
    one_held_out,
    predict_cases,
    scale_of_folds,
)
from profet_lab.classes.networks import STEPS
from profet_lab.measurements.tables import CASES, WITH_LATENCY, WITHOUT_LATENCY, WORKLOAD, Pair
from profet_lab.tasks import Progress
from profet_recorder.profiles.record import ProfileMeta

#: Every other architecture is a family of its own.
FAMILIES = {
    **dict.fromkeys(("VGG11", "VGG13", "VGG16", "VGG19"), "VGG"),
    **dict.fromkeys(("ResNet18", "ResNet34", "ResNet50", "ResNetSmall"), "ResNet"),
    **dict.fromkeys(("InceptionV3", "InceptionResNetV2"), "Inception"),
}
#: Architectures of the data that have a near relative in it: deeper or shallower versions of one design. The others
#: show what a network of your own may meet.
WITH_TWIN = frozenset({"VGG11", "VGG13", "VGG16", "VGG19", "ResNet18", "ResNet34", "ResNet50"})


def families_of(architectures: Iterable[str]) -> np.ndarray:
    """Family of each row, (rows,)."""
    return np.array([FAMILIES.get(name, name) for name in architectures])


def measured_report(table: pd.DataFrame, cases: Collection[str] = tuple(CASES.values())) -> dict:
    """MAPE once another workload of the same network was measured on the target, percent, mean over the pairs.

    table : as `validation.default.default_table` gives it.

    Every other workload of the network is taken as the measured one in turn (the median of its runs), and the errors
    are averaged. The weight is a constant of the program, chosen on these data.
    """
    found: dict[str, list[float]] = {f"mape_{case}": [] for case in cases}
    for _, pair in table.groupby(["anchor", "target"]):
        for case in cases:
            errors = [_network_errors(rows, case) for _, rows in pair.groupby("model")]
            found[f"mape_{case}"].append(float(np.concatenate(errors).mean()))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _network_errors(rows: pd.DataFrame, case: str) -> np.ndarray:
    """Percentage error of every row, averaged over the workloads that may have been measured."""
    log_error = np.log(rows["true_ms"].to_numpy() / rows[case].to_numpy())
    workload = rows.groupby(WORKLOAD).ngroup().to_numpy()
    sizes = rows.groupby(WORKLOAD)[["batch_size", "pixels"]].first().to_numpy()
    metas = [ProfileMeta(batch_size=int(batch), pixels=int(pixels)) for batch, pixels in sizes]
    medians = rows.groupby(WORKLOAD)[["true_ms", case]].median()
    known = np.log((medians["true_ms"] / medians[case]).to_numpy())
    errors = np.empty(len(rows))
    for number, meta in enumerate(metas):
        others = [other for other in range(len(metas)) if other != number]
        transferred = np.array([share_transferred(meta, metas[other]) * known[other] for other in others])
        here = workload == number
        left = log_error[here][:, None] - transferred[None, :]
        errors[here] = 100 * np.abs(np.exp(-left) - 1).mean(axis=1)
    return errors


def default_report(table: pd.DataFrame) -> dict:
    """Figures of the default method for the accuracy page and the model card."""
    rows = [
        {"anchor": anchor, "target": target, **_accuracy(part), "by_model": _by_group(part, "model")}
        for (anchor, target), part in table.groupby(["anchor", "target"])
    ]
    table = table.assign(family=families_of(table["model"]))
    odd = table[~table["model"].isin(WITH_TWIN)]
    return {
        "pairs": rows,
        "mean": {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if isinstance(rows[0][key], float)},
        "worst_pair": {case: max(row[f"mape_{case}"] for row in rows) for case in CASES.values()},
        "by_model": _by_group(table, "model"),
        "by_family": _by_group(table, "family", "_family"),
        "family": {
            **{f"mape_{case}": _pair_mean(table, f"{case}_family") for case in CASES.values()},
            **{f"mape_without_twin_{case}": _mape(odd, f"{case}_family") for case in CASES.values()},
            **_intervals(table, "_family"),
        },
        "weights": {case: tree_weights(table, case) for case in CASES.values()},
        "measured": measured_report(table),
        "without_twin": {f"mape_{case}": _mape(odd, case) for case in CASES.values()},
        "fastest": fastest_report(table) if table.groupby("anchor")["target"].nunique().min() == 3 else None,
    }


def _accuracy(part: pd.DataFrame) -> dict:
    true, predicted = part["true_ms"], part[WITH_LATENCY]
    return {
        "n": len(part),
        **{f"mape_{case}": _mape(part, case) for case in CASES.values()},
        **{f"mape_{case}_and_sizes": _mape(part, f"{case}_and_sizes") for case in CASES.values()},
        "r2": float(r2_score(true, predicted)),
        "rmse_ms": float(root_mean_squared_error(true, predicted)),
        "coverage_90": _coverage(part, WITH_LATENCY),
        "median_interval_pct": _median_width(part, f"{WITH_LATENCY}_half"),
        "coverage_90_without_latency": _coverage(part, WITHOUT_LATENCY),
        "median_interval_pct_without_latency": _median_width(part, f"{WITHOUT_LATENCY}_half"),
    }


def _by_group(table: pd.DataFrame, column: str, kind: str = "") -> dict:
    """Figures of each group; `kind` "_family": of the predictions with the family held out."""
    return {
        name: {**{f"mape_{case}": _mape(part, f"{case}{kind}") for case in CASES.values()}, **_intervals(part, kind)}
        for name, part in table.groupby(column)
    }


def _intervals(table: pd.DataFrame, kind: str) -> dict[str, float]:
    return {
        **{f"coverage_90_{case}": _coverage(table, case, kind) for case in CASES.values()},
        **{f"median_interval_pct_{case}": _median_width(table, f"{case}{kind}_half") for case in CASES.values()},
    }


def tree_weights(table: pd.DataFrame, case: str) -> dict[str, float]:
    """Mean, least and most of the boosted trees' weights as each architecture was held out."""
    chosen = table.groupby("model")[f"{case}_tree_weight"].first()
    return {"trees_mean": float(chosen.mean()), "trees_min": float(chosen.min()), "trees_max": float(chosen.max())}


def _mape(part: pd.DataFrame, column: str) -> float:
    return float(100 * (part[column] / part["true_ms"] - 1).abs().mean())


def _pair_mean(table: pd.DataFrame, column: str) -> float:
    return float(np.mean([_mape(part, column) for _, part in table.groupby(["anchor", "target"])]))


def _coverage(part: pd.DataFrame, case: str, kind: str = "") -> float:
    """Share of rows whose measured latency lies inside the interval, percent."""
    off = np.abs(np.log((part["true_ms"] / part[f"{case}{kind}"]).to_numpy(float)))
    return float(100 * (off <= part[f"{case}{kind}_half"]).mean())


def _median_width(part: pd.DataFrame, column: str) -> float:
    """Median half-width, percent of the prediction: the mean of the way up and the way down."""
    return float(100 * np.median(np.sinh(part[column])))


def fastest_report(table: pd.DataFrame) -> dict:
    """How often the fastest instance is right, by anchor, and the time lost when it is not.

    Over medians of the repeats of each workload; the anchor's own latency is known.
    """
    medians = table.groupby(["anchor", "target", *WORKLOAD])[["true_ms", WITH_LATENCY]].median().reset_index()
    truth = medians.groupby(["target", *WORKLOAD])["true_ms"].first().unstack("target")
    found = {}
    for anchor, part in medians.groupby("anchor"):
        predicted = part.pivot(index=WORKLOAD, columns="target", values=WITH_LATENCY)
        predicted[anchor] = truth[anchor]
        predicted = predicted[truth.columns].loc[truth.index]
        picked = truth.to_numpy()[np.arange(len(truth)), predicted.to_numpy().argmin(axis=1)]
        best = truth.to_numpy().min(axis=1)
        found[anchor] = {
            "right_percent": float(100 * (picked == best).mean()),
            "regret_percent": float(100 * (picked / best - 1).mean()),
        }
    return {
        "by_anchor": found,
        "right_percent": float(np.mean([row["right_percent"] for row in found.values()])),
        "regret_percent": float(np.mean([row["regret_percent"] for row in found.values()])),
    }


def scatter(table: pd.DataFrame) -> list[dict]:
    """One point a workload and pair, medians of the repeats: measured, predicted and interval, milliseconds."""
    half_width = table[f"{WITH_LATENCY}_half"]
    table = table.assign(
        low_ms=table[WITH_LATENCY] * np.exp(-half_width), high_ms=table[WITH_LATENCY] * np.exp(half_width)
    )
    keys = ["anchor", "target", *WORKLOAD]
    medians = table.groupby(keys)[["true_ms", WITH_LATENCY, "low_ms", "high_ms"]].median().reset_index()
    medians = medians.rename(columns={"true_ms": "measured_ms", WITH_LATENCY: "predicted_ms"})
    return medians.round(3).to_dict("records")


def inner_name(inner: str, outer: str) -> str:
    """Name of the held-out rows of `inner` as predicted by models that saw neither it nor `outer`."""
    return f"{inner}|{outer}"


def two_held_out(bank: ClassBank, pairs: Sequence[Pair]) -> list[ClassFold]:
    """Predictions with every two architectures held out."""
    folds = []
    for anchor, target in pairs:
        for first, second in combinations(np.unique(bank.architectures), 2):
            rows = {name: bank.architectures == name for name in (first, second)}
            held_out = {inner_name(first, second): rows[first], inner_name(second, first): rows[second]}
            folds.append(ClassFold(TrainingRows(anchor, target, ~(rows[first] | rows[second])), held_out))
    return folds


@dataclass(frozen=True)
class InnerErrors:
    """What members' weights are chosen by: errors on architectures other than the one that is then predicted.

    errors : (held-out architecture, another one) -> `summed_errors` of the latter over all pairs, as predicted by
        models that saw neither.
    """

    errors: Mapping[tuple[str, str], np.ndarray]

    @property
    def by_architecture(self) -> dict[str, Weights]:
        """Weights for each held-out architecture."""
        return {name: self.of_group([name]) for name in dict.fromkeys(outer for outer, _ in self.errors)}

    def of_group(self, names: Collection[str]) -> Weights:
        """Weights for architectures that leave together: none of their errors counts."""
        return least_error(
            error for (outer, inner), error in self.errors.items() if outer in names and inner not in names
        )


def inner_errors(bank: ClassBank, pairs: Sequence[Pair], inner_folds: OutOfFold) -> InnerErrors:
    """Errors of the predictions on the folds of `two_held_out`."""
    return InnerErrors(
        {
            (str(outer), str(inner)): inner_folds.summed_errors(bank, pairs, inner_name(inner, outer))
            for inner, outer in permutations(np.unique(bank.architectures), 2)
        }
    )


def nested_scale(
    bank: ClassBank,
    pairs: Sequence[Pair],
    inner_folds: OutOfFold,
    outer: str,
    weights: Weights,
    distance_tables: Mapping[str, np.ndarray],
) -> IntervalScale:
    """The interval scale for a held-out architecture, from networks that saw neither it nor the error's own."""
    others = [inner_name(str(name), outer) for name in np.unique(bank.architectures) if name != outer]
    return scale_of_folds(bank, inner_folds, pairs, others, weights, distance_tables, [outer])


def default_table(
    bank: ClassBank,
    workloads: pd.DataFrame,
    wanted: Sequence[Pair],
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every row of every pair as predicted by models that never saw its architecture, or its family.

    Returns:
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms; for each case ("with_latency",
        "without_latency") the prediction, that with sizes known (`_and_sizes`), that with the family held out
        (`_family`), the log half-widths of the intervals (`_half`, nested; `_family_half`), and the weight of the
        boosted trees (`_tree_weight`).
    """
    parts = {pair: workloads.assign(anchor=pair[0], target=pair[1]) for pair in wanted}
    for pair, part in parts.items():
        part["true_ms"] = bank.latency_ms[pair[1]]
    plain, by_family = (
        one_held_out(groups, wanted) for groups in (bank.architectures, families_of(bank.architectures))
    )
    inner = two_held_out(bank, wanted)
    for known, case in CASES.items():
        cases = [
            FoldCase(plain, known),
            FoldCase(plain, known, True),
            FoldCase(by_family, known),
            FoldCase(inner, known),
        ]
        predicted = predict_cases(bank, cases, seed=seed, steps=steps, progress=progress)
        for pair, columns in _columns(bank, wanted, known, *predicted).items():
            for name, values in columns.items():
                parts[pair][f"{case}{name}"] = values
    return pd.concat(parts.values(), ignore_index=True)


def _columns(
    bank: ClassBank,
    wanted: Sequence[Pair],
    latency_known: bool,
    plain: OutOfFold,
    sized: OutOfFold,
    by_family: OutOfFold,
    inner: OutOfFold,
) -> dict[Pair, dict[str, np.ndarray]]:
    """Pair -> the case's columns, named without the case."""
    tables = {anchor: distances(bank, anchor, latency_known) for anchor in bank.instances}
    errors = inner_errors(bank, wanted, inner)
    weights = errors.by_architecture
    family_weights = {family: errors.of_group(bank.architectures[rows]) for family, rows in by_family.rows.items()}
    names = np.unique(bank.architectures)

    def scale_of(outer: str, _: list[str]) -> IntervalScale:
        return nested_scale(bank, wanted, inner, outer, weights[outer], tables)

    def family_scale(family: str, inside: list[str]) -> IntervalScale:
        """The networks behind these errors had seen the family: to avoid that takes a third level of folds."""
        others = [str(name) for name in names if name not in inside]
        return scale_of_folds(bank, plain, wanted, others, family_weights[family], tables)

    nested = half_widths(bank, wanted, plain, scale_of, tables, latency_known)
    of_family = half_widths(bank, wanted, by_family, family_scale, tables, latency_known)
    return {
        pair: {
            "": plain.all_ensemble_ms(pair, weights),
            "_and_sizes": sized.all_ensemble_ms(pair, weights),
            "_family": by_family.all_ensemble_ms(pair, family_weights),
            "_tree_weight": np.array([weights[name][-1] for name in bank.architectures]),
            "_half": nested[pair],
            "_family_half": of_family[pair],
        }
        for pair in wanted
    }
