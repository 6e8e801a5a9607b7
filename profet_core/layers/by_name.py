"""A profile's network by name, as its file or a user says it, and its step on the profiled instances by its counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
from msgspec.structs import replace

from profet_core.catalog.gpus import FP32, PLAIN, TF32, Gpu, canonical
from profet_core.ensemble.members import StepInputs
from profet_core.ensemble.operations import kind_of
from profet_core.errors import Code, InputError, Note
from profet_core.latency import FloatArray, smooth_max
from profet_core.layers.class_times import Place, mapped_inputs
from profet_core.layers.network import MAX_PATCH_CONVOLUTIONS, Counts, Elements, Flops, Numbers
from profet_core.layers.networks import (
    MAX_PIXELS,
    MIN_PIXELS,
    PROFET,
    as_in_tensorflow,
    counts_of,
    named_network,
    network_in_file_name,
    network_name,
    shared_name,
)
from profet_core.layers.rates import (
    ELEMENTS,
    FLOPS,
    KINDS,
    Mode,
    RateModel,
    calibrated_gpus,
    has_rates,
    mode_of,
    rate_model_of,
)
from profet_core.prediction.checks import VISION_TRANSFORMER, is_attention, waits_for_loader
from profet_core.prediction.counts import CountedStep, Recorded
from profet_core.prediction.models import Models
from profet_profiles.record import DEVICE_PREFIX, Profile, TransformerWork
from profet_profiles.units import US_PER_MS, format_count

#: Answer for a profile whose network is not to be used, whatever its file is called.
NO_NETWORK = "none"
#: Answers that name no network.
NO_NAMES = (NO_NETWORK, VISION_TRANSFORMER)
#: So many times as many parameters are another network's; other classes change them less.
_OTHER_PARAMETERS = 2.0


def is_alike(parameters: float, recorded: float) -> bool:
    """Whether a network's parameters may be those of a profile."""
    return 1 / _OTHER_PARAMETERS <= parameters / recorded <= _OTHER_PARAMETERS


def network_of(profile: Profile, given: str | None = None) -> str | None:
    """Return the name of a profile's network in its framework; None if neither a user nor the file says it.

    Parameters
    ----------
    given : by a user: one of `NO_NAMES` for none; a number is of parameters, and names none.

    Raises
    ------
    InputError : the user's is unknown.
    """
    given = None if given is None or given.strip()[:1].isdigit() else given
    name = given or profile.meta.network
    if name in NO_NAMES:
        return None
    try:
        if name is None and (name := network_in_file_name(profile.file_name)) is None:
            return None
        return network_name(name) if waits_for_loader(profile) else as_in_tensorflow(name)
    except InputError as error:
        if given is None:
            return None
        # Without the offer of a network's file.
        what = re.sub(r"( Or|: give an ONNX).*$", "", str(error)).rstrip(".")
        end = "" if what.endswith("?") else "."
        raise InputError(f"{what[:1].upper()}{what[1:]}{end} Correct or remove {{network}}.", "network") from None


def step_by_counts(models: Models, profile: Profile, given: str | None = None) -> CountedStep | Note | None:
    """Return a profile's step in FP32 on the profiled instances, by its network's counts and what was measured of it.

    Parameters
    ----------
    given : as `network_of` takes it.
    """
    name, meta = network_of(profile, given), profile.meta
    if name is None or not has_rates(models):
        return None
    if not set(models.instances) <= (model := rate_model_of(models)).instances.keys():
        return None
    if meta.batch_size is None or meta.pixels is None:
        why = "the batch and pixel size of the profile are needed with it"
        return None if given is None else Note(Code.NETWORK_UNUSED, network=name, why=why)
    try:
        counts = counts_of(name, meta.pixels)
    except InputError:
        return Note(Code.NETWORK_UNUSED, network=name, why=f"it can't be built for images of {meta.pixels:,} pixels")
    recorded = meta.parameters or counts.parameters
    if not is_alike(counts.parameters, recorded):
        why = f"it has {format_count(counts.parameters)} parameters, the profile says {format_count(recorded)}"
        return Note(Code.NETWORK_UNUSED, network=name, why=why)
    steps = _STEPS.setdefault(models, {})
    key = name, meta.batch_size, meta.pixels, waits_for_loader(profile)
    if (latencies_ms := steps.get(key)) is None:
        if len(steps) >= _MAX_STEPS:
            steps.clear()
        latencies_ms = steps[key] = _latencies_ms(models, model, name, counts, meta.batch_size, is_measured=not key[-1])
    return CountedStep(models, name, partial(_counts_at, name), not key[-1], latencies_ms)


#: Steps by counts of some models: network, batch size, pixels, whether in PyTorch -> instance -> milliseconds.
_STEPS: WeakKeyDictionary[Models, dict[tuple[str, int, int, bool], Mapping[str, float]]] = WeakKeyDictionary()
_MAX_STEPS = 1_000


def _by_area(counts: Counts, pixels: int) -> Counts:
    """Of images of another size."""
    area = (pixels / counts.pixels) ** 2
    flops = Flops(*(area * value for value in counts.flops))
    elements = Elements(*(area * value for value in counts.elements))
    return replace(counts, pixels=pixels, flops=flops, elements=elements)


def _counts_at(name: str, pixels: int) -> Counts:
    """Of a named network, also for images that it can't be built for: as at the nearest size, by area."""
    try:
        return counts_of(name, pixels)
    except InputError:
        network = named_network(name)
        smallest = min(network.sizes) if network.library == "profet" else MIN_PIXELS
        built_for = min(max(pixels, smallest), MAX_PIXELS)
        if built_for == pixels:
            raise
        return _by_area(counts_of(name, built_for), pixels)


#: Less of the FLOPs in depthwise convolutions are none.
_LEAST_DEPTHWISE = 0.005
#: Convolutions of a CNN at least.
_MANY = MAX_PATCH_CONVOLUTIONS + 1


def _counts_read(amounts: Mapping[str, float], kernels: float, batch_size: int, pixels: int) -> Counts:
    """Return what an image takes in a CNN, by amounts of work of a step as `rates.work_of` has them."""
    flops = {kind: 1e9 * amounts.get(kind, 0.0) / batch_size for kind in FLOPS}
    values = {kind: 1e6 * amounts.get(kind, 0.0) / batch_size for kind in ELEMENTS}
    grouped = flops["grouped convolution"] + flops["wide grouped convolution"]
    convolution = flops["convolution"] + flops["1 x 1 convolution"] + grouped
    depthwise = flops["depthwise convolution"]
    has_depthwise = depthwise > _LEAST_DEPTHWISE * convolution
    kinds = ("normalization", "elementwise", "pooling", "copy")
    others, depthwise_values = sum(values[kind] for kind in kinds), has_depthwise * values["depthwise outputs"]
    dense = round(1e6 * amounts["dense parameters"])
    parameters = round(1e6 * amounts["parameters"]) + dense
    return Counts(
        pixels=pixels,
        classes=1,
        parameters=parameters,
        trainable_parameters=parameters,
        dense_parameters=dense,
        features=0,
        flops=Flops(
            convolution=convolution,
            pointwise=flops["1 x 1 convolution"],
            grouped=grouped,
            depthwise=has_depthwise * depthwise,
            dense=flops["matrix product"],
            narrow=flops["narrow convolution"],
            narrow_grouped=flops["grouped convolution"],
        ),
        elements=Elements(
            all=values["convolution and product outputs"] + depthwise_values + others,
            other=others,
            depthwise=depthwise_values,
            normalization=values["normalization"],
            function=values["activation function"],
            elementwise=values["elementwise"],
            pooling=values["pooling"],
            shaping=values["copy"],
            read=values["convolution and product inputs"],
        ),
        layers=Numbers(_MANY, _MANY, 0, 0, 0, 0, round(kernels), round(kernels)),
    )


def inputs_there(models: Models, inputs: StepInputs, gpu: Gpu, precisions: Sequence[str | None]) -> StepInputs:
    """Class times of profiles of an unprofiled GPU as they would be on the reference instance.

    Parameters
    ----------
    precisions : that each was recorded in; None: the frameworks' default.
    """
    transfer = models.transfer
    # What a user's steps say of a GPU has the costs of the program that ran them.
    in_profets = gpu.name not in calibrated_gpus(models)
    recorded = [Place(gpu, mode_of(gpu, precision or TF32, PLAIN), in_profets) for precision in precisions]
    reference = Place(transfer.gpus[transfer.reference_gpu], Mode.FP32, True, transfer.reference)
    return mapped_inputs(rate_model_of(models), inputs, recorded, reference)


def read_step(
    models: Models,
    anchor: str,
    groups_ms: FloatArray,
    recorded: Recorded,
    profile: Profile,
    launches_ms: float | None = None,
) -> CountedStep:
    """Return a step of an unknown network, by the work that a profile's class times tell.

    Parameters
    ----------
    groups_ms : as `ensemble.work.StepTimes` has them, of the profile on the profiled instance `anchor`.
    launches_ms : on the reference host, where the profile has its host's own time.
    """
    reader, (_, _, batch_size, pixels) = models.transfer.readers[anchor], recorded.asked
    by_kind, number = reader.read(groups_ms[None])
    amounts, kernels = {name: float(values[0]) for name, values in by_kind.items()}, float(number[0])
    if launches_ms is not None:
        kernels = max(launches_ms / math.exp(rate_model_of(models).average.log_launch), 1.0)
    counts = _counts_read(amounts, kernels, batch_size, pixels)
    return CountedStep(models, "", partial(_by_area, counts), as_measured=not waits_for_loader(profile))


#: Layers of a transformer whose profile doesn't tell them: ViT has 222, Swin-T 367.
_USUAL_OPERATIONS = 300.0
#: Part of a transformer's parameters that are in matrices.
_DENSE_SHARE = 0.98
#: Kind of operations -> kind of work; only the first is recognized by its names.
_WORK_OF = {
    "convolution": "convolution",
    "convolution filter gradient": "convolution",
    "matrix product": "transformer product",
    "attention": "batched product",
    "normalization": "normalization",
    "normalization gradient": "normalization",
    "activation": "activation function",
    "activation gradient": "activation function",
    "softmax": "activation function",
    "data movement": "copy",
    "gather and scatter": "copy",
    "optimizer update": "parameters",
}


def transformer_work(models: Models, profile: Profile, gpu: Gpu) -> TransformerWork:
    """Work of a transformer's forward pass, read off its operations' times on a GPU by that GPU's rates."""
    model, meta = rate_model_of(models), profile.meta
    mode = mode_of(gpu, canonical(meta.precision) or FP32, PLAIN)
    costs_ms = model.costs_ms(gpu, mode, model.average) * np.exp(model.transformer_log_costs)
    amounts = dict.fromkeys(KINDS, 0.0)
    for name, us in profile.operations.items():
        kind = kind_of(name) if name.startswith(DEVICE_PREFIX) else None
        if kind is not None and kind.operation_class not in (None, "idle"):
            work = "batched product" if is_attention(name) else _WORK_OF.get(kind.name, "elementwise")
            amounts[work] += us / US_PER_MS / costs_ms[KINDS.index(work)]
    parameters = meta.parameters or 1e6 * amounts["parameters"]
    return TransformerWork(
        convolution_flops=1e9 * amounts["convolution"],
        dense_flops=1e9 * amounts["transformer product"],
        product_flops=1e9 * amounts["batched product"],
        convolution_outputs=0.0,
        dense_outputs=0.0,
        product_outputs=0.0,
        inputs=0.0,
        normalization=1e6 * amounts["normalization"],
        activation=1e6 * amounts["activation function"],
        score=0.0,
        elementwise=1e6 * amounts["elementwise"],
        pooling=0.0,
        copies=1e6 * amounts["copy"],
        operations=_USUAL_OPERATIONS,
        products=2.0 * (amounts["batched product"] > 0),
        attended=0.0,
        parameters=parameters,
        dense_parameters=_DENSE_SHARE * parameters,
        vocabulary=0.0,
        patch=1.0,
    )


def _latencies_ms(
    models: Models, model: RateModel, name: str, counts: Counts, batch_size: int, *, is_measured: bool
) -> Mapping[str, float]:
    names = list(models.instances)
    gpus = [models.transfer.gpus[model.instances[name].gpu] for name in names]
    targets = list(zip(gpus, [models.transfer.profiled[name].host for name in names], strict=True))
    modes = [Mode.FP32] * len(names)
    work_ms, launch_ms, start_ms = model.steps_ms(counts, batch_size, targets, modes, names, is_measured)
    places = names if name.startswith(PROFET) else [gpu.name for gpu in gpus]
    log_ratios, _ = model.known.corrections(shared_name(name), places, modes, batch_size, counts.pixels)
    latencies_ms = (smooth_max(work_ms, launch_ms) + start_ms) * np.exp(log_ratios)
    return dict(zip(names, latencies_ms.tolist(), strict=True))
