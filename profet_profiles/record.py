"""A profile, whatever file it came from: time per operation type over one training step."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, Self

from profet_profiles.errors import ProfileError
from profet_profiles.limits import MAX_OPERATION_US, check_operations
from profet_profiles.units import US_PER_MS

DEVICE_PREFIX = "Device_"
HOST_PREFIX = "Host_"
#: The type of what is no operation's time, and of what is one's that is not named.
IDLE, UNKNOWN = "IDLE", "Unknown"
DEVICE_IDLE, HOST_IDLE = DEVICE_PREFIX + IDLE, HOST_PREFIX + IDLE
IDLE_OPERATIONS = frozenset({DEVICE_IDLE, HOST_IDLE})
#: GPU time that belongs to no operation, whatever the framework.
UNKNOWN_DEVICE_OPERATION = DEVICE_PREFIX + UNKNOWN
#: Profilers tell times in picoseconds; finer digits come from dividing by the number of steps.
US_DIGITS = 6

#: How the number of steps that a file covers is known: the file marks them; it shows how often operations ran; it
#: states the number (version 2); the user gave it; it follows from the step's latency; or nothing is known, and the
#: recipe that files of its format are made by is taken.
StepsBasis = Literal["marked", "counted", "stated", "given", "inferred", "assumed"]
#: Why a profile without device rows gets no prediction.
NO_DEVICE = (
    "This profile has no GPU time (no Device_ rows): it was recorded on a CPU and can't be used to predict GPU "
    "latency. Record the step on the anchor's GPU."
)
#: Of a CPU's step whose operations count as a device's (`profet profile --device cpu`); `profet_core` looks for it.
STAND_IN = (
    "The processor's operations count as a device's: a stand-in to try things out with, not a measurement of a GPU."
)
#: Why a profile without any of a network's work gets no prediction.
NO_WORK = (
    "This profile has no convolution, matrix product or backward pass, so it is not a training step: profile a "
    "whole step, from the batch to the optimizer update."
)
#: Why a profile of forward operations alone gets no prediction.
FORWARD_ONLY = (
    "This profile has only a forward pass. Profile a whole training step (model.fit, or a tf.GradientTape step)."
)
#: Why a trace without operations, and a TPU's profile, are refused.
NO_OPERATION = "No operation was found in the trace: record a training step with the profiler running."
TPU = "This profile was recorded on a TPU, and the models support GPUs only: record the step on a GPU."
#: Of a trace whose updates follow several backward passes each; a recorder counts these itself.
ACCUMULATED = (
    "Gradients are accumulated over several batches: the step is one update, and its batch size, latency and "
    "operations are those of all of them."
)
#: Of one whose steps hold more updates of one network than two alike could have.
REPEATED_UPDATES = (
    "Each step holds several updates of the same kind, such as those of a GAN's critic: the batch size is that of one."
)
#: First among the warnings of every profile that was recorded with PyTorch.
TRANSLATED_WARNING = (
    "This is a PyTorch profile: its operations were mapped to TensorFlow's, which the shipped models were trained on."
)
PADDLE_WARNING = (
    "This is a PaddlePaddle profile: its kernels were mapped by name to TensorFlow's operations, which the shipped "
    "models were trained on."
)
#: Operations that nothing but a TPU runs.
_TPU = re.compile(r"(Host|Device)_(_?TPU|infeed|outfeed)", re.IGNORECASE)
#: What any network's training step has some of; compiled kernels may hide the names.
_WORK = re.compile(
    r"conv|mat_?mul|mm\b|gemm|einsum|grad|back|rnn|lstm|gru|attention|xla|fus|triton|unknown", re.IGNORECASE
)
#: Operations that do a network's work in its forward pass.
_FORWARD = re.compile(r"_?(?:Fused)?(?:DepthwiseConv2dNative|Conv[23]D|MatMul|BatchMatMul(?:V[23])?)")
#: Gradients, optimizers' updates, and the updates that Keras 3 makes of single operations.
_BACKWARD = re.compile(r"Grad|Backprop|Apply|AssignSub")


@dataclass(frozen=True, slots=True)
class TransformerWork:
    """Work of one step's forward pass in a network that convolves its images at most to cut them into patches.

    Attributes
    ----------
    convolution_flops, dense_flops, product_flops : a multiply-add is two; products are of two matrices that the network
        computes, as attention does.
    convolution_outputs, dense_outputs, product_outputs : values that these put out.
    inputs : values that the first two read.
    normalization, activation, elementwise, pooling, copies : values that layers of that kind put out.
    score : values of attention's scores that fused kernels keep on the chip.
    operations, products : numbers.
    attended : how many tokens see each other: all of an image's, or those of a window.
    parameters, dense_parameters : that have a gradient; in matrices.
    vocabulary : rows of the largest embedding that is looked up; 0 without one.
    patch : pixels from one patch to the next; 0 without a convolution.
    """

    convolution_flops: float
    dense_flops: float
    product_flops: float
    convolution_outputs: float
    dense_outputs: float
    product_outputs: float
    inputs: float
    normalization: float
    activation: float
    score: float
    elementwise: float
    pooling: float
    copies: float
    operations: float
    products: float
    attended: float
    parameters: float
    dense_parameters: float
    vocabulary: float
    patch: float


@dataclass(frozen=True, slots=True)
class ProfileMeta:
    """Facts of the step from the recorder; every field may be missing (None).

    Attributes
    ----------
    network : its name, as a user or a library spells it.
    compiled : the step ran through a compiler that joins operations: XLA, torch.compile.
    onednn : TensorFlow ran the CPU's operations with oneDNN, which is faster and calls them otherwise.
    channels_last : its tensors were channels-last (NHWC) in memory.
    estimated_share : part of the GPU's work, 0 to 1, whose times the profiler lost or got wrong: estimated from kernels
        of the same names.
    work : of a transformer, where the file tells shapes.
    """

    gpu: str | None = None
    framework: str | None = None
    precision: str | None = None
    compiled: bool | None = None
    batch_size: int | None = None
    pixels: int | None = None
    parameters: int | None = None
    step_latency_ms: float | None = None
    peak_memory_mib: float | None = None
    onednn: bool | None = None
    channels_last: bool | None = None
    estimated_share: float | None = None
    network: str | None = None
    work: TransformerWork | None = None


@dataclass(frozen=True)
class Profile:
    """Time per operation type over one training step.

    Attributes
    ----------
    operations : operation name ("Device_Conv2D", "Host_IDLE") -> microseconds of ONE step, sorted by name, so that the
        order of keys in a file changes nothing. The device rows of one GPU, idle included, add up to about the step
        as it ran under the profiler.
    source_format : name of the format it was read from.
    ignored : what the file held and the profile leaves out, one short text each.
    steps, steps_basis : training steps the file covers, of which `operations` are the mean, and how that is known.
    warnings : what makes the times less sure, one sentence each, shown before any number.
    refusal : why no latency may be predicted from this profile, and what to do: one line; empty if one may.
    may_be_cut : False for a whole trace; totals may come from statistics that list the 500 costliest operations a side.
    file_name : of the file, archive or folder it was read from; empty if unknown. It may name the network.
    """

    operations: Mapping[str, float]
    meta: ProfileMeta = field(default_factory=ProfileMeta)
    source_format: str = "operations"
    ignored: tuple[str, ...] = ()
    steps: int = 1
    warnings: tuple[str, ...] = ()
    steps_basis: StepsBasis = "stated"
    refusal: str = ""
    may_be_cut: bool = True
    file_name: str = field(default="", compare=False)
    # So that a file that is read as covering other steps than first thought loses no digit.
    _unrounded_us: Mapping[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_unrounded_us", dict(self.operations))
        ordered = {name: round(float(self.operations[name]), US_DIGITS) for name in sorted(self.operations)}
        object.__setattr__(self, "operations", MappingProxyType(ordered))

    def with_meta(self, **facts: str | float | bool | None) -> Self:
        """Return a copy with other facts of the step."""
        return replace(self, meta=replace(self.meta, **facts))  # type: ignore[arg-type]

    def with_steps(self, steps: int, basis: StepsBasis = "given") -> Profile:
        """Return the profile of the file read as covering `steps` training steps.

        >>> Profile({"Device_Conv2D": 50.0}, steps=2, steps_basis="assumed").with_steps(1).operations["Device_Conv2D"]
        100.0
        """
        factor = self.steps / steps
        operations = {name: us * factor for name, us in self._unrounded_us.items()}
        return replace(self, operations=operations, steps=steps, steps_basis=basis)

    def with_file_name(self, file_name: str) -> Profile:
        """Return a copy, read from a file of this name."""
        return replace(self, operations=self._unrounded_us, file_name=file_name)

    @cached_property
    def device_total_us(self) -> float:
        """All device rows, idle included, microseconds."""
        return sum(us for name, us in self.operations.items() if name.startswith(DEVICE_PREFIX))

    @cached_property
    def device_busy_us(self) -> float:
        """All device rows but idle time, microseconds."""
        return self.device_total_us - self.operations.get(DEVICE_IDLE, 0.0)

    @cached_property
    def host_total_us(self) -> float:
        """All host rows, idle included, microseconds."""
        return sum(us for name, us in self.operations.items() if name.startswith(HOST_PREFIX))

    @cached_property
    def busy_total_us(self) -> float:
        """All rows that are not idle time, microseconds."""
        return sum(us for name, us in self.operations.items() if name not in IDLE_OPERATIONS)

    @cached_property
    def unknown_share(self) -> float:
        """Part of the GPU's busy time that belongs to no operation, 0 to 1."""
        busy_us = self.device_busy_us
        return self.operations.get(UNKNOWN_DEVICE_OPERATION, 0.0) / busy_us if busy_us > 0 else 0.0


def no_times() -> defaultdict[str, float]:
    """Return sums of nothing yet: every name has 0."""
    return defaultdict(float)


def profile_from_totals(
    totals_us: Mapping[str, float],
    steps: int = 1,
    *,
    source_format: str = "operations",
    meta: ProfileMeta | None = None,
    ignored: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    steps_basis: StepsBasis = "assumed",
    refusal: str = "",
    may_be_cut: bool = True,
) -> Profile:
    """Return the profile of one mean step, refused if it holds none of a network's work.

    Parameters
    ----------
    totals_us : operation name ("Device_Conv2D") -> microseconds over all `steps`.
    source_format, meta, ignored, warnings, steps_basis, refusal, may_be_cut : as `Profile` has them.

    Raises
    ------
    ProfileError : no operation, too many, times that no step takes, or no time at all.
    """
    if not totals_us:
        raise ProfileError(NO_OPERATION)
    check_operations(len(totals_us))
    if any(map(_TPU.match, totals_us)):
        raise ProfileError(TPU)
    means_us = {name: total_us / steps for name, total_us in totals_us.items()}
    for name, mean_us in means_us.items():
        if not math.isfinite(mean_us) or not 0 <= mean_us <= MAX_OPERATION_US:
            raise ProfileError(f"{name} adds up to an implausible time: record the profile again.")
    profile = Profile(
        means_us, meta or ProfileMeta(), source_format, ignored, steps, warnings, steps_basis, refusal, may_be_cut
    )
    if profile.device_total_us + profile.host_total_us == 0:
        raise ProfileError("Every operation took 0 microseconds: profile a training step that runs.")
    # One of a CPU has no number in any case, and is refused.
    on_device = [name for name in profile.operations if name.startswith(DEVICE_PREFIX)]
    if profile.device_busy_us > 0 and not profile.refusal and not holds_work(on_device):
        return replace(profile, refusal=NO_WORK)
    return profile


def holds_work(operations: Iterable[str]) -> bool:
    """Return True if any of these does what every training step does: a convolution, a product, a gradient.

    >>> holds_work(["Device_Relu", "Device_ResourceApplyAdam"]), holds_work(["Device_ReluGrad"])
    (False, True)
    """
    return any(_WORK.search(name) for name in operations)


def hidden_copies_note(hidden_us: float, counted_us: float) -> str:
    """Name the time that a profile leaves out of a step for copies that ran beside computation."""
    share = hidden_us / (hidden_us + counted_us)
    return (
        f"{hidden_us / US_PER_MS:.3g} ms per step ({share:.0%} of the GPU time) of copies run beside computation: they "
        "are not counted, since they take no time from the step."
    )


def is_forward(kind: str) -> bool:
    """Return True for a type that does a network's work in its forward pass."""
    return _FORWARD.fullmatch(kind) is not None


def training_refusal(operations: Iterable[str], *, gradient_seen: bool = False) -> str:
    """Say why a step of "Device_Conv2D", "Host_MatMul" is not a training step; empty if it is one or that is unknown.

    >>> training_refusal(["Device_Conv2D", "Device_Conv2DBackpropFilter"])
    ''
    """
    kinds = [name.partition("_")[2] for name in operations]
    if gradient_seen or not any(map(is_forward, kinds)) or any(_BACKWARD.search(kind) for kind in kinds):
        return ""
    return FORWARD_ONLY
