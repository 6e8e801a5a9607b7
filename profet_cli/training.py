"""The training that `cost` and `advise` ask about: its step latencies, at the profiled batch size or at another one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profet_cli.inputs import predict_profile, read_profile_file, read_trace
from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog
from profet_core.cost import check_profiled_batch
from profet_core.errors import InputError, NoPredictionError
from profet_core.latency import StepTime, carried_steps
from profet_core.prediction.records import Prediction
from profet_core.profiles import Profile
from profet_core.scaling.context import ScaleContext
from profet_core.scaling.scale import axis_range, scale


@dataclass(frozen=True)
class TrainingSteps:
    """Latencies at one batch size.

    Attributes
    ----------
    latencies_ms : instance -> milliseconds a step.
    carried : to another batch size than TRACE's, so that the prediction's intervals don't apply.
    """

    profile: Profile
    prediction: Prediction
    latencies_ms: Mapping[str, float]
    batch_size: int
    carried: bool
    warnings: tuple[str, ...]

    @property
    def step_times(self) -> Sequence[StepTime]:
        """The latencies with what each rests on."""
        if self.carried:
            return carried_steps(self.latencies_ms, self.prediction.predictions)
        return self.prediction.predictions


def training_steps(options: argparse.Namespace, models: Models, catalog: Catalog) -> TrainingSteps:
    """Predict TRACE, and carry its latencies to `--at-batch` if that is given."""
    profile, prediction = predict_profile(options, models, catalog, read_trace(options), options.latency_ms)
    batch_size = check_profiled_batch(options.profiled_batch, profile.meta.batch_size)
    if options.at_batch is None:
        if options.largest is not None:
            raise InputError("--largest is for another batch size: name it with --at-batch.")
        return TrainingSteps(profile, prediction, prediction.latencies_ms, batch_size, False, prediction.warnings)
    largest = _predict_largest(options, models, catalog, batch_size)
    latencies_ms = _at_batch(
        options.at_batch, models, prediction.latencies_ms, largest.latencies_ms, profile.meta.pixels
    )
    warnings = [*prediction.warnings, *(f"--largest: {text}" for text in largest.warnings)]
    shared = [name for name in latencies_ms if name not in models.instances]
    if shared:
        warnings.append(
            f"Nobody measured how {', '.join(shared)} grow with the batch size: they follow the curve that the "
            "measured instances share."
        )
    return TrainingSteps(profile, prediction, latencies_ms, options.at_batch, True, tuple(warnings))


def _predict_largest(options: argparse.Namespace, models: Models, catalog: Catalog, profiled_batch: int) -> Prediction:
    """What `--largest`, the profile at the other end of the batch axis, is predicted to take."""
    low, high = axis_range("batch")
    if options.largest is None:
        raise InputError(f"--at-batch needs both ends: TRACE at batch {low} and --largest TRACE at batch {high}.")
    if profiled_batch != low:
        raise InputError(f"--at-batch needs TRACE recorded at batch {low}, not {profiled_batch}.")
    profile = read_profile_file(options.largest)
    if profile.meta.batch_size not in (None, high):
        raise InputError(f"--largest must be recorded at batch {high}, not {profile.meta.batch_size}.")
    try:
        return predict_profile(options, models, catalog, profile, options.largest_latency_ms)[1]
    except NoPredictionError as error:
        raise NoPredictionError(f"--largest: {error}") from None


def _at_batch(
    at_batch: int,
    models: Models,
    smallest_ms: Mapping[str, float],
    largest_ms: Mapping[str, float],
    pixels: int | None,
) -> dict[str, float]:
    """Latencies at `at_batch`, carried there from both ends, for every instance with both ends."""
    context = ScaleContext(other_size=pixels)
    return {
        name: scale(
            models, models.profiled(name), "batch", latency_ms, largest_ms[name], at_batch, context=context
        ).latency_ms
        for name, latency_ms in smallest_ms.items()
        if name in largest_ms
    }
