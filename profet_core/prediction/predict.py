"""Profile + anchor (+ latency) -> predicted step latency on every other instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog
from profet_core.errors import InputError, LatencyDoubtError
from profet_core.latency import Basis, Interval
from profet_core.prediction import by_class, documented
from profet_core.prediction.answers import Answers
from profet_core.prediction.caveats import caveats, floor_ms
from profet_core.prediction.input_wait import without_input_wait
from profet_core.prediction.records import InstancePrediction, Prediction, prediction_row
from profet_core.prediction.refusals import check_predictable
from profet_core.prediction.steps import counted, doubted_steps
from profet_core.prediction.unprofiled import reachable, unprofiled_rows
from profet_core.profiles.record import Profile
from profet_core.units import MS_PER_UNIT, US_PER_MS, format_ms, format_significant, positive_number

__all__ = ["InstancePrediction", "Prediction", "check_instance", "check_latency", "predict", "predict_many"]

#: A latency this many times beyond the training range of latency over device total is not used unasked.
DOUBT_FACTOR = 3.0


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
    tf32: bool = True,
) -> Prediction:
    """Predict one profile's step latency on every target.

    Parameters
    ----------
    anchor : instance the profile was recorded on.
    latency_ms : measured step latency on the anchor, milliseconds.
    method : "default", or "profet": with the latency the median of three members, without it the mean of two
        (arXiv:2208.05130).
    targets : instances to predict; if None all that the method can: the measured ones, and with the default method
        those of the catalogue whose GPU it reaches.
    trust_latency : use `latency_ms` even if it makes no sense beside the profile.
    tf32 : the training runs convolutions and products in TF32 on GPUs that have it (Ampere and later), as frameworks do
        unasked. Measured instances have none.

    Raises
    ------
    InputError : unknown anchor, target or method, or a latency that is not a positive number.
    LatencyDoubtError : the latency is far from what the profile's device time suggests, or the number of steps is.
    NoPredictionError : the profile holds no GPU time, or too little that belongs to operations.
    """
    return predict_many(
        models,
        catalog,
        [profile],
        anchor,
        latencies_ms=None if latency_ms is None else [latency_ms],
        targets=targets,
        method=method,
        trust_latency=trust_latency,
        tf32=tf32,
    )[0]


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
) -> list[Prediction]:
    """`predict` for many profiles of one anchor at once, vectorised over the profiles.

    Parameters
    ----------
    latencies_ms : one latency for every profile, or None for none of them.
    """
    check_instance(models, anchor, "anchor")
    chosen = models.method(method)
    # The documented ensemble is what it was: four instances.
    gpus = reachable(models, catalog) if chosen.kind == "classes" else {}
    wanted = _check_targets([*models.instances, *gpus], anchor, targets)
    for profile in profiles:
        check_predictable(profile)
    latencies = _check_latencies(profiles, latencies_ms)
    profiles = [counted(profile, known) for profile, known in _with_latencies(profiles, latencies)]
    if latencies is not None and not trust_latency:
        for profile, latency_ms in zip(profiles, latencies, strict=True):
            check_latency(models, profile, anchor, latency_ms)
    if not profiles:
        return []
    beyond = {name: gpu for name, gpu in gpus.items() if name in wanted}
    # What lies beyond the measured instances is reached from all of them.
    measured = [
        name for name in (models.instances if beyond else wanted) if name in models.instances and name != anchor
    ]
    ask = by_class.answer if chosen.kind == "classes" else documented.answer
    asked = [without_input_wait(profile, known) for profile, known in _with_latencies(profiles, latencies)]
    fed, fed_ms = [profile for profile, _ in asked], None if latencies is None else [known for _, known in asked]
    answers = ask(models, chosen, fed, anchor, measured, fed_ms)
    predictions = [
        _prediction(models, catalog, profile, anchor, chosen.name, measured, answers, latencies, row)
        for row, profile in enumerate(profiles)
    ]
    if not beyond:
        return predictions
    known = predictions
    if fed_ms != latencies:
        known = [replace(found, anchor_latency_ms=ms) for found, ms in zip(predictions, fed_ms, strict=True)]
    reached = unprofiled_rows(models, catalog, fed, known, beyond, tf32=tf32)
    return [
        _with_rows(prediction, rows, {anchor, *wanted}) for prediction, rows in zip(predictions, reached, strict=True)
    ]


def check_instance(models: Models, instance: str, role: str = "instance") -> str:
    """`instance` if the models know it."""
    if instance not in models.instances:
        raise InputError(f"Unknown {role} {instance!r}: choose one of {', '.join(models.instances)}.")
    return instance


def check_latency(models: Models, profile: Profile, anchor: str, latency_ms: float) -> None:
    """Question a latency that makes no sense beside the profile.

    A profile's device rows, idle included, add up to about the step; in the training data the ratio stays within a
    narrow range. Beyond `DOUBT_FACTOR` times that range the number was probably typed in another unit, or belongs to
    another profile. A number of steps that somebody gave and that does not fit is questioned sooner.

    Raises
    ------
    LatencyDoubtError : with the unit or the number of steps that would make sense, if one does.
    """
    device_ms = profile.device_total_us / US_PER_MS
    if device_ms == 0:
        return
    low, high = models.ranges[anchor].latency_per_device_total
    plausible = (device_ms * low / DOUBT_FACTOR, device_ms * high * DOUBT_FACTOR)
    steps = doubted_steps(profile, latency_ms)
    if steps is None and plausible[0] <= latency_ms <= plausible[1]:
        return
    expected_ms = device_ms * models.ranges[anchor].median_latency_per_device_total
    fitting = (u for u, factor in MS_PER_UNIT.items() if plausible[0] <= latency_ms * factor <= plausible[1])
    unit = next(fitting, None) if steps is None else None
    suggested_ms = latency_ms * MS_PER_UNIT[unit] if unit else None
    read_as = ""
    hint = "check it."
    if unit:
        hint = f"did you mean {format_significant(latency_ms)} {unit} ({format_ms(suggested_ms)})?"
    elif steps is not None:
        read_as = " as one step" if profile.steps == 1 else f" as {profile.steps} steps"
        hint = f"does the file cover {steps} step{'s' if steps > 1 else ''}?"
    raise LatencyDoubtError(
        f"A latency of {format_ms(latency_ms)} makes no sense beside this profile, which{read_as} suggests about "
        f"{format_ms(expected_ms)}: {hint}",
        latency_ms=latency_ms,
        expected_ms=expected_ms,
        suggested_ms=suggested_ms,
        suggested_unit=unit,
        suggested_steps=steps,
    )


def _check_targets(instances: Sequence[str], anchor: str, targets: Sequence[str] | None) -> list[str]:
    known = [name for name in instances if name != anchor]
    if targets is None:
        return known
    others = [target for target in dict.fromkeys(targets) if target != anchor]
    for target in others:
        if target not in known:
            raise InputError(f"Unknown target {target!r}: choose one of {', '.join(known)}.")
    if not others:
        raise InputError(f"Name at least one target beside the anchor: {', '.join(known)}.")
    return others


def _with_latencies(
    profiles: Sequence[Profile], latencies_ms: Sequence[float] | None
) -> Iterable[tuple[Profile, float | None]]:
    return zip(profiles, latencies_ms or [None] * len(profiles), strict=True)


def _check_latencies(profiles: Sequence[Profile], latencies_ms: Sequence[float] | None) -> list[float] | None:
    if latencies_ms is None:
        return None
    if len(latencies_ms) != len(profiles):
        raise InputError(f"{len(latencies_ms)} latencies were given for {len(profiles)} profiles: give one each.")
    return [positive_number("The anchor's latency", value) for value in latencies_ms]


def _prediction(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    method: str,
    targets: Sequence[str],
    answers: Answers,
    latencies_ms: Sequence[float] | None,
    row: int,
) -> Prediction:
    """One profile's rows, the anchor and the measured targets, with what is to be said of them."""
    given_ms = None if latencies_ms is None else latencies_ms[row]
    said_ms = dict(zip(targets, answers.latency_ms[:, row].tolist(), strict=True))
    return Prediction(
        anchor=anchor,
        anchor_latency_ms=given_ms,
        method=method,
        predictions=(
            prediction_row(catalog, anchor, given_ms, {}, Basis.GIVEN),
            *(_target_row(models, catalog, answers, name, number, row) for number, name in enumerate(targets)),
        ),
        interval_level=answers.interval_level,
        unknown_operations=answers.unknown[row],
        steps=profile.steps,
        steps_basis=profile.steps_basis,
        likeness=answers.likeness[row],
        warnings=caveats(models, catalog, profile, anchor, answers, row, given_ms, said_ms),
    )


def _target_row(
    models: Models, catalog: Catalog, answers: Answers, target: str, number: int, row: int
) -> InstancePrediction:
    members = {name: float(said[number, row]) for name, said in answers.members.items()}
    latency_ms = max(float(answers.latency_ms[number, row]), floor_ms(models, target))
    halves = answers.log_half_width
    interval = None if halves is None else Interval.around(latency_ms, float(halves[number, row]))
    return prediction_row(catalog, target, latency_ms, members, Basis.MEASURED, interval)


def _with_rows(prediction: Prediction, more: Sequence[InstancePrediction], wanted: set[str]) -> Prediction:
    rows = (row for row in (*prediction.predictions, *more) if row.instance in wanted)
    return replace(prediction, predictions=tuple(rows))
