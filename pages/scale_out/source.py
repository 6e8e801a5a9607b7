"""One GPU's step, where the page has it from: predicted for each offer from the profile, or one that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import streamlit as st

from profet_core import InputError
from profet_core.catalog import Instance
from profet_core.latency import Basis, StepTime
from profet_core.memory.fit import FitAnswer
from profet_core.profiles.record import ProfileMeta
from ui.memory import fits_of
from ui.predicted.network import Network
from ui.state.resources import Resources


class Source(Protocol):
    """Steps of one GPU."""

    @property
    def batch_size(self) -> int:
        """Of one GPU."""

    @property
    def pixels(self) -> int | None:
        """None where nobody says."""

    @property
    def meta(self) -> ProfileMeta | None:
        """Of the profile; None without one."""

    def step_at(self, offer: Instance, batch_size: int) -> StepTime | None:
        """One GPU's step on an offer; None: not known there, or at that size."""

    def fit_at(self, offer: Instance, batch_size: int) -> FitAnswer | None:
        """Whether it fits in the GPU's memory; None: not known."""


@dataclass(frozen=True, slots=True)
class PredictedSteps:
    """Predicted from the loaded profile, on every offer."""

    resources: Resources
    network: Network
    batch_size: int
    _steps: dict[int, Mapping[str, StepTime]] = field(default_factory=dict)
    _fits: dict[int, Mapping[str, FitAnswer]] = field(default_factory=dict)

    @property
    def pixels(self) -> int | None:
        """Of the training."""
        return self.network.chosen_pixels

    @property
    def meta(self) -> ProfileMeta:
        """What the profile tells."""
        return self.network.outcome.held.profile.meta

    def step_at(self, offer: Instance, batch_size: int) -> StepTime | None:
        """None where no latency is predicted, or steps aren't carried to that size."""
        found = self._steps_at(batch_size).get(offer.name)
        return None if found is None or found.latency_ms is None else found

    def fit_at(self, offer: Instance, batch_size: int) -> FitAnswer | None:
        """By the memory law."""
        if batch_size not in self._fits:
            names = self._steps_at(batch_size)
            network = self.network
            self._fits[batch_size] = fits_of(
                self.resources, network.outcome, names, batch_size, self.pixels, network.second
            )
        return self._fits[batch_size].get(offer.name)

    def _steps_at(self, batch_size: int) -> Mapping[str, StepTime]:
        if batch_size not in self._steps:
            try:
                rows = self.network.steps_of(self.resources, batch_size).step_times
            except InputError:
                # Beyond the sizes that steps are carried to.
                rows = ()
            self._steps[batch_size] = {row.instance: row for row in rows}
        return self._steps[batch_size]


@dataclass(frozen=True, slots=True)
class TypedStep:
    """A step that somebody measured on one GPU: known on offers with that GPU, at that batch size."""

    latency_ms: float
    batch_size: int
    gpu_model: str
    pixels: int | None = None
    meta: ProfileMeta | None = None

    def step_at(self, offer: Instance, batch_size: int) -> StepTime | None:
        """None on other GPUs, and at other batch sizes."""
        if offer.gpu_model != self.gpu_model or batch_size != self.batch_size:
            return None
        return StepTime(instance=offer.name, latency_ms=self.latency_ms, basis=Basis.GIVEN)

    def fit_at(self, offer: Instance, batch_size: int) -> FitAnswer | None:
        """It ran there."""
        return None


def typed_step() -> TypedStep | None:
    """What was typed; None while something is missing."""
    state = st.session_state
    if state["one_gpu_ms"] is None or state["one_gpu_on"] is None:
        return None
    return TypedStep(state["one_gpu_ms"], state["one_gpu_batch"], state["one_gpu_on"])
