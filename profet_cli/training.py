"""The training that `cost` and `advise` ask about: its step latencies, at the profiled batch size or at another one."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from profet_cli.inputs import predict_profile, read_profile_file, read_trace
from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog
from profet_core.cost import check_profiled_batch
from profet_core.errors import InputError, NoPredictionError
from profet_core.prediction.records import Prediction
from profet_core.profiles import Profile
from profet_core.scaling.axes import axis_range
from profet_core.training.ends import AxisEnds, EndProfiles, contradictions
from profet_core.training.steps import TrainingSteps, on_shared_curve, steps_as_profiled, steps_carried


@dataclass(frozen=True)
class PredictedTraining:
    """TRACE, what is predicted from it, and the step latencies of the training.

    Attributes
    ----------
    warnings : of the prediction, of that of `--largest`, and of carrying.
    """

    profile: Profile
    prediction: Prediction
    steps: TrainingSteps
    warnings: tuple[str, ...]


def predicted_training(options: argparse.Namespace, models: Models, catalog: Catalog) -> PredictedTraining:
    """Predict TRACE, and carry its latencies to `--at-batch` if that is given.

    Raises
    ------
    InputError : the profiles are not those of both ends, or an instance's latency can't be carried.
    """
    profile, prediction = predict_profile(options, models, catalog, read_trace(options), options.latency_ms)
    batch_size = check_profiled_batch(options.profiled_batch, profile.meta.batch_size)
    if options.at_batch is None:
        if options.largest is not None:
            raise InputError("--largest is for another batch size: name it with --at-batch.")
        return PredictedTraining(profile, prediction, steps_as_profiled(prediction, batch_size), prediction.warnings)
    largest_profile, largest = _predict_largest(options, models, catalog, batch_size)
    ends = AxisEnds(
        "batch",
        prediction.latencies_ms,
        largest.latencies_ms,
        EndProfiles(profile, largest_profile, prediction.anchor),
    )
    steps = steps_carried(models, ends, options.at_batch, prediction.predictions)
    if steps.problems:
        raise InputError(next(iter(steps.problems.values())))
    warnings = [*prediction.warnings, *(f"--largest: {text}" for text in (*largest.warnings, *contradictions(ends)))]
    shared = on_shared_curve(models, steps)
    if shared:
        warnings.append(
            f"Nobody measured how {', '.join(shared)} grow with the batch size: they follow the curve that the "
            "measured instances share."
        )
    return PredictedTraining(profile, prediction, steps, tuple(warnings))


def _predict_largest(
    options: argparse.Namespace, models: Models, catalog: Catalog, profiled_batch: int
) -> tuple[Profile, Prediction]:
    """`--largest`, the profile at the other end of the batch axis, and what is predicted from it."""
    low, high = axis_range("batch")
    if options.largest is None:
        raise InputError(f"--at-batch needs both ends: TRACE at batch {low} and --largest TRACE at batch {high}.")
    if profiled_batch != low:
        raise InputError(f"--at-batch needs TRACE recorded at batch {low}, not {profiled_batch}.")
    profile = read_profile_file(options.largest)
    if profile.meta.batch_size not in (None, high):
        raise InputError(f"--largest must be recorded at batch {high}, not {profile.meta.batch_size}.")
    try:
        return predict_profile(options, models, catalog, profile, options.largest_latency_ms)
    except NoPredictionError as error:
        raise NoPredictionError(f"--largest: {error}") from None
