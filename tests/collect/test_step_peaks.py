"""Peaks are counted by the lives of tensors: by hand, as real tensors live, and as shipped."""

from __future__ import annotations

import pytest

from profet_collect.networks.graph import network_graph
from tests.recorder.runs import needs

pytestmark = needs("torch")
MIB = 2**20


def test_what_lives_is_counted_once_and_forgotten_when_it_dies():
    import torch

    from profet_collect.step_peaks import BLOCK_BYTES, HeldBytes

    with HeldBytes() as held:
        kept = torch.zeros(MIB // 4)
        assert held.peak_bytes == MIB
        view, same = kept[1:], kept.view(2, -1)
        view.add_(1)
        assert held.peak_bytes == MIB, "a view is its base's memory"
        copy = kept + 1
        assert held.peak_bytes == 2 * MIB
        del copy
        again = kept * 2
        assert held.peak_bytes == 2 * MIB, "what died made room"
        del again, kept, view, same
        held.forget_peak()
        assert held.peak_bytes == 0
        one = torch.zeros(1)
        assert held.peak_bytes == BLOCK_BYTES
        del one


def test_tensors_without_values_hold_what_real_ones_do():
    import torch

    from profet_collect.networks.pytorch import build
    from profet_collect.step_peaks import HeldBytes, measured_peaks

    (counted,) = measured_peaks("ResNet18", 32, 10, [8])
    with HeldBytes() as held:
        network = build(network_graph("ResNet18", 32, 10))
        optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
        loss = torch.nn.functional.cross_entropy(network(torch.rand(8, 3, 32, 32)), torch.zeros(8, dtype=torch.int64))
        loss.backward()
        optimizer.step()
    # Of initialization a real network has a little more that lives for a moment.
    assert held.peak_bytes == pytest.approx(counted.peak_bytes, rel=0.01)
    parameters = sum(one.numel() for one in network.parameters())
    assert counted.peak_bytes > 2 * 4 * parameters, "weights and gradients"


@needs("scipy")
def test_the_shipped_table_is_what_is_measured(tmp_path):
    from profet_collect.step_peaks import StepPeak, measured_peaks, write_peaks
    from profet_lab.memory.recorded import step_peaks

    found = list(measured_peaks("CIFAR10_CNN", 64, 100, [16, 256]))
    write_peaks(found, tmp_path / "peaks.csv")
    shipped = step_peaks().query("model == 'CIFAR10_CNN' and pixels == 64 and batch_size in (16, 256)")
    assert step_peaks(tmp_path / "peaks.csv").to_dict("records") == shipped.to_dict("records")
    assert found[0] == StepPeak(**shipped.iloc[0].to_dict())
