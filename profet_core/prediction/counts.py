"""Where a profile's network is known by name, what its layers take joins the members on the profiled GPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import Code, InputError, Note
from profet_core.latency import FloatArray, quantile, smooth_max
from profet_core.layers.network import Counts
from profet_core.layers.networks import PROFET, as_in_tensorflow, counts_of, network_in_file_name, network_name
from profet_core.layers.networks import shared_name as shared_network_name
from profet_core.layers.rates import RATES_NAME, Mode, RateModel, rate_model_of
from profet_core.prediction.checks import waits_for_loader
from profet_core.prediction.members import Estimates, floored
from profet_core.prediction.models import Models
from profet_core.units import US_PER_MS, format_count, format_ms
from profet_recorder.profiles.record import Profile

#: Answer for a profile whose network is not to be used, whatever its file is called.
NO_NETWORK = "none"
#: The counts' name among the members.
COUNTS = "counts"


@dataclass(frozen=True)
class CountsWeight:
    """How counts join the members; all but `level_share` are fitted together.

    Attributes
    ----------
    members_log_sd : error of members that agree; what they disagree by adds to it.
    counts_log_sd : error of the latency by counts.
    carried : share of the anchor's measured latency over its estimate that holds on a target, in the logarithm.
    width : interval of both over that of the members.
    """

    members_log_sd: float
    counts_log_sd: float
    carried: float
    width: float

    def joined(self, members_ms: FloatArray, log_members_ms: FloatArray, counts_ms: FloatArray) -> FloatArray:
        """The weighted geometric mean of both.

        Parameters
        ----------
        members_ms : combined, any shape.
        log_members_ms : logarithms of each member's, with members as the last axis.
        """
        variance = log_members_ms.var(axis=-1) + self.members_log_sd**2
        share = variance / (variance + self.counts_log_sd**2)
        joined: FloatArray = members_ms ** (1 - share) * counts_ms**share
        return joined


#: Whether the anchor's latency is known -> weights, from errors on held-out networks and families. `profet validate`
#: fits them without those that it judges.
WEIGHTS: Mapping[bool, CountsWeight] = {
    True: CountsWeight(0.045, 0.06, 0.72, 0.85),
    False: CountsWeight(0.07, 0.16, 0.0, 0.87),
}
#: Error of estimates on the anchor: of a network that is another one than its name says they are farther off.
_ESTIMATE_LOG_SD = 0.25
#: So many times as many parameters are another network's; other classes change them less.
_OTHER_PARAMETERS = 2.0


def with_counts(
    models: Models, estimates: Estimates, batch: ProfileBatch, given: str | None
) -> tuple[Estimates, list[list[Note]]]:
    """Join the members with the counts of each profile's network, where its name and sizes are known.

    Parameters
    ----------
    given : name of the network of all profiles; None: each profile's own, or what its file's name states.

    Returns
    -------
    estimates : with another member, `COUNTS`; NaN where it doesn't count.
    notes : of each profile, why its network's name is not used.
    """
    steps, notes = [], []
    for number, profile in enumerate(batch.profiles):
        measured_ms = None if batch.latency_ms is None else float(batch.latency_ms[number])
        found = _step_by_counts(models, profile, measured_ms, batch.anchor, estimates.targets, given)
        steps.append(None if isinstance(found, Note) else found)
        notes.append([found] if isinstance(found, Note) else [])
    if not any(step is not None for step in steps):
        return estimates, notes
    nothing = np.full(len(estimates.targets), np.nan)
    counts_ms = np.column_stack([nothing if step is None else step for step in steps])
    weight, known = WEIGHTS[batch.latency_ms is not None], ~np.isnan(counts_ms)
    logs = np.log(np.maximum(np.stack([*estimates.member_ms.values()], axis=-1), np.finfo(float).tiny))
    joined_ms = np.where(known, weight.joined(estimates.latency_ms, logs, counts_ms), estimates.latency_ms)
    latency_ms, at_floor = floored(models, estimates.targets, joined_ms)
    log_sd = estimates.log_sd
    return (
        replace(
            estimates,
            member_ms={**estimates.member_ms, COUNTS: counts_ms},
            latency_ms=latency_ms,
            at_floor=np.where(known, at_floor, estimates.at_floor),
            log_sd=None if log_sd is None else np.where(known, weight.width * log_sd, log_sd),
        ),
        notes,
    )


def network_of(profile: Profile, given: str | None = None) -> str | None:
    """The name of a profile's network in its framework; None if nothing or nobody says it.

    Parameters
    ----------
    given : by a user: `NO_NETWORK` for none; a number is of parameters, and names none.

    Raises
    ------
    InputError : the user's is unknown.
    """
    given = None if given is None or given.strip()[:1].isdigit() else given
    if (given or profile.meta.network) == NO_NETWORK:
        return None
    is_torch = waits_for_loader(profile)
    try:
        if name := given or profile.meta.network:
            return network_name(name) if is_torch else as_in_tensorflow(name)
    except InputError as error:
        if given is not None:
            what = str(error).partition("? Or ")[0].partition(": give an")[0].rstrip(".")
            raise InputError(f"{what}. Correct or remove {{network}}.", "network") from None
        return None
    name = network_in_file_name(profile.file_name)
    return name if name is None or is_torch else as_in_tensorflow(name)


def _step_by_counts(
    models: Models,
    profile: Profile,
    measured_ms: float | None,
    anchor: str,
    targets: Sequence[str],
    given: str | None,
) -> FloatArray | Note | None:
    """Latencies on the targets, milliseconds; a note: the name can't be right; None: there is none to use."""
    name, meta = network_of(profile, given), profile.meta
    if name is None or not (models.folder / RATES_NAME).is_file():
        return None
    if meta.batch_size is None or meta.pixels is None:
        why = "the profile's batch size and image size are needed with it"
        return None if given is None else Note(Code.NETWORK_UNUSED, network=name, why=why)
    model = rate_model_of(models)
    if not {anchor, *targets} <= model.instances.keys():
        return None
    try:
        counts = counts_of(name, meta.pixels)
    except InputError:
        return Note(Code.NETWORK_UNUSED, network=name, why=f"it can't be built for images of {meta.pixels} pixels")
    others = meta.parameters or counts.parameters
    if not 1 / _OTHER_PARAMETERS <= counts.parameters / others <= _OTHER_PARAMETERS:
        why = f"it has {format_count(counts.parameters)} parameters, the profile says {format_count(others)}"
        return Note(Code.NETWORK_UNUSED, network=name, why=why)
    is_torch = waits_for_loader(profile)
    here_ms, *there_ms = (
        _estimate_ms(models, model, (name, counts), meta.batch_size, one, is_measured=not is_torch)
        for one in (anchor, *targets)
    )
    doubt, step_ms = quantile() * _ESTIMATE_LOG_SD, measured_ms
    if step_ms is None:
        step_ms = profile.device_total_us / US_PER_MS * models.ranges[anchor].median_latency_per_device_total
        doubt = math.hypot(doubt, models.transfer.step.instances[anchor].inferred_log_half_width)
    if not step_ms or abs(math.log(step_ms / here_ms)) > doubt:
        why = f"its step would take about {format_ms(here_ms)} on {anchor}, this one takes {format_ms(step_ms)}"
        return Note(Code.NETWORK_UNUSED, network=name, why=why)
    carried = 1.0 if measured_ms is None else (measured_ms / here_ms) ** WEIGHTS[True].carried
    latencies_ms: FloatArray = np.array(there_ms) * carried
    return latencies_ms


def _estimate_ms(
    models: Models,
    model: RateModel,
    network: tuple[str, Counts],
    batch_size: int,
    instance: str,
    *,
    is_measured: bool,
) -> float:
    """The step of a network on a profiled instance in FP32, by its counts and what was measured of it."""
    (name, counts), gpu = network, models.transfer.gpus[model.instances[instance].gpu]
    target = gpu, models.transfer.step.hosts[instance]
    kinds_ms, launch_ms, start_ms = model.parts_ms(counts, batch_size, target, Mode.FP32, instance, is_measured)
    place = instance if name.startswith(PROFET) else gpu.name
    log_ratio, _ = model.known.correction(shared_network_name(name), place, Mode.FP32, batch_size, counts.pixels)
    work_ms = float(smooth_max(float(kinds_ms.sum()), launch_ms))
    return (work_ms + start_ms) * math.exp(log_ratio)
