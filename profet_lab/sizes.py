"""Fit and validate scaling with batch and pixel size: `growth.json`, and the scalers between two latencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pandas as pd
from msgspec.structs import asdict, replace
from scipy.optimize import least_squares, nnls
from scipy.special import expit
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import PolynomialFeatures

from profet_core.latency import LEVEL, quantile
from profet_core.prediction.growth import (
    GROWTH_VERSION,
    MAX_AREA_POWER,
    MAX_BATCH_POWER,
    MIN_GROWTH,
    SIGNS,
    AnchorGrowthModel,
    KnownPoint,
    ScalingError,
    log_sizes,
    scale_from_two,
    scaling_distances,
    step_signs,
)
from profet_core.prediction.scaler import (
    AXIS_RANGE,
    HEAD_OPERATIONS,
    KNOTS,
    MAX_LOG_RESIDUAL,
    DocumentedScaler,
    LearnedScaler,
    ResidualPolynomial,
    end_inputs,
    informed_inputs,
    polynomial_terms,
    scaling_model_ms,
)
from profet_lab.measurements.tables import WITH_LATENCY, WORKLOAD, ClassBank, DataError, Measurements, class_bank
from profet_lab.models_folder import rounded, signed
from profet_lab.tasks import run_tasks, weighted_quantile
from profet_profiles.record import DEVICE_PREFIX

#: How strongly coefficients of share, batch and area are held towards 0: networks differ most in the last.
PENALTIES = (3e-3, 1e-3, 2e-2)
#: An error below this, in the logarithm, counts as little as none.
_MIN_SMOOTH_ERROR = 0.03
#: Of the fit; the measurements take some thirty.
_MAX_STEPS = 50
#: Of pairs that differ on both axes, every so many one is fitted: they are twice as many as those along one.
_BOTH_AXES_EVERY = 3
#: Least error of a size e times as large, in the logarithm.
_MIN_ERROR = 0.01
#: Columns of the signs of a known step.
_SIGNS = [f"sign {number}" for number in range(len(SIGNS))]
#: With fewer architectures or sizes there is nothing to learn from.
_MIN_ARCHITECTURES, _MIN_SIZES = 3, 3
_KEYS = ["instance", *WORKLOAD]


def growth_rows(
    measurements: Measurements, bank: ClassBank, anchor: str, predicted_ms: pd.Series | None = None
) -> pd.DataFrame:
    """Every pair of different sizes of a network on each instance, the first with a profile on `anchor`.

    Profiles and latencies are medians over their repeats.

    Parameters
    ----------
    predicted_ms : by (instance, model, pixels, batch_size): the known step's latency instead of the measured one, and
        only the instances and sizes that it has.

    Returns
    -------
    rows : columns model, instance, pixels, batch_size, batch_latency_ms, other_pixels, other_batch; log_batch and
        log_area of the other size over the known one; log_growth as measured; and the known step's `_SIGNS`.
    """
    groups = measurements.workloads.groupby(WORKLOAD)
    workloads = groups.size().index.to_frame(index=False)
    classes_ms = pd.DataFrame(bank.inputs[anchor, False].classes_ms).groupby(groups.ngroup().to_numpy()).median()
    runs = measurements.all_latencies.groupby(_KEYS)["batch_latency_ms"].median().reset_index()
    profiled = workloads.assign(profile=np.arange(len(workloads))).merge(runs, on=WORKLOAD)
    others = runs.rename(
        columns={"pixels": "other_pixels", "batch_size": "other_batch", "batch_latency_ms": "other_ms"}
    )
    table = profiled.merge(others, on=["instance", "model"])
    if predicted_ms is not None:
        table = table.drop(columns="batch_latency_ms").join(
            predicted_ms.rename("batch_latency_ms"), on=_KEYS, how="inner"
        )
    same = (table["pixels"] == table["other_pixels"]) & (table["batch_size"] == table["other_batch"])
    table = table[~same].reset_index(drop=True)
    latency_ms = table["batch_latency_ms"].to_numpy(float)
    table = table.assign(
        log_batch=np.log((table["other_batch"] / table["batch_size"]).to_numpy(float)),
        log_area=2 * np.log((table["other_pixels"] / table["pixels"]).to_numpy(float)),
        log_growth=np.log(table["other_ms"].to_numpy(float) / latency_ms),
    )
    signs = step_signs(bank.classes, classes_ms.to_numpy(float)[table["profile"]], latency_ms)
    return table.join(pd.DataFrame(signs, columns=_SIGNS))


def _signs(rows: pd.DataFrame) -> np.ndarray:
    """(rows, signs), in C's order, in which sums over rows end in the same digits."""
    return np.ascontiguousarray(rows[_SIGNS].to_numpy(float))


def fit_growth(rows: pd.DataFrame) -> AnchorGrowthModel:
    """Least absolute error of the logarithm, every architecture weighing the same, with shrinkage."""
    both = (rows["log_batch"] != 0) & (rows["log_area"] != 0)
    rows = rows[~both | (both.cumsum() % _BOTH_AXES_EVERY == 0)]
    signs, instances = _signs(rows), rows["instance"].to_numpy(str)
    center, spread = signs.mean(axis=0), signs.std(axis=0)
    spread = np.where(spread > 1e-6, spread, 1.0)
    names = sorted(set(instances))
    columns = np.column_stack(
        [np.ones(len(signs)), (signs - center) / spread, *(instances == name for name in names)]
    ).astype(float)
    log_batch, log_area, log_growth = (rows[name].to_numpy() for name in ("log_batch", "log_area", "log_growth"))
    weights, width = _weights(rows["model"]), columns.shape[1]
    # Share, batch and area of each column, and last the logarithm of the sharpness; constants aren't shrunk.
    constants = [0, width, 2 * width]
    start, penalty = np.zeros(3 * width + 1), np.append(np.repeat(PENALTIES, width), 0.0)
    start[constants], penalty[constants] = (1.0, 1.5, 1.0), 0.0

    def residuals(values: np.ndarray) -> np.ndarray:
        """Return terms whose squares add up to the smoothed absolute errors and the shrinkage."""
        share, batch, area = (columns @ part for part in values[:-1].reshape(3, -1))
        sharpness = np.exp(values[-1])
        work = MAX_BATCH_POWER * expit(batch) * log_batch + MAX_AREA_POWER * expit(area) * log_area
        # As `Growth.log_growth`.
        joined = np.logaddexp(-np.logaddexp(0, share), -np.logaddexp(0, -share) + sharpness * work)
        error = (1 - MIN_GROWTH) * joined / sharpness + MIN_GROWTH * work - log_growth
        smooth = np.hypot(error, _MIN_SMOOTH_ERROR)
        return np.append(np.sqrt(weights * smooth), np.sqrt(penalty) * values)

    solved = least_squares(residuals, start, max_nfev=_MAX_STEPS).x
    by_column, own = solved[:-1].reshape(3, -1), 1 + len(SIGNS)
    share, batch, area = by_column[:, :own]
    return AnchorGrowthModel(
        centre=center,
        spread=spread,
        low=signs.min(axis=0),
        high=signs.max(axis=0),
        share=share,
        batch=batch,
        area=area,
        offsets={name: tuple(values) for name, values in zip(names, by_column[:, own:].T.tolist(), strict=True)},
        sharpness=float(np.exp(solved[-1])),
    )


def _weights(models: pd.Series) -> np.ndarray:
    """Every architecture the same in all, to a sum of 1."""
    return 1 / models.groupby(models).transform("size").to_numpy(float) / models.nunique()


def held_out_growth(rows: pd.DataFrame) -> dict[str, AnchorGrowthModel]:
    """Each architecture, and the scaling model that never saw it."""
    names = sorted(set(rows["model"]))
    return dict(zip(names, run_tasks(fit_growth, [(rows[rows["model"] != name],) for name in names]), strict=True))


def with_growth(rows: pd.DataFrame, models: Mapping[str, AnchorGrowthModel]) -> pd.DataFrame:
    """Return the rows with predicted log scaling `grown`, the `share` of the step that grows, and the `log_error`.

    Parameters
    ----------
    models : architecture -> the scaling model of its rows.
    """
    grown, shares = np.empty(len(rows)), np.empty(len(rows))
    for name, place in rows.groupby("model").indices.items():
        part = rows.iloc[place]
        growth = models[str(name)].growth(part["instance"].tolist(), _signs(part))
        away = (part[[column]].to_numpy() for column in ("log_batch", "log_area"))
        grown[place], shares[place] = growth.log_growth(*away)[:, 0], growth.share
    return rows.assign(grown=grown, share=shares, log_error=grown - rows["log_growth"])


def fit_error(rows: pd.DataFrame) -> ScalingError:
    """`LEVEL` quantile of held-out |log| errors per axis, architectures weighted equally.

    Parameters
    ----------
    rows : columns model, log_batch, log_area, log_error and share, as `with_growth` has them.
    """
    of_size, of_still = [], []
    for axis, other in (("log_batch", "log_area"), ("log_area", "log_batch")):
        along = rows[(rows[axis] != 0) & (rows[other] == 0)]
        solved = least = np.array([_MIN_ERROR, _MIN_ERROR, 0.0, 0.0])
        if not along.empty:
            error, share = along["log_error"].abs().to_numpy(), along["share"].to_numpy()
            # Up and down along this axis; no distance along the other one.
            away = scaling_distances(along[axis].to_numpy(), np.zeros(len(along)))[:2]
            columns, weights = np.vstack([away, away * (1 - share)]).T, _weights(along["model"])
            root = np.sqrt(weights)
            # However well some direction was met, the farther the less sure.
            solved = np.maximum(nnls(columns * root[:, None], error * root)[0], least)
            solved = solved * weighted_quantile(error / (columns @ solved), weights, LEVEL)
        of_size += solved[:2].tolist()
        of_still += solved[2:].tolist()
    return ScalingError(tuple(of_size), tuple(of_still))


def fit_held_out(
    measurements: Measurements, bank: ClassBank
) -> tuple[dict[str, pd.DataFrame], dict[str, dict[str, AnchorGrowthModel]]]:
    """Everything fitted without one architecture, for each; minutes.

    Returns
    -------
    rows : anchor -> its pairs of sizes, `with_growth`.
    models : anchor -> architecture -> the scaling model that never saw it.
    """
    pairs = {anchor: growth_rows(measurements, bank, anchor) for anchor in measurements.instances}
    models = {anchor: held_out_growth(part) for anchor, part in pairs.items()}
    return {anchor: with_growth(part, models[anchor]) for anchor, part in pairs.items()}, models


def measured_sizes(measurements: Measurements) -> bool:
    """Whether the measurements have enough networks and sizes to learn scaling from."""
    table = measurements.workloads
    sizes = table[["pixels", "batch_size"]].drop_duplicates()
    return table["model"].nunique() >= _MIN_ARCHITECTURES and len(sizes) >= _MIN_SIZES


def growth_content(measurements: Measurements) -> dict:
    """Content of `growth.json`: a scaling model per anchor, and its leave-one-architecture-out error."""
    if not measured_sizes(measurements):
        raise DataError(
            f"Scaling is learned from at least {_MIN_ARCHITECTURES} networks at {_MIN_SIZES} sizes or more."
        )
    rows, _ = fit_held_out(measurements, class_bank(measurements))
    models = {anchor: asdict(fit_growth(part)) for anchor, part in rows.items()}
    content = {
        "schema_version": GROWTH_VERSION,
        "curves": {
            anchor: rounded(
                {key: part.tolist() if isinstance(part, np.ndarray) else part for key, part in model.items()}
            )
            for anchor, model in models.items()
        },
        "error": asdict(fit_error(pd.concat(rows.values(), ignore_index=True))),
        "fitted_on": dict(measurements.sha256),
    }
    return signed(content)


def growth_report(measurements: Measurements, bank: ClassBank, predictions: pd.DataFrame | None) -> dict:
    """Figures by axis and distance: errors in percent, coverage and half-width of the 90 % interval.

    "scaled": from the measured latency at one size. "chain": from a prediction at one size on another instance.
    "between": from the measured latencies at both ends of an axis, at the sizes between.

    Parameters
    ----------
    predictions : columns anchor, target, model, pixels, batch_size, predicted_ms, log_half_width, of models that never
        saw the architecture; None omits "chain".
    """
    rows, models = fit_held_out(measurements, bank)
    every = pd.concat(rows.values(), ignore_index=True)
    # An architecture's interval comes from the errors on all others.
    errors = {model: fit_error(every[every["model"] != model]) for model in sorted(set(every["model"]))}
    between = {axis: _between_table(measurements, rows, models, errors, axis) for axis in KNOTS}
    report = {
        "scaled": _by_distance(_with_intervals(every, errors, 0.0)),
        "between": [{"axis": axis, **_figures(table)} for axis, table in between.items() if not table.empty],
    }
    if predictions is not None:
        chained = []
        for anchor, part in predictions.groupby("anchor"):
            predicted = part.rename(columns={"target": "instance"}).set_index(_KEYS)
            chain = growth_rows(measurements, bank, str(anchor), predicted["predicted_ms"])
            halves = chain.join(predicted["log_half_width"], on=_KEYS)["log_half_width"].to_numpy(float)
            chained.append(_with_intervals(with_growth(chain, models[str(anchor)]), errors, halves))
        report["chain"] = _by_distance(pd.concat(chained, ignore_index=True))
    return report


def predictions_of_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the input of `growth_report`, from the rows of `default_table`."""
    keys = ["anchor", "target", *WORKLOAD]
    medians = table.groupby(keys)[[WITH_LATENCY, f"{WITH_LATENCY}_half"]].median().reset_index()
    return medians.rename(columns={WITH_LATENCY: "predicted_ms", f"{WITH_LATENCY}_half": "log_half_width"})


def _with_intervals(
    rows: pd.DataFrame, errors: Mapping[str, ScalingError], log_half_width: np.ndarray | float
) -> pd.DataFrame:
    """Rows `with_growth` with distances in knots, intervals, and the log error of proportional scaling."""
    width = np.empty(len(rows))
    for name, place in rows.groupby("model").indices.items():
        columns = (rows[column].to_numpy()[place] for column in ("share", "log_batch", "log_area"))
        width[place] = quantile() * errors[str(name)].log_sd(*columns)
    of_batch, of_pixels = ({size: knot for knot, size in enumerate(sizes)} for sizes in KNOTS.values())
    return rows.assign(
        batch_knots=rows["other_batch"].map(of_batch) - rows["batch_size"].map(of_batch),
        pixel_knots=rows["other_pixels"].map(of_pixels) - rows["pixels"].map(of_pixels),
        log_half_width=np.hypot(log_half_width, width),
        proportional=rows["log_batch"] + rows["log_area"] - rows["log_growth"],
    )


def _by_distance(table: pd.DataFrame) -> list[dict]:
    """Figures by axis and distance in knots, of all of an axis, and of both axes at once."""
    rows: list[dict] = []
    for axis, own, other in (("batch", "batch_knots", "pixel_knots"), ("pixels", "pixel_knots", "batch_knots")):
        along = table[table[other] == 0]
        parts = along.groupby(along[own].abs())
        rows += [{"axis": axis, "knots": int(str(knots)), **_figures(part)} for knots, part in parts]
        rows.append({"axis": axis, "knots": None, **_figures(along)})
    both = table[(table["pixel_knots"] != 0) & (table["batch_knots"] != 0)]
    return [*rows, {"axis": "both", "knots": None, **_figures(both)}]


def _figures(rows: pd.DataFrame) -> dict[str, float]:
    """Errors and coverage, every architecture weighing the same, and the median half-width, percent."""
    values = {"mape": np.expm1(rows["log_error"]).abs()}
    if "proportional" in rows:
        values["proportional"] = np.expm1(rows["proportional"]).abs()
    values["coverage_90"] = (rows["log_error"].abs() <= rows["log_half_width"]).astype(float)
    means = {name: float(100 * errors.groupby(rows["model"]).mean().mean()) for name, errors in values.items()}
    half_pct = float(100 * np.sinh(rows["log_half_width"]).median())
    return {"n": len(rows), **means, "median_interval_pct": half_pct}


def _between_table(
    measurements: Measurements,
    rows: Mapping[str, pd.DataFrame],
    models: Mapping[str, Mapping[str, AnchorGrowthModel]],
    errors: Mapping[str, ScalingError],
    axis: str,
) -> pd.DataFrame:
    """Return an axis from the measured latencies at both its ends, with profiles of them on one anchor."""
    own, other = AXIS_COLUMN[axis], OTHER_COLUMN[axis]
    runs = measurements.all_latencies.groupby(["model", "instance", other, own])["batch_latency_ms"].median()
    curves = runs.unstack(own).reindex(columns=KNOTS[axis]).dropna()
    ends, inner = KNOTS[axis][:: len(KNOTS[axis]) - 1], list(KNOTS[axis][1:-1])
    parts = [pd.DataFrame({"model": [], "log_error": [], "log_half_width": []})]
    for anchor, (model, part) in product(measurements.instances, curves.groupby(level="model")):
        steps = rows[anchor].drop_duplicates(_KEYS).set_index(["model", "instance", other])
        at_ends = [steps[steps[own] == size] for size in ends]
        part = part[part.index.isin(at_ends[0].index) & part.index.isin(at_ends[1].index)]
        if part.empty:
            continue
        scaling = models[anchor][str(model)]
        first, last = (
            KnownPoint(
                _along(axis, np.array(float(size))),
                np.log(at_end["batch_latency_ms"].to_numpy(float)),
                np.zeros(len(at_end)),
                scaling.growth(at_end.index.get_level_values("instance").tolist(), _signs(at_end)),
            )
            for size, at_end in zip(ends, (steps.loc[part.index] for steps in at_ends), strict=True)
        )
        rising = replace(last, log_ms=np.maximum(first.log_ms, last.log_ms))
        scaled = scale_from_two(first, rising, errors[str(model)], _along(axis, np.array(inner, float)))
        error = np.log(scaled.latency_ms) - np.log(part[inner].to_numpy(float))
        half = scaled.log_half_width.ravel()
        parts.append(pd.DataFrame({"model": str(model), "log_error": error.ravel(), "log_half_width": half}))
    return pd.concat(parts, ignore_index=True)


def _along(axis: str, sizes: np.ndarray) -> np.ndarray:
    still = np.ones_like(sizes)
    return log_sizes(sizes, still) if axis == "batch" else log_sizes(still, sizes**2)


AXIS_COLUMN = {"batch": "batch_size", "pixels": "pixels"}
OTHER_COLUMN = {"batch": "pixels", "pixels": "batch_size"}
#: Axis -> the size along the other one whose workloads PROFET fits on.
FITTED_AT = {"batch": 256, "pixels": 64}


def latency_curves(measurements: Measurements, instance: str, axis: str) -> pd.DataFrame:
    """Median latency over the repeats, one row per (model, other axis) with all five sizes, one column a size.

    Every workload that ran on this instance counts, whether or not the other instances could hold it.
    """
    runs = measurements.all_latencies
    return curves_of(runs[runs["instance"] == instance], "batch_latency_ms", axis)


def curves_of(table: pd.DataFrame, value: str, axis: str) -> pd.DataFrame:
    """Medians of column `value`, one row per (model, other axis) with all five sizes, one column a size."""
    column, other = AXIS_COLUMN[axis], OTHER_COLUMN[axis]
    medians = table.groupby(["model", other, column])[value].median()
    return medians.unstack(column).reindex(columns=KNOTS[axis]).dropna()


def fit_scaler(curves: pd.DataFrame, instance: str, axis: str) -> DocumentedScaler:
    """Return the scaler from curves as `latency_curves` gives them.

    PROFET's least-squares polynomial over the workloads of `FITTED_AT`, then normalized to hit both ends exactly and
    kept from falling: with u the size scaled to 0..1, every quadratic through both ends is u + bend * (u**2 - u), and
    it rises throughout exactly if |bend| <= 1.
    """
    chosen = curves[curves.index.get_level_values(1) == FITTED_AT[axis]].to_numpy(float)
    low, high = chosen.min(axis=1, keepdims=True), chosen.max(axis=1, keepdims=True)
    sizes = np.tile(np.asarray(KNOTS[axis], float), len(chosen))
    powers = PolynomialFeatures(2).fit_transform(sizes.reshape(-1, 1))
    fitted = LinearRegression(fit_intercept=False).fit(powers, ((chosen - low) / (high - low)).ravel()).coef_
    smallest, largest = AXIS_RANGE[axis]
    span = largest - smallest
    rise = fitted @ np.array([0.0, span, largest**2 - smallest**2])
    bend = float(np.clip(fitted[2] * span**2 / rise, -1, 1))
    return curve_from_bend(instance, axis, bend)


def curve_from_bend(instance: str, axis: str, bend: float) -> DocumentedScaler:
    """Return the quadratic u + bend * (u**2 - u), written in powers of the size itself."""
    smallest, largest = AXIS_RANGE[axis]
    span = largest - smallest
    quadratic = bend / span**2
    linear = (1 - bend) / span - 2 * quadratic * smallest
    intercept = quadratic * smallest**2 - (1 - bend) * smallest / span
    return DocumentedScaler(instance, axis, intercept, linear, quadratic)


#: The constant is hardly shrunk, so the scaling model may be biased.
_CONSTANT_SHARE = 0.02
#: Reweighting steps that turn squares into absolute errors, and the residual below which an error counts as none.
_STEPS, _MIN_RESIDUAL = 6, 0.02
#: Cubic in the inputs, with an offset for each instance, since each switches between its own kernels. The model and
#: this form were settled with all architectures in view; how strongly terms are shrunk is chosen by inner folds.
DEGREE = 3
SCALER_PENALTIES = (0.003, 0.01, 0.03, 0.1)


def curve_rows(measurements: Measurements, axis: str) -> pd.DataFrame:
    """Measured curves with what the other instances' profiles show of their head.

    Returns
    -------
    rows : one per (instance, model, size of the other axis) with all five sizes measured and per other instance
        (anchor) a profile may come from: columns instance, anchor, model, other_size, head_share (NaN where not
        profiled), and the five sizes with the medians of the repeats, milliseconds.
    """
    shares = _head_shares(measurements, axis)
    parts = []
    for instance in measurements.instances:
        curves = latency_curves(measurements, instance, axis)
        keys = curves.index.set_names(["model", "other_size"])
        for anchor in measurements.instances:
            if anchor != instance:
                nearest = _nearest(shares[anchor], keys)
                part = curves.set_axis(keys).reset_index().rename_axis(columns=None)
                parts.append(part.assign(instance=instance, anchor=anchor, head_share=nearest))
    columns = ["instance", "anchor", "model", "other_size", "head_share", *KNOTS[axis]]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def fit_learned_scaler(rows: pd.DataFrame, axis: str) -> LearnedScaler:
    """Return the scaler fitted on rows of `curve_rows`; shrinkage is chosen by holding out each of their models."""
    ends_only = rows.assign(head_share=np.nan, other_size=np.nan)
    informed = rows[rows["head_share"].notna()] if axis == "pixels" else rows
    return LearnedScaler(axis, _fit_chosen(ends_only, axis), _fit_chosen(informed, axis))


def learned_scalers(measurements: Measurements) -> list[dict]:
    """Rows of the manifest, one an axis; an axis too little measured has none, and is served by the polynomial."""
    tables = {axis: curve_rows(measurements, axis) for axis in KNOTS}
    return [
        fit_learned_scaler(rows, axis).as_json()
        for axis, rows in tables.items()
        if rows["model"].nunique() >= _MIN_ARCHITECTURES
    ]


def held_out_scalers(rows: pd.DataFrame, axis: str) -> Iterator[tuple[str, LearnedScaler]]:
    """Each architecture of `rows`, and the scaler that never saw it."""
    for model in sorted(set(rows["model"])):
        yield model, fit_learned_scaler(rows[rows["model"] != model], axis)


def _nearest(shares: pd.Series, keys: pd.Index) -> np.ndarray:
    """Return the share at each (model, other size) of `keys`, or at the model's nearest profiled other size."""
    by_model = {model: part.droplevel(0) for model, part in shares.groupby(level=0)}
    nearest = np.full(len(keys), np.nan)
    for row, (model, other_size) in enumerate(keys):
        if model in by_model:
            distances = np.abs(np.log(by_model[model].index.to_numpy(float) / other_size))
            nearest[row] = by_model[model].iloc[int(distances.argmin())]
    return nearest


def _head_shares(measurements: Measurements, axis: str) -> dict[str, pd.Series]:
    """Per instance the head's share at the axis' largest size by (model, size of the other axis)."""
    column, other = AXIS_COLUMN[axis], OTHER_COLUMN[axis]
    operations = list(measurements.operations)
    head = [operations.index(name) for name in HEAD_OPERATIONS if name in operations]
    busy = [i for i, name in enumerate(operations) if name.startswith(DEVICE_PREFIX) and name != "Device_IDLE"]
    shares = {}
    for instance, times_us in measurements.times_us.items():
        with np.errstate(invalid="ignore"):
            share = times_us[:, head].sum(axis=1) / times_us[:, busy].sum(axis=1)
        table = measurements.workloads.assign(share=share)
        largest = table[table[column] == KNOTS[axis][-1]]
        shares[instance] = largest.groupby(["model", other])["share"].median()
    return shares


def _fit_chosen(rows: pd.DataFrame, axis: str) -> ResidualPolynomial:
    """Return the correction whose shrinkage errs least on held-out architectures."""

    def held_out_error(penalty: float) -> float:
        errors = []
        for model in sorted(set(rows["model"])):
            out, others = rows[rows["model"] == model], rows[rows["model"] != model]
            inputs, model_ms, curves_ms = _inputs(out, axis)
            factors = _fit_correction(others, axis, penalty).factors(out["instance"].to_numpy(str), inputs)
            scaled_ms = np.clip(model_ms * factors, curves_ms[:, :1], curves_ms[:, -1:])
            scaled_ms = np.maximum.accumulate(scaled_ms, axis=1)
            errors.append(np.abs(scaled_ms / curves_ms[:, 1:-1] - 1).mean(axis=1))
        return float(np.concatenate(errors).mean())

    return _fit_correction(rows, axis, min(SCALER_PENALTIES, key=held_out_error))


def _inputs(rows: pd.DataFrame, axis: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs of a correction, what it corrects at the inner knots, and the measured curves, milliseconds."""
    curves_ms, other_sizes = rows[list(KNOTS[axis])].to_numpy(float), rows["other_size"].to_numpy(float)
    low_ms, high_ms = curves_ms[:, 0], curves_ms[:, -1]
    any_known = not np.isnan(other_sizes).all()
    inputs = informed_inputs(axis, low_ms, high_ms, other_sizes) if any_known else end_inputs(low_ms, high_ms)
    return inputs, scaling_model_ms(axis, low_ms, high_ms, rows["head_share"].to_numpy(float)), curves_ms


def _fit_correction(rows: pd.DataFrame, axis: str, penalty: float) -> ResidualPolynomial:
    """Least absolute deviations with shrinkage, by reweighted least squares."""
    inputs, model_ms, curves_ms = _inputs(rows, axis)
    instances = rows["instance"].to_numpy(str)
    center, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    terms = polynomial_terms((inputs - center) / spread, DEGREE)
    names = sorted(set(instances))
    columns = np.column_stack([terms, *(instances == name for name in names)])
    penalties = np.array([penalty * _CONSTANT_SHARE, *[penalty] * (columns.shape[1] - 1)])
    targets = np.clip(np.log(curves_ms[:, 1:-1] / model_ms), -MAX_LOG_RESIDUAL, MAX_LOG_RESIDUAL)
    solved = np.column_stack([_least_absolute(columns, target, penalties) for target in targets.T])
    return ResidualPolynomial(
        degree=DEGREE,
        centre=tuple(center.tolist()),
        spread=tuple(spread.tolist()),
        low=tuple(inputs.min(axis=0).tolist()),
        high=tuple(inputs.max(axis=0).tolist()),
        coefficients=tuple(map(tuple, solved[: terms.shape[1]].tolist())),
        offsets={name: tuple(row) for name, row in zip(names, solved[terms.shape[1] :].tolist(), strict=True)},
    )


def _least_absolute(columns: np.ndarray, target: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    weights = np.ones(len(target))
    for _ in range(_STEPS + 1):
        weighted = columns * (weights / len(target))[:, None]
        solved = np.linalg.solve(columns.T @ weighted + np.diag(penalties), weighted.T @ target)
        # 0.05: a usual residual, so that the penalties weigh as much beside absolute errors as beside squares.
        weights = 0.05 / np.maximum(np.abs(target - columns @ solved), _MIN_RESIDUAL)
    return solved
