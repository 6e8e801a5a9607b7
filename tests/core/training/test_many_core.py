"""Models (a) and (b) on numbers worked by hand, the published predictions, and what must hold for any training."""

from __future__ import annotations

import math

import pytest

from profet_core.errors import InputError
from profet_core.training.many_core import (
    LARGE,
    MEDIUM,
    PUBLISHED,
    PUBLISHED_THREADS,
    PUBLISHED_TRAINING,
    SMALL,
    XEON_PHI_7120P,
    Machine,
    Network,
    Training,
    check_rows,
    contention_at,
    manycore,
    mean_apart_percent,
    nearest_published,
    scaled_network,
    speedup_row,
    time_by_images,
    time_by_operations,
)

MODELS = (time_by_operations, time_by_images)
#: Two cores at 1 kHz, twice as slow once both threads of a core are in use.
TOY_MACHINE = Machine("toy", 2, 1_000.0, 5.0, (1.0, 2.0))
TOY = Network(
    name="toy",
    forward_flops=1e6,
    forward_operations=30,
    backward_operations=70,
    preparation_operations=380,
    forward_s=0.1,
    backward_s=0.3,
    preparation_s=7.0,
    contention_s=(0.001, *(0.002 * step for step in range(1, 11))),
)
TOY_TRAINING = Training(images=100, test_images=50, epochs=2)


def test_both_models_by_hand():
    """Start 380 + 400 + 100 + 20 = 900; an epoch (100 + 30) 100 + 30 50 = 14,500 operations, of 5 / 1000 s each."""
    alone = time_by_operations(TOY, TOY_MACHINE, TOY_TRAINING, 1)
    assert alone.preparation_s == pytest.approx(4.5)
    assert alone.images_s == pytest.approx(2 * 14_500 * 0.005)
    assert alone.contention_s == pytest.approx(0.001 * 2 * 100)
    assert alone.total_s == pytest.approx(149.7)
    # Fifteen threads on two cores take two cycles an instruction: 145 / 15 x 2, and 0.002 x 2 x 100 / 15.
    several = time_by_operations(TOY, TOY_MACHINE, TOY_TRAINING, 15)
    assert several.total_s == pytest.approx(4.5 + 145 / 15 * 2 + 0.4 / 15)
    # An epoch (0.4 + 0.1) 100 + 0.1 50 = 55 s.
    alone = time_by_images(TOY, TOY_MACHINE, TOY_TRAINING, 1)
    assert (alone.preparation_s, alone.images_s, alone.contention_s) == pytest.approx((7.0, 110.0, 0.2))
    several = time_by_images(TOY, TOY_MACHINE, TOY_TRAINING, 15)
    assert several.total_s == pytest.approx(7 + 110 / 15 * 2 + 0.4 / 15)
    untested = Training(100, 0, 2)
    assert time_by_images(TOY, TOY_MACHINE, untested, 1).images_s == pytest.approx(100.0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("network", [LARGE, *(scaled_network("own", flops) for flops in (1e3, 1e10))])
def test_more_threads_are_slower_only_where_a_core_takes_one_more(model, network):
    """With 123 and 184 threads a first core has a third and a fourth; anywhere else one more thread helps."""
    training = PUBLISHED_TRAINING["small"]
    times = {threads: model(network, XEON_PHI_7120P, training, threads).total_s for threads in range(1, 3_841)}
    assert [threads for threads in range(2, 3_841) if times[threads] >= times[threads - 1]] == [123, 184]
    # Never above the number of threads: preparation stays, contention rises.
    assert all(times[1] / times[threads] <= threads for threads in times)


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ((0, 0, 1, 1), "images .* at least 1"),
        ((1, -1, 1, 1), "test images .* at least 0"),
        ((1, 0, 0, 1), "epochs .* at least 1"),
        ((10**9 + 1, 0, 1, 1), "images .* at most 1,000,000,000"),
        ((1, 0, 1, 0), "threads .* at least 1, not 0"),
        ((1, 0, 1, 3_841), "threads .* at most 3,840"),
        ((1, 0, 1, 10**30), "threads .* at most 1e"),
    ],
)
def test_what_is_out_of_bounds_is_refused(numbers, says):
    *training, threads = numbers
    for model in MODELS:
        with pytest.raises(InputError, match=says):
            model(LARGE, XEON_PHI_7120P, Training(*training), threads)
    largest = Training(10**9, 10**9, 10**6)
    assert all(
        math.isfinite(model(scaled_network("own", 1e16), XEON_PHI_7120P, largest, 1).total_s) for model in MODELS
    )


#: The layers of the published networks: multiply-adds of each convolution (neurons x weights of one) and dense layer.
LAYERS = {
    "small": (5 * 26 * 26 * 16, 10 * 9 * 9 * 25 * 5, 90 * 50, 50 * 10),
    "medium": (20 * 26 * 26 * 16, 40 * 9 * 9 * 25 * 20, 360 * 150, 150 * 10),
    "large": (20 * 26 * 26 * 16, 60 * 22 * 22 * 25 * 20, 100 * 6 * 6 * 36 * 60, 900 * 150, 150 * 10),
}


@pytest.mark.parametrize("network", PUBLISHED.values(), ids=PUBLISHED)
def test_contention_is_exact_where_it_was_published_and_rises_with_threads(network):
    assert tuple(contention_at(network.contention_s, threads) for threads in PUBLISHED_THREADS) == network.contention_s
    between = 0.0140 * (339 / 240) ** math.log2(0.0278 / 0.0140)
    assert contention_at(SMALL.contention_s, 339) == pytest.approx(between)
    values = [contention_at(network.contention_s, threads) for threads in range(1, 3_841)]
    assert values == sorted(values) and len(set(values)) == len(values)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_flops_are_those_of_the_layers_and_give_the_parameters(name):
    assert PUBLISHED[name].forward_flops == 2 * sum(LAYERS[name])
    assert scaled_network(name, PUBLISHED[name].forward_flops) == PUBLISHED[name]


def test_networks_are_scaled_in_the_logarithm_and_threads_of_a_core_slow_each_other_down():
    middle = scaled_network("own", math.sqrt(SMALL.forward_flops * MEDIUM.forward_flops))
    assert middle.forward_operations == pytest.approx(math.sqrt(58_000 * 559_000))
    assert middle.backward_s == pytest.approx(math.sqrt(5.3e-3 * 69.73e-3))
    assert middle.preparation_operations == pytest.approx(1e9)
    assert middle.contention_s[0] == pytest.approx(math.sqrt(7.10e-6 * 1.56e-4))
    for flops in (999, 1.1e16, math.nan):
        with pytest.raises(InputError, match=r"from 1000 to 1e\+16"):
            scaled_network("own", flops)
    threads = (1, 122, 123, 183, 184, 244, 245, 3_840)
    assert [XEON_PHI_7120P.cycles_per_instruction(each) for each in threads] == [1, 1, 1.5, 1.5, 2, 2, 2, 2]


@pytest.mark.parametrize(("end", "times"), [(LARGE, 7.0), (SMALL, 0.2)])
def test_beyond_the_published_networks_an_images_part_grows_in_proportion(end, times):
    own = scaled_network("own", end.forward_flops * times)
    assert nearest_published(own.forward_flops) is end
    assert own.forward_operations == pytest.approx(end.forward_operations * times)
    assert own.backward_s == pytest.approx(end.backward_s * times)
    assert own.contention_s == pytest.approx([each * times for each in end.contention_s])
    assert (own.preparation_operations, own.preparation_s) == (end.preparation_operations, end.preparation_s)


TRAINING = PUBLISHED_TRAINING["medium"]


def test_rows_are_in_order_and_notes_say_what_was_extrapolated():
    rows = manycore(PUBLISHED["medium"], TRAINING, [480, 1, 480, 180]).rows
    assert [(row.threads, row.cpi, row.contention_s, row.extrapolated) for row in rows] == [
        (1, 1, 1.56e-4, False),
        (180, 1.5, 2.50e-2, False),
        (480, 2, 7.31e-2, True),
    ]
    small, large = PUBLISHED["small"], PUBLISHED["large"]
    assert manycore(small, TRAINING, [1, 240]).notes == ()
    assert [note.split(" memory")[0] for note in manycore(small, TRAINING, [241]).notes] == ["Above 240 threads,"]
    assert manycore(scaled_network("own", 1e7), TRAINING, [240]).notes == ()
    (note,) = manycore(scaled_network("own", large.forward_flops * 180), TRAINING, [240]).notes
    assert "180 times the FLOPs of the large network" in note
    (note,) = manycore(scaled_network("own", small.forward_flops / 5), TRAINING, [240]).notes
    assert "0.2 times the FLOPs of the small network" in note


@pytest.mark.parametrize("threads", [[], [1, 0], [4_000]])
def test_no_or_impossible_threads_are_refused(threads):
    with pytest.raises(InputError, match="threads"):
        manycore(PUBLISHED["small"], TRAINING, threads)


def test_published_predictions_to_the_digit_and_how_far_the_models_are_apart():
    published = [row for row in check_rows() if row.published_min is not None]
    assert len(published) == 12 and all(row.same_digits for row in published)
    assert [row.published_min for row in published[:4]] == [6.6, 5.4, 4.9, 4.6]
    # By hand, of the small network at 480 to 3,840 threads: 2.6, 1.6, 1.0 and 0.6 %.
    rows = check_rows()
    found = [row.apart_percent for row in rows if row.network == "small" and row.threads > 240]
    assert [f"{each:.1f}" for each in found] == ["-2.6", "-1.6", "-1.0", "-0.6"]
    assert mean_apart_percent(rows, "small", extrapolated=True) == pytest.approx(-sum(found) / 4)
    assert mean_apart_percent(rows, "large", extrapolated=False) == pytest.approx(5.9, abs=0.05)
    speedup = speedup_row()
    assert (speedup.threads, speedup.speedup_a, speedup.speedup_b) == pytest.approx((244, 99.5, 115.1), abs=0.05)
