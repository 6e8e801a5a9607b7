"""What makes a profile of a TensorFlow trace, whichever file it came in: number of steps, refusals, precision."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from profet_core.errors import ProfileError
from profet_core.profiles.record import HOST_PREFIX, IDLE, UNKNOWN, Profile, ProfileMeta, StepsBasis
from profet_core.profiles.tensorflow.gpu_work import GpuWork, busiest_gpu, gpu_report
from profet_core.profiles.tensorflow.operation_names import DATASET
from profet_core.profiles.totals import TPU, TPU_PREFIX, no_times, profile_from_totals
from profet_core.profiles.trace_events.precision_signs import read_signs

FORWARD_ONLY = (
    "This is a forward pass (without gradients or weight updates): profile a training step, model.fit or a step "
    "with tf.GradientTape."
)
_JAX = (
    "This is a JAX profile: XLA fuses its operations, and the models support TensorFlow and PyTorch only. Record a "
    "training step of the same network with one of these."
)
#: A trace may leave the first and the last step unmarked.
_UNMARKED_ENDS = 2
#: Share of the operations whose count is the number of steps, where not all agree.
_NEARLY_ALL = 0.75
#: What JAX calls its programs and calls.
_JAX_NAME = re.compile(r"(?:jit|pjit|pmap)[_(]|PjitFunction|PjRtCApi|PjRtStreamExecutor|jax")
_FORWARD = re.compile(r"_?(?:Fused)?(?:DepthwiseConv2dNative|Conv[23]D|MatMul|BatchMatMul(?:V[23])?)")
#: Gradients, optimisers' updates, and the updates that Keras 3 makes of single operations.
_BACKWARD = re.compile(r"Grad|Backprop|Apply|AssignSub")


@dataclass(slots=True)
class TraceContent:
    """What a reader found in a trace.

    Attributes
    ----------
    host_us : operation type -> microseconds on the host, over all steps.
    marked : steps that the host's part of the trace marks.
    runs : operation of a graph -> how often it ran.
    kinds : more operation types that the trace names.
    capability : least major compute capability of its GPUs.
    devices : names of its processes or planes.
    has_gradient, has_jax : some name is that of a gradient's operation, or of JAX'.
    batch_sizes : those that steps were marked with.
    """

    host_us: dict[str, float] = field(default_factory=no_times)
    gpus: list[GpuWork] = field(default_factory=list)
    marked: int = 0
    runs: Counter[int] = field(default_factory=Counter)
    kinds: set[str] = field(default_factory=set)
    capability: int | None = None
    devices: Sequence[str] = ()
    has_gradient: bool = False
    has_jax: bool = False
    batch_sizes: set[int] = field(default_factory=set)

    def note_name(self, name: str) -> None:
        """Look at a name for what it tells of the step."""
        self.has_gradient = self.has_gradient or has_gradient(name)
        self.has_jax = self.has_jax or is_jax_name(name)


def trace_profile(
    found: TraceContent, source_format: str, nothing: str, ignored: Sequence[str] = (), warnings: Sequence[str] = ()
) -> Profile:
    """The profile of a trace's mean step.

    Parameters
    ----------
    nothing : why a trace without any operation is refused.

    Raises
    ------
    ProfileError : it is JAX' or a TPU's, or has no operation.
    """
    gpu, worked = busiest_gpu([gpu for gpu in found.gpus if gpu.kernels_us])
    if found.has_jax and {*found.host_us, *(gpu.operations_us if gpu else ())} <= {UNKNOWN, IDLE}:
        raise ProfileError(_JAX)
    if gpu is None and any(name.startswith(TPU_PREFIX) for name in found.devices):
        raise ProfileError(TPU)
    if gpu is None and not found.host_us:
        raise ProfileError(nothing)
    marked = found.marked or max((gpu.steps for gpu in found.gpus), default=0)
    steps, basis, doubts = count_steps(marked, found.runs.values())
    report = gpu_report(gpu, worked)
    totals_us = {HOST_PREFIX + kind: us for kind, us in found.host_us.items()} | dict(report.totals_us)
    kinds = {*found.kinds, *(name.partition("_")[2] for name in totals_us)}
    signs = read_signs(gpu.kernels_us if gpu else {}, kinds, compute_capability=found.capability)
    return profile_from_totals(
        totals_us,
        source_format=source_format,
        steps=steps,
        steps_basis=basis,
        meta=ProfileMeta(
            gpu=gpu.name if gpu and gpu.worked_us > 0 else None,
            framework="TensorFlow",
            precision=signs.precision,
            compiled=signs.compiled or None,
            channels_last=signs.channels_last or None,
            batch_size=_share(found.batch_sizes, worked),
        ),
        ignored=tuple(ignored),
        warnings=(*doubts, *warnings, *report.warnings),
        refusal=report.refusal or training_refusal(totals_us, found.has_gradient),
        may_be_cut=False,
    )


def _share(batch_sizes: set[int], gpus: int) -> int | None:
    """The batch of one GPU, if Keras noted the size with every step and it was always the same."""
    if len(batch_sizes) != 1:
        return None
    share, rest = divmod(min(batch_sizes), max(gpus, 1))
    return None if rest else share


def is_graph_operation(full_name: str, kind: str) -> bool:
    """True for an operation of a graph, "model/layer/Conv2D:Conv2D": all runs of that name are runs of one operation.

    Eager operations have no path, and the input pipeline reads ahead.
    """
    return kind != DATASET and "/" in full_name.partition(":")[0]


def usual_runs(runs: Iterable[int]) -> int | None:
    """How often a step's operations ran, each of which runs once a step or a multiple of it; None if that is open.

    What divides all counts; where nothing does, one operation that the profiler's start or end cut must not decide:
    then the count of nearly all, or one if that is the most frequent count.

    >>> usual_runs([3, 3, 6]), usual_runs([3, 3, 3, 2]), usual_runs([2, 3])
    (3, 3, None)
    """
    counts = Counter(run for run in runs if run > 0)
    if not counts:
        return None
    if (divisor := math.gcd(*counts)) > 1:
        return divisor
    usual, times = counts.most_common(1)[0]
    return usual if usual == 1 or times >= _NEARLY_ALL * counts.total() else None


def count_steps(marked: int, runs: Iterable[int]) -> tuple[int, StepsBasis, tuple[str, ...]]:
    """Number of steps, at least 1, how it is known, and what makes it less sure.

    The first step may have begun before the profiler and the last one ended after it; such a step leaves no mark. Of
    the three that tf_keras' TensorBoard callback records with `profile_batch=(5, 7)` only one is marked, but each ran
    every operation. Where nothing is marked the runs alone tell, as in XProf's statistics, which hold no marks.

    Parameters
    ----------
    marked : steps that the trace marks.
    runs : how often each operation ran for which `is_graph_operation` is true.
    """
    ran = usual_runs(runs)
    if ran is None or (marked > 0 and not marked < ran <= marked + _UNMARKED_ENDS):
        return max(marked, 1), "marked" if marked else "assumed", ()
    if ran <= max(marked, 1):
        return ran, "counted", ()
    some = "none" if marked == 0 else str(marked)
    return (
        ran,
        "counted",
        (f"The trace marks {some} of its steps, but every operation ran {ran} times: divided by {ran}.",),
    )


def has_gradient(name: str) -> bool:
    """True for the name of an operation of a gradient: "gradient_tape/net/...", "gradients/net/...", "GradientTape"."""
    return "gradient" in name or "Gradient" in name


def is_jax_name(name: str) -> bool:
    """True for the name of a program or call of JAX'; a network of TensorFlow's may have such a name too."""
    return _JAX_NAME.match(name) is not None


def is_forward(kind: str) -> bool:
    """True for a type that does a network's work in its forward pass."""
    return _FORWARD.fullmatch(kind) is not None


def training_refusal(operations: Iterable[str], gradient_seen: bool) -> str:
    """Why a step is none of a training, and what to do; empty if it is one or that is open.

    Parameters
    ----------
    operations : "Device_Conv2D", "Host_MatMul".
    gradient_seen : some operation's name says that it is of a gradient.
    """
    kinds = [name.partition("_")[2] for name in operations]
    if gradient_seen or not any(map(is_forward, kinds)) or any(_BACKWARD.search(kind) for kind in kinds):
        return ""
    return FORWARD_ONLY
