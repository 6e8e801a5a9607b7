"""Estimates without a profile: rows, the fit, and that held-out rows change nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from profet_core.layers.estimate import estimate
from profet_core.layers.measured import SHARES
from profet_core.layers.networks import counts_of
from profet_core.layers.rates import Case, Mode, load_rates
from profet_core.layers.steps import NetworkStep
from profet_lab.estimate_fit import (
    CONVOLUTIONS,
    MLPERF,
    PROFET,
    SCRIPT,
    TIMM,
    as_new_source,
    chip_of,
    estimate_rows,
    family_of,
    fit,
    predicted_ms,
    problem,
)
from profet_lab.estimate_report import RATES_TABLE, coefficients, conformal, folds_of, rates_table
from profet_lab.measured_pairs import CANDIDATES, held_out_steps, pairs_report
from profet_lab.measurements.tables import data_folder
from profet_lab.validation.steps import unseen_speeds


@pytest.fixture(scope="module")
def every(measurements) -> pd.DataFrame:
    return estimate_rows(measurements.all_latencies, data_folder())


@pytest.fixture(scope="module")
def few(every) -> pd.DataFrame:
    """Cells of 128 pixels, and steps of one GPU at batches of 12."""
    is_cell = (every["source"] == PROFET) & (every["pixels"] == 128)
    of_script = every["source"] == f"ryujaehun/{SCRIPT}"
    return every[is_cell | of_script & (every["gpu"] == "TITAN RTX") & (every["mode"] == Mode.FP32)]


def test_rows_are_cells_and_published_steps_of_networks_for_images(every):
    assert (every["source"] == PROFET).sum() == 1304
    timm = every[(every["source"] == TIMM) & (every["mode"] == Mode.HALF)]
    assert len(timm) > 480 and set(timm["gpu"]) == {"GeForce RTX 3090"}
    step = timm[timm["network"] == "timm/convnext_tiny"]
    assert step["latency_ms"].iloc[0] == pytest.approx(256 / 813.0 * 1_000, rel=1e-3)
    assert {"vit_base_patch16_224", "mixer_b16_224"} < set(every["network"]) and "sequencer2d_s" not in set(
        every["network"]
    )
    transformers = every[every["case"] == Case.TRANSFORMER]
    assert len(transformers) > 200 and set(transformers["mode"]) == {Mode.HALF, Mode.HALF_CHANNELS_LAST}
    assert every["gpu"].nunique() > 30
    tuned = every[every["source"].str.startswith(MLPERF)]
    assert set(tuned["mode"]) == {Mode.HALF_TUNED} and set(tuned["network"]) == {"resnet50"}
    alone = every[every["source"] == CONVOLUTIONS]
    assert set(alone["gpu"]) == {f"AMD Instinct {name}" for name in ("MI100", "MI250", "MI250X", "MI300X")}
    assert not alone[["operations", "starts", "normalization", "parameters", "images"]].any(axis=None)
    a100 = every[(every["gpu"] == "A100-SXM4-40GB") & every["source"].str.endswith(SCRIPT)]
    assert set(a100["year"].round(1)) == {2020.8}
    # A repository has the steps of the one that it was copied from; something else than the GPU limited a point.
    copied = every[(every["gpu"] == "GeForce RTX 3090") & every["source"].str.endswith(SCRIPT)]
    assert set(copied["source"]) == {f"ryujaehun/{SCRIPT}"} and copied["year"].max() < 2021
    assert set(every.loc[every["gpu"] == "B200", "mode"]) == {Mode.TF32}


def test_families_chips_and_half_widths_by_hand():
    names = ["tf_efficientnetv2_s", "seresnext50_32x4d", "PROFET VGG16", "timm/convnext_tiny", "xception41"]
    assert [family_of(name) for name in names] == ["efficientnetv2", "resnext", "vgg", "convnext", "xception"]
    assert family_of("keras/InceptionV3") == family_of("inception_v4") == "inception"
    assert chip_of("A100-SXM4-80GB") == chip_of("A100-PCIE-40GB") != chip_of("A30")
    assert conformal(np.arange(1, 10) / 10) == 0.9
    assert conformal(np.arange(1, 100) / 100) == 0.9
    assert counts_of("AlexNet", 227).parameters < 65e6


def test_the_fit_finds_steps_that_follow_it(few):
    fit_problem = problem(few)
    random = np.random.default_rng(0)
    truth = fit(fit_problem)
    made = predicted_ms(fit_problem, truth) * np.exp(random.normal(0, 0.01, len(few)))
    again = problem(few.assign(latency_ms=made))
    refitted_ms = predicted_ms(again, fit(again))
    assert np.abs(np.log(refitted_ms / made)).mean() < 0.02


def test_poisoned_rows_that_are_held_out_change_nothing(few):
    fit_problem = problem(few)
    held = (few["network"] == "VGG16").to_numpy()
    poisoned = problem(few.assign(latency_ms=np.where(held, 7 * few["latency_ms"], few["latency_ms"])))
    held_out_ms = [predicted_ms(one.subset(held), fit(one.subset(~held))) for one in (fit_problem, poisoned)]
    assert np.array_equal(*held_out_ms)


def test_speeds_of_a_gpu_are_judged_by_rates_that_saw_none_of_it(every):
    of_script = (every["source"] == f"ryujaehun/{SCRIPT}") & (every["mode"] == Mode.FP32)
    some = every[of_script & every["gpu"].isin(["TITAN RTX", "GeForce RTX 2080 Ti", "TITAN Xp"])]
    is_titan = some["gpu"] == "TITAN RTX"
    longer = some.assign(latency_ms=some["latency_ms"].where(~is_titan, 1e3 * some["latency_ms"]))
    (judged,), (changed,) = unseen_speeds(some), unseen_speeds(longer)
    assert judged["precision"] == "FP32 or TF32" and judged["gpus"] == 3 and judged["by_gpu"]["TITAN RTX"] < 40
    assert changed["by_gpu"]["TITAN RTX"] == pytest.approx(100, abs=0.2)


def test_folds_hold_out_whole_families_networks_and_sources(every):
    is_cell = (every["source"] == PROFET).to_numpy()
    is_published = ~is_cell & (every["starts"] == 1).to_numpy()
    # A GPU that one family alone knows stays known.
    is_lone = (every.groupby("gpu")["family"].transform("nunique") == 1).to_numpy()
    folds = folds_of(every)
    for name, column, judged in (
        ("families", "family", is_published & ~is_lone),
        ("networks", "network", is_cell),
        ("sources", "source", is_published),
    ):
        assert np.array_equal(np.sum([held for _, held in folds[name]], axis=0), judged)
        for learned, held in folds[name]:
            assert not set(every[column][learned & judged]) & set(every[column][held])
    for learned, held in folds["gpus"]:
        assert set(every["network"][learned & every["gpu"].isin(every["gpu"][held])]) <= {"resnet50", "timm/resnet50"}


def test_the_shipped_rates_are_those_of_the_shipped_file(models):
    model = load_rates(models.folder)
    assert (models.folder / RATES_TABLE).read_text(encoding="utf-8") == rates_table(model)


def test_the_file_answers_as_the_fit_does_without_the_effects_of_sources(few):
    fit_problem = problem(few)
    fitted = fit(fit_problem)
    content = coefficients(fit_problem, fitted, {False: 0.1, True: 0.1})
    values = dict(zip(fit_problem.keys, fitted.tolist(), strict=True))
    kind, mode = "normalization", Mode.FP32.name
    place = content["kinds"].index(kind)
    assert content["log_costs"][mode][place] == pytest.approx(
        values["kind", kind] + values["mode", kind, mode] + values["group in mode", "bandwidth", mode], abs=1e-4
    )
    ends = content["log_costs"][mode][content["kinds"].index("kernels")]
    today = values["kind", "kernels"] + values["year", "kernels"] + values["mode", "kernels", mode]
    assert ends == pytest.approx(today, abs=1e-4)
    assert set(content["instances"]) == {"g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge"}
    assert len(content["known"]["steps"]) == len(few)
    changed = dict(
        zip(fit_problem.keys, zip(fitted, as_new_source(fit_problem.keys, fitted), strict=True), strict=True)
    )
    source = few.loc[few["source"] != PROFET, "source"].iloc[0]
    assert changed["source", source][0] != 0 == changed["source", source][1]
    assert changed["source", PROFET][0] == changed["source", PROFET][1]


def test_a_published_step_is_within_its_interval(every, models, catalog):
    inside = []
    asked = (every["source"] != PROFET) & (every["starts"] == 1) & (every["mode"] != Mode.HALF_TUNED)
    for row in every[asked].iloc[::9].itertuples():
        step = NetworkStep(
            counts_of(row.network, row.pixels),
            row.batch_size,
            name=row.network,
            precision={Mode.FP32: "fp32", Mode.TF32: "tf32"}.get(row.mode, "amp"),
            training_code="channels-last" if row.mode == Mode.HALF_CHANNELS_LAST else "plain",
        )
        (answer,) = estimate(models, catalog, step, [row.gpu]).gpus
        interval = answer.interval
        inside.append(interval.low_ms <= row.latency_ms <= interval.high_ms)
    assert len(inside) > 250 and np.mean(inside) >= 0.95


def test_a_pair_has_one_source_network_and_precision_and_what_its_program_shares_cancels(every, few):
    some = every[every["source"].isin(["stanford-futuredata, PyTorch", "apache, MXNet"])]
    fit_problem = problem(pd.concat([some, few]))
    rows, parts_ms = held_out_steps(fit_problem, fit(fit_problem))
    assert 0 < len(rows) <= len(some) and {len(part) for part in parts_ms} == {len(rows)}
    assert np.isfinite(parts_ms).all() and set(rows["source"]) == set(some["source"])
    # All estimates are a quarter too short.
    latency_ms = rows["latency_ms"].to_numpy()
    parts_ms = [latency_ms / 1.25, np.full(len(rows), 1e-6), np.zeros(len(rows))]
    report, shares = pairs_report(rows, parts_ms, np.full(len(rows), 0.1), np.zeros(len(rows)), 0.3)
    assert shares in CANDIDATES and SHARES in CANDIDATES
    kinds = {row["kind"]: row for row in report}
    assert {"batch: twice the batch size", "FP32 or TF32: other generation"} <= set(kinds)
    for row in report:
        assert row["alone"] == pytest.approx(20) and row["ratio"] == pytest.approx(0, abs=1e-9)
        assert 0 < row["mape"] < 2 and row["coverage_90"] == 100
