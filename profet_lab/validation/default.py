"""Accuracy and interval coverage of the default method on architectures and families it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from profet_core.accuracy.validation import WITH_TWIN
from profet_core.networks.intervals import IntervalScale
from profet_lab.classes.bank import ClassBank
from profet_lab.classes.calibrate import distances, fit_scale, nearest_other
from profet_lab.classes.folds import ClassFold, LeftOut, left_out_folds, predict_folds
from profet_lab.classes.member_weights import Weights, least_error, summed_errors
from profet_lab.classes.stacked import STEPS
from profet_lab.validation.measured_gain import measured_report

#: Architectures of one family leave together; every other one is a family of its own.
FAMILIES = {
    **dict.fromkeys(("VGG11", "VGG13", "VGG16", "VGG19"), "VGG"),
    **dict.fromkeys(("ResNet18", "ResNet34", "ResNet50", "ResNetSmall"), "ResNet"),
    **dict.fromkeys(("InceptionV3", "InceptionResNetV2"), "Inception"),
}

CASES = {True: "with_latency", False: "without_latency"}
Progress = Callable[[int], object] | None
Pair = tuple[str, str]


def default_table(
    bank: ClassBank,
    workloads: pd.DataFrame,
    wanted: Sequence[Pair],
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress = None,
) -> pd.DataFrame:
    """Every row of every pair as predicted by models that never saw its architecture, or its family.

    Returns
    -------
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms, distance; for each case ("with_latency",
        "without_latency") the prediction, that with sizes known (`_and_sizes`), that with the family left out
        (`_family`), the log half widths of the intervals (`_half`, nested; `_family_half`), and the weight of the
        boosted trees (`_tree_weight`).
    """
    families = np.array([FAMILIES.get(name, name) for name in bank.architectures])
    parts = {pair: workloads.assign(anchor=pair[0], target=pair[1]) for pair in wanted}
    for pair, part in parts.items():
        part["true_ms"] = bank.latency_ms[pair[1]]
    for known, case in CASES.items():
        tables = {anchor: distances(bank, anchor, known) for anchor in bank.instances}
        nearest = {anchor: nearest_other(tables[anchor], bank.architectures) for anchor in bank.instances}
        plain, sized = (
            predict_folds(
                bank,
                left_out_folds(bank.architectures, wanted),
                latency_known=known,
                sizes_known=sizes_known,
                seed=seed,
                steps=steps,
                progress=progress,
            )
            for sizes_known in (False, True)
        )
        by_family = predict_folds(
            bank,
            left_out_folds(families, wanted),
            latency_known=known,
            seed=seed,
            steps=steps,
            progress=progress,
        )
        twice = predict_folds(
            bank, _left_out_twice(bank, wanted), latency_known=known, seed=seed, steps=steps, progress=progress
        )
        inner = _inner_errors(bank, wanted, twice)
        weights = inner.by_architecture
        of_family = {str(name): inner.of_group(bank.architectures[families == name]) for name in np.unique(families)}
        for pair, part in parts.items():
            part[case] = _joined(plain, pair, bank.architectures, weights)
            part[f"{case}_and_sizes"] = _joined(sized, pair, bank.architectures, weights)
            part[f"{case}_family"] = _joined(by_family, pair, families, of_family)
            part[f"{case}_distance"] = nearest[pair[0]]
            part[f"{case}_tree_weight"] = [weights[name][-1] for name in bank.architectures]
        nested = _nested_half_widths(bank, wanted, plain, twice, tables, known, weights)
        family = _family_half_widths(bank, wanted, families, plain, by_family, tables, known, of_family)
        for pair, part in parts.items():
            part[f"{case}_half"], part[f"{case}_family_half"] = nested[pair], family[pair]
    return pd.concat(parts.values(), ignore_index=True)


def _left_out_twice(bank: ClassBank, wanted: Sequence[Pair]) -> list[ClassFold]:
    """Every two architectures left out, each then asked about: 'A|B' is A's rows as seen without A and B."""
    names = np.unique(bank.architectures)
    folds = []
    for anchor, target in wanted:
        for first, second in combinations(names, 2):
            rows = {name: bank.architectures == name for name in (first, second)}
            asked = {f"{first}|{second}": rows[first], f"{second}|{first}": rows[second]}
            folds.append(ClassFold(anchor, target, ~(rows[first] | rows[second]), asked))
    return folds


@dataclass(frozen=True)
class InnerErrors:
    """What members' weights are chosen by: errors on architectures other than the one that is then predicted.

    Attributes
    ----------
    errors : (left-out architecture, another one) -> `summed_errors` of the latter over all pairs, as seen by models
        that saw neither.
    """

    errors: Mapping[tuple[str, str], np.ndarray]

    @property
    def by_architecture(self) -> dict[str, Weights]:
        """Weights for each left-out architecture."""
        return {name: self.of_group([name]) for name in dict.fromkeys(outer for outer, _ in self.errors)}

    def of_group(self, names: Sequence[str]) -> Weights:
        """Weights for architectures that leave together: none of their errors counts."""
        return least_error(
            error for (outer, inner), error in self.errors.items() if outer in names and inner not in names
        )


def _inner_errors(bank: ClassBank, wanted: Sequence[Pair], twice: LeftOut) -> InnerErrors:
    errors = {}
    for inner, outer in permutations(np.unique(bank.architectures), 2):
        rows = bank.architectures == inner
        errors[str(outer), str(inner)] = np.sum(
            [summed_errors(twice.said[pair, f"{inner}|{outer}"], bank.latency_ms[pair[1]][rows]) for pair in wanted],
            axis=0,
        )
    return InnerErrors(errors)


def _joined(left_out: LeftOut, pair: tuple[str, str], groups: np.ndarray, weights: Mapping[str, Weights]) -> np.ndarray:
    values = np.empty(len(groups))
    for name in np.unique(groups):
        values[groups == name] = left_out.joined(pair, str(name), weights[str(name)])
    return values


def _nested_half_widths(
    bank: ClassBank,
    wanted: Sequence[Pair],
    plain: LeftOut,
    twice: LeftOut,
    tables: Mapping[str, np.ndarray],
    known: bool,
    weights: Mapping[str, Weights],
) -> dict[Pair, np.ndarray]:
    """Log half widths for each architecture; the scale comes from networks that saw neither it nor the error's own."""
    names = np.unique(bank.architectures)
    half = {pair: np.empty(len(bank.architectures)) for pair in wanted}
    for outer in names:
        others = [name for name in names if name != outer]
        rows = np.concatenate([np.flatnonzero(bank.architectures == name) for name in others])
        scale = fit_scale(
            said={pair: np.vstack([twice.said[pair, f"{name}|{outer}"] for name in others]) for pair in half},
            joined={
                pair: np.concatenate([twice.joined(pair, f"{name}|{outer}", weights[outer]) for name in others])
                for pair in half
            },
            true_ms={pair: bank.latency_ms[pair[1]][rows] for pair in half},
            distance={pair: nearest_other(tables[pair[0]], bank.architectures, [outer])[rows] for pair in half},
        )
        here = bank.architectures == outer
        for pair in half:
            half[pair][here] = _half_width(
                bank, scale, pair, plain.said[pair, str(outer)], tables, here, known, [outer]
            )
    return half


def _family_half_widths(
    bank: ClassBank,
    wanted: Sequence[Pair],
    families: np.ndarray,
    plain: LeftOut,
    by_family: LeftOut,
    tables: Mapping[str, np.ndarray],
    known: bool,
    weights: Mapping[str, Weights],
) -> dict[Pair, np.ndarray]:
    """Log half widths for each family, from errors of the architectures outside it.

    The networks behind those errors had seen the family: a third level of folds would be needed to avoid that.
    """
    half = {pair: np.empty(len(families)) for pair in wanted}
    for family in np.unique(families):
        here = families == family
        inside = list(np.unique(bank.architectures[here]))
        others = [name for name in np.unique(bank.architectures) if name not in inside]
        rows = np.concatenate([np.flatnonzero(bank.architectures == name) for name in others])
        scale = fit_scale(
            said={pair: np.vstack([plain.said[pair, str(name)] for name in others]) for pair in half},
            joined={
                pair: np.concatenate([plain.joined(pair, str(name), weights[family]) for name in others])
                for pair in half
            },
            true_ms={pair: bank.latency_ms[pair[1]][rows] for pair in half},
            distance={pair: nearest_other(tables[pair[0]], bank.architectures)[rows] for pair in half},
        )
        for pair in half:
            half[pair][here] = _half_width(
                bank, scale, pair, by_family.said[pair, str(family)], tables, here, known, inside
            )
    return half


def _half_width(
    bank: ClassBank,
    scale: IntervalScale,
    pair: tuple[str, str],
    said: np.ndarray,
    tables: Mapping[str, np.ndarray],
    here: np.ndarray,
    known: bool,
    without: list[str],
) -> np.ndarray:
    distance = nearest_other(tables[pair[0]], bank.architectures, without)[here]
    return scale.log_half_width(*pair, said, distance, bank.inputs[pair[0], known].doubt[here])


def default_report(table: pd.DataFrame) -> dict:
    """Everything the accuracy page and the model card say of the default method."""
    rows = [
        {"anchor": anchor, "target": target, **_accuracy(part), "by_model": _by_group(part, "model")}
        for (anchor, target), part in table.groupby(["anchor", "target"])
    ]
    table = table.assign(family=[FAMILIES.get(name, name) for name in table["model"]])
    odd = table[~table["model"].isin(WITH_TWIN)]
    return {
        "pairs": rows,
        "mean": {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if isinstance(rows[0][key], float)},
        "worst_pair": {case: max(row[f"mape_{case}"] for row in rows) for case in CASES.values()},
        "by_model": _by_group(table, "model"),
        "by_family": {
            family: {
                **{f"mape_{case}": _mape(part, f"{case}_family") for case in CASES.values()},
                **{f"coverage_90_{case}": _coverage(part, case, "_family") for case in CASES.values()},
                **{
                    f"median_interval_pct_{case}": _median_width(part, f"{case}_family_half") for case in CASES.values()
                },
            }
            for family, part in table.groupby("family")
        },
        "family": {
            **{f"mape_{case}": _pair_mean(table, f"{case}_family") for case in CASES.values()},
            **{f"mape_without_twin_{case}": _mape(odd, f"{case}_family") for case in CASES.values()},
            **{f"coverage_90_{case}": _coverage(table, case, "_family") for case in CASES.values()},
            **{f"median_interval_pct_{case}": _median_width(table, f"{case}_family_half") for case in CASES.values()},
        },
        "weights": {case: _tree_weights(table, case) for case in CASES.values()},
        "measured": measured_report(table),
        "without_twin": {f"mape_{case}": _mape(odd, case) for case in CASES.values()},
        "fastest": fastest_report(table) if table.groupby("anchor")["target"].nunique().min() == 3 else None,
    }


def _accuracy(part: pd.DataFrame) -> dict:
    error = part["with_latency"] - part["true_ms"]
    spread = ((part["true_ms"] - part["true_ms"].mean()) ** 2).sum()
    return {
        "n": len(part),
        **{f"mape_{case}": _mape(part, case) for case in CASES.values()},
        **{f"mape_{case}_and_sizes": _mape(part, f"{case}_and_sizes") for case in CASES.values()},
        "r2": float(1 - (error**2).sum() / spread),
        "rmse_ms": float(np.sqrt((error**2).mean())),
        "coverage_90": _coverage(part, "with_latency"),
        "median_interval_pct": _median_width(part, "with_latency_half"),
        "coverage_90_without_latency": _coverage(part, "without_latency"),
        "median_interval_pct_without_latency": _median_width(part, "without_latency_half"),
    }


def _by_group(table: pd.DataFrame, column: str) -> dict:
    return {
        name: {
            **{f"mape_{case}": _mape(part, case) for case in CASES.values()},
            **{f"coverage_90_{case}": _coverage(part, case) for case in CASES.values()},
            **{f"median_interval_pct_{case}": _median_width(part, f"{case}_half") for case in CASES.values()},
        }
        for name, part in table.groupby(column)
    }


def _tree_weights(table: pd.DataFrame, case: str) -> dict[str, float]:
    """Of the weights that the boosted trees got as each architecture was left out."""
    chosen = table.groupby("model")[f"{case}_tree_weight"].first()
    return {"trees_mean": float(chosen.mean()), "trees_min": float(chosen.min()), "trees_max": float(chosen.max())}


def _mape(part: pd.DataFrame, column: str) -> float:
    return float(100 * (part[column] / part["true_ms"] - 1).abs().mean())


def _pair_mean(table: pd.DataFrame, column: str) -> float:
    return float(np.mean([_mape(part, column) for _, part in table.groupby(["anchor", "target"])]))


def _coverage(part: pd.DataFrame, case: str, kind: str = "") -> float:
    """Share of rows whose measured latency lies inside the interval, percent."""
    off = np.log(part["true_ms"] / part[f"{case}{kind}"]).abs()
    return float(100 * (off <= part[f"{case}{kind}_half"]).mean())


def _median_width(part: pd.DataFrame, column: str) -> float:
    """Median half width, percent of the prediction: the mean of the way up and the way down."""
    return float(100 * np.median(np.sinh(part[column])))


def fastest_report(table: pd.DataFrame) -> dict:
    """How often the fastest instance is named rightly, by anchor, and what following the advice costs in time.

    Over medians of the repeats of each workload; the anchor's own latency is known.
    """
    keys = ["model", "pixels", "batch_size"]
    medians = table.groupby(["anchor", "target", *keys])[["true_ms", "with_latency"]].median().reset_index()
    truth = medians.groupby(["target", *keys])["true_ms"].first().unstack("target")
    found = {}
    for anchor, part in medians.groupby("anchor"):
        said = part.pivot(index=keys, columns="target", values="with_latency")
        said[anchor] = truth[anchor]
        said = said[truth.columns].loc[truth.index]
        picked = truth.to_numpy()[np.arange(len(truth)), said.to_numpy().argmin(axis=1)]
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
    table = table.assign(
        low_ms=table["with_latency"] * np.exp(-table["with_latency_half"]),
        high_ms=table["with_latency"] * np.exp(table["with_latency_half"]),
    )
    keys = ["anchor", "target", "model", "pixels", "batch_size"]
    medians = table.groupby(keys)[["true_ms", "with_latency", "low_ms", "high_ms"]].median().reset_index()
    medians = medians.rename(columns={"true_ms": "measured_ms", "with_latency": "predicted_ms"})
    return medians.round(3).to_dict("records")
