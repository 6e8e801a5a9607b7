"""Where a profile's network is known by name, its latencies by layer counts join the members on profiled GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from profet_core.ensemble.classes import load_operation_classes
from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import Code, Note
from profet_core.latency import Values, quantile
from profet_core.prediction.checks import unattributed_log_sd
from profet_core.prediction.members import Estimates, floored
from profet_core.prediction.models import Models
from profet_profiles.record import Profile
from profet_profiles.units import SMALLEST_NUMBER, format_ms

#: The counts' name among the members.
COUNTS = "counts"


@dataclass(frozen=True, slots=True)
class CountedStep:
    """A profile's step by the counts of its network, as `network` is called: instance -> milliseconds."""

    network: str
    latencies_ms: Mapping[str, float]


#: Models and a profile -> its step by counts; a note says why its network's name is not used; None: there is no name.
ByCounts = Callable[[Models, Profile], CountedStep | Note | None]


@dataclass(frozen=True, slots=True)
class CountsWeight:
    """How counts join the members; all are fitted together.

    Attributes
    ----------
    members_log_sd : error of members that agree; by how much they disagree adds to it.
    counts_log_sd : error of the latency by counts.
    anchor_power : share of the anchor's measured latency over its estimate that holds on a target, in the logarithm.
    width : interval of both over that of the members.
    """

    members_log_sd: float
    counts_log_sd: float
    anchor_power: float
    width: float

    def joined(self, members_ms: Values, spread: Values, counts_ms: Values) -> Values:
        """The weighted geometric mean of members and counts.

        Parameters
        ----------
        members_ms : combined.
        spread : standard deviation of the logarithms of the members.
        """
        variance = spread**2 + self.members_log_sd**2
        share = variance / (variance + self.counts_log_sd**2)
        return members_ms ** (1 - share) * counts_ms**share


#: Whether the anchor's latency is known -> weights, from errors on held-out networks and families. `profet validate`
#: fits them without those that it judges.
WEIGHTS: Mapping[bool, CountsWeight] = {
    True: CountsWeight(0.054, 0.069, 0.67, 0.81),
    False: CountsWeight(0.071, 0.148, 0.0, 0.83),
}
#: Error of an estimate on the anchor; of another network than the name says it is larger.
_ESTIMATE_LOG_SD = 0.25


def max_log_ratio(inferred_log_half_width: float = 0.0) -> float:
    """How far the anchor's latency is at most from its estimate, in the logarithm.

    Parameters
    ----------
    inferred_log_half_width : of a latency that is inferred from the profile.
    """
    return math.hypot(quantile() * _ESTIMATE_LOG_SD, inferred_log_half_width)


def with_counts(
    models: Models, estimates: Estimates, batch: ProfileBatch, by_counts: ByCounts
) -> tuple[Estimates, list[list[Note]]]:
    """Join the members with counts where a profile's network and sizes are known.

    Returns
    -------
    estimates : with another member, `COUNTS`; NaN where it doesn't count.
    notes : of each profile, why its network's name is not used.
    """
    known, notes = batch.latency_ms is not None, [list[Note]() for _ in batch.profiles]
    weight, counts_ms = WEIGHTS[known], np.full(estimates.latency_ms.shape, np.nan)
    for number, profile in enumerate(batch.profiles):
        found = by_counts(models, profile)
        if isinstance(found, CountedStep):
            here_ms = found.latencies_ms[batch.anchor]
            step_ms, limit = _anchor_step(models, batch, number)
            if step_ms > 0 and abs(math.log(step_ms / here_ms)) <= limit:
                ratio = (step_ms / here_ms) ** weight.anchor_power
                counts_ms[:, number] = [found.latencies_ms[name] * ratio for name in estimates.targets]
            else:
                steps = f"about {format_ms(here_ms)} on {batch.anchor}, this one takes {format_ms(step_ms)}"
                found = Note(Code.NETWORK_UNUSED, network=found.network, why=f"its step would take {steps}")
        if isinstance(found, Note):
            notes[number].append(found)
    if not (counted := ~np.isnan(counts_ms)).any():
        return estimates, notes
    members_ms = np.stack([*estimates.member_ms.values()], axis=-1)
    spread = np.log(np.maximum(members_ms, SMALLEST_NUMBER)).std(axis=-1)
    joined_ms = np.where(counted, weight.joined(estimates.latency_ms, spread, counts_ms), estimates.latency_ms)
    latency_ms, at_floor = floored(models, estimates.targets, joined_ms)
    # What time without an operation adds stays.
    log_sd, added = estimates.log_sd, unattributed_log_sd(batch.profiles)
    joined = replace(
        estimates,
        member_ms={**estimates.member_ms, COUNTS: counts_ms},
        latency_ms=latency_ms,
        at_floor=np.where(counted, at_floor, estimates.at_floor),
        log_sd=None if log_sd is None else np.where(counted, weight.width * (log_sd - added) + added, log_sd),
    )
    return joined, notes


def _anchor_step(models: Models, batch: ProfileBatch, number: int) -> tuple[float, float]:
    """The anchor's latency, measured or inferred from the profile, milliseconds, and how far its estimate may be."""
    if batch.latency_ms is not None:
        return float(batch.latency_ms[number]), max_log_ratio()
    inputs, anchor = batch.inputs, batch.anchor
    busy_ms = inputs.classes_ms[number, : len(load_operation_classes().device)].sum() + inputs.unknown_ms[number, 0]
    step_ms = float(busy_ms) * models.ranges[anchor].median_latency_per_device_total
    half_width = models.transfer.step.instances[anchor].inferred_log_half_width
    return step_ms, max_log_ratio(half_width) + quantile() * float(inputs.doubt[number])
