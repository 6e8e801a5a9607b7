"""Memory fit of a step on a GPU, from its network's counts."""

from __future__ import annotations

import math

from profet_core.layers.counts import Counts
from profet_core.memory.fit import LARGEST_BATCH, FitAnswer, Verdict
from profet_core.memory.model import GIB_PER_VALUE, MemoryModel
from profet_core.memory.need import MemoryNeed

#: Values that an optimizer keeps per parameter in addition to its gradient.
OPTIMISERS = {"sgd": 0, "momentum": 1, "adam": 2}


def counted_need(
    model: MemoryModel, network: Counts, batch_size: int, state_copies: int = 0, activation_share: float = 1.0
) -> MemoryNeed:
    """Memory of a step: weights, gradients, optimizer state, and activations.

    Parameters
    ----------
    state_copies : values that the optimizer keeps per parameter. activation_share : relative to activations in FP32.
    """
    law, outputs = model.law, network.activation_elements - network.other_elements
    return MemoryNeed(
        held_gib=law.held_gib(network.parameters) + state_copies * network.trainable_parameters * GIB_PER_VALUE,
        activation_gib=max(activation_share * law.activation_gib(batch_size, outputs, network.other_elements), 1e-6),
        log_scale=law.log_scale,
        activation_log_scale=0.0,
        doubling_log_scale=0.0,
        source="its layers",
    )


def counted_fit(
    model: MemoryModel,
    network: Counts,
    batch_size: int,
    memory_gib: float,
    state_copies: int = 0,
    activation_share: float = 1.0,
) -> FitAnswer:
    """Whether the step fits in a GPU's nominal memory, and the largest batch that does."""
    need = counted_need(model, network, batch_size, state_copies, activation_share)
    chance = need.probability(memory_gib, 1.0)
    verdict = Verdict.CANT_TELL
    if chance >= model.certain:
        verdict = Verdict.FITS
    elif chance <= 1 - model.certain:
        verdict = Verdict.DOES_NOT_FIT
    largest = math.floor(min(need.growth_at(memory_gib, model.certain) * batch_size, LARGEST_BATCH) * (1 + 1e-12))
    why = f"needs about {need.needed_gib(1.0):.2g} of {memory_gib:g} GiB, from its layers"
    return FitAnswer(verdict, chance, largest if largest >= 1 else None, why)
