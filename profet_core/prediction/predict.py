"""Predict step latency on every offer from profiles: the stages of a prediction, in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np

from profet_core.catalog import Catalog, Instance
from profet_core.catalog.collection import nearest
from profet_core.catalog.gpus import AS_PROFILED, FP32, TF32, requested_code, requested_precision
from profet_core.catalog.instance import gpu_words
from profet_core.ensemble.members import profile_batch
from profet_core.errors import Code, InputError, NoPredictionError, Note, OptionalInputError
from profet_core.latency import Basis
from profet_core.prediction.checks import (
    NO_ANCHOR,
    check_latency,
    counted,
    diagnose,
    input_wait_ms,
    refusal_by,
    without_input_wait,
)
from profet_core.prediction.counts import ByCounts, with_counts
from profet_core.prediction.members import caveats, documented_estimates
from profet_core.prediction.mixed_precision import (
    Change,
    RecordedStep,
    precision_notes,
    recorded_step,
    with_other_kernels,
)
from profet_core.prediction.models import Method, Models
from profet_core.prediction.other_gpus import on_other_gpus, profiled_steps
from profet_core.prediction.table import Prediction, Predictions, StepTable
from profet_core.prediction.targets import Anchor, find_anchor, offer_targets
from profet_profiles.record import STAND_IN, Profile, ProfileMeta
from profet_profiles.units import format_ms, positive_number


class PredictOptions(TypedDict, total=False):
    """Options of a prediction.

    targets : instances to predict; None: all that the method can. These are the measured ones, and with the default
        method also catalog instances with a known GPU.
    method : "default", or "profet": the median of three members with the latency, the mean of two without it
        (arXiv:2208.05130).
    trust_latency : use latencies even if they contradict their profiles.
    precision : of the training: "fp32" (without TF32), "tf32", "amp", "bf16" or "as profiled": the profile's. With "as
        profiled", an FP32 profile means the frameworks' default, which is TF32 on Ampere and later. Measured instances
        don't have it.
    training_code : of the training: "plain", "channels-last" (and compiled) or "as profiled"; for half precision.
    by_counts : what layer counts say of a profile whose network is known, which joins the members.
    measured_ms : target -> latency that was measured there with the same network, milliseconds per step. It is the
        answer there, and corrects the GPU's other hosts and, if it is of another profile, this one.
    measured_from : prediction from the profile that these belong to, if that is another one of the network.
    """

    targets: Sequence[str] | None
    method: str
    trust_latency: bool
    precision: str
    training_code: str
    by_counts: ByCounts
    measured_ms: Mapping[str, float]
    measured_from: Prediction | None


def predict(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    *,
    latency_ms: float | None = None,
    **options: Unpack[PredictOptions],
) -> Prediction:
    """Predict one profile's step latency on every target; takes and raises what `predict_many` does."""
    known_ms = None if latency_ms is None else [latency_ms]
    return _prepared(models, catalog, [profile], anchor, known_ms, options)[0]()


def predict_many(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    anchor: str,
    *,
    latencies_ms: Sequence[float] | None = None,
    **options: Unpack[PredictOptions],
) -> Predictions:
    """Predict step latency on every target from profiles of one anchor.

    Rows of each are made on access.

    Parameters
    ----------
    anchor : where the profiles were recorded: a catalog instance, or a GPU by its name.
    latencies_ms : one latency on the anchor for every profile, milliseconds, or None for none of them.
    options : those of `PredictOptions`.

    Raises
    ------
    InputError : unknown anchor, target, method, precision or training code, or a latency that is not a positive number.
    LatencyDoubtError : the first latency or number of steps that contradicts its profile's device time.
    NoPredictionError : a profile has no GPU time, or too little that belongs to operations, or its GPU matches no
        anchor.
    """
    return Predictions(_prepared(models, catalog, profiles, anchor, latencies_ms, options))


def _prepared(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    anchor: str,
    latencies_ms: Sequence[float] | None,
    options: PredictOptions,
) -> list[Callable[[], Prediction]]:
    """What makes each prediction, once the stages for all profiles have run."""
    if unknown := options.keys() - PredictOptions.__annotations__.keys():
        raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
    requested = requested_precision(options.get("precision", AS_PROFILED))
    code = requested_code(options.get("training_code", AS_PROFILED))
    where, chosen = find_anchor(models, catalog, anchor), models.method(options.get("method", "default"))
    wanted = _wanted(models, catalog, where, chosen, options.get("targets"))
    steps = _recorded(models, where, profiles, latencies_ms, options.get("trust_latency", False))
    measured = options.get("measured_ms", {}), options.get("measured_from")
    by_counts = options.get("by_counts")
    question = _Question(models, catalog, chosen, where, requested, code, wanted, by_counts, *measured)
    made: dict[int, Callable[[], Prediction]] = {}
    # Steps of an unprofiled GPU are mapped by the precision that they ran in.
    for recorded in {step.base_precision if where.gpu else None for step in steps}:
        numbers = [n for n, step in enumerate(steps) if where.gpu is None or step.base_precision == recorded]
        answer = question.stages([steps[number] for number in numbers], recorded)
        made |= {number: partial(answer, column) for column, number in enumerate(numbers)}
    return [made[number] for number in range(len(steps))]


def _recorded(
    models: Models,
    anchor: Anchor,
    profiles: Sequence[Profile],
    latencies_ms: Sequence[float] | None,
    trust_latency: bool,
) -> list[RecordedStep]:
    """Check each profile with its latency, and convert it to FP32 or TF32."""
    for profile in profiles:
        if reason := refusal_by(models, profile):
            raise NoPredictionError(reason)
        if STAND_IN in profile.warnings and not (anchor.gpu and models.transfer.calibrated_gpu(anchor.gpu, False)):
            raise NoPredictionError(NO_ANCHOR)
    known_ms: list[float | None] = [None] * len(profiles)
    if latencies_ms is not None:
        if len(latencies_ms) != len(profiles):
            raise InputError(
                f"{len(latencies_ms)} latencies were given for {len(profiles)} profiles: give one per profile."
            )
        known_ms = [positive_number("The anchor's latency", value) for value in latencies_ms]
    for profile, latency_ms in zip(profiles, known_ms, strict=True):
        if latency_ms is not None:
            known = counted(profile, latency_ms)
            check_latency(models, known, anchor.instance, latency_ms, trusted=trust_latency)
    return [recorded_step(models, anchor, *one) for one in zip(profiles, known_ms, strict=True)]


def _wanted(
    models: Models, catalog: Catalog, anchor: Anchor, method: Method, targets: Sequence[str] | None
) -> Sequence[str] | None:
    """Check the targets; None: all."""
    # The documented ensemble is limited to its four instances.
    if method.kind != "classes" and anchor.name not in models.instances:
        raise InputError(
            f"The documented ensemble supports only the anchors {', '.join(models.instances)}: use the default method."
        )
    if targets is None and method.kind == "classes":
        return None
    names: Iterable[str] = models.instances
    if method.kind == "classes":
        names = (offer.name for offer, _ in offer_targets(models, catalog).layout(anchor).offers)
    known = [name for name in names if name != anchor.name and name in catalog]
    if targets is None:
        return known
    targets = [targets] if isinstance(targets, str) else targets
    others = [target for target in dict.fromkeys(targets) if target != anchor.name]
    for target in others:
        if target not in known:
            without_offer = "" if target in catalog else models.transfer.gpus.without_offer(target)
            raise InputError(without_offer or f"Unknown target {target!r}: {nearest(target, known)}.")
    if not others:
        raise InputError(f"Name at least one target other than the anchor: {nearest(anchor.name, known)}.")
    return others


@dataclass(frozen=True, slots=True)
class _Question:
    """Targets to predict for every profile of one anchor; `wanted` None: all."""

    models: Models
    catalog: Catalog
    method: Method
    anchor: Anchor
    precision: str
    training_code: str
    wanted: Sequence[str] | None
    by_counts: ByCounts | None
    measured_ms: Mapping[str, float]
    measured_from: Prediction | None

    def stages(self, steps: Sequence[RecordedStep], recorded: str | None) -> Callable[[int], Prediction]:
        """Run the stages, each from table to table, on steps that were recorded in one precision.

        Those for all profiles run here; the returned function runs the others for one, by its index. The last stage,
        `sizes.resized`, runs on their table for each requested size.
        """
        models, method, anchor = self.models, self.method, self.anchor
        read = [without_input_wait(step.base, step.base_ms) for step in steps]
        known_ms = None if steps[0].base_ms is None else np.array([latency_ms for _, latency_ms in read], float)
        batch = profile_batch([profile for profile, _ in read], anchor.instance, known_ms)
        ran_in_tf32 = anchor.gpu is not None and recorded in (None, TF32)
        layout = offer_targets(models, self.catalog).layout(
            anchor, tf32=self.precision != FP32, ran_in_tf32=ran_in_tf32
        )
        # Given: the anchor's own latencies.
        table = StepTable.unknown(layout.targets, layout.sources, len(steps))
        if anchor.name in self.catalog:
            given_ms = np.array([np.nan if step.base_ms is None else step.base_ms for step in steps])
            table = table.with_rows([layout.places[anchor.name]], latency_ms=given_ms, log_sd=0.0, basis=[Basis.GIVEN])
        # Profiled GPUs, by the documented ensemble or the default members and counts, and from these all others.
        unused: list[list[Note]] = [[]] * len(steps)
        if method.kind != "classes":
            others = [name for name in models.instances if name != anchor.instance]
            estimates = documented_estimates(models, method, batch, others)
            table = estimates.in_table(table, layout.plan.known)
        else:
            estimates, profiled = profiled_steps(models, method, batch, anchor, ran_in_tf32)
            if anchor.gpu is None and self.by_counts is not None:
                estimates, unused = with_counts(models, estimates, batch, self.by_counts)
            table = estimates.in_table(table, layout.plan.known, profiled.notes)
            table = on_other_gpus(models, table, profiled, layout.plan)
        offers = layout.offers
        if self.wanted is not None:
            wanted = {name: number for number, name in enumerate((anchor.name, *self.wanted))}
            offers = tuple(one for one in offers if one[0].name in wanted)
            if set(self.wanted) <= set(models.instances) - {anchor.instance}:
                offers = tuple(sorted(offers, key=lambda one: wanted[one[0].name]))

        def answer(number: int) -> Prediction:
            # Precision, kernels, the order of GPUs, and custom measurements.
            step = steps[number]
            change = Change.to(models, anchor, step, self.precision, self.training_code)
            final = layout.in_order(with_other_kernels(change.in_precision(table.column(number)), change))
            profile = counted(step.profile, step.latency_ms)
            notes, bottleneck = precision_notes(change), diagnose(profile, step.latency_ms)
            # Predictions exclude the wait for input, which has a note of its own.
            if bottleneck.warning and not (bottleneck.kind == "input" and input_wait_ms(profile)):
                notes.append(bottleneck.warning)
            notes += unused[number] + caveats(models, step.base, anchor, estimates, number)
            if self.measured_ms:
                final, more = self._corrected(final, offers, profile)
                notes += more
            return Prediction(
                anchor=anchor.name,
                anchor_latency_ms=step.latency_ms,
                method=method.name,
                profile=profile,
                table=final,
                offers=offers,
                interval_level=estimates.interval_level,
                unknown_operations=estimates.unknown[number],
                similarity=estimates.similarity(number),
                # The recorder may already have written the same sentence into the profile.
                warnings=tuple(dict.fromkeys(notes)),
                read_by=anchor.instance,
                precision=change.precision,
            )

        return answer

    def _corrected(
        self, table: StepTable, offers: Sequence[tuple[Instance, int]], profile: Profile
    ) -> tuple[StepTable, list[Note]]:
        """The table corrected by latencies that were measured with this profile's workload, or with another one.

        At this profile's sizes a measured latency is used as given. Notes say which measurements are far from the
        prediction, and which are used.
        """
        other, share, anchor, measured_ms = self.measured_from, SHARE_AT_SAME_SIZES, self.anchor.name, self.measured_ms
        ratios = _measured_ratios(table, offers, anchor, measured_ms)
        if other is not None:
            ratios = _measured_ratios(other.table, offers, anchor, measured_ms)
            share = share_transferred(profile.meta, other.profile.meta)
        is_here = other is None or other.sizes == (profile.meta.batch_size, profile.meta.pixels)
        words = {offer.name: gpu_words(offer) for offer, _ in offers if offer.name in ratios}
        doubts, notes = [], []
        for name, ratio in ratios.items():
            values = {"measured": format_ms(measured_ms[name]), "predicted": format_ms(measured_ms[name] / ratio)}
            if not 1 / SLIP_FACTOR <= ratio <= SLIP_FACTOR:
                doubts.append(Note(Code.MEASURED_FAR, instance=name, **values))
            notes.append(Note(Code.CORRECTED, instance=name, gpu=words[name], **values))
        factors = {name: ratio**share for name, ratio in ratios.items()}
        table = _with_measurements(table, offers, anchor, ratios if is_here else factors, factors)
        if is_here:
            rows = {target.instance: row for row, target in enumerate(table.targets)}
            known: dict[str, Any] = {"latency_ms": [measured_ms[name] for name in ratios], "log_sd": 0.0}
            known |= {"basis": [Basis.GIVEN] * len(ratios), "notes": [()] * len(ratios)}
            table = table.with_rows([rows[name] for name in ratios], **known)
        return table, doubts + notes


#: Share of one workload's measured log error that applies to another of the same network: at the same sizes, and if the
#: sizes are unknown. `profet validate` measures the gain.
SHARE_AT_SAME_SIZES, SHARE_WITHOUT_SIZES = 0.9, 0.6
#: Number of batch-size doublings over which the share falls by a factor of e; a pixel doubling counts as this many.
DOUBLINGS_PER_E, PIXEL_FACTOR = 4.0, 1.5
#: A measurement this many times off the prediction is more likely an input error than a model error.
SLIP_FACTOR = 3.0


def share_transferred(meta: ProfileMeta, reference_meta: ProfileMeta) -> float:
    """Share of a measured log error that applies to another workload of the same network, 0 to 1.

    >>> share_transferred(ProfileMeta(batch_size=64, pixels=128), ProfileMeta(batch_size=64, pixels=128))
    0.9
    """
    sizes = (meta.batch_size, reference_meta.batch_size), (meta.pixels, reference_meta.pixels)
    doublings = [abs(math.log2(one / other)) for one, other in sizes if one is not None and other is not None]
    if len(doublings) < len(sizes):
        return SHARE_WITHOUT_SIZES
    batch, pixels = doublings
    return SHARE_AT_SAME_SIZES * math.exp(-(batch + PIXEL_FACTOR * pixels) / DOUBLINGS_PER_E)


def _measured_ratios(
    table: StepTable, offers: Sequence[tuple[Instance, int]], anchor: str, measured_ms: Mapping[str, float]
) -> dict[str, float]:
    """Instance -> measured latency over the predicted one.

    Raises OptionalInputError if an instance is the anchor or was not predicted, or a latency is not a positive number.
    """
    rows = {name: row for name, row in table.rows(offers).items() if name != anchor}
    ratios = {}
    try:
        for name, ms in measured_ms.items():
            if name not in rows or not table.known[rows[name]]:
                others = ", ".join(rows)
                raise InputError(f"A measured latency must be for a predicted target ({others}), not {name!r}.")
            ratios[name] = positive_number(f"The measured latency of {name}", ms) / table.latency_ms.item(rows[name])
    except InputError as error:
        raise OptionalInputError(str(error), "measured") from None
    return ratios


def _with_measurements(
    table: StepTable,
    offers: Sequence[tuple[Instance, int]],
    anchor: str,
    own: Mapping[str, float],
    factors: Mapping[str, float],
) -> StepTable:
    """Multiply latencies of measured instances, and of others with the GPU of one, by the factor of the first such one.

    The interval is scaled too and keeps its relative width. A measured instance gets a row and a factor of its `own`.
    """
    measured = {name: row for name, row in table.rows(offers).items() if name in factors}
    new = {name: row for name, row in measured.items() if table.targets[row].instance != name}
    targets = (*table.targets, *(table.targets[row]._replace(instance=name) for name, row in new.items()))
    table = replace(table.take([*range(len(table.targets)), *new.values()]), targets=targets)
    by_gpu = {table.targets[measured[name]].gpu: factor for name, factor in reversed(list(factors.items()))}
    changed = {
        row: own.get(target.instance) or by_gpu[target.gpu]
        for row, target in enumerate(table.targets)
        if target.gpu in by_gpu and target.instance != anchor
    }
    names = {table.targets[row].instance for row in changed}
    # If one of two errors is new, the error of the ratio is unknown.
    relative_to = tuple("" if row in changed or of in names else of for row, of in enumerate(table.relative_to))
    factor = np.array([changed.get(row, 1.0) for row in range(len(table.targets))])
    # Other sizes are scaled from the parts.
    parts = {name: getattr(table, name) * factor for name in ("latency_ms", "free_ms", "launch_ms")}
    return replace(table, **parts, relative_to=relative_to)
