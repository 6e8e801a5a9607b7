"""A network that was read, with its counts and caveats."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.layers.counts import Counts
from profet_core.layers.rules import Layer


@dataclass(frozen=True, slots=True)
class Network:
    """A network at one image size.

    Attributes
    ----------
    name : of the network or its file.
    source_format : what it was read from, for a person.
    layers : in the order in which they run.
    counts : their sum.
    caveats : what counts can't be sure of, a line each.
    """

    name: str
    source_format: str
    layers: tuple[Layer, ...]
    counts: Counts
    caveats: tuple[str, ...] = ()
