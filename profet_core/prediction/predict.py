"""Predict step latency on every offer from profiles: the stages of a prediction, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict, Unpack

import numpy as np

from profet_core.catalog import Catalog, Instance
from profet_core.catalog.gpus import AS_PROFILED, FP32, PLAIN, TF32, requested_code, requested_precision
from profet_core.catalog.naming import nearest
from profet_core.ensemble.members import profile_batch
from profet_core.errors import InputError, NoPredictionError, Note
from profet_core.latency import Basis
from profet_core.prediction.checks import (
    NO_ANCHOR,
    bottleneck_note,
    check_latency,
    counted,
    refusal_by,
    without_input_wait,
)
from profet_core.prediction.correction import (
    SHARE_AT_SAME_SIZES,
    measured_ratios,
    measurement_notes,
    share_transferred,
    with_measurements,
)
from profet_core.prediction.members import caveats, documented_estimates, profiled_steps
from profet_core.prediction.mixed_precision import (
    Change,
    RecordedStep,
    is_tuned,
    precision_notes,
    recorded_step,
    with_other_kernels,
)
from profet_core.prediction.models import Method, Models
from profet_core.prediction.other_gpus import on_other_gpus
from profet_core.prediction.table import Prediction, Predictions, StepTable
from profet_core.prediction.targets import Anchor, Layout, find_anchor, offer_targets
from profet_core.prediction.unprofiled_anchor import mapped_steps
from profet_core.units import positive_number
from profet_recorder.profiles.record import STAND_IN, Profile


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
    measured_ms : target -> latency that was measured there with the same network, milliseconds per step.
    measured_from : prediction from the profile that these belong to, if that is another one of the network.
    """

    targets: Sequence[str] | None
    method: str
    trust_latency: bool
    precision: str
    training_code: str
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
    return predict_many(models, catalog, [profile], anchor, latencies_ms=known_ms, **options)[0]


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
    if unknown := options.keys() - PredictOptions.__annotations__.keys():
        raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
    requested = requested_precision(options.get("precision", AS_PROFILED))
    code = requested_code(options.get("training_code", AS_PROFILED))
    where, chosen = find_anchor(models, catalog, anchor), models.method(options.get("method", "default"))
    wanted = _wanted(models, catalog, where, chosen, options.get("targets"))
    steps = _recorded(models, where, profiles, latencies_ms, options.get("trust_latency", False))
    measured = options.get("measured_ms", {}), options.get("measured_from")
    question = _Question(models, catalog, chosen, where, requested, code, wanted, *measured)
    made: dict[int, Callable[[], Prediction]] = {}
    # Steps of an unprofiled GPU are mapped by the precision that they ran in.
    for recorded in {step.base_precision if where.gpu else None for step in steps}:
        numbers = [n for n, step in enumerate(steps) if where.gpu is None or step.base_precision == recorded]
        answer = question.stages([steps[number] for number in numbers], recorded)
        made |= {number: partial(answer, column) for column, number in enumerate(numbers)}
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
    training_code: str
    wanted: Sequence[str] | None
    measured_ms: Mapping[str, float]
    measured_from: Prediction | None

    def stages(self, steps: Sequence[RecordedStep], recorded: str | None) -> Callable[[int], Prediction]:
        """Run the stages, each from table to table, on steps that were recorded in one precision.

        Those for all profiles run here; the returned function runs the others for one, by its index. The last stage,
        `sizes.resized`, runs on their table for each size that is asked for.
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
        # Profiled GPUs, by the documented ensemble or the default members, and from these all others.
        if method.kind != "classes":
            others = [name for name in models.instances if name != anchor.instance]
            estimates = documented_estimates(models, method, batch, others)
            table = estimates.in_table(table, layout.plan.known)
        else:
            if anchor.gpu is None:
                estimates, profiled = profiled_steps(models, method, batch)
            else:
                estimates, profiled = mapped_steps(models, method, batch, anchor, anchor.gpu, ran_in_tf32)
            table = estimates.in_table(table, layout.plan.known, profiled.notes)
            table = on_other_gpus(models, table, profiled, layout.plan)
        offers = self._offers(layout)

        def answer(number: int) -> Prediction:
            # Precision, kernels, the order of GPUs, and custom measurements.
            step = steps[number]
            tuned = is_tuned(step.profile) if self.training_code == AS_PROFILED else self.training_code != PLAIN
            change = Change(models, anchor, step, self.precision, tuned)
            final = layout.in_order(with_other_kernels(change.in_precision(table.column(number)), change))
            profile = counted(step.profile, step.latency_ms)
            notes = [*precision_notes(change), *bottleneck_note(profile, step.latency_ms)]
            notes += caveats(models, step.base, anchor, estimates, number)
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
        """The table corrected by latencies that were measured with this profile's workload, or with another one."""
        other, share, name = self.measured_from, SHARE_AT_SAME_SIZES, self.anchor.name
        ratios = measured_ratios(table, offers, name, self.measured_ms)
        if other is not None:
            ratios = measured_ratios(other.table, offers, name, self.measured_ms)
            share = share_transferred(profile.meta, other.profile.meta)
        factors = {name: ratio**share for name, ratio in ratios.items()}
        notes = measurement_notes(offers, self.measured_ms, ratios, share)
        return with_measurements(table, offers, name, factors), notes

    def _offers(self, layout: Layout) -> tuple[tuple[Instance, int], ...]:
        """Requested offers, each with its row of the table."""
        if self.wanted is None:
            return layout.offers
        wanted = {name: number for number, name in enumerate((self.anchor.name, *self.wanted))}
        found = [one for one in layout.offers if one[0].name in wanted]
        profiled = [name for name in self.models.instances if name != self.anchor.instance]
        if set(self.wanted) <= set(profiled):
            found.sort(key=lambda one: wanted[one[0].name])
        return tuple(found)
