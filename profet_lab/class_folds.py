"""Out-of-fold predictions of the default method, intervals calibrated on them, and their accuracy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from msgspec import Struct
from sklearn.metrics import r2_score, root_mean_squared_error

from profet_core.ensemble.members import (
    DISTANCE_BANDS,
    MEMBERS,
    IntervalScale,
    StepInputs,
    class_shares,
    nearest_distance,
    scale_features,
    step_inputs,
)
from profet_core.ensemble.operations import ClassTimes
from profet_core.latency import quantile
from profet_core.prediction.members import combine
from profet_core.prediction.predict import share_transferred
from profet_lab.class_members import STEPS, PairTraining, fit_member
from profet_lab.measurements.tables import CASES, WITH_LATENCY, WITHOUT_LATENCY, WORKLOAD, ClassBank, Pair
from profet_lab.tasks import Progress, run_tasks
from profet_profiles.record import ProfileMeta

#: Of the members, in their order. Constants: weights chosen on the errors of 14 networks do worse on the 15th.
WEIGHTS = (0.2, 0.6, 0.2)


def ensemble_ms(members_ms: np.ndarray) -> np.ndarray:
    """Return the ensemble's latencies, (rows, members) -> (rows,)."""
    return combine(members_ms, "geometric mean", WEIGHTS)


class OutOfFold(Struct, frozen=True):
    """Predictions of members for rows they did not learn from.

    Attributes
    ----------
    rows : name of held-out rows -> boolean mask of them, (rows,).
    members_ms : (pair, name) -> member latencies, (held-out rows, members), milliseconds.
    """

    rows: Mapping[str, np.ndarray]
    members_ms: Mapping[tuple[Pair, str], np.ndarray]

    def ensemble_ms(self, pair: Pair, name: str) -> np.ndarray:
        """Return the ensemble's latencies, (held-out rows,)."""
        return ensemble_ms(self.members_ms[pair, name])

    def all_ensemble_ms(self, pair: Pair) -> np.ndarray:
        """Return the latencies of all rows, (rows,), where each was held out once."""
        return ensemble_ms(self._all_members_ms(pair))

    def all_spread(self, pair: Pair) -> np.ndarray:
        """Return the standard deviation of the logarithms of the members' latencies of all rows, (rows,)."""
        return np.asarray(np.log(self._all_members_ms(pair)).std(axis=1))

    def _all_members_ms(self, pair: Pair) -> np.ndarray:
        latencies_ms = np.empty((len(next(iter(self.rows.values()))), len(MEMBERS)))
        for name, rows in self.rows.items():
            latencies_ms[rows] = self.members_ms[pair, name]
        return latencies_ms


#: What the models of one pair learn from, and the rows (boolean masks) they then predict, by name.
Fold = tuple[PairTraining, Mapping[str, np.ndarray]]
#: Folds whose models see the same of a profile.
FoldCase = Sequence[Fold]


def one_held_out(groups: np.ndarray, pairs: Sequence[Pair], latency_known: bool, sizes_known: bool = False) -> FoldCase:
    """One fold a pair and group: learn from all others, predict the group. `groups`: name of each row's, (rows,)."""
    return [
        (PairTraining(*pair, groups != name, latency_known, sizes_known), {str(name): groups == name})
        for pair in pairs
        for name in np.unique(groups)
    ]


def predict_cases(
    bank: ClassBank, cases: Sequence[FoldCase], *, seed: int, steps: int = STEPS, progress: Progress | None = None
) -> list[OutOfFold]:
    """Fit every member on every fold of each case, and predict the fold's held-out rows."""
    tasks = [(bank, member, case, seed, steps) for case in cases for member in MEMBERS]
    predicted = iter(run_tasks(_predict_member, tasks, progress=progress, units=steps))
    out_of_fold = []
    for case in cases:
        by_member = [next(predicted) for _ in MEMBERS]
        members_ms = {
            (training.pair, name): np.column_stack([by_fold[number][name] for by_fold in by_member])
            for number, (training, held_out) in enumerate(case)
            for name in held_out
        }
        out_of_fold.append(
            OutOfFold({name: rows for _, held_out in case for name, rows in held_out.items()}, members_ms)
        )
    return out_of_fold


def _predict_member(
    bank: ClassBank, member: str, case: FoldCase, seed: int, steps: int, progress: Progress | None
) -> list[dict[str, np.ndarray]]:
    """By fold: name of its held-out rows -> the member's latencies, (held-out rows,)."""
    models = fit_member(bank, member, [training for training, _ in case], seed, steps, progress)
    return [
        {
            name: models.predict(number, fold_inputs(bank, training, rows, models.unseen[number]), bank.device_classes)
            for name, rows in held_out.items()
        }
        for number, (training, held_out) in enumerate(case)
    ]


def fold_inputs(bank: ClassBank, training: PairTraining, rows: np.ndarray, unseen: np.ndarray) -> StepInputs:
    """Rows of the bank as one model sees them: device classes `unseen` in training count as unknown, (classes,)."""
    times = bank.times[training.anchor]
    return step_inputs(
        ClassTimes(**{name: getattr(times, name)[rows] for name in ClassTimes.__struct_fields__}),
        bank.device_classes,
        bank.idle_column,
        bank.latency_ms[training.anchor][rows] if training.latency_known else None,
        bank.sizes[rows] if training.sizes_known else None,
        unseen,
    )


LEVEL = 0.9
#: Errors below this are noise of the measurement; their logarithm says nothing about scale.
MIN_ERROR = 0.003
ROUNDS = 30


def distances(bank: ClassBank, anchor: str, latency_known: bool) -> np.ndarray:
    """Distance of every row to the nearest training profile of each architecture, (rows, architectures).

    Nine repeats are near-copies: the first of each workload stands for it.
    """
    shares = class_shares(bank.inputs[anchor, latency_known].classes_ms, bank.device_classes)
    first = bank.repeats == bank.repeats.min()
    names = np.unique(bank.architectures)
    return np.column_stack([nearest_distance(shares, shares[first & (bank.architectures == name)]) for name in names])


def nearest_other(table: np.ndarray, architectures: np.ndarray, without: Sequence[str] = ()) -> np.ndarray:
    """Distance of each row to the nearest profile of another architecture, excluding `without`: (rows,)."""
    names = np.unique(architectures)
    barred = (names[None, :] == architectures[:, None]) | np.isin(names, list(without))[None, :]
    return np.where(barred, np.inf, table).min(axis=1)


def fit_scale(
    members_ms: Mapping[Pair, np.ndarray],
    ensemble_ms: Mapping[Pair, np.ndarray],
    true_ms: Mapping[Pair, np.ndarray],
    distance: Mapping[Pair, np.ndarray],
    level: float = LEVEL,
) -> IntervalScale:
    """Fit an `IntervalScale` to out-of-fold predictions.

    Parameters
    ----------
    members_ms : pair -> members' latencies (rows, members).
    ensemble_ms : pair -> the ensemble's, (rows,).
    true_ms : pair -> measured, (rows,).
    distance : pair -> from the nearest profile the networks had learned from.

    The log scale is fitted by least absolute deviations (iteratively reweighted least squares) over all pairs, with an
    offset a pair; the quantile is half the pair's own and half that of all pairs, for 15 groups a pair are few.
    """
    names = list(members_ms)
    features = [scale_features(members_ms[pair], distance[pair]) for pair in names]
    errors = [np.log(true_ms[pair]) - np.log(ensemble_ms[pair]) for pair in names]
    which = np.repeat(np.arange(len(names)), [len(error) for error in errors])
    design = np.hstack([np.vstack(features), np.eye(len(names))[which]])
    error = np.concatenate(errors)
    weights = _least_absolute(design, np.log(np.maximum(np.abs(error), MIN_ERROR)))
    score = np.abs(error) / np.exp(design @ weights)
    overall = np.quantile(score, level)
    offset: dict[str, dict[str, float]] = {}
    quantiles: dict[str, dict[str, float]] = {}
    for number, (anchor, target) in enumerate(names):
        offset.setdefault(anchor, {})[target] = float(weights[2 + number])
        own = np.quantile(score[which == number], level)
        quantiles.setdefault(anchor, {})[target] = float((overall + own) / 2)
    percent = 100 * np.abs(np.exp(-error) - 1)
    return IntervalScale(
        level=level,
        spread=float(weights[0]),
        distance=float(weights[1]),
        offset=offset,
        quantile=quantiles,
        error_by_distance=_error_by_band(np.concatenate([distance[pair] for pair in names]), percent),
    )


def scale_of_folds(
    bank: ClassBank,
    out_of_fold: OutOfFold,
    pairs: Sequence[Pair],
    names: Sequence[str],
    nearest: Mapping[str, np.ndarray],
) -> IntervalScale:
    """`fit_scale` on the held-out rows of these names; `nearest` : anchor -> `nearest_other`."""
    rows = np.concatenate([np.flatnonzero(out_of_fold.rows[name]) for name in names])
    return fit_scale(
        members_ms={pair: np.vstack([out_of_fold.members_ms[pair, name] for name in names]) for pair in pairs},
        ensemble_ms={pair: np.concatenate([out_of_fold.ensemble_ms(pair, name) for name in names]) for pair in pairs},
        true_ms={pair: bank.latency_ms[pair[1]][rows] for pair in pairs},
        distance={pair: nearest[pair[0]][rows] for pair in pairs},
    )


def half_widths(
    bank: ClassBank,
    pairs: Sequence[Pair],
    predicted: OutOfFold,
    scale_of: Callable[[str, list[str]], IntervalScale],
    distance_tables: Mapping[str, np.ndarray],
    latency_known: bool,
) -> dict[Pair, np.ndarray]:
    """Log half-widths of the 90 % intervals of held-out rows, pair -> (rows,).

    Parameters
    ----------
    scale_of : name of held-out rows, architectures among them -> scale from errors on other architectures.
    distance_tables : anchor -> `distances`.
    """
    widths = {pair: np.empty(len(bank.architectures)) for pair in pairs}
    for name, rows in predicted.rows.items():
        inside = np.unique(bank.architectures[rows]).tolist()
        scale = scale_of(name, inside)
        for anchor, target in pairs:
            distance = nearest_other(distance_tables[anchor], bank.architectures, inside)[rows]
            doubt = bank.inputs[anchor, latency_known].doubt[rows]
            members_ms = predicted.members_ms[(anchor, target), name][None]
            log_sd = scale.log_sd(anchor, [target], members_ms, distance, doubt)[0]
            widths[anchor, target][rows] = quantile() * log_sd
    return widths


def _least_absolute(design: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    weights = np.zeros(design.shape[1])
    ridge = 1e-5 * len(wanted) * np.eye(design.shape[1])
    for _ in range(ROUNDS):
        importance = 1 / np.maximum(np.abs(wanted - design @ weights), 0.05)
        weights = np.linalg.solve(design.T @ (design * importance[:, None]) + ridge, design.T @ (importance * wanted))
    return weights


def _error_by_band(distance: np.ndarray, percent: np.ndarray) -> list[float]:
    """Mean error in each distance band; a band without rows takes its neighbor's."""
    bands = np.searchsorted(DISTANCE_BANDS, distance)
    errors: list[float] = []
    for band in range(len(DISTANCE_BANDS) + 1):
        rows = bands == band
        errors.append(float(percent[rows].mean()) if rows.any() else (errors[-1] if errors else float(percent.mean())))
    return errors


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

    Parameters
    ----------
    table : as `default_table` gives it.

    Every other workload of the network is taken as the measured one in turn (the median of its runs), and the errors
    are averaged. The weight is a constant of the program, chosen on these data.
    """
    figures: dict[str, list[float]] = {f"mape_{case}": [] for case in cases}
    for _, pair in table.groupby(["anchor", "target"]):
        for case in cases:
            errors = [_network_errors(rows, case) for _, rows in pair.groupby("model")]
            figures[f"mape_{case}"].append(float(np.concatenate(errors).mean()))
    return {name: float(np.mean(values)) for name, values in figures.items()}


def _network_errors(rows: pd.DataFrame, case: str) -> np.ndarray:
    """Percentage error of every row, averaged over the workloads that may have been measured."""
    log_error = np.log(rows["true_ms"].to_numpy() / rows[case].to_numpy())
    workload = rows.groupby(WORKLOAD).ngroup().to_numpy()
    sizes = rows.groupby(WORKLOAD)[["batch_size", "pixels"]].first().to_numpy()
    metas = [ProfileMeta(batch_size=int(batch), pixels=int(pixels)) for batch, pixels in sizes]
    medians = rows.groupby(WORKLOAD)[["true_ms", case]].median()
    measured = np.log((medians["true_ms"] / medians[case]).to_numpy())
    errors = np.empty(len(rows))
    for number, meta in enumerate(metas):
        others = [other for other in range(len(metas)) if other != number]
        transferred = np.array([share_transferred(meta, metas[other]) * measured[other] for other in others])
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
    odd, by_pair = table[~table["model"].isin(WITH_TWIN)], table.groupby(["anchor", "target"])
    return {
        "pairs": rows,
        "mean": {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if isinstance(rows[0][key], float)},
        "worst_pair": {case: max(row[f"mape_{case}"] for row in rows) for case in CASES.values()},
        "by_model": _by_group(table, "model"),
        "by_family": _by_group(table, "family", "_family"),
        "family": {
            **{
                f"mape_{case}": float(np.mean([_mape(part, f"{case}_family") for _, part in by_pair]))
                for case in CASES.values()
            },
            **{f"mape_without_twin_{case}": _mape(odd, f"{case}_family") for case in CASES.values()},
            **_intervals(table, "_family"),
        },
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


def _mape(part: pd.DataFrame, column: str) -> float:
    return float(100 * (part[column] / part["true_ms"] - 1).abs().mean())


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
    fastest = {}
    for anchor, part in medians.groupby("anchor"):
        predicted = part.pivot(index=WORKLOAD, columns="target", values=WITH_LATENCY)
        predicted[anchor] = truth[anchor]
        predicted = predicted[truth.columns].loc[truth.index]
        picked = truth.to_numpy()[np.arange(len(truth)), predicted.to_numpy().argmin(axis=1)]
        best = truth.to_numpy().min(axis=1)
        fastest[anchor] = {
            "right_percent": float(100 * (picked == best).mean()),
            "regret_percent": float(100 * (picked / best - 1).mean()),
        }
    return {
        "by_anchor": fastest,
        "right_percent": float(np.mean([row["right_percent"] for row in fastest.values()])),
        "regret_percent": float(np.mean([row["regret_percent"] for row in fastest.values()])),
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


def two_held_out(bank: ClassBank, pairs: Sequence[Pair], latency_known: bool) -> FoldCase:
    """Predictions with every two architectures held out."""
    folds: list[Fold] = []
    for pair in pairs:
        for first, second in combinations(np.unique(bank.architectures), 2):
            rows = {name: bank.architectures == name for name in (first, second)}
            held_out = {inner_name(first, second): rows[first], inner_name(second, first): rows[second]}
            folds.append((PairTraining(*pair, ~(rows[first] | rows[second]), latency_known), held_out))
    return folds


def nested_scale(
    bank: ClassBank,
    pairs: Sequence[Pair],
    inner_folds: OutOfFold,
    outer: str,
    distance_tables: Mapping[str, np.ndarray],
) -> IntervalScale:
    """Return the interval scale for a held-out architecture, from networks that saw neither it nor the error's own."""
    others = [inner_name(str(name), outer) for name in np.unique(bank.architectures) if name != outer]
    nearest = {name: nearest_other(table, bank.architectures, [outer]) for name, table in distance_tables.items()}
    return scale_of_folds(bank, inner_folds, pairs, others, nearest)


def default_table(
    bank: ClassBank, wanted: Sequence[Pair], *, seed: int, steps: int = STEPS, progress: Progress | None = None
) -> pd.DataFrame:
    """Every row of every pair as predicted by models that never saw its architecture, or its family.

    Returns
    -------
    table : columns anchor, target, model, pixels, batch_size, repeat, true_ms; for each case ("with_latency",
        "without_latency") the prediction, that with sizes known (`_and_sizes`), that with the family held out
        (`_family`), both (`_family_and_sizes`), and of each the log half-width of the interval (`_half`, nested but for
        families) and the spread of the members' logarithms (`_spread`).
    """
    parts = {pair: bank.workloads.assign(anchor=pair[0], target=pair[1]) for pair in wanted}
    for pair, part in parts.items():
        part["true_ms"] = bank.latency_ms[pair[1]]
    for latency_known, case in CASES.items():
        cases = [
            one_held_out(bank.architectures, wanted, latency_known),
            one_held_out(bank.architectures, wanted, latency_known, sizes_known=True),
            one_held_out(families_of(bank.architectures), wanted, latency_known),
            one_held_out(families_of(bank.architectures), wanted, latency_known, sizes_known=True),
            two_held_out(bank, wanted, latency_known),
        ]
        predicted = predict_cases(bank, cases, seed=seed, steps=steps, progress=progress)
        for pair, columns in _columns(bank, wanted, latency_known, predicted).items():
            for name, values in columns.items():
                parts[pair][f"{case}{name}"] = values
    return pd.concat(parts.values(), ignore_index=True)


def _columns(
    bank: ClassBank, wanted: Sequence[Pair], latency_known: bool, predicted: Sequence[OutOfFold]
) -> dict[Pair, dict[str, np.ndarray]]:
    """Pair -> the case's columns, named without the case."""
    plain, sized, by_family, sized_by_family, inner = predicted
    tables = {anchor: distances(bank, anchor, latency_known) for anchor in bank.instances}
    nearest = {anchor: nearest_other(table, bank.architectures) for anchor, table in tables.items()}
    names = np.unique(bank.architectures)

    def scale_of(outer: str, _: list[str]) -> IntervalScale:
        return nested_scale(bank, wanted, inner, outer, tables)

    def family_scale(_: str, inside: list[str]) -> IntervalScale:
        """Return the scale from networks that had seen the family: to avoid that takes a third level of folds."""
        others = [str(name) for name in names if name not in inside]
        return scale_of_folds(bank, plain, wanted, others, nearest)

    by_pair: dict[Pair, dict[str, np.ndarray]] = {pair: {} for pair in wanted}
    for name, out_of_fold, scale in (
        ("", plain, scale_of),
        ("_and_sizes", sized, scale_of),
        ("_family", by_family, family_scale),
        ("_family_and_sizes", sized_by_family, family_scale),
    ):
        half = half_widths(bank, wanted, out_of_fold, scale, tables, latency_known)
        for pair, columns in by_pair.items():
            columns[name], columns[f"{name}_half"] = out_of_fold.all_ensemble_ms(pair), half[pair]
            columns[f"{name}_spread"] = out_of_fold.all_spread(pair)
    return by_pair
