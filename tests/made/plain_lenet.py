"""LeNet-5 as a file has it whose activations are layers of their own and left out: the measurements' are inside."""

from __future__ import annotations

from msgspec.structs import replace

from profet_core.layers.networks import counts_of

_LENET = counts_of("PROFET LeNet5", 32)
PLAIN_LENET = replace(
    _LENET, elements=_LENET.elements._replace(function=0), layers=_LENET.layers._replace(operations=8)
)
