"""Networks trained side by side: each on its own rows alone, and the same when served."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.ensemble.members import NETWORKS
from profet_lab.classes.bank import TrainingRows, class_bank
from profet_lab.classes.networks import RECIPES, StackedNetworks

STEPS = 5


def fit(bank, member, *, rows, known=True, sizes=False, steps=STEPS):
    from profet_lab.classes.networks import fit_networks

    training = TrainingRows("slow", "fast", rows)
    return fit_networks(bank, member, [training], latency_known=known, sizes_known=sizes, seed=0, steps=steps)


def predicted_ms(bank, networks, rows, known=True, sizes=False):
    from profet_lab.classes.folds import fold_inputs

    return networks.predict(0, fold_inputs(bank, networks, 0, "slow", rows, known, sizes), bank.device_classes)


def test_constants_are_the_ratios_of_the_training_rows(classed):
    bank = class_bank(classed)
    learned = bank.architectures != "D"
    ratios, typical = bank.log_ratios("slow", "fast", learned, True)
    np.testing.assert_allclose(ratios, np.log(0.5))
    assert typical == pytest.approx(np.log(0.5))
    unseen = bank.unseen("slow", learned)
    names = np.array(bank.classes.names)
    depthwise = names == "depthwise"
    assert unseen[depthwise].all() and not bank.unseen("slow", ~learned)[depthwise].any()
    assert not unseen[names == "convolution"].any() and not unseen[bank.device_classes :].any()


@pytest.mark.parametrize("member", NETWORKS)
def test_a_network_learns_that_the_target_is_twice_as_fast(classed, member):
    bank = class_bank(classed)
    rows = np.ones(len(classed.workloads), bool)
    networks = fit(bank, member, rows=rows, steps=250)
    assert np.mean(np.abs(predicted_ms(bank, networks, rows) / bank.latency_ms["fast"] - 1)) < 0.06


@pytest.mark.parametrize("member", NETWORKS)
def test_what_is_served_answers_what_the_networks_answer(member):
    from profet_lab.export import network_stack

    random = np.random.default_rng(0)
    widths = [(7, 6), (6, 5), (5, 3)]
    networks = StackedNetworks(
        member,
        tuple(random.normal(size=(4, *width)) for width in widths),
        tuple(random.normal(size=(4, 1, width[1])) for width in widths),
        constants=np.zeros((4, 1, 1)),
        typical_log_ratio=np.zeros(4),
        unseen=np.zeros((4, 2), bool),
    )
    served = network_stack(networks.kernels, networks.biases, RECIPES[member].activation)
    for rows in (1, 9):
        inputs = random.normal(size=(rows, 7))
        outputs = served.run(inputs)
        assert outputs.shape == (4, rows, 3)
        for network in range(4):
            wanted = networks.run(network, inputs)[0]
            # Served in single precision, whose sums differ by processor in the seventh digit of their largest term. A
            # latency is made of all of a row's outputs and shown to three digits.
            np.testing.assert_allclose(outputs[network], wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
