"""A network by name or file where a question takes a profile: it is answered from the network's layers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from profet_core.answers.context import Context
from profet_core.catalog.gpus import AS_PROFILED, CHANNELS_LAST, FP32, PLAIN, TF32, canonical, requested_code
from profet_core.ensemble.operations import NO_UNKNOWN_OPERATIONS
from profet_core.errors import Code, InputError, NoPredictionError, Note
from profet_core.latency import LEVEL, Basis
from profet_core.layers.by_name import is_alike, transformer_work
from profet_core.layers.estimate import METHOD, MeasuredStep, estimate, measured_step
from profet_core.layers.measured import TIME_LOG_SD, MeasuredTime
from profet_core.layers.network import Counts, Network, at_pixels, attends_whole_image, check_patches, counts_of_work
from profet_core.layers.networks import counts_of, network_name
from profet_core.layers.steps import NetworkStep
from profet_core.prediction.checks import (
    TYPICAL_RATIO,
    check_latency,
    check_profile,
    counted,
    input_wait_ms,
    steps_note,
    vision_network,
    waits_for_loader,
    without_input_wait,
)
from profet_core.prediction.mixed_precision import is_tuned
from profet_core.prediction.predict import Prediction
from profet_core.prediction.targets import anchor_gpu, find_anchor
from profet_core.questions import PredictQuestion, ProfileQuestion
from profet_core.training.memory import FitAnswer, Verdict
from profet_profiles.record import PADDLE_WARNING, TRANSLATED_WARNING, Profile, ProfileMeta
from profet_profiles.units import US_PER_MS, format_ms


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
    recorded : of a transformer's profile, the step that was recorded.
    is_read : whether its counts were read off its operations' times.
    attends_whole : whether attention is over the whole image; None: neither that nor the patches are known, and the
        image size is fixed.
    """

    counts: Counts | None = None
    known_as: str = ""
    classes: int | None = None
    caveats: tuple[str, ...] = ()
    optimizer: str = "sgd"
    frozen_backbone: bool = False
    recorded: MeasuredStep | None = None
    is_read: bool = False
    attends_whole: bool | None = None

    def counts_at(self, pixels: int | None) -> Counts:
        """Return the counts at an image size; None: its own. InputError if that size is not known."""
        if self.counts is None:
            raise NoPredictionError(self.refusal)
        if pixels in (None, self.counts.pixels):
            return self.counts
        if self.attends_whole is not None and pixels is not None:
            check_patches("The network", 0 if self.meta.work is None else int(self.meta.work.patch), pixels)
            return at_pixels(self.counts, pixels, attends_whole=self.attends_whole)
        if self.recorded is not None and not self.known_as:
            raise InputError(
                "The profile doesn't tell how its transformer grows with the image: give its name ({network}), or "
                "record it with record_shapes=True.",
                "network",
            )
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


#: Fields that say something of a profile that was recorded.
_OF_PROFILES = ("steps", "method", "without_latency", "trust_latency", "profiled_precision", "measured_trace", "second")


def network_called(name: object, values: Mapping[str, Any]) -> NetworkProfile | None:
    """Return the network that the field `profile` names, at the sizes of the other fields; None if it names none."""
    try:
        known_as = network_name(str(name))
    except InputError:
        return None
    if values.get("profiled_batch") is None:
        raise InputError(f"{known_as} is a network without a profile: give {{profiled_batch}}.", "profiled_batch")
    for field in _OF_PROFILES:
        if values.get(field) not in (None, False, "default"):
            raise InputError(f"{{{field}}} is of a profile, and {known_as} is a network's name.", field, "profile")
    if values.get("latency_ms") is not None and values.get("anchor") is None:
        raise InputError("{latency_ms} needs {anchor}, the GPU that it was measured on.", "latency_ms", "anchor")
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
    return NetworkProfile(
        {}, _meta(ProfileMeta(network=name), counts, batch_size), counts=counts, source_format="network"
    )


def _meta(meta: ProfileMeta, counts: Counts, batch_size: int) -> ProfileMeta:
    return dataclasses.replace(meta, batch_size=batch_size, pixels=counts.pixels, parameters=counts.parameters)


#: Image size of a transformer whose profile doesn't say it: what it changes is little beside the work that it tells.
_USUAL_PIXELS = 224
#: Error of a step's time that is inferred from its profile: the profiler's own cost varies.
_INFERRED_LOG_SD = 0.15


def recorded_transformer(context: Context, question: ProfileQuestion, profile: Profile, anchor: str) -> NetworkProfile:
    """Return a transformer's profile as a network with a measured step: by name, shapes or operations' times.

    Raises
    ------
    InputError : its batch size, or the anchor, is unknown, or its latency doesn't fit it.
    NoPredictionError : nothing can be predicted from it.
    """
    models, meta = context.models, profile.meta
    # A second profile is not the question's own.
    check_profile(models, profile, question.network)
    if context.models.method(question.method).kind != "classes":
        raise InputError(f"{question.method} supports only CNNs: use the default method ({{method}}).", "method")
    if meta.batch_size is None:
        raise InputError("Give the batch size that the profile was recorded at: {profiled_batch}.", "profiled_batch")
    latency_ms = question.latency_ms
    if latency_ms is None and not question.without_latency:
        latency_ms = meta.step_latency_ms
    profile = counted(profile, latency_ms)
    where = find_anchor(models, context.catalog, anchor)
    if latency_ms is not None:
        check_latency(models, profile, where.instance, latency_ms, trusted=question.trust_latency)
    gpu, step_ms = anchor_gpu(models, where), latency_ms
    if step_ms is None:
        step_ms = profile.device_total_us / US_PER_MS / TYPICAL_RATIO
    _, step_ms = without_input_wait(profile, step_ms)
    assert step_ms is not None, "it is given"
    pixels, work, named = meta.pixels or _USUAL_PIXELS, meta.work, vision_network(profile, question.network)
    # Their operations are mapped to no models.
    caveats = [warning for warning in profile.warnings if warning not in (TRANSLATED_WARNING, PADDLE_WARNING)]
    counts, attends_whole = None, None
    if named is not None:
        try:
            counts = counts_of(named.name, pixels)
        except InputError as error:
            caveats.append(str(error))
    recorded_parameters = meta.parameters or (work.parameters if work is not None else None)
    if counts is not None and recorded_parameters and not is_alike(counts.parameters, recorded_parameters):
        caveats.append(f"{named and named.name} has other parameters than the profile, so its name is not used.")
        counts = None
    is_read, known_as = False, named.name if counts is not None and named is not None else ""
    if counts is None and work is not None:
        counts, attends_whole = counts_of_work(work, meta.batch_size, pixels), attends_whole_image(work, pixels)
    elif counts is None:
        counts, is_read = counts_of_work(transformer_work(models, profile, gpu), meta.batch_size, pixels), True
    code = CHANNELS_LAST if is_tuned(profile) else PLAIN
    recorded = MeasuredStep(
        on=(gpu, where.host),
        batch_size=meta.batch_size,
        latency_ms=step_ms,
        network=counts,
        # PyTorch leaves products in FP32, TensorFlow has them in TF32.
        precision=canonical(meta.precision) or (FP32 if waits_for_loader(profile) else TF32),
        training_code=code,
        checkpointing=False,
        log_sd=TIME_LOG_SD if latency_ms is not None else _INFERRED_LOG_SD,
        busy_ms=profile.device_busy_us / US_PER_MS,
    )
    return NetworkProfile(
        **{
            part.name: getattr(profile, part.name)
            for part in dataclasses.fields(Profile)
            if part.init and part.name != "meta"
        },
        meta=dataclasses.replace(meta, network=known_as or meta.network, pixels=pixels, parameters=counts.parameters),
        counts=counts,
        known_as=known_as,
        caveats=tuple(caveats),
        recorded=recorded,
        attends_whole=attends_whole,
        is_read=is_read,
    )


#: Whether its name is known, and its work was read off times -> the note on how a transformer's profile was read.
_KNOWN_BY = {
    (True, False): Code.TRANSFORMER_BY_NAME,
    (False, False): Code.TRANSFORMER_BY_SHAPES,
    (False, True): Code.TRANSFORMER_BY_TIMES,
}


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
    code, precision, recorded = requested_code(question.training_code), question.precision, profile.recorded
    if recorded is not None:
        precision = recorded.precision or precision if precision == AS_PROFILED else precision
        code = recorded.training_code or code if code == AS_PROFILED else code
    step = NetworkStep(
        counts,
        batch_size,
        name=profile.known_as,
        optimizer=profile.optimizer,
        precision=precision,
        training_code=PLAIN if code == AS_PROFILED else code,
        frozen_backbone=profile.frozen_backbone,
        is_read=profile.is_read,
        checkpointing=question.checkpointing,
    )
    given_ms = {} if recorded is not None else given_ms
    measured = [] if recorded is None else [recorded]
    measured += [
        replace(measured_step(context.models, context.catalog, MeasuredTime(place, batch_size, ms)), network=counts)
        for place, ms in {**given_ms, **question.measured}.items()
    ]
    ran_gib = min((step.on[0].memory_gib for step in measured), default=math.inf)

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
        table, notes = replace(estimated.table, members={}), [Note(Code.COUNTS, text=text) for text in profile.caveats]
        if recorded is not None:
            # Whatever was measured, the models learned from no transformer.
            basis = [Basis.TRANSFERRED if basis is Basis.SCALED else basis for basis in table.basis]
            table = replace(table, basis=tuple(basis))
            notes += [*steps_note(profile), Note(_KNOWN_BY[bool(profile.known_as), profile.is_read])]
            if wait_ms := input_wait_ms(profile):
                share = wait_ms * US_PER_MS / profile.device_total_us
                notes.append(Note(Code.INPUT_WAIT, wait=format_ms(wait_ms), share=share))
        return NetworkPrediction(
            anchor=anchor,
            anchor_latency_ms=latency_ms if is_own else None,
            method=METHOD,
            profile=dataclasses.replace(profile, counts=asked.network, meta=_meta(profile.meta, asked.network, size)),
            table=table,
            offers=estimated.offers,
            interval_level=LEVEL,
            unknown_operations=NO_UNKNOWN_OPERATIONS,
            similarity=None,
            warnings=(*notes, *estimated.warnings),
            precision=precision,
            checkpointing=question.checkpointing,
            at=at,
            fits=fits,
        )

    return at(batch_size, None, question.targets if isinstance(question, PredictQuestion) else None)
