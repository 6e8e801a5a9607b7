"""Memory contention between the published numbers of threads, and parameters between the published networks."""

from __future__ import annotations

import math

import pytest

from profet_core.errors import InputError
from profet_core.manycore.models import PUBLISHED_THREADS, contention_at
from profet_core.manycore.published import LARGE, MEDIUM, PUBLISHED, SMALL, nearest_published, scaled_network

#: The layers of the published networks: multiply-adds of each convolution (neurons x weights of one) and dense layer.
LAYERS = {
    "small": (5 * 26 * 26 * 16, 10 * 9 * 9 * 25 * 5, 90 * 50, 50 * 10),
    "medium": (20 * 26 * 26 * 16, 40 * 9 * 9 * 25 * 20, 360 * 150, 150 * 10),
    "large": (20 * 26 * 26 * 16, 60 * 22 * 22 * 25 * 20, 100 * 6 * 6 * 36 * 60, 900 * 150, 150 * 10),
}


@pytest.mark.parametrize("network", PUBLISHED.values(), ids=PUBLISHED)
def test_contention_is_exact_where_it_was_published_and_rises_with_threads(network):
    assert tuple(contention_at(network.contention_s, threads) for threads in PUBLISHED_THREADS) == network.contention_s
    values = [contention_at(network.contention_s, threads) for threads in range(1, 3_841)]
    assert values == sorted(values) and len(set(values)) == len(values)


def test_contention_between_two_published_numbers_by_hand():
    """Small: 240 threads 0.0140, 480 0.0278; at 339.41, their geometric mean, the geometric mean of both: 0.019728."""
    assert contention_at(SMALL.contention_s, 339) == pytest.approx(0.0140 * (339 / 240) ** math.log2(0.0278 / 0.0140))
    assert contention_at(SMALL.contention_s, 339) == pytest.approx(0.019728, rel=2e-3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_flops_are_those_of_the_layers_and_give_the_parameters(name):
    assert PUBLISHED[name].forward_flops == 2 * sum(LAYERS[name])
    assert scaled_network(name, PUBLISHED[name].forward_flops) == PUBLISHED[name]


def test_between_two_networks_parameters_are_in_the_middle_of_the_logarithm():
    middle = scaled_network("own", math.sqrt(SMALL.forward_flops * MEDIUM.forward_flops))
    assert middle.forward_operations == pytest.approx(math.sqrt(58_000 * 559_000))
    assert middle.backward_s == pytest.approx(math.sqrt(5.3e-3 * 69.73e-3))
    assert middle.preparation_operations == pytest.approx(1e9)
    assert middle.contention_s[0] == pytest.approx(math.sqrt(7.10e-6 * 1.56e-4))


@pytest.mark.parametrize(("end", "times"), [(LARGE, 7.0), (SMALL, 0.2)])
def test_beyond_the_published_networks_an_images_part_grows_in_proportion(end, times):
    own = scaled_network("own", end.forward_flops * times)
    assert nearest_published(own.forward_flops) is end
    assert own.forward_operations == pytest.approx(end.forward_operations * times)
    assert own.backward_s == pytest.approx(end.backward_s * times)
    assert own.contention_s == pytest.approx([each * times for each in end.contention_s])
    assert (own.preparation_operations, own.preparation_s) == (end.preparation_operations, end.preparation_s)


def test_flops_out_of_bounds_are_refused():
    for flops in (999, 1.1e16, math.nan):
        with pytest.raises(InputError, match=r"from 1000 to 1e\+16"):
            scaled_network("own", flops)
