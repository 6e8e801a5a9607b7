"""Every formula on numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from profet_core.scaleout.law import (
    Links,
    Strategy,
    all_reduce_ms,
    input_copy_ms,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)

#: 100 million bytes: 10 ms over a 20 GB/s link of which half is had.
GRADIENTS = 100e6


@pytest.fixture
def links(node) -> Links:
    return Links.of(node)


@pytest.mark.parametrize(
    ("strategy", "gpus", "ms"),
    [
        (Strategy.RING, 1, 0.0),
        (Strategy.RING, 2, 2 * 1 / 2 * 10 + 2 * 1),  # 12
        (Strategy.RING, 4, 2 * 3 / 4 * 10 + 2 * 3),  # 21
        (Strategy.TREE, 2, 2 * 1 * (10 + 1)),
        (Strategy.TREE, 3, 2 * 2 * (10 + 1)),
        (Strategy.TREE, 4, 2 * 2 * (10 + 1)),
        # PCIe 3 at half of 15.75 GB/s: 12.698 ms once; two GPUs a root port at a time.
        (Strategy.PS_CPU, 1, 0.0),
        (Strategy.PS_CPU, 2, 2 * 2 * 12.698413 + 2),
        (Strategy.PS_CPU, 4, 2 * 2 * 12.698413 + 4),
        (Strategy.PS_GPU, 4, 2 * 3 / 4 * 10 + 2 * 3),
    ],
)
def test_sharing_within_a_node(law, links, strategy, gpus, ms):
    assert float(node_sharing_ms(law, strategy, gpus, links, GRADIENTS)) == pytest.approx(ms)


def test_sharing_between_nodes_is_the_network_s(law, links):
    # 8 Gb/s are 1 GB/s, half of it: 200 ms once.
    assert float(network_sharing_ms(law, Strategy.RING, 1, links, GRADIENTS)) == 0
    assert float(network_sharing_ms(law, Strategy.RING, 4, links, GRADIENTS)) == pytest.approx(1.5 * 200 + 6)
    assert float(network_sharing_ms(law, Strategy.TREE, 4, links, GRADIENTS)) == pytest.approx(4 * 201)
    assert float(network_sharing_ms(law, Strategy.PS_CPU, 4, links, GRADIENTS)) == pytest.approx(1.5 * 200 + 6)


def test_half_of_sharing_hides_behind_the_backward_pass(law):
    # 90 ms: 60 of them backward. 40 ms of sharing: 20 hidden, 20 on top; 4 GPUs and 2 nodes lose 2 x 1 % and 2 %.
    assert float(several_ms(law, 90.0, 4, 2, 40.0)) == pytest.approx(90 + 20 + 0.04 * 90)
    # 200 ms: of the 100 that could hide, 60 do.
    assert float(several_ms(law, 90.0, 4, 2, 200.0)) == pytest.approx(30 + 100 + 100 + 0.04 * 90)
    assert float(several_ms(law, 90.0, 1, 1, 0.0)) == 90


def test_one_process_copies_once_and_launches_for_each_gpu(law, links):
    assert float(one_process_ms(law, 90.0, 1, links, GRADIENTS, 161)) == 90
    # Out and back at half of 20 GB/s: 2 x 10 ms; 100 tensors: 10 ms, and 20 more for each further GPU.
    assert float(one_process_ms(law, 90.0, 2, links, GRADIENTS, 100)) == pytest.approx(90 + 20 + 10 + 20)
    assert float(one_process_ms(law, 90.0, 4, links, GRADIENTS, 100)) == pytest.approx(90 + 20 + 10 + 60)


def test_the_input_of_gpus_behind_one_root_port_is_copied_by_turns(law, links):
    # 64 images of 224 pixels: 38.5 MB; half of 15.75 GB/s.
    one_ms = 64 * 224**2 * 12 / 7.875e6
    assert float(input_copy_ms(law, 1, links, 64 * 224**2 * 12)) == pytest.approx(one_ms)
    assert float(input_copy_ms(law, 4, links, 64 * 224**2 * 12)) == pytest.approx(2 * one_ms)


def test_arrays_give_what_numbers_give(law, links):
    gpus = np.array([1.0, 2.0, 3.0, 4.0])
    for strategy in Strategy:
        together = np.asarray(node_sharing_ms(law, strategy, gpus, links, GRADIENTS))
        alone = [float(node_sharing_ms(law, strategy, each, links, GRADIENTS)) for each in gpus]
        assert together.tolist() == alone
    assert np.asarray(all_reduce_ms(Strategy.TREE, gpus, 10.0, 1.0)).tolist() == [0, 22, 44, 44]
