"""Predict step latency on every offer from profiles: the stages of a prediction, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from profet_core.catalog import Catalog, Instance
from profet_core.catalog.gpus import AS_PROFILED, FP32, TF32, requested_precision
from profet_core.catalog.naming import nearest
from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import InputError, NoPredictionError
from profet_core.latency import Basis
from profet_core.prediction.checks import NO_ANCHOR, check_latency, check_predictable, counted, without_input_wait
from profet_core.prediction.diagnosis import bottleneck_note, caveats
from profet_core.prediction.members import Estimates, documented_estimates
from profet_core.prediction.mixed_precision import (
    RecordedStep,
    in_precision,
    precision_notes,
    recorded_step,
    with_other_kernels,
)
from profet_core.prediction.models import Method, Models
from profet_core.prediction.other_gpus import on_other_gpus
from profet_core.prediction.table import Prediction, Predictions, StepTable
from profet_core.prediction.targets import Anchor, Layout, find_anchor, offer_targets
from profet_core.prediction.unprofiled_anchor import profiled_steps
from profet_core.units import positive_number
from profet_recorder.profiles.record import STAND_IN, Profile


def predict(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    *,
    latency_ms: float | None = None,
    targets: Sequence[str] | None = None,
    method: str = "default",
    trust_latency: bool = False,
    precision: str = AS_PROFILED,
) -> Prediction:
    """Predict one profile's step latency on every target; takes and raises what `predict_many` does."""
    known_ms = None if latency_ms is None else [latency_ms]
    (found,) = predict_many(
        models,
        catalog,
        [profile],
        anchor,
        latencies_ms=known_ms,
        targets=targets,
        method=method,
        trust_latency=trust_latency,
        precision=precision,
    )
    return found


def predict_many(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    anchor: str,
    *,
    latencies_ms: Sequence[float] | None = None,
    targets: Sequence[str] | None = None,
    method: str = "default",
    trust_latency: bool = False,
    precision: str = AS_PROFILED,
) -> Predictions:
    """Predict step latency on every target from profiles of one anchor.

    Rows of each are made on access.

    Parameters
    ----------
    anchor : where the profiles were recorded: a catalog instance, or a GPU by its name.
    latencies_ms : one latency on the anchor for every profile, milliseconds, or None for none of them.
    targets : instances to predict; None: all that the method can. These are the measured ones, and with the default
        method also catalog instances with a known GPU.
    method : "default", or "profet": the median of three members with the latency, the mean of two without it
        (arXiv:2208.05130).
    trust_latency : use latencies even if they contradict their profiles.
    precision : of the training: "fp32" (without TF32), "tf32", "amp", "bf16" or "as profiled": the profile's. With "as
        profiled", an FP32 profile means the frameworks' default, which is TF32 on Ampere and later. Measured instances
        don't have it.

    Raises
    ------
    InputError : unknown anchor, target, method or precision, or a latency that is not a positive number.
    LatencyDoubtError : the first latency or number of steps that contradicts its profile's device time.
    NoPredictionError : a profile has no GPU time, or too little that belongs to operations, or its GPU matches no
        anchor.
    """
    requested = requested_precision(precision)
    where, chosen = find_anchor(models, catalog, anchor), models.method(method)
    wanted = _wanted(models, catalog, where, chosen, targets)
    steps = _recorded(models, where, profiles, latencies_ms, trust_latency)
    question = _Question(models, catalog, chosen, where, requested, wanted)
    made: dict[int, Callable[[], Prediction]] = {}
    # Steps of an unprofiled GPU are mapped by the precision that they ran in.
    for recorded in {step.base_precision if where.gpu else None for step in steps}:
        numbers = [n for n, step in enumerate(steps) if where.gpu is None or step.base_precision == recorded]
        predicted = question.predicted([steps[number] for number in numbers], recorded)
        made |= {number: partial(predicted.of, column) for column, number in enumerate(numbers)}
    return Predictions([made[number] for number in range(len(steps))])


def _recorded(
    models: Models,
    anchor: Anchor,
    profiles: Sequence[Profile],
    latencies_ms: Sequence[float] | None,
    trust_latency: bool,
) -> list[RecordedStep]:
    """Check each profile with its latency, and convert it to FP32 or TF32."""
    for profile in profiles:
        check_predictable(models, profile)
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
        if latency_ms is not None and not trust_latency:
            check_latency(models, counted(profile, latency_ms), anchor.instance, latency_ms)
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
        raise InputError(f"Name at least one target other than the anchor: {', '.join(known)}.")
    return others


@dataclass(frozen=True, slots=True)
class _Question:
    """Targets to predict for every profile of one anchor; `wanted` None: all."""

    models: Models
    catalog: Catalog
    method: Method
    anchor: Anchor
    precision: str
    wanted: Sequence[str] | None

    def predicted(self, steps: Sequence[RecordedStep], recorded: str | None) -> _Predicted:
        """Run the stages on steps that were recorded in one precision."""
        read = [without_input_wait(step.base, step.base_ms) for step in steps]
        known_ms = None if steps[0].base_ms is None else np.array([latency_ms for _, latency_ms in read], float)
        batch = ProfileBatch([profile for profile, _ in read], self.anchor.instance, known_ms)
        given_ms = np.array([np.nan if step.base_ms is None else step.base_ms for step in steps])
        estimates, layout, table = self._stages(batch, given_ms, recorded, self.precision != FP32)
        return _Predicted(self, steps, estimates, layout, table)

    def _stages(
        self, batch: ProfileBatch, given_ms: np.ndarray, recorded: str | None, tf32: bool
    ) -> tuple[Estimates, Layout, StepTable]:
        """Fill the table of many profiles, stage by stage; those of one profile follow in `_Predicted.of`."""
        models, method, anchor = self.models, self.method, self.anchor
        ran_in_tf32 = anchor.gpu is not None and recorded in (None, TF32)
        layout = offer_targets(models, self.catalog).layout(anchor, tf32=tf32, ran_in_tf32=ran_in_tf32)
        table = StepTable.unknown(layout.targets, layout.sources, len(given_ms))
        if anchor.name in self.catalog:
            table = table.with_rows([layout.places[anchor.name]], latency_ms=given_ms, log_sd=0.0, basis=[Basis.GIVEN])
        if method.kind != "classes":
            others = [name for name in models.instances if name != anchor.instance]
            estimates = documented_estimates(models, method, batch, others)
            return estimates, layout, estimates.in_table(table, layout.plan.known)
        estimates, steps = profiled_steps(models, method, batch, anchor, tf32=ran_in_tf32)
        table = estimates.in_table(table, layout.plan.known, steps.notes)
        return estimates, layout, on_other_gpus(models, table, steps, layout.plan)


@dataclass(frozen=True)
class _Predicted:
    """Steps of many profiles in FP32 or TF32."""

    question: _Question
    steps: Sequence[RecordedStep]
    estimates: Estimates
    layout: Layout
    table: StepTable

    def of(self, number: int) -> Prediction:
        """Answer for one profile: its table in the requested precision, joined with the offers."""
        question, step, estimates = self.question, self.steps[number], self.estimates
        table = in_precision(question.models, self.table.column(number), question.anchor, step, question.precision)
        table = self.layout.in_order(with_other_kernels(table, step.profile))
        precision, anchor = step.answer_precision(question.precision), question.anchor
        notes = caveats(question.models, step.base, anchor, estimates, number)
        notes = (*bottleneck_note(counted(step.profile, step.latency_ms), step.latency_ms), *notes)
        return Prediction(
            anchor=anchor.name,
            anchor_latency_ms=step.latency_ms,
            method=question.method.name,
            profile=counted(step.profile, step.latency_ms),
            table=table,
            offers=self._offers,
            interval_level=estimates.interval_level,
            unknown_operations=estimates.unknown[number],
            similarity=estimates.similarity(number),
            warnings=tuple(dict.fromkeys((*precision_notes(precision, step.precision), *notes))),
            read_by=anchor.instance,
            precision=precision,
        )

    @cached_property
    def _offers(self) -> tuple[tuple[Instance, int], ...]:
        """Requested offers, each with its row of the table."""
        question, offers = self.question, self.layout.offers
        if question.wanted is None:
            return offers
        wanted = {name: number for number, name in enumerate((question.anchor.name, *question.wanted))}
        found = [one for one in offers if one[0].name in wanted]
        profiled = [name for name in question.models.instances if name != question.anchor.instance]
        if set(question.wanted) <= set(profiled):
            found.sort(key=lambda one: wanted[one[0].name])
        return tuple(found)
