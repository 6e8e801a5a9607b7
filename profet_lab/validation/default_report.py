"""Accuracy and interval coverage of the default method, from the rows of `default_table`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, root_mean_squared_error

from profet_core.prediction.correction import share_carried_over
from profet_core.profiles.record import ProfileMeta
from profet_lab.cases import CASES, WITH_LATENCY, WITHOUT_LATENCY
from profet_lab.measurements.tables import WORKLOAD

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
        carried = np.array([share_carried_over(meta, metas[other]) * known[other] for other in others])
        here = workload == number
        left = log_error[here][:, None] - carried[None, :]
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
