"""What several commands read from their arguments: a profile, its latency, the models and the catalogue."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from profet_core.artifacts.models import Models, load_models
from profet_core.catalog import Catalog
from profet_core.errors import LatencyDoubtError, ProfileError
from profet_core.prediction.predict import check_instance, predict
from profet_core.prediction.records import Prediction
from profet_core.prediction.steps import counted, read_as
from profet_core.profiles import Profile, read_profile, read_profile_folder

#: A file that is read sooner than this shows no progress.
QUIET_S = 1.0


def read_trace(options: argparse.Namespace) -> Profile:
    """TRACE, read as covering `--steps` steps if that is given."""
    return read_as(read_profile_file(options.trace), options.steps)


def read_profile_file(path: str) -> Profile:
    """The profile in a file or in a run's folder, streamed; a long one shows on a terminal's stderr how far it is."""
    try:
        with Path(path).open("rb") as file:
            return read_profile(file, Path(path).name, progress=_shown_progress())
    except IsADirectoryError:
        return read_profile_folder(Path(path), progress=_shown_progress())
    except OSError as error:
        raise ProfileError(f"{path} can't be read: {error.strerror}.") from None


def _shown_progress() -> Callable[[float], None] | None:
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def show(share: float) -> None:
        if time.monotonic() - start > QUIET_S:
            print(f"\rreading {share:4.0%}", end="\r" if share < 1 else "\r            \r", file=sys.stderr, flush=True)

    return show


def open_models(options: argparse.Namespace) -> Models:
    """The models the arguments name, else the shipped ones."""
    return load_models(options.models)


def predict_profile(
    options: argparse.Namespace,
    models: Models,
    catalog: Catalog,
    profile: Profile,
    latency_ms: float | None,
    targets: Sequence[str] | None = None,
) -> tuple[Profile, Prediction]:
    """Predict with the arguments' anchor and method; without `latency_ms` the profile's own is used if it has one.

    `targets` : instances to predict; None: all others than the anchor.

    Returns the profile with the number of steps that was predicted from.

    Raises
    ------
    NoPredictionError : nothing can be predicted from the profile.
    """
    check_instance(models, options.anchor, "anchor")
    if latency_ms is None and not options.without_latency:
        latency_ms = profile.meta.step_latency_ms
    try:
        prediction = predict(
            models,
            catalog,
            profile,
            options.anchor,
            latency_ms=latency_ms,
            targets=targets,
            method=options.method,
            trust_latency=options.trust_latency,
            tf32=not options.fp32,
        )
    except LatencyDoubtError as doubt:
        steps = f"--steps {doubt.suggested_steps} if so, " if doubt.suggested_steps else ""
        raise ProfileError(f"{doubt} Use {steps}--trust-latency if it is right.") from None
    return counted(profile, prediction.anchor_latency_ms), prediction
