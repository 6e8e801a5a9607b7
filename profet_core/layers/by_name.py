"""A profile's network by name, as its file or a user says it, and its step on the profiled instances by its counts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from profet_core.catalog.gpus import FP32, PLAIN, TF32, Gpu, Host, canonical, is_half
from profet_core.ensemble.members import StepInputs
from profet_core.ensemble.operations import kind_of
from profet_core.errors import Code, InputError, Note
from profet_core.latency import FloatArray, combined_sd, smooth_max
from profet_core.layers.class_times import CLASS_SHARE, Place, class_work_ms, mapped_inputs
from profet_core.layers.measured import OF_PROGRAM, Learned, Steps
from profet_core.layers.network import MAX_PATCH_CONVOLUTIONS, Counts, Elements, Flops, Numbers
from profet_core.layers.networks import (
    MAX_PIXELS,
    MIN_PIXELS,
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
from profet_core.layers.steps import KERNELS_LOG_SD, READ_LOG_SD, WORK_LOG_SD, NetworkStep, StepMachines, machines_of
from profet_core.prediction.checks import VISION_TRANSFORMER, is_attention, waits_for_loader
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


class Asked(NamedTuple):
    """What a step is asked in; code as `catalog.gpus.CODES`."""

    precision: str
    training_code: str
    batch_size: int
    pixels: int


class Recorded(NamedTuple):
    """A step that was recorded, its uncertainty, and what of it the GPU worked, where a profile says that."""

    gpu: Gpu
    host: Host
    asked: Asked
    latency_ms: float
    log_sd: float
    busy_ms: float | None = None


class TargetSteps(NamedTuple):
    """Steps on targets: milliseconds, their launches' part, and the standard deviation of the logarithm."""

    latency_ms: FloatArray
    launch_ms: FloatArray
    log_sd: FloatArray


#: Batch and pixel size -> steps on some targets.
StepsAt = Callable[[int, int], TargetSteps]


class Program(NamedTuple):
    """How much longer work takes in the program that was profiled than in today's software.

    Attributes
    ----------
    log_times, log_sd : the logarithm of how many times as long, and its uncertainty.
    """

    log_times: float
    log_sd: float


TODAYS = Program(0.0, 0.0)


#: How often a program differs from today's software by more than sources usually do, and then by how much, in the
#: logarithm. TensorFlow 2.5 takes twice as long for MobileNetV2 on the four profiled GPUs, which answer in it. Chosen
#: so that P100 is seldom faster than V100, and P4 than T4: in 15 and 2 % of PROFET's cells, most of 32 and 64 pixels;
#: in today's software in 33 and 29 %.
_UNUSUAL_SHARE, _UNUSUAL_LOG_SD = 0.4, 0.6
#: So much more or less work is another network than the one of that name in another library.
_OTHER_WORK = 1.15


@lru_cache(maxsize=1_000)
def _known_name(name: str, counts: Counts) -> str:
    """Under which name published steps of a network are known, whatever its library."""
    other = network_name(named_network(name).library_name)
    there = counts_of(other, counts.pixels)
    pairs = (counts.flops.all, there.flops.all), (counts.parameters, there.parameters)
    alike = all(1 / _OTHER_WORK <= ours / theirs <= _OTHER_WORK for ours, theirs in pairs)
    return shared_name(other if alike else name)


class ReadTimes(NamedTuple):
    """Times of groups of classes, milliseconds per unit of work there, and the step's batch and pixel size."""

    groups_ms: FloatArray
    costs_ms: FloatArray
    batch_size: int
    pixels: int


#: Error of the GPU's work in a profile; and intervals of read steps on GPUs that PROFET's program measured, over those
#: of any program: nine of ten hold on PROFET's four GPUs, each in turn as a new one (`profet validate --cells`).
_BUSY_LOG_SD, _IN_PROGRAM_WIDTH = 0.15, 0.6


class CountedStep(Struct, frozen=True):
    """A profile's step by the counts of its network, which its name says, or which are read off the profile.

    Attributes
    ----------
    network : its name; empty if its work is read.
    counts_at : pixels -> what an image takes; InputError if the network can't be built for it.
    as_measured : whether PROFET's program ran the steps that were recorded.
    latencies_ms : instance -> milliseconds in FP32, where the name is known.
    read : what the work is read off.
    """

    models: Models
    network: str
    counts_at: Callable[[int], Counts]
    as_measured: bool
    latencies_ms: Mapping[str, float] = field(default_factory=dict)
    read: ReadTimes | None = None

    def _on(
        self,
        asked: Asked,
        machines: StepMachines,
        launched_at: tuple[int, int] | None = None,
        *,
        is_recorded: bool,
        by_classes: bool = False,
    ) -> Steps:
        counts, (precision, code, batch_size, _) = self.counts_at(asked.pixels), asked
        # It ran in FP32 alone.
        as_measured = is_recorded and self.as_measured and not is_half(precision)
        name = self.network
        if name and not as_measured:
            # One at all sizes.
            name = _known_name(name, counts if launched_at is None else self.counts_at(launched_at[1]))
        step = NetworkStep(
            counts,
            batch_size,
            name,
            precision=precision,
            training_code=code,
            as_measured=as_measured,
            launched_at=launched_at,
        )
        steps = machines.on(step).steps
        if not as_measured and not self.as_measured:
            steps = replace(steps, shared_log_sd=OF_PROGRAM * steps.shared_log_sd)
        if self.network:
            return steps
        if by_classes and (times := self.read) is not None:
            # Within one program class times say it without the kinds, too.
            read_step = replace(step, network=self.counts_at(times.pixels), batch_size=times.batch_size)
            by_classes_ms = class_work_ms(times.groups_ms, times.costs_ms, machines.costs_ms(step))
            steps = steps.scaled((by_classes_ms / machines.on(read_step).steps.work_ms) ** CLASS_SHARE, 1.0)
        # What was read off class times says what kinds of work there are; how much, the recorded step's time.
        return replace(
            steps,
            network_log_sd=np.hypot(steps.network_log_sd, READ_LOG_SD),
            shared_log_sd=np.hypot(steps.shared_log_sd, WORK_LOG_SD),
            kernels_log_sd=steps.kernels_log_sd + KERNELS_LOG_SD,
        )

    def _is_profets(self, recorded: Recorded) -> bool:
        """Whether PROFET's program ran a step: on its own GPUs; of another one, both steps are in today's software."""
        return recorded.gpu.name in self.models.transfer.profiled_gpus

    def usual_ms(self, recorded: Recorded) -> float:
        """Return what a recorded step usually takes."""
        return self._usual([recorded]).latency_ms.item()

    def _in_program(self, gpu: Gpu) -> bool:
        """Whether PROFET's program was recorded, and ran a GPU's known steps."""
        measured = calibrated_gpus(self.models).get(gpu.name)
        is_profets = gpu.name in self.models.transfer.profiled_gpus or (measured is not None and measured.in_tensorflow)
        return self.as_measured and is_profets

    def _usual(self, recorded: Sequence[Recorded], *, by_classes: bool = False) -> Steps:
        """Return what recorded steps usually take."""
        groups = groupby(recorded, lambda step: (step.asked, self._is_profets(step)))
        usual = []
        for (asked, is_profets), steps in groups:
            machines = machines_of(self.models, [(step.gpu, step.host) for step in steps])
            usual.append(self._on(asked, machines, is_recorded=is_profets, by_classes=by_classes))
        return usual[0] if len(usual) == 1 else Steps.joined(usual)

    def program(self, recorded: Recorded) -> Program:
        """Return how much longer work takes in the program of a recorded step than in today's software.

        It is seen on the profiled GPUs. A difference as between usual sources is none; a larger one, as of other
        kernels, counts whole.
        """
        if not self.as_measured or not self._is_profets(recorded) or is_half(recorded.asked.precision):
            return TODAYS
        transfer, asked = self.models.transfer, recorded.asked._replace(precision=FP32, training_code=PLAIN)
        profiled = [(transfer.gpus[row.gpu], row.host) for row in transfer.profiled.values()]
        machines = machines_of(self.models, profiled)
        in_program, today = (self._on(asked, machines, is_recorded=is_recorded) for is_recorded in (True, False))
        log_times = max(float(np.log(in_program.latency_ms / today.latency_ms).mean()), 0.0)
        usual_log_sd = rate_model_of(self.models).source_log_sd
        usual, unusual = (
            share / log_sd * math.exp(-((log_times / log_sd) ** 2) / 2)
            for share, log_sd in ((1 - _UNUSUAL_SHARE, usual_log_sd), (_UNUSUAL_SHARE, _UNUSUAL_LOG_SD))
        )
        share = unusual / (usual + unusual)
        return Program(share * log_times, math.sqrt(share * (1 - share)) * log_times)

    def on(
        self,
        targets: Sequence[tuple[Gpu, Host]],
        asked: Asked,
        recorded: Sequence[Recorded],
        *,
        program: Program = TODAYS,
        as_recorded: bool = False,
    ) -> StepsAt:
        """Return what makes steps on GPUs in hosts at any batch and pixel size, by those that were recorded.

        Parameters
        ----------
        program : by how much it differs from today's software.
        as_recorded : in the program that was recorded, by its own rates.
        """
        profiled = self.models.transfer.profiled_gpus
        in_program = [as_recorded or (gpu.name not in profiled and self._in_program(gpu)) for gpu, _ in targets]
        if len(set(in_program)) > 1:
            return self._apart(targets, asked, recorded, np.array(in_program), program)
        # Their known steps have the program's time.
        program = TODAYS if all(in_program) else program
        by_classes = self.read is not None and all(in_program) and not is_half(asked.precision)
        by_classes = by_classes and self._in_program(recorded[0].gpu)
        times_ms, log_sds = np.array([(step.latency_ms, step.log_sd) for step in recorded]).T
        given = self._usual(recorded, by_classes=by_classes)
        if by_classes and (busy := [row for row, step in enumerate(recorded) if step.busy_ms]):
            # In one program what the GPU worked says how much of a step launches are.
            busy_ms = [min(recorded[row].busy_ms or 0.0, recorded[row].latency_ms) for row in busy]
            given = Steps.joined([given, given.take(busy).without_launches()])
            times_ms, log_sds = np.append(times_ms, busy_ms), np.append(log_sds, [_BUSY_LOG_SD] * len(busy))
        learned = Learned.of(given, times_ms, log_sds)
        machines = machines_of(self.models, targets)
        times, wider_log_sd = math.exp(program.log_times), machines.slower(asked.precision).log_sd
        sizes = list(dict.fromkeys((step.asked.batch_size, step.asked.pixels) for step in recorded))

        @cache
        def formula(batch_size: int, pixels: int) -> Steps:
            step = asked._replace(batch_size=batch_size, pixels=pixels)
            steps = self._on(step, machines, sizes[0], is_recorded=as_recorded, by_classes=by_classes)
            return steps.scaled(times, 1.0)

        at = [formula(*size) for size in sizes]

        def at_size(batch_size: int, pixels: int) -> TargetSteps:
            steps = learned.on(formula(batch_size, pixels), at)
            width = _IN_PROGRAM_WIDTH if by_classes else 1.0
            log_sd = combined_sd(width * steps.log_sd, wider_log_sd, program.log_sd)
            return TargetSteps(steps.latency_ms, steps.launch_ms, log_sd)

        return at_size

    def _apart(
        self,
        targets: Sequence[tuple[Gpu, Host]],
        asked: Asked,
        recorded: Sequence[Recorded],
        in_program: np.ndarray,
        program: Program,
    ) -> StepsAt:
        """Return what `on` does for targets whose known steps the recorded program ran, and for others."""
        rows = [np.flatnonzero(in_program == is_in) for is_in in (False, True)]
        parts = [self.on([targets[row] for row in part.tolist()], asked, recorded, program=program) for part in rows]

        def at_size(batch_size: int, pixels: int) -> TargetSteps:
            columns = zip(*(at(batch_size, pixels) for at in parts), strict=True)
            in_order = np.argsort(np.concatenate(rows))
            return TargetSteps(*(np.concatenate(column)[in_order] for column in columns))

        return at_size


#: Models and a profile -> its step by counts; a note says why its network's name is not used; None: there is no name.
ByCounts = Callable[[Models, Profile], CountedStep | Note | None]


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
    reference = Place(transfer.gpus[transfer.reference_gpu], Mode.FP32, True)
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
    gpu = models.transfer.gpus[models.transfer.profiled[anchor].gpu]
    read = ReadTimes(groups_ms, rate_model_of(models).kept_costs_ms(gpu, Mode.FP32, True), batch_size, pixels)
    return CountedStep(models, "", partial(_by_area, counts), not waits_for_loader(profile), read=read)


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
    work_ms, launch_ms, start_ms = model.steps_ms(counts, batch_size, targets, modes, is_measured)
    generations = [gpu.compute_capability or 0.0 for gpu in gpus]
    log_ratios, _ = model.known.corrections(shared_name(name), generations, modes, batch_size, counts.pixels)
    latencies_ms = (smooth_max(work_ms, launch_ms) + start_ms) * np.exp(log_ratios)
    return dict(zip(names, latencies_ms.tolist(), strict=True))
