"""The small network in numpy: its layers are the published ones, its gradients right, and it learns."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.manycore.published import SMALL
from profet_lab.manycore.small_network import WEIGHTS, SmallNetwork, first_weights, images_of


def test_its_weights_are_those_of_the_published_layers():
    """5 (16 + 1) + 10 (125 + 1) + 50 (90 + 1) + 10 (50 + 1), and their multiply-adds an image."""
    assert WEIGHTS == first_weights().size == 85 + 1_260 + 4_550 + 510
    assert SMALL.forward_flops / 2 == 676 * 5 * 16 + 81 * 10 * 125 + 90 * 50 + 50 * 10


@pytest.mark.parametrize("weight", [3, 84, 700, 1_344, 5_000, 6_404])
def test_a_step_goes_down_the_gradient(weight):
    """Against differences of the cross-entropy, a weight of each layer and their constants."""
    images, classes = images_of(1)
    wanted = int(classes[0])
    weights = first_weights().astype(np.float64)

    def loss(by: float) -> float:
        moved = weights.copy()
        moved[weight] += by
        return -float(np.log(SmallNetwork(moved).forward(images[0])[wanted]))

    stepped = weights.copy()
    SmallNetwork(stepped).train(images[0], wanted)
    gradient = (weights[weight] - stepped[weight]) / 0.01
    assert gradient == pytest.approx((loss(1e-3) - loss(-1e-3)) / 2e-3, rel=1e-2, abs=2e-4)


def test_it_learns():
    images, classes = images_of(1_500)
    network = SmallNetwork(first_weights())
    losses = [network.train(image, int(wanted)) for image, wanted in zip(images, classes, strict=True)]
    assert np.mean(losses[-150:]) < 0.6 * np.mean(losses[:150])
    assert np.mean(losses[:150]) == pytest.approx(np.log(10), rel=0.15)


def test_two_networks_on_the_same_weights_see_each_other_s_steps():
    weights = first_weights()
    first, second = SmallNetwork(weights), SmallNetwork(weights)
    images, classes = images_of(1)
    before = second.forward(images[0])[classes[0]]
    first.train(images[0], int(classes[0]))
    assert second.forward(images[0])[classes[0]] > before
