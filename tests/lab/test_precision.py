"""The precision model is fitted on published pairs and judged on held-out ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from profet_core.precision.model import USUAL_PEAK_RATIO, load_precision
from profet_lab.cards.cards import precision_card
from profet_lab.precision.fit import GPU_SDS, chosen_gpu_sd, fit_speedups
from profet_lab.precision.pairs import POINTS_TABLE, NetworkShares, known_network, load_pairs
from profet_lab.validation.precision import held_out

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"


@pytest.fixture(scope="module")
def pairs():
    return load_pairs(ROOT / "data", NetworkShares({"ResNet50": 0.64}, (-2.16, 0.507)))


def test_a_pair_is_of_one_table_gpu_and_network(pairs):
    points = pairs.amp[(pairs.amp["table"] == POINTS_TABLE) & (pairs.amp["gpu"] == "Tesla V100-SXM2-16GB")]
    (one,) = points.to_dict("records")
    assert np.exp(one["log_speedup"]) == pytest.approx(833 / 369)
    assert one["base_ms"] == pytest.approx(1000 * 128 / 369) and one["batch_ratio"] == 2
    assert one["peak_ratio"] == pytest.approx(125 / 15.67)


def test_runs_without_tensor_cores_are_excluded_and_counted(pairs):
    failed = (pairs.amp["table"].str.startswith("aisensiy")) & (pairs.amp["gpu"] == "GeForce RTX 2080")
    assert not failed.any() and pairs.failed == 28
    assert set(pairs.plain["gpu"]) == {"GeForce GTX 1080 Ti", "TITAN Xp", "Tesla P100-PCIE-16GB"}


def test_tf32_and_fp32_of_one_chip(pairs):
    found = pairs.tf32.set_index(["table", "gpu"])["log_speedup"]
    assert np.exp(found["deepinsight/insightface", "A10"]) == pytest.approx(2255 / 2040)
    assert len(pairs.tf32) == 9


@pytest.mark.parametrize(
    ("named", "known"),
    [("vgg16_bn", "vgg16_bn"), ("AlexNet", "alexnet"), ("VGG16", "PROFET VGG16"), ("UNet Medical", None)],
)
def test_names_of_tables(named, known):
    assert known_network(named) == known


def made(k: float, m: float) -> pd.DataFrame:
    share = np.tile(np.linspace(0.2, 0.9, 8), 2)
    return pd.DataFrame(
        {
            "table": ["one"] * 8 + ["two"] * 8,
            "gpu": ["A"] * 8 + ["B"] * 8,
            "network": [str(place) for place in range(8)] * 2,
            "share": share,
            "layers": 50,
            "base_ms": 1e6,
            "peak_ratio": USUAL_PEAK_RATIO,
            "log_speedup": -np.log(share / k + (1 - share) / m),
        }
    )


def test_the_fit_finds_what_made_the_cells():
    cells = made(4.0, 1.5)
    assert fit_speedups(cells, 0.2).predict(cells) == pytest.approx(cells["log_speedup"].to_numpy(), abs=0.03)


def test_a_held_out_network_is_in_no_fit():
    cells = made(4.0, 1.5)
    odd = cells.assign(log_speedup=cells["log_speedup"].where(cells["network"] != "3", 5.0))
    judged = held_out(odd, "network", lambda steps: None)
    assert judged.loc[judged["network"] == "3", "error"].max() < -3
    alike = held_out(cells, "network", lambda steps: None)
    assert alike.loc[alike["network"] == "3", "error"].abs().max() < 0.05


def test_the_card_is_made_of_the_shipped_report():
    model = load_precision(MODELS)
    report = json.loads((MODELS / "precision_validation.json").read_text())
    assert report["precision_checksum"] == model.checksum
    assert (MODELS / "PRECISION_CARD.md").read_text() == precision_card(report, model)


def test_held_out_errors_are_within_what_was_asked():
    report = json.loads((MODELS / "precision_validation.json").read_text())
    networks, gpus = report["networks"], report["gpus"]
    assert networks["mape"] <= 12 and networks["median"] <= 8 and abs(networks["bias"]) <= 4
    assert gpus["mape"] <= 17 and abs(gpus["bias"]) <= 4
    assert 87 <= networks["coverage"] <= 94 and 87 <= gpus["coverage"] <= 94


def test_the_spread_of_gpus_is_chosen_by_the_cells_it_is_given():
    cells = pd.concat([made(4.0, 1.5).assign(gpu=gpu) for gpu in ("A", "B", "C", "D")], ignore_index=True)
    alike, cell = chosen_gpu_sd(cells, "gpu"), cells["gpu"].map({"A": -0.6, "B": -0.2, "C": 0.2, "D": 0.6})
    apart = cells.assign(log_speedup=cells["log_speedup"] + cell)
    assert alike in GPU_SDS and chosen_gpu_sd(apart, "network") == max(GPU_SDS)
