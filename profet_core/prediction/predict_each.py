"""Predict many profiles, each with its own anchor and latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog
from profet_core.errors import InputError
from profet_core.precision.names import AS_PROFILED
from profet_core.prediction.anchors import find_anchor
from profet_core.prediction.checks import check_latency, counted, refusal_by
from profet_core.prediction.in_precision import predict_many
from profet_core.prediction.records import Prediction
from profet_core.profiles.record import Profile


@dataclass(frozen=True, slots=True)
class RecordedProfile:
    """A profile with its instance or GPU, and a step's latency there; None: unknown."""

    profile: Profile
    anchor: str | None
    latency_ms: float | None


@dataclass(frozen=True, slots=True)
class EachPrediction:
    """Prediction for one profile.

    Attributes
    ----------
    profile : with the number of steps used for the prediction.
    prediction : None if its anchor is unknown, or if it can't be predicted.
    refusal : why it can't be predicted, one line; empty if it can.
    doubt : why its latency is implausible and was ignored, one line; else empty.
    """

    profile: Profile
    prediction: Prediction | None = None
    refusal: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class _Ready:
    """Index of a profile that can be predicted, with its effective latency."""

    place: int
    profile: Profile
    latency_ms: float | None


def predict_each(
    models: Models,
    catalog: Catalog,
    recorded: Sequence[RecordedProfile],
    *,
    method: str = "default",
    precision: str = AS_PROFILED,
) -> list[EachPrediction]:
    """Result of `predict` for each profile, in their order.

    A failure does not affect the others.

    Raises
    ------
    InputError : unknown method, or an anchor without models.
    """
    models.method(method)
    found = []
    groups: dict[tuple[str, bool], list[_Ready]] = {}
    for place, one in enumerate(recorded):
        each, latency_ms = _judged(models, catalog, one)
        found.append(each)
        if one.anchor is not None and not each.refusal:
            ready = _Ready(place, each.profile, latency_ms)
            groups.setdefault((one.anchor, latency_ms is not None), []).append(ready)
    for (anchor, _), group in groups.items():
        known_ms = [ready.latency_ms for ready in group if ready.latency_ms is not None]
        profiles = [ready.profile for ready in group]
        try:
            predictions = predict_many(
                models, catalog, profiles, anchor, latencies_ms=known_ms or None, method=method, precision=precision
            )
        except InputError as error:
            # The method doesn't support this anchor.
            for ready in group:
                found[ready.place] = replace(found[ready.place], refusal=str(error))
            continue
        for ready, prediction in zip(group, predictions, strict=True):
            found[ready.place] = replace(found[ready.place], prediction=prediction)
    return found


def _judged(models: Models, catalog: Catalog, one: RecordedProfile) -> tuple[EachPrediction, float | None]:
    """Problems of a profile or its latency, and the latency for its prediction."""
    profile = counted(one.profile, one.latency_ms)
    if refused := refusal_by(models, profile):
        return EachPrediction(profile, refusal=refused), None
    if one.anchor is None:
        return EachPrediction(profile), None
    anchor = find_anchor(models, catalog, one.anchor)
    if one.latency_ms is None:
        return EachPrediction(profile), None
    try:
        check_latency(models, profile, anchor.instance, one.latency_ms)
    except InputError as error:
        return EachPrediction(profile, doubt=f"{error} The prediction doesn't use it."), None
    return EachPrediction(profile), one.latency_ms
