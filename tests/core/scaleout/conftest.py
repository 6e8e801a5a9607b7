"""Laws of several GPUs whose numbers can be worked by hand."""

from __future__ import annotations

import pytest

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.scaleout.model import ScaleoutModel, Width


@pytest.fixture
def law() -> ScaleoutModel:
    """Half of every bandwidth, a millisecond a message, half of sharing hidden, a hundredth lost a doubling."""
    return ScaleoutModel(
        link_efficiency=dict.fromkeys(Link, 0.5),
        host_efficiency=0.5,
        network_efficiency=0.5,
        message_ms=1.0,
        overlap=0.5,
        straggling=0.01,
        network_straggling=0.02,
        copy_efficiency=0.5,
        tensor_ms=0.1,
        tensor_gpu_ms=0.2,
        widths=dict.fromkeys(Link, Width(0.05, 0.5, 0.01)),
        one_process_widths=dict.fromkeys(Link, Width(0.1, 0.25, 0.01)),
    )


@pytest.fixture
def node() -> Interconnect:
    """Four GPUs at 20 GB/s, PCIe 3, two a root port, 8 Gb/s between nodes."""
    return Interconnect(4, Link.NVLINK, 20.0, 3, 2, 8.0, "made up")
