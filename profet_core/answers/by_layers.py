"""A network by name or file where a question takes a profile: it is answered from the network's layers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from profet_core.answers.context import Context
from profet_core.catalog.gpus import AS_PROFILED, PLAIN, requested_code
from profet_core.ensemble.operations import NO_UNKNOWN_OPERATIONS
from profet_core.errors import Code, InputError, NoPredictionError, Note
from profet_core.latency import LEVEL
from profet_core.layers.estimate import METHOD, NetworkStep, estimate, measured_step
from profet_core.layers.measured import MeasuredTime
from profet_core.layers.network import Counts, Network
from profet_core.layers.networks import counts_of, network_name
from profet_core.prediction.table import Prediction
from profet_core.questions import PredictQuestion, ProfileQuestion
from profet_core.training.memory import FitAnswer, Verdict
from profet_profiles.record import Profile, ProfileMeta


@dataclass(frozen=True, kw_only=True)
class NetworkProfile(Profile):
    """A network in the place of a profile: no time of an operation is known.

    A question's anchor and latency say where its step was measured, and how long it took; both are optional.

    Attributes
    ----------
    counts : of an image of its size; None for a network that isn't known, whose `refusal` says so.
    known_as : one of `layers.networks.named_networks`; empty for a network's file, whose image size is fixed.
    classes : of a named network; None for its own.
    caveats : uncertainty in the counts of a file.
    optimizer : one of `layers.estimate.OPTIMIZERS`; its state counts in memory.
    frozen_backbone : only the last dense layer is trained.
    """

    counts: Counts | None = None
    known_as: str = ""
    classes: int | None = None
    caveats: tuple[str, ...] = ()
    optimizer: str = "sgd"
    frozen_backbone: bool = False

    def counts_at(self, pixels: int | None) -> Counts:
        """Return the counts at an image size; None: its own. InputError if that size is not known."""
        if self.counts is None:
            raise NoPredictionError(self.refusal)
        if pixels in (None, self.counts.pixels):
            return self.counts
        if not self.known_as:
            raise InputError(f"The network's file was read at {self.counts.pixels:,} pixels: read it at {pixels:,}.")
        return counts_of(self.known_as, pixels, self.classes)


def named_profile(
    name: str,
    batch_size: int,
    pixels: int | None = None,
    classes: int | None = None,
    *,
    optimizer: str = "sgd",
    frozen_backbone: bool = False,
) -> NetworkProfile:
    """Return a network by its name; InputError if it is unknown, or can't have that size. Sizes default to its own."""
    known_as, counts = network_name(name), counts_of(name, pixels, classes)
    return dataclasses.replace(
        _profile(known_as, counts, batch_size),
        known_as=known_as,
        classes=classes,
        optimizer=optimizer,
        frozen_backbone=frozen_backbone,
    )


def network_called(name: object, values: Mapping[str, Any]) -> NetworkProfile | None:
    """Return the network that the field `profile` names, at the sizes of the other fields; None if it names none."""
    try:
        known_as = network_name(str(name))
    except InputError:
        return None
    if values.get("profiled_batch") is None:
        raise InputError(f"{known_as} is a network without a profile: give {{profiled_batch}}.", "profiled_batch")
    return named_profile(str(name), values["profiled_batch"], values.get("profiled_pixels"))


def file_profile(
    network: Network, batch_size: int, *, optimizer: str = "sgd", frozen_backbone: bool = False
) -> NetworkProfile:
    """Return a network that was read from a file."""
    profile = _profile(network.name, network.counts, batch_size)
    return dataclasses.replace(profile, caveats=network.caveats, optimizer=optimizer, frozen_backbone=frozen_backbone)


def unknown_profile(name: str, reason: str) -> NetworkProfile:
    """Return a name that no network has, and why: every question about it is refused with this line."""
    return NetworkProfile({}, ProfileMeta(network=name), refusal=reason, source_format="network")


def _profile(name: str, counts: Counts, batch_size: int) -> NetworkProfile:
    return NetworkProfile({}, _meta(name, counts, batch_size), counts=counts, source_format="network")


def _meta(name: str | None, counts: Counts, batch_size: int) -> ProfileMeta:
    return ProfileMeta(network=name, batch_size=batch_size, pixels=counts.pixels, parameters=counts.parameters)


class NetworkPrediction(Prediction, frozen=True, kw_only=True):
    """Steps estimated from a network's layers.

    Attributes
    ----------
    at : the same at another batch and image size (None: its own), of some instances (None: all); it is estimated
        anew, not scaled.
    fits : instance -> whether the step fits in its memory.
    """

    at: Callable[[int, int | None, Collection[str] | None], NetworkPrediction]
    fits: dict[str, FitAnswer]


def network_prediction(context: Context, question: ProfileQuestion) -> NetworkPrediction:
    """Estimate the network of a question, corrected by the steps that were measured, at its own size.

    Raises
    ------
    NoPredictionError : the network is unknown.
    InputError : it is no CNN, or its size or a measured place is not supported.
    """
    profile = question.profile
    assert isinstance(profile, NetworkProfile), "other profiles are predicted"
    counts, batch_size = profile.counts_at(None), profile.meta.batch_size or 1
    anchor, latency_ms = question.anchor or "", question.latency_ms
    given_ms = {anchor: latency_ms} if anchor and latency_ms is not None else {}
    code = requested_code(question.training_code)
    step = NetworkStep(
        counts,
        batch_size,
        name=profile.known_as,
        optimizer=profile.optimizer,
        precision=question.precision,
        training_code=PLAIN if code == AS_PROFILED else code,
        frozen_backbone=profile.frozen_backbone,
    )
    measured = [
        replace(measured_step(context.models, context.catalog, MeasuredTime(place, batch_size, ms)), network=counts)
        for place, ms in {**given_ms, **question.measured}.items()
    ]
    ran_gib = min((one.on[0].memory_gib for one in measured), default=math.inf)

    def at(size: int, pixels: int | None, instances: Collection[str] | None) -> NetworkPrediction:
        asked = replace(step, batch_size=size, network=profile.counts_at(pixels))
        wanted = None if instances is None else list(instances)
        estimated = estimate(context.models, context.catalog, asked, wanted, measured)
        is_own = (size, asked.network.pixels) == (batch_size, counts.pixels)
        fits = dict(estimated.fits)
        if size <= batch_size and asked.network.pixels <= counts.pixels and context.models.memory is not None:
            ran = Verdict.FITS, context.models.memory.ran_probability
            fits |= {
                name: replace(fit, verdict=ran[0], probability=ran[1], why=f"it ran on a GPU with {ran_gib:g} GiB")
                for name, fit in fits.items()
                if context.catalog[name].gpu_memory_gib >= ran_gib
            }
        return NetworkPrediction(
            anchor=anchor,
            anchor_latency_ms=latency_ms if is_own else None,
            method=METHOD,
            profile=dataclasses.replace(
                profile, counts=asked.network, meta=_meta(profile.meta.network, asked.network, size)
            ),
            table=replace(estimated.table, members={}),
            offers=estimated.offers,
            interval_level=LEVEL,
            unknown_operations=NO_UNKNOWN_OPERATIONS,
            similarity=None,
            warnings=(*(Note(Code.COUNTS, text=text) for text in profile.caveats), *estimated.warnings),
            precision=question.precision,
            at=at,
            fits=fits,
        )

    return at(batch_size, None, question.targets if isinstance(question, PredictQuestion) else None)
