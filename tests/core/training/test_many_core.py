"""Models (a) and (b) on numbers worked by hand, the published predictions, and what must hold for any training."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from profet_core.errors import InputError
from profet_core.training.many_core import (
    PUBLISHED,
    PUBLISHED_PREDICTIONS_MIN,
    ManyCoreNetwork,
    ManyCoreTraining,
    manycore,
    nearest_published,
    scaled_network,
    training_of,
    words_of,
)

SMALL, MEDIUM, LARGE = PUBLISHED.values()
TOY = ManyCoreNetwork("toy", 1e6, 30, 70, 380, 0.1, 0.3, 7.0, (0.001, *(0.002 * step for step in range(1, 11))))


def row(network: ManyCoreNetwork, training: ManyCoreTraining, threads: int) -> dict[str, Any]:
    return manycore(network, training, [threads])[0]


def test_both_models_by_hand():
    """Start 380 + 400 + 100 + 20 = 900; an epoch (100 + 30) 100 + 30 50 = 14,500 operations, of 15 / 1.238e9 s each."""
    alone = row(TOY, ManyCoreTraining(100, 50, 2), 1)
    a, b = alone["model_a"], alone["model_b"]
    assert a["preparation_s"] == pytest.approx(900 * 15 / 1.238e9)
    assert a["images_s"] == pytest.approx(2 * 14_500 * 15 / 1.238e9)
    assert a["contention_s"] == b["contention_s"] == pytest.approx(0.001 * 2 * 100)
    # An epoch (0.4 + 0.1) 100 + 0.1 50 = 55 s; on 200 threads, four on a core, two cycles an instruction.
    assert (b["preparation_s"], b["images_s"], b["total_s"]) == pytest.approx((7.0, 110.0, 117.2))
    several = row(TOY, ManyCoreTraining(100, 50, 2), 240)["model_b"]
    assert several["total_s"] == pytest.approx(7 + 110 / 240 * 2 + 0.012 * 200 / 240)
    assert several["speedup"] == pytest.approx(117.2 / several["total_s"])
    assert row(TOY, ManyCoreTraining(100, 0, 2), 1)["model_b"]["images_s"] == pytest.approx(100.0)
    rows = manycore(MEDIUM, training_of(MEDIUM), [480, 1, 480, 180])
    assert [list(row.values())[:4] for row in rows] == [
        [1, 1, pytest.approx(1.56e-4), False],
        [180, 1.5, pytest.approx(2.50e-2), False],
        [480, 2, pytest.approx(7.31e-2), True],
    ]


@pytest.mark.parametrize("model", ["model_a", "model_b"])
@pytest.mark.parametrize("network", [LARGE, *(scaled_network("own", flops) for flops in (1e3, 1e10))])
def test_more_threads_are_slower_only_where_a_core_takes_one_more(model, network):
    """With 123 and 184 threads a first core has a third and a fourth; anywhere else one more thread helps."""
    rows = manycore(network, training_of(SMALL), range(1, 3_841))
    slower = np.diff([row[model]["total_s"] for row in rows]) >= 0
    assert (np.flatnonzero(slower) + 2).tolist() == [123, 184]
    assert (np.diff([row["contention_s"] for row in rows]) > 0).all()
    # Never above the number of threads: preparation stays, contention rises.
    assert all(row[model]["speedup"] <= row["threads"] for row in rows)


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ((0, 0, 1, 1), "images .* at least 1"),
        ((1, -1, 1, 1), "test images .* at least 0"),
        ((1, 0, 0, 1), "epochs .* at least 1"),
        ((10**9 + 1, 0, 1, 1), "images .* at most 1,000,000,000"),
        ((1, 0, 1, 0), "threads .* at least 1, not 0"),
        ((1, 0, 1, 3_841), "threads .* at most 3,840"),
        ((1, 0, 1, 10**30), "threads .* at most 3,840, not 1e"),
    ],
)
def test_what_is_out_of_bounds_is_refused(numbers, says):
    *training, threads = numbers
    with pytest.raises(InputError, match=says):
        manycore(LARGE, training_of(LARGE, *training), [threads])
    with pytest.raises(InputError, match="at least one number of threads"):
        manycore(LARGE, training_of(LARGE), [])
    largest = row(scaled_network("own", 1e16), ManyCoreTraining(10**9, 10**9, 10**6), 1)
    assert all(math.isfinite(value) for model in ("model_a", "model_b") for value in largest[model].values())


#: The layers of the published networks: multiply-adds of each convolution (neurons x weights of one) and dense layer.
LAYERS = {
    "small": (5 * 26 * 26 * 16, 10 * 9 * 9 * 25 * 5, 90 * 50, 50 * 10),
    "medium": (20 * 26 * 26 * 16, 40 * 9 * 9 * 25 * 20, 360 * 150, 150 * 10),
    "large": (20 * 26 * 26 * 16, 60 * 22 * 22 * 25 * 20, 100 * 6 * 6 * 36 * 60, 900 * 150, 150 * 10),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_have_their_layers_flops_and_give_the_published_predictions_to_the_digit(name):
    network = PUBLISHED[name]
    assert network.forward_flops == 2 * sum(LAYERS[name])
    *scaled, contention_s = scaled_network(name, network.forward_flops)[1:]
    assert (*scaled, *contention_s) == pytest.approx((*network[1:-1], *network.contention_s))
    for threads, minutes in PUBLISHED_PREDICTIONS_MIN[name].items():
        assert f"{row(network, training_of(network), threads)['model_a']['total_s'] / 60:.1f}" == f"{minutes:.1f}"


def test_the_model_card_has_both_models_figures(repository):
    """Its section is written by hand, for nothing in it depends on the models."""
    card = (repository / "models" / "MODEL_CARD.md").read_text(encoding="utf-8").partition("## Many-core processors")[2]
    rows = re.findall(r"\| (\w+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([-+\d.]+)% \|", card)
    assert len(rows) == 6
    for name, threads, *figures in rows:
        answer = row(PUBLISHED[name], training_of(PUBLISHED[name]), int(threads))
        a_min, b_min = (answer[model]["total_s"] / 60 for model in ("model_a", "model_b"))
        assert figures == [f"{a_min:.1f}", f"{b_min:.1f}", f"{100 * (a_min / b_min - 1):+.1f}"]
    answer = row(LARGE, training_of(LARGE), 244)
    a, b = (f"{answer[model]['speedup']:.1f}" for model in ("model_a", "model_b"))
    assert f"(a) gives {a}, (b) {b}." in " ".join(card.split())


def test_networks_are_scaled_in_the_logarithm():
    middle = scaled_network("own", math.sqrt(SMALL.forward_flops * MEDIUM.forward_flops))
    assert middle.forward_operations == pytest.approx(math.sqrt(58_000 * 559_000))
    assert middle.backward_s == pytest.approx(math.sqrt(5.3e-3 * 69.73e-3))
    assert middle.preparation_operations == pytest.approx(1e9)
    assert middle.contention_s[0] == pytest.approx(math.sqrt(7.10e-6 * 1.56e-4))
    contention_s = row(SMALL, training_of(SMALL), 339)["contention_s"]
    assert contention_s == pytest.approx(0.0140 * (339 / 240) ** math.log2(0.0278 / 0.0140))
    for flops in (999, 1.1e16, math.nan):
        with pytest.raises(InputError, match=r"from 1000 to 1e\+16"):
            scaled_network("own", flops)


@pytest.mark.parametrize(("end", "times"), [(LARGE, 7.0), (SMALL, 0.2)])
def test_beyond_the_published_networks_an_images_part_grows_in_proportion(end, times):
    own = scaled_network("own", end.forward_flops * times)
    assert nearest_published(own.forward_flops) is end
    assert own.forward_operations == pytest.approx(end.forward_operations * times)
    assert own.backward_s == pytest.approx(end.backward_s * times)
    assert own.contention_s == pytest.approx([each * times for each in end.contention_s])
    assert own[4::3][:2] == pytest.approx((end.preparation_operations, end.preparation_s))


def test_notes_say_what_was_extrapolated():
    def notes(network: ManyCoreNetwork, threads: int) -> list[str]:
        return words_of(network, training_of(network), [threads])[1]

    assert notes(SMALL, 240) == notes(scaled_network("own", 1e7), 240) == []
    assert [note.split(" contention")[0] for note in notes(SMALL, 241)] == ["Above 240 threads,"]
    assert "180 times the FLOPs of the large network" in notes(scaled_network("own", LARGE.forward_flops * 180), 1)[0]
    assert "0.20 times the FLOPs of the small network" in notes(scaled_network("own", SMALL.forward_flops / 5), 1)[0]
