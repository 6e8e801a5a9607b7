"""Where steps at any size come from: a profile or two, or latencies that were typed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.sizes.typed import typed_curves
from profet_core.advice.request import Workload
from profet_core.latency import StepTime
from profet_core.training.sizes import curves_at
from ui.predicted.network import Network
from ui.state.resources import Resources


@dataclass(frozen=True, slots=True)
class Source:
    """Where steps at any size come from, and the training that they are of.

    Attributes
    ----------
    network : None where the latencies were typed.
    batch_size, pixels : of the training, as on Answer.
    """

    network: Network | None
    batch_size: int
    pixels: int | None

    def curves(
        self, resources: Resources, axis: str, sizes: Sequence[int], instances: Collection[str]
    ) -> Mapping[str, tuple[StepTime, ...]]:
        """Instance, of those that are wanted -> its step at each size of the axis."""
        if self.network is None:
            typed = typed_curves(resources, axis, sizes)
            return {name: steps for name, steps in typed.items() if name in instances}
        known = self.network.known
        return curves_at(resources.models, known, axis, sizes, self.other(axis), instances=instances)

    def other(self, axis: str) -> int | None:
        """The training's size along the other axis."""
        return self.pixels if axis == "batch" else self.batch_size

    def recorded(self, axis: str) -> int | None:
        """The profile's own size along an axis."""
        if self.network is None:
            return self.batch_size if axis == "batch" else self.pixels
        return self.network.sure_batch_size if axis == "batch" else self.network.pixels

    @property
    def anchor(self) -> str:
        """The instance that the profile is from; empty where latencies were typed."""
        return "" if self.network is None else self.network.outcome.prediction.anchor

    def workload(self, axis: str, size: int) -> Workload:
        """The training at one size of the axis."""
        state = st.session_state
        batch_size = size if axis == "batch" else self.batch_size
        return Workload(state["images"], batch_size, state["epochs"], state["validation_images"], state["loading"])
