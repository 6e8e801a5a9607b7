"""Python API: one function per question; each raises ProfetError, one line that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from profet_core.answers.advise import AdviseAnswer, answer_advise
from profet_core.answers.context import Context
from profet_core.answers.estimate import EstimateAnswer, answer_estimate, named_question
from profet_core.answers.questions import AdviseQuestion, check_together
from profet_core.answers.scaleout import ScaledTraining, answer_scaleout, scaleout_question
from profet_core.catalog import load_catalog as read_catalog
from profet_core.catalog.collection import Catalog
from profet_core.catalog.custom_gpus import CustomGpu, custom_gpus_path, read_custom_gpus, with_offers_of
from profet_core.catalog.gpus import load_gpus
from profet_core.layers.by_name import step_by_counts
from profet_core.prediction import models as shipped
from profet_core.prediction import predict as prediction
from profet_core.prediction.models import Models
from profet_core.prediction.predict import Predictions, PredictOptions
from profet_core.prediction.table import Prediction
from profet_core.transfer.custom_gpu import with_custom_gpus
from profet_profiles.record import Profile


def load_models(folder: Path | str | None = None) -> Models:
    """Load a models folder (None: `$PROFET_HOME`, else the shipped one) and the specs of your custom GPUs.

    Raises ArtifactError if the manifest is missing, was changed, or was written by another version of this project.
    """
    models, own = shipped.load_models(folder), _custom_gpus()
    return models.with_transfer(with_custom_gpus(models.transfer, own)) if own else models


def load_catalog(path: Path | str | None = None, *, own: Path | None = None) -> Catalog:
    """Load the catalog, including your custom instances and GPUs; CatalogError names an invalid row and column.

    Parameters
    ----------
    path : a CSV file to read alone; None: the shipped catalog.
    own : your file of instances; None: the default file.
    """
    if path is not None:
        return read_catalog(Path(path))
    return with_offers_of(read_catalog(own=own), _custom_gpus())


def predict(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    *,
    latency_ms: float | None = None,
    without_latency: bool = False,
    network: str | None = None,
    **options: Unpack[PredictOptions],
) -> Prediction:
    """Predict one profile's step latency on every target.

    Parameters
    ----------
    anchor : instance or GPU that the profile was recorded on.
    latency_ms : measured step latency on the anchor, milliseconds; None: the profile's own, if it has one.
    without_latency : ignore the profile's own latency.
    network : its name, such as "ResNet50", or "none"; None: the profile's, or what its file's name states.
    options : `targets`: instances, None: all that the method can predict; `method`: "default", or "profet" for the
        documented ensemble; `precision` of the training: "fp32" (without TF32), "tf32", "amp", "bf16" or "as
        profiled"; `training_code`: "plain", "channels-last" (and compiled), "tuned" or "as profiled";
        `trust_latency`: use a latency even if it looks wrong.
    """
    check_together({"latency_ms": latency_ms, "without_latency": without_latency})
    if latency_ms is None and not without_latency:
        latency_ms = profile.meta.step_latency_ms
    options = {"by_counts": partial(step_by_counts, given=network), **options}
    return prediction.predict(models, catalog, profile, anchor, latency_ms=latency_ms, **options)


def predict_many(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    anchor: str,
    *,
    latencies_ms: Sequence[float] | None = None,
    network: str | None = None,
    **options: Unpack[PredictOptions],
) -> Predictions:
    """Predict profiles of one anchor, each made on access; parameters as `predict` takes them.

    Parameters
    ----------
    latencies_ms : one latency on the anchor for every profile, milliseconds, or None for none of them.
    network : of all of them.
    """
    options = {"by_counts": partial(step_by_counts, given=network), **options}
    return prediction.predict_many(models, catalog, profiles, anchor, latencies_ms=latencies_ms, **options)


def advise(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str | None = None,
    *,
    images: int | None,
    epochs: int = 1,
    **more: Any,
) -> AdviseAnswer:
    """Recommend which offer to rent for a training.

    Parameters
    ----------
    anchor : instance or GPU that the profile was recorded on; None: the GPU that it names.
    images : training images per epoch; None: the training is one step.
    more : other fields of `AdviseQuestion`, such as `deadline_hours`, `budget_usd`, `profiled_batch`, `gpu`.
    """
    question = AdviseQuestion.from_fields(profile=profile, anchor=anchor, images=images, epochs=epochs, **more)
    return answer_advise(_context(models, catalog), question)


def estimate(
    models: Models, catalog: Catalog, network: str, *, batch_size: int, pixels: int | None = None, **more: Any
) -> EstimateAnswer:
    """Estimate a network's step latency on every offer, without a profile.

    Parameters
    ----------
    network : its name, such as "ResNet50"; `profet estimate --help` lists them.
    pixels : height and width of an image; None: 224.
    more : other fields of `EstimateQuestion`, such as `classes`, `targets`, `optimizer`, `images`, `epochs`, `gpu`, and
        `measured`: `["RTX 4090=46ms"]` or `{"RTX 4090": "46ms"}`.
    """
    question = named_question(network, batch=batch_size, pixels=pixels, **more)
    return answer_estimate(_context(models, catalog), question)


def scaleout(models: Models, catalog: Catalog, profile: Profile | None = None, **question: Any) -> ScaledTraining:
    """Predict step latency and cost on several GPUs.

    Parameters
    ----------
    profile : of one GPU's step, with its `anchor`, `latency_ms`, `steps`, `profiled_batch`; None: give `step_ms`,
        `batch` and `gpu` of a measured step.
    question : these, and fields of `ScaleoutQuestion`: `gpus`, `batch`, `global_batch`, `network`, `parameters`,
        `instance`, `strategy`, `images`.
    """
    built = scaleout_question({"profile": profile, **question})
    return answer_scaleout(_context(models, catalog), built)


def _context(models: Models, catalog: Catalog) -> Context:
    return Context(models, catalog, models.transfer.gpus)


def _custom_gpus() -> tuple[CustomGpu, ...]:
    return read_custom_gpus(custom_gpus_path(), load_gpus())
