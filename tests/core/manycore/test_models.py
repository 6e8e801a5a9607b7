"""Models (a) and (b) on numbers worked by hand, the published predictions, and what must hold for any training."""

from __future__ import annotations

import math

import pytest

from profet_core.errors import InputError
from profet_core.manycore.models import XEON_PHI_7120P, Machine, Network, Training, time_by_images, time_by_operations
from profet_core.manycore.published import (
    LARGE,
    PUBLISHED_TRAINING,
    scaled_network,
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


def test_model_a_by_hand():
    """Start 380 + 400 + 100 + 20 = 900; an epoch (100 + 30) 100 + 30 50 = 14,500 operations, of 5 / 1000 s each."""
    alone = time_by_operations(TOY, TOY_MACHINE, TOY_TRAINING, 1)
    assert alone.preparation_s == pytest.approx(4.5)
    assert alone.images_s == pytest.approx(2 * 14_500 * 0.005)
    assert alone.contention_s == pytest.approx(0.001 * 2 * 100)
    assert alone.total_s == pytest.approx(149.7)
    # Fifteen threads on two cores take two cycles an instruction: 145 / 15 x 2, and 0.002 x 2 x 100 / 15.
    several = time_by_operations(TOY, TOY_MACHINE, TOY_TRAINING, 15)
    assert several.total_s == pytest.approx(4.5 + 145 / 15 * 2 + 0.4 / 15)


def test_model_b_by_hand():
    """An epoch (0.4 + 0.1) 100 + 0.1 50 = 55 s."""
    alone = time_by_images(TOY, TOY_MACHINE, TOY_TRAINING, 1)
    assert (alone.preparation_s, alone.images_s, alone.contention_s) == pytest.approx((7.0, 110.0, 0.2))
    several = time_by_images(TOY, TOY_MACHINE, TOY_TRAINING, 15)
    assert several.total_s == pytest.approx(7 + 110 / 15 * 2 + 0.4 / 15)
    untested = Training(100, 0, 2)
    assert time_by_images(TOY, TOY_MACHINE, untested, 1).images_s == pytest.approx(100.0)


def test_threads_that_share_a_core_slow_each_other_down():
    threads = (1, 122, 123, 183, 184, 244, 245, 3_840)
    assert [XEON_PHI_7120P.cycles_per_instruction(each) for each in threads] == [1, 1, 1.5, 1.5, 2, 2, 2, 2]


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
