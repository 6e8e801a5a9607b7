"""Predict step latency on all instances from a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from profet_core.artifacts.models import Method, Models
from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.catalog.naming import nearest
from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import InputError, NoPredictionError
from profet_core.latency import Basis, Estimate
from profet_core.messages import Note
from profet_core.precision.names import TF32, canonical, is_half
from profet_core.prediction.anchors import Anchor, find_anchor
from profet_core.prediction.checks import check_latency, check_predictable, counted, without_input_wait
from profet_core.prediction.diagnosis import caveats
from profet_core.prediction.foreign import foreign_estimates
from profet_core.prediction.members import Estimates, ProfileEstimates, class_estimates, documented_estimates
from profet_core.prediction.records import InstancePrediction, Prediction, Predictions, priced_row
from profet_core.prediction.unprofiled import (
    PlacedOffers,
    UnprofiledAnchor,
    UnprofiledSteps,
    recorded_steps,
    unprofiled_gpus,
    unprofiled_steps,
)
from profet_core.profiles.record import Profile
from profet_core.units import positive_number


@dataclass(frozen=True, slots=True)
class _Request:
    """Targets to predict for every profile of one anchor.

    Attributes
    ----------
    targets : instances other than the anchor, in order. offers : unprofiled ones, by GPU and host.
    """

    models: Models
    catalog: Catalog
    method: Method
    anchor: Anchor
    targets: Mapping[str, None]
    offers: PlacedOffers

    @property
    def estimated(self) -> list[str]:
        """Targets of the method itself; unprofiled GPUs need all profiled instances."""
        profiled, own = self.models.instances, self.anchor.instance
        return [
            name for name in (profiled if self.offers.by_instance else self.targets) if name in profiled and name != own
        ]


@dataclass(frozen=True, slots=True)
class _Step:
    """One profiled step, with its latency on the anchor if given, milliseconds."""

    profile: Profile
    latency_ms: float | None


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
    tf32: bool = True,
) -> Predictions:
    """Predict step latency on every target from FP32 or TF32 profiles of one anchor.

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
    tf32 : the training uses TF32 for convolutions and products on GPUs that have it (Ampere and later), the frameworks'
        default. Measured instances don't have it.

    Raises
    ------
    InputError : unknown anchor, target or method, or a latency that is not a positive number.
    LatencyDoubtError : the first latency or number of steps that contradicts its profile's device time.
    NoPredictionError : a profile has no GPU time, or too little that belongs to operations, or its GPU matches no
        anchor.
    """
    request = _request(models, catalog, anchor, targets, method)
    for profile in profiles:
        check_predictable(models, profile)
        if is_half(profile.meta.precision):
            raise NoPredictionError("This needs a profile in FP32 or TF32, and the profile is in half precision.")
    steps = _steps(profiles, latencies_ms)
    if not trust_latency:
        for step in steps:
            if step.latency_ms is not None:
                check_latency(models, step.profile, request.anchor.instance, step.latency_ms)
    if not steps:
        return Predictions()
    read = [without_input_wait(step.profile, step.latency_ms) for step in steps]
    known_ms = None if latencies_ms is None else np.array([latency_ms for _, latency_ms in read], float)
    batch = ProfileBatch([profile for profile, _ in read], request.anchor.instance, known_ms)
    if request.anchor.gpu is not None:
        return _from_foreign(request, batch, steps, request.anchor.gpu, tf32)
    estimate = class_estimates if request.method.kind == "classes" else documented_estimates
    estimates = estimate(models, request.method, batch, request.estimated)
    reached = None
    if models.transfer is not None:
        recorded, known = recorded_steps(batch), estimates.by_target
        reached = unprofiled_steps(models.transfer, recorded, batch.profiles, known, request.offers, tf32=tf32)
    predicted = _Predicted(request, steps, estimates, reached)
    return Predictions([partial(predicted.of, number) for number in range(len(steps))])


def _from_foreign(request: _Request, batch: ProfileBatch, steps: Sequence[_Step], gpu: Gpu, tf32: bool) -> Predictions:
    """Predict from an unprofiled GPU, separately for steps in TF32 and others."""
    ran_in_tf32 = [_in_tf32(step.profile, tf32) for step in steps]
    found: dict[int, Callable[[], Prediction]] = {}
    for in_tf32 in set(ran_in_tf32):
        rows = [row for row, one in enumerate(ran_in_tf32) if one is in_tf32]
        latency_ms = None if batch.latency_ms is None else batch.latency_ms[rows]
        part = ProfileBatch([batch.profiles[row] for row in rows], batch.anchor, latency_ms)
        predicted = _in_one_precision(request, part, [steps[row] for row in rows], gpu, in_tf32, tf32)
        found |= {row: partial(predicted.of, number) for number, row in enumerate(rows)}
    return Predictions([found[row] for row in range(len(steps))])


def _in_one_precision(
    request: _Request, batch: ProfileBatch, steps: Sequence[_Step], gpu: Gpu, ran_in_tf32: bool, tf32: bool
) -> _Predicted:
    transfer = request.models.transfer
    assert transfer is not None
    found = foreign_estimates(request.models, request.method, batch, gpu, request.anchor.host, tf32=ran_in_tf32)
    log_sd = np.zeros(found.own_ms.shape) if batch.latency_known else found.log_sd
    own_steps = Estimate(latency_ms=found.own_ms, log_sd=log_sd)
    own = UnprofiledAnchor(request.anchor.name, gpu, own_steps, found.log_sd, ran_in_tf32)
    reached = unprofiled_steps(
        transfer, found.recorded, batch.profiles, found.known, request.offers, tf32=tf32, own=own
    )
    return _Predicted(request, steps, found.estimates, reached, own.note)


def _in_tf32(profile: Profile, tf32: bool) -> bool:
    """Whether a profiled step ran in TF32 if its GPU has it: from its kernels, else the frameworks' default."""
    said = canonical(profile.meta.precision)
    return tf32 if said is None else said == TF32


def _request(models: Models, catalog: Catalog, anchor: str, targets: Sequence[str] | None, method: str) -> _Request:
    """Build the request and check its names."""
    found, chosen = find_anchor(models, catalog, anchor), models.method(method)
    # The documented ensemble is limited to its four instances.
    if chosen.kind != "classes":
        if found.name not in models.instances:
            raise InputError(
                f"The documented ensemble supports only the anchors {', '.join(models.instances)}: use the "
                "default method."
            )
        priced = _priced(models, catalog, anchor)
        return _Request(
            models, catalog, chosen, found, dict.fromkeys(_check_targets(priced, anchor, targets)), PlacedOffers({})
        )
    offers = unprofiled_gpus(models, catalog)
    if found.gpu is None and found.name != found.instance and models.transfer is not None:
        # The anchor's GPU in the measured host.
        step = models.transfer.step
        gpu = models.transfer.gpus[step.instances[found.instance].gpu]
        offers = PlacedOffers({found.instance: (gpu, step.host(found.instance)), **offers.by_instance})
    profiled = models.ranges
    names = [*_priced(models, catalog, found.name), *(name for name in offers.by_instance if name not in profiled)]
    wanted = dict.fromkeys(_check_targets(names, found.name, targets))
    return _Request(models, catalog, chosen, found, wanted, offers.among(wanted))


def _priced(models: Models, catalog: Catalog, anchor: str) -> list[str]:
    """Profiled instances in the catalog; custom models may know others.

    Raises
    ------
    InputError : there is none except the anchor, and these models can't transfer.
    """
    missing = [name for name in models.instances if name not in catalog and name != anchor]
    priced = [name for name in models.instances if name in catalog]
    if missing and models.transfer is None and not set(priced) - {anchor}:
        raise InputError(
            f"{', '.join(missing)}: no price is known; `profet instances add {missing[0]} --gpu GPU --usd-per-hour N` "
            "adds it."
        )
    return priced


def _check_targets(instances: Sequence[str], anchor: str, targets: Sequence[str] | None) -> list[str]:
    known = [name for name in instances if name != anchor]
    if targets is None:
        return known
    targets = [targets] if isinstance(targets, str) else targets
    others = [target for target in dict.fromkeys(targets) if target != anchor]
    for target in others:
        if target not in known:
            raise InputError(f"Unknown target {target!r}: {nearest(target, known)}.")
    if not others:
        raise InputError(f"Name at least one target other than the anchor: {', '.join(known)}.")
    return others


def _steps(profiles: Sequence[Profile], latencies_ms: Sequence[float] | None) -> list[_Step]:
    """Each profile with its latency; its number of steps is inferred if unknown."""
    if latencies_ms is None:
        return [_Step(counted(profile, None), None) for profile in profiles]
    if len(latencies_ms) != len(profiles):
        raise InputError(
            f"{len(latencies_ms)} latencies were given for {len(profiles)} profiles: give one per profile."
        )
    known_ms = [positive_number("The anchor's latency", value) for value in latencies_ms]
    return [_Step(counted(profile, value), value) for profile, value in zip(profiles, known_ms, strict=True)]


@dataclass(frozen=True)
class _Predicted:
    """Numbers for many profiles by GPU and host; they are combined with offers on access.

    Attributes
    ----------
    reached : latencies on other GPUs; None: the models can't transfer.
    carried_note : on latencies of profiled instances if the anchor's GPU is unprofiled; else None.
    """

    request: _Request
    steps: Sequence[_Step]
    estimates: Estimates
    reached: UnprofiledSteps | None
    carried_note: Note | None = None

    def of(self, number: int) -> Prediction:
        """Rows of one profile: anchor, profiled targets, others; with their caveats."""
        request, step = self.request, self.steps[number]
        estimates = self.estimates.of(number)
        return Prediction(
            anchor=request.anchor.name,
            anchor_latency_ms=step.latency_ms,
            method=request.method.name,
            predictions=tuple(self._rows(number, estimates)),
            interval_level=estimates.interval_level,
            unknown_operations=estimates.unknown,
            steps=step.profile.steps,
            steps_basis=step.profile.steps_basis,
            similarity=estimates.similarity,
            warnings=caveats(request.models, step.profile, request.anchor, estimates),
            read_by=request.anchor.instance,
        )

    def _rows(self, number: int, estimates: ProfileEstimates) -> Iterator[InstancePrediction]:
        request, name = self.request, self.request.anchor.name
        offers = request.catalog
        # A GPU without an offer has no row.
        if name in offers:
            given = Estimate(latency_ms=self.steps[number].latency_ms, log_sd=0.0, basis=Basis.GIVEN)
            yield priced_row(offers[name], given)
        measured = estimates.steps
        if self.carried_note:
            notes = (self.carried_note,)
            measured = tuple(row.changed(basis=Basis.CARRIED_BACK, notes=notes) for row in measured)
        others = self.reached.of(number) if self.reached else {}
        for row in measured:
            if row.instance in request.targets:
                yield priced_row(offers[row.instance], row.estimate, estimates.member_ms.get(row.instance))
        for instance, at in request.offers.numbers if others else ():
            yield priced_row(offers[instance], others[at])
