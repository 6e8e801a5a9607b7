"""Runs and combines the members of a method: latencies, intervals and similarity for many profiles of one anchor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog import gpu_model
from profet_core.catalog.gpus import has_tensor_cores
from profet_core.ensemble.members import (
    BAND_WORDS,
    IntervalScale,
    ProfileBatch,
    Similarity,
    class_shares,
    member_latency,
    nearest_distance,
    size_inputs,
)
from profet_core.ensemble.operations import UnknownOperations, load_operation_classes
from profet_core.errors import Code, InputError, Note
from profet_core.latency import Basis, FloatArray
from profet_core.prediction.checks import (
    WARNED_UNATTRIBUTED_SHARE,
    input_wait_ms,
    steps_note,
    unattributed_log_sd,
)
from profet_core.prediction.models import Method, Models
from profet_core.prediction.scaler import AXIS_RANGE
from profet_core.prediction.targets import Anchor, StepTable, anchor_gpu
from profet_profiles.profet_json import VERSION_1
from profet_profiles.record import UNKNOWN_DEVICE_OPERATION, Profile
from profet_profiles.units import SMALLEST_NUMBER, US_PER_MS, format_ms

#: Imputing a few percent changes the prediction less than its own error, so there is no warning.
NOTABLE_REPAIR = 1.05
#: Unknown operations matter above this share of busy time.
NOTABLE_UNKNOWN_SHARE = 0.05


class Estimates(Struct, frozen=True):
    """Estimates of one method on profiled instances.

    Arrays have one row per target and one column per profile.

    Attributes
    ----------
    targets : instances.
    member_ms : member -> (targets, profiles), milliseconds.
    latency_ms, at_floor : (targets, profiles), members combined, and where the lower bound holds; see `floored`.
    log_sd : (targets, profiles), standard deviation of the latency's logarithm; None without intervals.
    interval_level : target coverage of the intervals.
    unknown : per profile, operations without a class or cluster.
    distance, scale : of each profile to the training data, and mean errors by it; None if the method measures none.
    repaired : factor by which each truncated profile was scaled up; 1 for the others.
    """

    targets: Sequence[str]
    member_ms: Mapping[str, FloatArray]
    latency_ms: FloatArray
    at_floor: np.ndarray
    log_sd: FloatArray | None
    interval_level: float | None
    unknown: Sequence[UnknownOperations]
    distance: FloatArray | None = None
    scale: IntervalScale | None = None
    repaired: FloatArray | None = None

    def similarity(self, number: int) -> Similarity | None:
        """Similarity of one profile to the training data."""
        if self.scale is None or self.distance is None:
            return None
        return Similarity.at(float(self.distance[number]), self.scale.error_by_distance)

    def notes(self, number: int) -> list[Note]:
        """Caveats of one profile's estimates."""
        notes, similarity, unknown = [], self.similarity(number), self.unknown[number]
        # Time without an operation has its own note if it matters.
        if {*unknown.mapped, *unknown.unused} - ({UNKNOWN_DEVICE_OPERATION} - unknown.mapped.keys()):
            parts = [f"{name} counted as {cluster}" for name, cluster in unknown.mapped.items()]
            parts += [f"{name} ignored" for name in unknown.unused]
            treated = "; ".join(parts[:8]) + (f"; and {len(parts) - 8} more" if len(parts) > 8 else "")
            weight = "expect larger errors" if unknown.share > NOTABLE_UNKNOWN_SHARE else "negligible"
            operations = f"{len(parts)} operation{'' if len(parts) == 1 else 's'}"
            values = {"operations": operations, "share": unknown.share, "weight": weight, "treated": treated}
            notes.append(Note(Code.UNKNOWN_OPERATIONS, **values))
        if self.repaired is not None and self.repaired[number] > NOTABLE_REPAIR:
            notes.append(Note(Code.TRUNCATED, factor=float(self.repaired[number])))
        if similarity and similarity.is_dissimilar:
            more = " or more" if similarity.words == BAND_WORDS[-1] else ""
            notes.append(Note(Code.DISSIMILAR, error=f"{similarity.error_percent:.0f}%", more=more))
        return notes

    def in_table(
        self, table: StepTable, places: Mapping[str, int], basis: Basis = Basis.MEASURED, notes: tuple[Note, ...] = ()
    ) -> StepTable:
        """Fill the rows of these instances, all with this basis and these notes."""
        at = [places[name] for name in self.targets]
        members = {}
        for name, values in self.member_ms.items():
            members[name] = np.full(table.latency_ms.shape, np.nan)
            members[name][at] = values
        return replace(table, members=members).with_rows(
            at,
            latency_ms=self.latency_ms,
            log_sd=np.nan if self.log_sd is None else self.log_sd,
            basis=[basis] * len(at),
            notes=[notes] * len(at),
        )


def floored(models: Models, targets: Sequence[str], combined_ms: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Latencies of at least half the fastest training step, and where that holds, both (targets, profiles).

    The members may extrapolate below zero.
    """
    floor_ms = np.array([models.ranges[name].latency_ms[0] / 2 for name in targets])[:, None]
    return np.maximum(combined_ms, floor_ms), combined_ms <= floor_ms


def combine(member_ms: FloatArray, how: str, weights: Sequence[float] | None = None) -> FloatArray:
    """Combine the members' latencies, shape (..., members) -> (...,).

    Parameters
    ----------
    how : "median", "mean" or "geometric mean".
    weights : of the geometric mean, one per member; None: equal weights.

    Raises
    ------
    InputError : unknown `how`.

    >>> float(combine(np.array([[10.0, 20.0, 90.0]]), "median")[0])
    20.0
    >>> round(float(combine(np.array([[10.0, 40.0]]), "geometric mean")[0]), 6)
    20.0
    """
    if how == "median":
        return np.median(member_ms, axis=-1)
    if how == "mean":
        mean_ms: FloatArray = np.mean(member_ms, axis=-1)
        return mean_ms
    if how == "geometric mean":
        # A member below zero has no logarithm; a tiny positive value lowers the estimate to the bound.
        logs, share = np.log(np.maximum(member_ms, SMALLEST_NUMBER)), np.ones(member_ms.shape[-1])
        if weights is not None:
            share = np.asarray(weights, float)
        mean_log: FloatArray = (logs * share).sum(axis=-1) / share.sum()
        return np.exp(mean_log)
    raise InputError(f"Unknown ensemble rule {how!r}.")


def documented_estimates(models: Models, method: Method, batch: ProfileBatch, targets: Sequence[str]) -> Estimates:
    """Run every pair's members on all profiles at once."""
    matrix, unknown = models.features.encode(batch.profiles)
    inputs = {"clusters": matrix.astype(np.float32)}
    if batch.latency_ms is not None:
        inputs["latency_ms"] = batch.latency_ms.astype(np.float32).reshape(-1, 1)
    rule = method.rules[batch.latency_ms is not None]
    member_ms = {member: models.run_members(batch.anchor, targets, member, inputs) for member in rule.members}
    combined_ms = combine(np.stack(list(member_ms.values()), axis=-1), rule.combine)
    latency_ms, at_floor = floored(models, targets, combined_ms)
    return Estimates(
        targets=targets,
        member_ms=member_ms,
        latency_ms=latency_ms,
        at_floor=at_floor,
        log_sd=None,
        interval_level=None,
        unknown=unknown,
    )


#: Least and most of the batch and pixel sizes of the training data.
_SIZES = np.array([AXIS_RANGE["batch"], AXIS_RANGE["pixels"]], float).T


def class_estimates(models: Models, method: Method, batch: ProfileBatch, targets: Sequence[str]) -> Estimates:
    """Run the members on all profiles; profiles with known sizes use the members that take them."""
    latency_known = batch.latency_ms is not None
    rule, device = method.rules[latency_known], len(load_operation_classes().device)
    member_ms = np.empty((len(targets), len(batch.profiles), len(rule.members)))
    sizes = np.array([(profile.meta.batch_size or 0, profile.meta.pixels or 0) for profile in batch.profiles], float)
    within = np.clip(sizes, *_SIZES)
    known_sizes, size_values = (within == sizes).all(axis=1), size_inputs(np, within[:, :1], within[:, 1:])
    for with_sizes in (True, False):
        rows = np.flatnonzero(known_sizes == with_sizes)
        if not len(rows):
            continue
        inputs = batch.inputs.of_rows(rows, size_values[rows] if with_sizes else None)
        for column, member in enumerate(rule.members):
            stack = models.stack(batch.anchor, member, latency_known=latency_known, sizes_known=with_sizes)
            there = stack.constants, stack.typical_log_ratio
            on_all_ms = member_latency(member, stack.fitted.run, inputs, device, *there)
            member_ms[:, rows, column] = on_all_ms[[stack.targets.index(target) for target in targets]]
    shares = class_shares(batch.inputs.classes_ms, device)
    distance = nearest_distance(shares, models.reference(batch.anchor))
    scale, log_sd = models.interval_scales.get(latency_known), None
    if scale is not None:
        log_sd = scale.log_sd(batch.anchor, targets, member_ms, distance, batch.inputs.doubt)
        log_sd = log_sd + unattributed_log_sd(batch.profiles)
    latency_ms, at_floor = floored(models, targets, combine(member_ms, rule.combine, rule.weights))
    return Estimates(
        targets=targets,
        member_ms={member: member_ms[..., column] for column, member in enumerate(rule.members)},
        latency_ms=latency_ms,
        at_floor=at_floor,
        log_sd=log_sd,
        interval_level=scale.level if scale else None,
        unknown=batch.unknown,
        distance=distance,
        scale=scale,
        repaired=batch.inputs.repaired,
    )


def caveats(
    models: Models,
    profile: Profile,
    anchor: Anchor,
    estimates: Estimates,
    number: int,
) -> list[Note]:
    """Caveats of a method's estimates from a profile, most serious first.

    Parameters
    ----------
    number : index of `profile` among those of `estimates`.
    """
    ranges = None if anchor.gpu else models.ranges[anchor.instance]
    meta, share, gpu = profile.meta, profile.unknown_share, anchor_gpu(models, anchor).name
    notes = [Note(Code.PROFILE, text=text) for text in profile.warnings]
    # A missing form factor or memory size is no contradiction.
    same = meta.gpu is None or gpu_model(meta.gpu) == gpu_model(gpu)
    if not same and gpu not in {card.name for card in models.transfer.gpus.named(meta.gpu or "")}:
        named = gpu if anchor.name == gpu else f"{anchor.name} ({gpu})"
        notes.append(Note(Code.WRONG_GPU, recorded=meta.gpu, anchor=named))
    if anchor.gpu is not None:
        notes.append(Note(Code.UNTRAINED_ANCHOR, gpu=anchor.gpu.name))
    # PROFET's own files are FP32, and whole traces show 16-bit kernels.
    may_be_half = meta.precision is None and profile.may_be_cut and profile.source_format != VERSION_1
    if may_be_half and has_tensor_cores(models.transfer.gpus[gpu]):
        notes.append(Note(Code.UNKNOWN_PRECISION))
    if meta.compiled:
        notes.append(Note(Code.COMPILED))
    if meta.channels_last:
        notes.append(Note(Code.CHANNELS_LAST))
    notes += steps_note(profile)
    if meta.estimated_share:
        notes.append(Note(Code.ESTIMATED_TIMES, share=meta.estimated_share))
    if share > WARNED_UNATTRIBUTED_SHARE:
        notes.append(Note(Code.UNATTRIBUTED, share=share))
    if wait_ms := input_wait_ms(profile):
        share = wait_ms * US_PER_MS / profile.device_total_us
        notes.append(Note(Code.INPUT_WAIT, wait=format_ms(wait_ms), share=share))
    # How far off a profile of another GPU is by its distance was not measured.
    notes += [note for note in estimates.notes(number) if anchor.gpu is None or note.code is not Code.DISSIMILAR]
    if ranges is not None:
        low, high = ranges.device_total_us
        total = profile.device_total_us
        if total and not low * 0.8 <= total <= high * 1.25:
            side = "shorter" if total < low else "longer"
            times = {name: format_ms(us / US_PER_MS) for name, us in (("total", total), ("low", low), ("high", high))}
            notes.append(Note(Code.OUT_OF_RANGE, side=side, anchor=anchor.name, **times))
    if at_floor := list(compress(estimates.targets, estimates.at_floor[:, number])):
        notes.append(Note(Code.AT_FLOOR, instances=", ".join(at_floor)))
    return notes
