"""Profile + anchor (+ latency) -> predicted step latency on every other instance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_core import by_class, documented
from profet_core.answers import Answers, Likeness
from profet_core.artifacts import Models, TrainingRange
from profet_core.catalog import Catalog, gpu_model
from profet_core.errors import InputError, LatencyDoubtError
from profet_core.features import UnknownOperations
from profet_core.profiles.record import Profile
from profet_core.units import (
    MS_PER_UNIT,
    US_PER_MS,
    cost_usd,
    format_ms,
    format_significant,
    positive_number,
)

#: A latency this many times beyond the training range of latency over device total is not used unasked.
DOUBT_FACTOR = 3.0
#: Unknown operations above this share of the busy time earn a warning of their own.
UNKNOWN_SHARE_WARNING = 0.05


@dataclass(frozen=True, slots=True)
class InstancePrediction:
    """One instance's row.

    Attributes
    ----------
    latency_ms : milliseconds per training step; None for the anchor if its latency was not given.
    low_ms, high_ms : bounds of the interval; None until intervals are calibrated.
    members : what each member of the ensemble said, milliseconds.
    basis : "given" for the anchor, "measured" for an instance that was profiled for the training data.
    """

    instance: str
    latency_ms: float | None
    low_ms: float | None
    high_ms: float | None
    members: Mapping[str, float]
    basis: str
    cost_per_1000_steps_usd: float | None
    usd_per_hour: float
    status: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """Step latencies of one profiled network on the anchor and on every target."""

    anchor: str
    anchor_latency_ms: float | None
    method: str
    predictions: tuple[InstancePrediction, ...]
    interval_level: float | None
    unknown_operations: UnknownOperations
    likeness: Likeness | None
    warnings: tuple[str, ...]

    @property
    def latencies_ms(self) -> dict[str, float]:
        """Instance -> latency, for every row that has one."""
        return {row.instance: row.latency_ms for row in self.predictions if row.latency_ms is not None}


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
) -> Prediction:
    """Predict one profile's step latency on every target.

    Parameters
    ----------
    anchor : instance the profile was recorded on.
    latency_ms : measured step latency on the anchor, milliseconds.
    method : "default", or "profet": with the latency the median of three members, without it the mean of two
        (arXiv:2208.05130).
    targets : instances to predict; all others than the anchor if None.
    trust_latency : use `latency_ms` even if it makes no sense beside the profile.

    Raises
    ------
    InputError : unknown anchor, target or method, or a latency that is not a positive number.
    LatencyDoubtError : the latency is far from what the profile's device time suggests.
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
) -> list[Prediction]:
    """`predict` for many profiles of one anchor at once, vectorised over the profiles.

    Parameters
    ----------
    latencies_ms : one latency for every profile, or None for none of them.
    """
    check_instance(models, anchor, "anchor")
    wanted = _check_targets(models, anchor, targets)
    chosen = models.method(method)
    latencies = _check_latencies(models, profiles, anchor, latencies_ms, trust_latency)
    if not profiles:
        return []
    ask = by_class.answer if chosen.kind == "classes" else documented.answer
    answers = ask(models, chosen, profiles, anchor, wanted, latencies)
    return [
        Prediction(
            anchor=anchor,
            anchor_latency_ms=None if latencies is None else latencies[row],
            method=chosen.name,
            predictions=(
                _anchor_row(catalog, anchor, None if latencies is None else latencies[row]),
                *(_target_row(models, catalog, answers, name, number, row) for number, name in enumerate(wanted)),
            ),
            interval_level=answers.interval_level,
            unknown_operations=answers.unknown[row],
            likeness=answers.likeness[row],
            warnings=_warnings(
                models,
                catalog,
                profile,
                anchor,
                answers,
                row,
                dict(zip(wanted, answers.latency_ms[:, row], strict=True)),
            ),
        )
        for row, profile in enumerate(profiles)
    ]


def check_instance(models: Models, instance: str, role: str = "instance") -> str:
    """`instance` if the models know it."""
    if instance not in models.instances:
        raise InputError(f"Unknown {role} {instance!r}: choose one of {', '.join(models.instances)}.")
    return instance


def check_latency(models: Models, profile: Profile, anchor: str, latency_ms: float) -> None:
    """Question a latency that makes no sense beside the profile.

    The sum of a profile's device rows is about twice the step latency; in the training data the ratio stays within
    a narrow range. Beyond `DOUBT_FACTOR` times that range the number was probably typed in another unit, or belongs
    to another profile.

    Raises
    ------
    LatencyDoubtError : with the unit that would make sense, if one does.
    """
    device_ms = profile.device_total_us / US_PER_MS
    if device_ms == 0:
        return
    low, high = models.ranges[anchor].latency_per_device_total
    plausible = (device_ms * low / DOUBT_FACTOR, device_ms * high * DOUBT_FACTOR)
    if plausible[0] <= latency_ms <= plausible[1]:
        return
    expected_ms = device_ms * models.ranges[anchor].median_latency_per_device_total
    unit = next((u for u, factor in MS_PER_UNIT.items() if plausible[0] <= latency_ms * factor <= plausible[1]), None)
    suggested_ms = latency_ms * MS_PER_UNIT[unit] if unit else None
    hint = f"did you mean {format_significant(latency_ms)} {unit} ({format_ms(suggested_ms)})?" if unit else "check it."
    raise LatencyDoubtError(
        f"A latency of {format_ms(latency_ms)} makes no sense beside this profile, which suggests about "
        f"{format_ms(expected_ms)}: {hint}",
        latency_ms=latency_ms,
        expected_ms=expected_ms,
        suggested_ms=suggested_ms,
        suggested_unit=unit,
    )


def _check_targets(models: Models, anchor: str, targets: Sequence[str] | None) -> list[str]:
    if targets is None:
        return [name for name in models.instances if name != anchor]
    unique = list(dict.fromkeys(check_instance(models, target, "target") for target in targets))
    others = [target for target in unique if target != anchor]
    if not others:
        possible = ", ".join(name for name in models.instances if name != anchor)
        raise InputError(f"Name at least one target beside the anchor: {possible}.")
    return others


def _check_latencies(
    models: Models, profiles: Sequence[Profile], anchor: str, latencies_ms: Sequence[float] | None, trust: bool
) -> list[float] | None:
    if latencies_ms is None:
        return None
    if len(latencies_ms) != len(profiles):
        raise InputError(f"{len(latencies_ms)} latencies were given for {len(profiles)} profiles: give one each.")
    latencies = [positive_number("The anchor's latency", value) for value in latencies_ms]
    if not trust:
        for profile, latency_ms in zip(profiles, latencies, strict=True):
            check_latency(models, profile, anchor, latency_ms)
    return latencies


def _anchor_row(catalog: Catalog, anchor: str, latency_ms: float | None) -> InstancePrediction:
    return _row(catalog, anchor, latency_ms, {}, "given")


def _target_row(
    models: Models, catalog: Catalog, answers: Answers, target: str, number: int, row: int
) -> InstancePrediction:
    members = {name: float(said[number, row]) for name, said in answers.members.items()}
    # No step of the training data was faster than twice this; a member may extrapolate below zero.
    latency_ms = max(float(answers.latency_ms[number, row]), _floor_ms(models, target))
    half = None if answers.log_half_width is None else float(answers.log_half_width[number, row])
    bounds = (None, None) if half is None else (latency_ms * math.exp(-half), latency_ms * math.exp(half))
    return _row(catalog, target, latency_ms, members, "measured", bounds)


def _floor_ms(models: Models, instance: str) -> float:
    return models.ranges[instance].latency_ms[0] / 2


def _row(
    catalog: Catalog,
    instance: str,
    latency_ms: float | None,
    members: Mapping[str, float],
    basis: str,
    bounds_ms: tuple[float | None, float | None] = (None, None),
) -> InstancePrediction:
    entry = catalog[instance]
    return InstancePrediction(
        instance=instance,
        latency_ms=latency_ms,
        low_ms=bounds_ms[0],
        high_ms=bounds_ms[1],
        members=members,
        basis=basis,
        cost_per_1000_steps_usd=None if latency_ms is None else cost_usd(1000 * latency_ms, entry.usd_per_hour),
        usd_per_hour=entry.usd_per_hour,
        status=entry.status,
    )


def _warnings(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    answers: Answers,
    row: int,
    predicted_ms: Mapping[str, float],
) -> tuple[str, ...]:
    found = [
        *profile.warnings,
        _no_device_warning(profile),
        _wrong_gpu_warning(catalog, profile, anchor),
        _precision_warning(profile),
        _compiled_warning(profile),
        _unknown_warning(answers.unknown[row]),
        *answers.warnings[row],
        _range_warning(models.ranges[anchor], profile, anchor),
        _floor_warning(models, predicted_ms),
    ]
    return tuple(text for text in found if text)


def _no_device_warning(profile: Profile) -> str | None:
    if profile.device_total_us > 0:
        return None
    return (
        "This profile holds no GPU time (no Device_ rows): it was recorded on a CPU, and the numbers below mean "
        "nothing. Record it on the anchor's GPU."
    )


def _wrong_gpu_warning(catalog: Catalog, profile: Profile, anchor: str) -> str | None:
    recorded = profile.meta.gpu
    if recorded is None or gpu_model(recorded) == catalog[anchor].gpu_model:
        return None
    return (
        f"The profile says it was recorded on {recorded}, but {anchor} has {catalog[anchor].gpu}: is the anchor right?"
    )


def _precision_warning(profile: Profile) -> str | None:
    if profile.meta.precision is None or profile.meta.precision.lower() in ("fp32", "float32"):
        return None
    return (
        f"The profile says {profile.meta.precision}; the models were trained on FP32 steps only: expect larger errors."
    )


def _compiled_warning(profile: Profile) -> str | None:
    if not profile.meta.compiled:
        return None
    return (
        "This step was compiled (XLA or torch.compile), which joins operations into one; the models were trained on "
        "steps that were not: expect larger errors."
    )


def _unknown_warning(unknown: UnknownOperations) -> str | None:
    if not unknown.names:
        return None
    parts = [f"{name} counted as {cluster}" for name, cluster in unknown.mapped.items()]
    parts += [f"{name} left out" for name in unknown.left_out]
    shown = "; ".join(parts[:8]) + (f"; and {len(parts) - 8} more" if len(parts) > 8 else "")
    weight = "expect larger errors" if unknown.share > UNKNOWN_SHARE_WARNING else "too little to matter much"
    count = len(unknown.names)
    noun = "operation" if count == 1 else "operations"
    return f"{count} {noun} unknown to the models, {unknown.share:.1%} of the busy time ({weight}): {shown}."


def _range_warning(known: TrainingRange, profile: Profile, anchor: str) -> str | None:
    low, high = known.device_total_us
    total = profile.device_total_us
    if total == 0 or low * 0.8 <= total <= high * 1.25:
        return None
    side = "shorter" if total < low else "longer"
    return (
        f"This step is {side} on the GPU than any in the training data of {anchor} "
        f"({format_ms(total / US_PER_MS)} of device time, known {format_ms(low / US_PER_MS)} to "
        f"{format_ms(high / US_PER_MS)}): the prediction is an extrapolation."
    )


def _floor_warning(models: Models, predicted_ms: Mapping[str, float]) -> str | None:
    at_floor = [name for name, value in predicted_ms.items() if value <= models.ranges[name].latency_ms[0] / 2]
    if not at_floor:
        return None
    return (
        f"The prediction for {', '.join(at_floor)} fell below anything measured and was held at half the fastest step."
    )
