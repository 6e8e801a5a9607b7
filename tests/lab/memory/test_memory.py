"""The memory model recovers a made-up truth, never sees a held-out architecture, and reaches its figures."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog import load_shipped
from profet_core.memory.model import GIB_PER_VALUE, MEMORY_NAME, load_memory
from profet_lab.coefficient_files import write_coefficients
from profet_lab.measurements.tables import data_folder, load_architectures
from profet_lab.memory.law import calibrate_law, fit_law, held_out_log_room, log_room, memory_cells, ran_elsewhere
from profet_lab.memory.memory_file import memory_content, memory_tables
from profet_lab.memory.traffic import activations_gib, estimated_gib, fit_images, fit_traffic
from profet_lab.validation.memory import memory_report

ARCHITECTURES = pd.DataFrame(
    [
        # convolution outputs are act_elems - other_elems
        (model, pixels, parameters, int(other * pixels**2), int((conv + other) * pixels**2))
        for model, parameters, conv, other in (
            ("A", 1e6, 100, 50),
            ("B", 4e8, 40, 20),
            ("C", 2e7, 500, 900),
            ("D", 5e7, 200, 20),
            ("E", 1e7, 50, 400),
            ("F", 2e8, 300, 100),
        )
        for pixels in (32, 64, 128, 256)
    ],
    columns=["model", "pixels", "parameters", "other_elems", "act_elems"],
)
BATCHES = (16, 32, 64, 128, 256)


def runs(needed) -> pd.DataFrame:
    """One run of each workload that fits by `needed(row, batch) <= memory`, on T4, M60 and K80."""
    memory = {"g4dn.xlarge": 16, "g3s.xlarge": 8, "p2.xlarge": 12}
    return pd.DataFrame(
        [
            (instance, row.model, row.pixels, batch, 1)
            for instance, gib in memory.items()
            for row in ARCHITECTURES.itertuples()
            for batch in BATCHES
            if needed(row, batch) <= gib
        ],
        columns=["instance", "model", "pixels", "batch_size", "repeat"],
    )


def true_need(row, batch: int) -> float:
    grows = 1.2 * (row.act_elems - row.other_elems) + 0.4 * row.other_elems
    return 0.5 + GIB_PER_VALUE * (2.5 * row.parameters + batch * grows)


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return memory_cells(runs(true_need), ARCHITECTURES, load_shipped())


def test_every_buildable_workload_is_a_cell_and_knows_whether_it_ran(cells):
    assert len(cells) == len(ARCHITECTURES) * len(BATCHES) * 3
    large = cells[(cells["model"] == "B") & (cells["pixels"] == 32) & (cells["batch_size"] == 16)]
    assert dict(zip(large["instance"], large["ran"], strict=True)) == {
        name: bool(true_need(ARCHITECTURES.iloc[4], 16) <= gib)
        for name, gib in (("g3s.xlarge", 8), ("g4dn.xlarge", 16), ("p2.xlarge", 12))
    }
    assert set(cells["memory_gib"]) == {8, 12, 16}
    assert cells["convolution_values"].iloc[0] == 100 * 32**2


def test_what_ran_on_less_memory_is_counted_where_it_did_not_run_on_more(cells):
    failures, pairs = ran_elsewhere(cells)
    assert failures == 0 and pairs > 100
    strange = cells.assign(ran=cells["ran"] & ~((cells["instance"] == "g4dn.xlarge") & (cells["model"] == "A")))
    in_a = cells[(cells["model"] == "A") & cells["ran"]]
    assert ran_elsewhere(strange)[0] == (in_a["instance"] != "g4dn.xlarge").sum()


def test_the_law_finds_the_truth_where_cells_show_it(cells):
    law = fit_law(cells)
    assert np.mean((log_room(law, cells) > 0) == cells["ran"]) > 0.97
    assert law.per_parameter == pytest.approx(2.5, rel=0.25)
    assert law.per_convolution == pytest.approx(1.2, rel=0.25)
    assert law.per_other == pytest.approx(0.4, rel=0.4)


def test_a_held_out_architecture_does_not_reach_its_own_answer(cells):
    before = held_out_log_room(cells)
    in_a = (cells["model"] == "A").to_numpy()
    swapped = cells.assign(ran=np.where(in_a, ~cells["ran"], cells["ran"]))
    after = held_out_log_room(swapped)
    np.testing.assert_allclose(after[in_a], before[in_a])
    assert not np.allclose(after[~in_a], before[~in_a])


def test_answers_are_less_sure_for_a_new_architecture_where_the_law_does_not_hold(cells):
    law = fit_law(cells)
    random = np.random.default_rng(0)
    noise = {name: random.uniform(0.5, 2.0) for name in "ABCDEF"}
    strange = memory_cells(
        runs(lambda row, batch: noise[row.model] * true_need(row, batch)), ARCHITECTURES, load_shipped()
    )
    assert calibrate_law(fit_law(strange), strange).log_scale > 2 * calibrate_law(law, cells).log_scale


# --- activations from times -----------------------------------------------------------------------------------------


def made_traffic(passes=20.0, error=None) -> pd.DataFrame:
    """Profiles whose activation operations move each network's activations `passes` times at full bandwidth."""
    rows = []
    for gpu, bandwidth in (("T4", 320.0), ("K80", 240.6)):
        for row in ARCHITECTURES.itertuples():
            for batch in (16, 64):
                gib = (true_need(row, batch) - true_need(row, 0)) * (error or {}).get(row.model, 1.0)
                update_gib = 3 * row.parameters * GIB_PER_VALUE
                rows.append(
                    {
                        "instance": gpu,
                        "gpu_model": gpu,
                        "bandwidth_gb_per_s": bandwidth,
                        "model": row.model,
                        "pixels": row.pixels,
                        "batch_size": batch,
                        "parameters": row.parameters,
                        "convolution_values": row.act_elems - row.other_elems,
                        "other_values": row.other_elems,
                        "cut": 0.0,
                        "us activation": passes * gib * 2**30 / (bandwidth * 1e3),
                        "us weight update": update_gib * 2**30 / (bandwidth * 1e3),
                    }
                )
    others = (
        "activation gradient,bias gradient,batch norm,batch norm gradient,addition,elementwise,data movement,pooling,"
        "pooling gradient"
    )
    return pd.DataFrame(rows).assign(**{f"us {name}": 0.0 for name in others.split(",")})


@pytest.fixture(scope="module")
def true_law(cells):
    return replace(fit_law(cells), fixed_gib=0.5, per_parameter=2.5, per_convolution=1.2, per_other=0.4)


def test_what_operations_move_tells_activations_and_parameters(true_law):
    table = made_traffic()
    relation = fit_traffic(table, true_law)
    assert relation.weights["activation"] == pytest.approx(1 / 20, rel=0.05)
    assert relation.parameters_per_update == pytest.approx(1 / 3)
    big = activations_gib(true_law, table) > 0.3
    np.testing.assert_allclose(estimated_gib(relation, table)[big], activations_gib(true_law, table)[big], rtol=0.05)
    assert relation.log_scale < 0.03


def test_how_sure_it_is_comes_from_architectures_held_out(true_law):
    wide = fit_traffic(made_traffic(error={"A": 0.5, "C": 2.0}), true_law)
    assert wide.log_scale > 0.15
    cut = made_traffic(error={"C": 0.2})
    cut["cut"] = (cut["model"] == "C").astype(float)
    assert fit_traffic(cut, true_law).log_scale < 0.05, "cut profiles teach nothing"


def test_images_alone_tell_the_typical_network_and_the_spread(true_law):
    images = fit_images(made_traffic(), true_law)
    per_pixel = sorted(
        1.2 * conv + 0.4 * other for conv, other in ((100, 50), (40, 20), (500, 900), (200, 20), (50, 400), (300, 100))
    )
    between = GIB_PER_VALUE * 1e6 * np.array(per_pixel[2:4])
    assert between[0] <= images.gib_per_megapixel <= between[1]
    assert images.log_scale == pytest.approx(np.sqrt(3) / np.pi * np.std(np.log(per_pixel), ddof=1), rel=0.15)


# --- the real measurements ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(measurements):
    return memory_report(measurements, data_folder())


def test_the_grid_is_the_one_that_was_measured(measurements):
    cells, traffic = memory_tables(measurements, data_folder())
    assert len(cells) == 71 * 5 * 4
    assert cells.groupby("instance")["ran"].sum().to_dict() == {
        "g3s.xlarge": 307,
        "g4dn.xlarge": 336,
        "p2.xlarge": 325,
        "p3.2xlarge": 336,
    }
    assert len(load_architectures(data_folder())) == 71
    assert len(traffic) == 307 * 4


def test_held_out_architectures_are_answered_as_well_as_was_asked(report):
    scores = report["arithmetic"]
    assert scores["always_fits"] == pytest.approx(0.918, abs=1e-3)
    assert scores["accuracy"] > 0.97
    assert scores["recall"] >= 0.80 and scores["false_fits"] <= 0.02
    assert scores["strict_recall"] >= 0.80 and scores["strict_false_fits"] <= 0.005, "can't tell counts as a miss"
    assert scores["cant_tell"] < 0.06
    # Of the same questions a recorded peak answers at least twice as many of what did not run.
    for known in ("recorded peak", "recorded peak of all that ran", "peaks at batch 16 and 64"):
        row = report["recorded"][known]
        assert row["strict_recall"] >= 0.80 and row["strict_false_fits"] <= 0.02, "can't tell counts as a miss"
        assert row["recall"] >= 0.80 and row["false_fits"] <= 0.02, "made to choose"
        assert row["false_does_not_fit"] <= 0.005
    one, profile = report["recorded"]["recorded peak"], report["served"]["profile and its meta"]
    assert (one["cells"], one["did_not_run"]) == (profile["cells"], profile["did_not_run"]) == (5520, 352)
    assert all(row["strict_false_fits"] <= 0.02 for row in report["recorded"].values())
    served = report["served"]["profile and its meta"]
    assert served["decided_accuracy"] > 0.98 and served["strict_false_fits"] <= 0.02
    assert served["cant_tell"] < report["served"]["meta without times"]["cant_tell"] < 0.3
    assert report["served"]["that it ran"]["decided_accuracy"] == 1
    json.dumps(report, allow_nan=False)


def test_the_shipped_file_is_what_the_measurements_give(measurements, repository, tmp_path):
    content = memory_content(measurements, data_folder())
    write_coefficients(content, tmp_path / MEMORY_NAME)
    fitted, shipped = load_memory(tmp_path), load_memory(repository / "models")
    assert fitted.law.per_convolution == pytest.approx(shipped.law.per_convolution, rel=0.01)
    assert fitted.law.log_scale == pytest.approx(shipped.law.log_scale, rel=0.05)
    assert fitted.traffic.log_scale == pytest.approx(shipped.traffic.log_scale, rel=0.05)
    assert fitted.fitted_on == shipped.fitted_on
    assert asdict(fitted.peak) == pytest.approx(asdict(shipped.peak), rel=0.02)
