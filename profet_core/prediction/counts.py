"""Where a profile's network is known by name, its latencies by layer counts join the members on profiled GPUs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from profet_core.catalog.gpus import AS_PROFILED, HALF, PLAIN, TF32, Gpu, runs_as
from profet_core.ensemble.members import ProfileBatch
from profet_core.ensemble.work import StepTimes
from profet_core.errors import Code, InputError, Note
from profet_core.latency import SMOOTH_MAX_POWER, Basis, FloatArray, Values, combined_sd, free_ms, quantile
from profet_core.layers.by_name import Asked, ByCounts, CountedStep, Program, Recorded, TargetSteps, read_step
from profet_core.prediction.checks import unattributed_log_sd
from profet_core.prediction.growth import bridged, log_sizes
from profet_core.prediction.members import Estimates, floored
from profet_core.prediction.mixed_precision import gain_log_sd, speedup_note
from profet_core.prediction.models import Models
from profet_core.prediction.targets import StepTable, StepTarget
from profet_profiles.units import SMALLEST_NUMBER, format_ms

#: The counts' name among the members.
COUNTS = "counts"


class CountsWeight(Struct, frozen=True):
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
        """Return the weighted geometric mean of members and counts.

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


#: Error of a measured step, and of a predicted one that others follow from, at least. With the latter, steps on one of
#: the four GPUs held out err by 14.7 instead of 15.9 % (`profet validate --gpus`; 0.05 and 0.12 do as well).
MEASURED_LOG_SD, PREDICTED_LOG_SD = 0.02, 0.08


def program_notes(program: Program) -> list[Note]:
    """Say that an answer is for the profile's program, where that matters."""
    times = math.exp(program.log_times)
    return [Note(Code.PROFILED_PROGRAM, times=times)] if times >= _WORTH_SAYING else []


#: Times as long as in today's software, for a note.
_WORTH_SAYING = 1.25


def max_log_ratio(inferred_log_half_width: float = 0.0) -> float:
    """How far the anchor's latency is at most from its estimate, in the logarithm.

    Parameters
    ----------
    inferred_log_half_width : of a latency that is inferred from the profile.
    """
    return math.hypot(quantile() * _ESTIMATE_LOG_SD, inferred_log_half_width)


def counted_steps(
    models: Models, batch: ProfileBatch, recorded: Sequence[Recorded], by_counts: ByCounts | None, times: StepTimes
) -> tuple[list[CountedStep], list[list[Note]]]:
    """Count steps where a profile's network and sizes are known, else read them off its class times.

    Parameters
    ----------
    times : of the profiles on the batch's anchor.

    Returns
    -------
    counted : of each profile.
    notes : why a network's name is not used.
    """
    counted, notes = list[CountedStep](), list[list[Note]]()
    is_host_known, launch_ms = np.isfinite(times.host_ms).tolist(), times.launch_ms.tolist()
    by_names: dict[Hashable, tuple[CountedStep | Note | None, float]] = {}
    for number, (profile, step) in enumerate(zip(batch.profiles, recorded, strict=True)):
        # Many profiles may be of one network; only here, as names are visitors'.
        key = profile.meta, profile.file_name, profile.source_format, step.asked
        if by_counts is not None and key not in by_names:
            named = by_counts(models, profile)
            by_names[key] = named, named.usual_ms(step) if isinstance(named, CountedStep) else 0.0
        by_name, here_ms = by_names.get(key, (None, 0.0))
        if isinstance(by_name, CountedStep):
            limit = max_log_ratio(quantile() * step.log_sd)
            if not (step.latency_ms > 0 and abs(math.log(step.latency_ms / here_ms)) <= limit):
                steps = f"about {format_ms(here_ms)} on {step.gpu.name}, this one takes {format_ms(step.latency_ms)}"
                by_name = Note(Code.NETWORK_UNUSED, network=by_name.network, why=f"its step would take {steps}")
        notes.append([by_name] if isinstance(by_name, Note) else [])
        if not isinstance(by_name, CountedStep):
            launches_ms = launch_ms[number] / step.host.launch if is_host_known[number] else None
            by_name = read_step(models, batch.anchor, times.groups_ms[number], step, profile, launches_ms)
        counted.append(by_name)
    return counted, notes


def with_counts(
    models: Models, estimates: Estimates, batch: ProfileBatch, counted: Sequence[CountedStep], steps_ms: FloatArray
) -> Estimates:
    """Join the members with counts, as another member, `COUNTS`; NaN where it doesn't count.

    Parameters
    ----------
    steps_ms : on the anchor, measured or inferred.
    """
    weight, counts_ms = WEIGHTS[batch.latency_ms is not None], np.full(estimates.latency_ms.shape, np.nan)
    for number, (step, step_ms) in enumerate(zip(counted, steps_ms, strict=True)):
        if step.latencies_ms:
            ratio = (step_ms / step.latencies_ms[batch.anchor]) ** weight.anchor_power
            counts_ms[:, number] = [step.latencies_ms[name] * ratio for name in estimates.targets]
    if not (is_counted := ~np.isnan(counts_ms)).any():
        return estimates
    members_ms = np.stack([*estimates.member_ms.values()], axis=-1)
    spread = np.log(np.maximum(members_ms, SMALLEST_NUMBER)).std(axis=-1)
    joined_ms = np.where(is_counted, weight.joined(estimates.latency_ms, spread, counts_ms), estimates.latency_ms)
    latency_ms, at_floor = floored(models, estimates.targets, joined_ms)
    # What time without an operation adds stays.
    log_sd, added = estimates.log_sd, unattributed_log_sd(batch.profiles)
    return replace(
        estimates,
        member_ms={**estimates.member_ms, COUNTS: counts_ms},
        latency_ms=latency_ms,
        at_floor=np.where(is_counted, at_floor, estimates.at_floor),
        log_sd=None if log_sd is None else np.where(is_counted, weight.width * (log_sd - added) + added, log_sd),
    )


#: Part of the uncertainty of a conversion to FP32 that is left of one there and back, by judgment.
_LEFT = 0.7


class _BothSteps(NamedTuple):
    """Steps, and what they take in the default precision."""

    steps: TargetSteps
    usual_ms: FloatArray


_BothStepsAt = Callable[[int, int], _BothSteps]


class StepsByCounts(Struct, frozen=True):
    """What counts say of a recorded step on GPUs without models, in other precisions and at other sizes.

    Attributes
    ----------
    others : the same step on other profiled GPUs, as it is predicted there.
    asked : the recorded step's sizes, in the precision and code of the answer.
    doubt : added to the uncertainty, for GPU time without an operation.
    program : by how much the recorded step's program differs from today's software.
    made : what makes steps at any size, once needed.
    """

    models: Models
    counted: CountedStep
    recorded: Recorded
    others: tuple[Recorded, ...]
    asked: Asked
    doubt: float
    program: Program
    made: list[tuple[tuple[StepTarget, ...], tuple[Recorded, ...], _BothStepsAt]] = field(default_factory=list)

    def _follows(self, table: StepTable) -> np.ndarray:
        """Rows whose steps in FP32 or TF32 the table says, (targets,): on GPUs that were profiled, and on the anchor's.

        Steps recorded on an unprofiled GPU say those of no other one.
        """
        here, profiled, recorded = self.recorded.gpu, self.models.transfer.profiled_gpus, self.recorded.asked.precision
        # A profile in half precision says how long its own GPU's other steps take.
        own = recorded not in HALF and _default(here, recorded) == _default(here, self.asked.precision)
        others = here.name in profiled
        return np.array(
            [own if gpu.name == here.name else others and gpu.name in profiled for gpu, _, _ in table.targets]
        )

    def _runs_in_half(self, table: StepTable) -> np.ndarray:
        asked = self.asked.precision
        return np.array([asked in HALF and runs_as(target.gpu, asked)[0] in HALF for target in table.targets])

    def _on(self, targets: tuple[StepTarget, ...], recorded: tuple[Recorded, ...]) -> _BothStepsAt:
        """Return what makes steps at a size, no slower in half precision than in the default one, no faster in FP32."""
        # Hundreds of targets are compared faster than hashed.
        for made_targets, made_recorded, made in self.made:
            if made_targets == targets and made_recorded == recorded:
                return made
        places = [(target.gpu, target.host) for target in targets]
        there = self.counted.on(places, self.asked, recorded, program=self.program)
        default = self.asked._replace(precision=AS_PROFILED, training_code=PLAIN)
        is_default = self.asked.precision in (AS_PROFILED, TF32)
        usual = there if is_default else self.counted.on(places, default, recorded, program=self.program)
        bound = np.fmin if self.asked.precision in HALF else np.fmax

        @cache
        def at_size(batch_size: int, pixels: int) -> _BothSteps:
            steps = there(batch_size, pixels)
            if is_default:
                return _BothSteps(steps, steps.latency_ms)
            usual_ms = usual(batch_size, pixels).latency_ms
            return _BothSteps(steps._replace(latency_ms=bound(steps.latency_ms, usual_ms)), usual_ms)

        self.made.append((targets, recorded, at_size))
        return at_size

    def in_table(self, table: StepTable, base: StepTable, conversion_log_sd: float) -> StepTable:
        """Return the table of the recorded step.

        Parameters
        ----------
        base : in FP32 or TF32, before the precision of the answer.
        conversion_log_sd : of the base, where the recorded step is in half precision.
        """
        there, usual_ms = self._on(table.targets, (self.recorded, *self.others))(
            self.asked.batch_size, self.asked.pixels
        )
        follows, half = self._follows(table), self._runs_in_half(table)
        gained = np.where(half, there.latency_ms / usual_ms, 1.0)
        latency_ms = np.where(follows, base.latency_ms * gained, there.latency_ms)
        launch_ms = there.launch_ms * latency_ms / there.latency_ms
        # Of a GPU in another host than its known steps, launches differ.
        in_other_host = follows & np.array([bool(of) for of in base.relative_to])
        launched = (there.launch_ms / there.latency_ms) ** SMOOTH_MAX_POWER
        host_log_sd = np.array([target.host.log_sd for target in table.targets]) * np.minimum(launched, 1.0)
        of_gain, notes, asked = np.zeros(len(table.targets)), list(table.notes), self.asked.precision
        if asked in HALF:
            for row, target in enumerate(table.targets):
                note = runs_as(target.gpu, asked)[1]
                if half[row] or (note is not None and note.code is Code.NO_TENSOR_CORES):
                    of_gain[row] = gain_log_sd(target.gpu, asked, self.asked.training_code)
                if faster := speedup_note(target.gpu, asked, -math.log(gained[row])):
                    notes[row] = faster, *notes[row]
        # Between two GPUs in half precision most of what a network gains cancels.
        cancels = half & (self.recorded.asked.precision in HALF)
        wider = np.where(cancels, _LEFT * conversion_log_sd, combined_sd(of_gain, conversion_log_sd))
        changes = wider > 0

        def log_sd(own: FloatArray) -> FloatArray:
            widened = np.where(changes, combined_sd(np.nan_to_num(own), wider), own)
            return np.where(follows, widened, there.log_sd + self.doubt)

        base_log_sd = np.where(in_other_host, combined_sd(base.log_sd, host_log_sd), base.log_sd)
        relative_log_sd = np.where(in_other_host, host_log_sd, base.relative_log_sd)
        # What the user measured stays, and an anchor whose step is unknown.
        given = np.array([basis is Basis.GIVEN for basis in table.basis])
        elsewhere = np.array([target.gpu.name != self.recorded.gpu.name for target in table.targets])
        changed = (table.known | elsewhere) & ~given
        of_base, of_row = follows & ~half, zip(notes, table.notes, changed.tolist(), strict=True)
        return replace(
            table,
            latency_ms=np.where(changed, latency_ms, table.latency_ms),
            launch_ms=np.where(changed, np.where(of_base, base.launch_ms, launch_ms), table.launch_ms),
            free_ms=np.where(changed, np.where(of_base, base.free_ms, free_ms(latency_ms, launch_ms)), table.free_ms),
            log_sd=np.where(changed, log_sd(base_log_sd), table.log_sd),
            relative_log_sd=np.where(changed, log_sd(relative_log_sd), table.relative_log_sd),
            notes=tuple(new if is_changed else old for new, old, is_changed in of_row),
            members={name: values * gained for name, values in table.members.items()},
        )

    def sized(
        self, recorded: Sequence[tuple[StepsByCounts, StepTable, tuple[int | None, int | None]]]
    ) -> Callable[[StepTable, int, int | None], StepTable]:
        """Return what makes a table of another size, by all recorded steps of the network, this one first.

        Parameters
        ----------
        recorded : with tables, and the sizes that these are said to have.
        """
        # As if the step had been recorded at the size that its prediction is said to have.
        _, first, stated = recorded[0]
        of_batch, of_pixels = (
            ours / theirs if theirs else 1.0 for ours, theirs in zip(self.asked[2:], stated, strict=True)
        )
        steps_at = self._on(
            first.targets, tuple(step for steps, _, _ in recorded for step in (steps.recorded, *steps.others))
        )

        def node(batch_size: int, pixels: int) -> FloatArray:
            """Logarithms of steps and of launches, and their uncertainty, (3, targets)."""
            there, _ = steps_at(batch_size, pixels)
            return np.array([np.log(there.latency_ms), np.log(there.launch_ms), there.log_sd])

        def by_counts(given_batch_size: float, given_pixels: float) -> FloatArray:
            # A curve of a thousand sizes is made of a few.
            batch_size, pixels = of_batch * given_batch_size, max(round(of_pixels * given_pixels), 1)
            place = bisect_left(_NODES, batch_size)
            above, below = _NODES[min(place, len(_NODES) - 1)], _NODES[max(place - 1, 0)]
            if above in (batch_size, below):
                return node(above, pixels)
            share = math.log(batch_size / below) / math.log(above / below)
            return (1 - share) * node(below, pixels) + share * node(above, pixels)

        points = []
        for counted, own, (batch_size, pixels) in recorded:
            size = batch_size or counted.asked.batch_size, pixels or counted.asked.pixels
            at, counted_ms = log_sizes(size[0], size[1] ** 2), by_counts(*size)[0]
            points.append(_Point(at, np.log(own.latency_ms), counted_ms, counted.doubt))
        # Those of profiled GPUs grow as measured ones did.
        profiled = self.models.transfer.profiled_gpus
        is_profiled = np.array([target.gpu.name in profiled for target in first.targets]) & self._follows(first)
        rows = np.flatnonzero(first.known & (self._runs_in_half(first) | ~is_profiled))

        def at_size(table: StepTable, batch_size: int, pixels: int | None) -> StepTable:
            pixels = pixels or self.asked.pixels
            try:
                log_counted_ms, log_launch_ms, log_sd = by_counts(batch_size, pixels)
            except InputError:
                # It can't be built for such images.
                return table
            log_ms, doubt = _through(points, log_counted_ms, log_sizes(batch_size, pixels**2))
            latency_ms, launch_ms = np.exp(log_ms), np.exp(log_launch_ms + log_ms - log_counted_ms)
            return table.with_rows(
                rows.tolist(),
                latency_ms=latency_ms[rows],
                launch_ms=launch_ms[rows],
                free_ms=free_ms(latency_ms, launch_ms)[rows],
                log_sd=(log_sd + doubt)[rows],
            )

        return at_size


class _Point(NamedTuple):
    """A recorded step: logarithms of its sizes, (2, 1), of its latencies in the table and by counts, and its doubt."""

    at: FloatArray
    log_ms: FloatArray
    log_counted_ms: FloatArray
    doubt: float


def _through(points: Sequence[_Point], log_counted_ms: FloatArray, at: FloatArray) -> tuple[FloatArray, float]:
    """Logarithms of latencies, and their doubt, by counts at a size, through the recorded steps.

    They never fall from a size to a larger one, as neither counts nor the recorded steps do.
    """
    small, large = sorted((points[0], points[-1]), key=lambda point: point.at.ravel().tolist())
    of_small, of_large = (point.log_ms + log_counted_ms - point.log_counted_ms for point in (small, large))
    away = [float(np.hypot(*(point.at - at).ravel())) for point in (small, large)]
    if len(points) == 1 or (small.at == large.at).all():
        log_ms, share = of_small, 0.0
    else:
        share = away[0] / sum(away)
        if (small.at <= large.at).all():
            below, above = of_small - small.log_ms, of_large - large.log_ms
            between = np.divide(below, below - above, out=np.zeros_like(below), where=below - above > 0)
            rise = (large.log_ms - small.log_ms) * np.clip(between, 0, 1)
            log_ms = small.log_ms + rise + np.minimum(below, 0) + np.maximum(above, 0)
        else:
            log_ms = bridged(small.at, large.at, of_small[:, None], of_large[:, None], at)[:, 0]
        log_ms = np.where(np.isnan(of_small), of_large, np.where(np.isnan(of_large), of_small, log_ms))
    for point in points:
        # A larger step takes no less, whatever rounding says.
        if (point.at >= at).all():
            log_ms = np.fmin(log_ms, point.log_ms)
        elif (point.at <= at).all():
            log_ms = np.fmax(log_ms, point.log_ms)
    return log_ms, (1 - share) * small.doubt + share * large.doubt


#: Batch sizes between which steps are interpolated.
_NODES = sorted({size for power in range(17) for size in (2**power, 3 * 2**power // 2)})


def _default(gpu: Gpu, precision: str) -> str:
    """Return the precision at whose speed a GPU runs what isn't in half precision."""
    return runs_as(gpu, AS_PROFILED if precision in HALF else precision)[0]
