"""What a profile must hold before a latency is predicted from it: steps, GPU time, latency; and its bottleneck."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from msgspec import Struct

from profet_core.catalog.gpus import CPU_NAME, canonical
from profet_core.ensemble.operations import kind_of, load_operation_kinds
from profet_core.errors import Code, InputError, LatencyDoubtError, NoPredictionError, Note, no_vision
from profet_core.latency import log_sd_of
from profet_core.layers.networks import NamedNetwork, named_network, network_in_file_name
from profet_core.layers.rates import calibrated_gpus
from profet_core.prediction.models import Models
from profet_core.prediction.targets import unknown_gpu
from profet_profiles.limits import MAX_STEPS
from profet_profiles.profet_json import VERSION_1
from profet_profiles.record import (
    DEVICE_PREFIX,
    HOST_IDLE,
    HOST_PREFIX,
    IDLE_OPERATIONS,
    NO_DEVICE,
    STAND_IN,
    Profile,
)
from profet_profiles.units import MS_PER_UNIT, US_PER_MS, format_ms, format_significant, whole_number

#: Device rows of one step, including idle, over its latency in the 11,052 PROFET profiles: the median, and the range
#: without 1% on either side. The profiler's overhead gives ratios above
#: 1, most in small steps; truncated profiles are far below.
TYPICAL_RATIO = 1.054
USUAL_RATIOS = 0.745, 1.96
#: The maximum ratio. A number stated in the file is questioned only beyond it.
MAX_RATIO = 3.02
#: More steps than this are rarely recorded: a latency in another unit is more likely.
MAX_LIKELY_STEPS = 200


def suggested_steps(profile: Profile, latency_ms: float) -> int:
    """Return the number of steps that fits the latency: the profile's own if plausible, else the most likely.

    Parameters
    ----------
    latency_ms : of one step, without the profiler, milliseconds.
    """
    low, high = USUAL_RATIOS
    one_step = profile.device_total_us * profile.steps / US_PER_MS / latency_ms
    if not one_step or low <= one_step / profile.steps <= high:
        return profile.steps
    likeliest = max(1, round(one_step / TYPICAL_RATIO))
    return likeliest if likeliest <= MAX_LIKELY_STEPS else profile.steps


def counted(profile: Profile, latency_ms: float | None) -> Profile:
    """`profile` with its steps inferred from the latency, if their number is unknown and the latency is given."""
    if profile.steps_basis != "assumed" or latency_ms is None:
        return profile
    steps = suggested_steps(profile, latency_ms)
    read = profile.with_steps(steps, "inferred")
    low, high = USUAL_RATIOS
    return read if low <= read.device_total_us / US_PER_MS / latency_ms <= high else profile


def doubted_steps(profile: Profile, latency_ms: float) -> int | None:
    """Return the number of steps that fits the latency if a user gave the profile's own and it doesn't fit."""
    if profile.steps_basis not in ("given", "stated"):
        return None
    ratio = profile.device_total_us / US_PER_MS / latency_ms
    if profile.steps_basis == "stated" and USUAL_RATIOS[0] <= ratio <= MAX_RATIO:
        return None
    suggested = suggested_steps(profile, latency_ms)
    return None if suggested == profile.steps else suggested


def read_as(profile: Profile, steps: int | None) -> Profile:
    """`profile` with the given number of steps; unchanged if None.

    Raises
    ------
    InputError : not a whole number from 1 to `MAX_STEPS`.
    """
    if steps is None:
        return profile
    number = whole_number("The number of steps", steps)
    if number > MAX_STEPS:
        raise InputError(f"The number of steps must be at most {MAX_STEPS:,}.")
    return profile.with_steps(number, "given")


def steps_note(profile: Profile) -> list[Note]:
    """Caveat on the number of steps if the file doesn't contain it; else none."""
    steps = "one step" if profile.steps == 1 else f"{profile.steps} steps"
    if profile.steps_basis == "inferred":
        return [Note(Code.STEPS_INFERRED, steps=steps)]
    if profile.steps_basis == "assumed":
        recipe = ", as PROFET's recorder does" if profile.steps == 2 else ""
        return [Note(Code.STEPS_ASSUMED, steps=f"{steps}{recipe}")]
    return []


#: Waits below this share of the step are measurement noise.
WORTH_SHARE = 0.05
#: Minimum share of a measured latency attributed to the GPU, however long the wait.
MIN_LEFT_SHARE = 0.2
_IDLE = "Device_IDLE"
#: Whether the step waits for its loader -> the host row that holds the wait.
_WAIT = {True: HOST_PREFIX + "Dataset", False: HOST_PREFIX + "IteratorGetNext"}


def waits_for_loader(profile: Profile) -> bool:
    """Return True for PyTorch, whose steps wait for their loader; `tf.data` reads in parallel."""
    return "torch" in f"{profile.meta.framework or ''} {profile.source_format}".lower()


def input_wait_ms(profile: Profile) -> float:
    """Time the GPU waits for input per step, milliseconds; 0 if negligible.

    This is the host's time in the loader (PyTorch) or in fetching the next batch (TensorFlow), limited to GPU idle
    time, because queued work continues during the wait.
    """
    wait_us = min(profile.operations.get(_WAIT[waits_for_loader(profile)], 0.0), profile.operations.get(_IDLE, 0.0))
    return wait_us / US_PER_MS if wait_us > WORTH_SHARE * profile.device_total_us else 0.0


def without_input_wait(profile: Profile, latency_ms: float | None) -> tuple[Profile, float | None]:
    """Profile and latency of the step without input wait."""
    wait_ms = input_wait_ms(profile)
    if not wait_ms:
        return profile, latency_ms
    rows = (_IDLE, _WAIT[waits_for_loader(profile)])
    waited = {name: profile.operations[name] - wait_ms * US_PER_MS for name in rows}
    left_ms = None if latency_ms is None else max(latency_ms - wait_ms, MIN_LEFT_SHARE * latency_ms)
    return replace(profile, operations={**profile.operations, **waited}), left_ms


#: Host rows that are waits: for the loader, and for copies to and from the GPU.
_WAITS = {HOST_IDLE, *(HOST_PREFIX + name for name in ("Dataset", "_Send", "_Recv", "_HostRecv"))}


def host_times_ms(profiles: Sequence[Profile]) -> np.ndarray:
    """CPU time in milliseconds per step, (profiles,).

    It is infinity if the profile doesn't indicate it.

    PyTorch runs its operations on the host one after the other, so their own times add up to the launch time of the
    step under the profiler. TensorFlow uses many threads and records few of them.
    """
    totals_us = [
        sum(us for name, us in profile.operations.items() if name.startswith(HOST_PREFIX) and name not in _WAITS)
        if waits_for_loader(profile)
        else 0.0
        for profile in profiles
    ]
    return np.array([total_us / US_PER_MS if total_us > 0 else np.inf for total_us in totals_us])


#: Limits of the share of busy GPU time without an operation: above the first there is no prediction; above the second
#: there is a caveat and a wider interval.
MAX_UNATTRIBUTED_SHARE, WARNED_UNATTRIBUTED_SHARE = 0.20, 0.05
#: Maximum share of busy time in operations of unknown kind; above it the rest doesn't represent the step.
MAX_UNCLASSIFIED_SHARE = 0.50
#: Minimum share of convolutions in the GPU time of convolutions and matrix products. It is 0.30 and more in the 11,052
#: PROFET profiles, all of CNNs; transformers have none, or one that cuts the image into patches.
MIN_CONVOLUTION_SHARE = 0.10
_CONVOLUTIONS, _PRODUCTS = "convolution", "matrix product"
#: Minimum GPU utilization over the profile's span; below it, the profile has no whole step. In the idlest of the 11,052
#: PROFET profiles it was 8%, and today's GPUs are up to eight times as fast as the V100 of that one.
MIN_BUSY_SHARE = 0.01


#: Why a profile of `profet profile --device cpu` has no anchor but what was measured in the same way.
NO_ANCHOR = (
    "This profile was recorded with --device cpu, which is to try things out with, and a CPU is no anchor: record the "
    "step on the anchor's GPU."
)


#: Where many profiles are predicted at once.
NO_TRANSFORMER = "This is a vision transformer's step: predict it alone, with the default method."
#: Answer of a user for a profile of a vision transformer whose name has none of the known ones.
VISION_TRANSFORMER = "vision-transformer"
#: A patch convolution of a small transformer takes up to this share of the time of convolutions and products; it has no
#: gradient of its input, which are the images.
MAX_PATCH_SHARE = 0.4
#: Rows of an embedding that is looked up: more are words, fewer may be places or classes.
MIN_VOCABULARY = 5_000
#: The gradient or the update of an embedding; what cuts images into patches beside convolutions.
_EMBEDDING = re.compile(
    f"{DEVICE_PREFIX}(?:aten::_?embedding|ResourceScatter|(?:Resource)?SparseApply|UnsortedSegmentSum)"
)
_PATCHES = f"{DEVICE_PREFIX}ExtractImagePatches"


def refusal(profile: Profile, network: str | None = None) -> str:
    """Why no latency can be predicted from `profile`, and what to do: one line; empty if one can.

    Parameters
    ----------
    network : its name as a user gave it, or `VISION_TRANSFORMER`.
    """
    if profile.refusal:
        return profile.refusal
    if profile.device_busy_us <= 0:
        return NO_DEVICE
    if profile.meta.gpu is not None and CPU_NAME.search(profile.meta.gpu):
        return f"This profile was recorded on a CPU ({profile.meta.gpu}): record the step on a GPU."
    if profile.meta.compiled and "torch" not in (profile.meta.framework or "").lower():
        return (
            "XLA fused this step's operations, and the models need single operations: record it again with "
            "jit_compile=False."
        )
    if profile.meta.precision is not None and canonical(profile.meta.precision) is None:
        return (
            f"The profile's precision is {profile.meta.precision}, which the models don't cover: record it in FP32, "
            "TF32, AMP or BF16."
        )
    busy_share = profile.device_busy_us / profile.device_total_us
    if busy_share < MIN_BUSY_SHARE:
        return (
            f"The GPU is busy for {busy_share:.1%} of this profile, which is too little for a training step: "
            "record a whole step after a few warm-up steps, with its input ready."
        )
    if profile.unknown_share > MAX_UNATTRIBUTED_SHARE:
        return (
            f"{profile.unknown_share:.0%} of the GPU time belongs to no named operation: record it again with CPU "
            "operations too, and without XLA, torch.compile or CUDA graphs."
        )
    sums, unknown_us = _work_us(profile)
    if (share := sum(unknown_us.values()) / profile.device_busy_us) > MAX_UNCLASSIFIED_SHARE:
        longest = max(unknown_us, key=lambda name: unknown_us[name]).removeprefix(DEVICE_PREFIX)
        return (
            f"{share:.0%} of the GPU time is in unknown operations, {longest} the longest: record a training step with "
            "the framework's own operations."
        )
    return _no_vision(profile, network, sums) if _is_transformer(profile, network, sums) else ""


def is_transformer(profile: Profile, network: str | None = None) -> bool:
    """Whether a step is of no network that convolutions mix the pixels of: a vision transformer's, or none of images.

    Parameters
    ----------
    network : as `refusal` takes it.
    """
    return _is_transformer(profile, network, _work_us(profile)[0])


def _is_transformer(profile: Profile, network: str | None, sums: Mapping[str, float]) -> bool:
    if network == VISION_TRANSFORMER or profile.meta.network == VISION_TRANSFORMER:
        return True
    convolutions_us, both_us = sums[_CONVOLUTIONS], sums[_CONVOLUTIONS] + sums[_PRODUCTS]
    if convolutions_us <= MIN_CONVOLUTION_SHARE * both_us:
        return True
    if convolutions_us > MAX_PATCH_SHARE * both_us:
        return False
    if (named := vision_network(profile, network)) is not None:
        return not named.counts.is_convolutional
    return sums[_ATTENTION] > 0 and _cuts_images(profile)


def _no_vision(profile: Profile, network: str | None, sums: Mapping[str, float]) -> str:
    """Why a step without a CNN's convolutions is of no network for images, or what to say of it; empty if it is."""
    work, convolves = profile.meta.work, sums[_CONVOLUTIONS] > 0
    looks_up = any(_EMBEDDING.match(name) for name in profile.operations)
    why = ""
    if sums[_PRODUCTS] <= 0:
        share = sums[_CONVOLUTIONS] / profile.device_busy_us
        why = f"{f'{share:.1%}' if share else 'none'} of its GPU time is convolutions or matrix products"
    elif work is not None and work.vocabulary >= MIN_VOCABULARY:
        why = f"it looks up words in an embedding of {work.vocabulary:,.0f}"
    elif work is None and looks_up and not convolves and _PATCHES not in profile.operations:
        why = "it looks up an embedding and convolves no image, as language models do"
    if why:
        return no_vision("This is no vision network's step", why, "Record one's training step")
    if VISION_TRANSFORMER in (network, profile.meta.network) or vision_network(profile, network):
        return ""
    if (_cuts_images(profile) and not looks_up) or (
        work is not None and work.patch > 0 and profile.meta.pixels is not None
    ):
        return ""
    return (
        "This step has almost no convolutions, and nothing in the profile says whether it reads images: if it does, "
        f"give the network's name, or {VISION_TRANSFORMER}, as its network."
    )


def vision_network(profile: Profile, network: str | None) -> NamedNetwork | None:
    """Return the known network that a user, the profile or its file's name name; None for none."""
    name = network or profile.meta.network or network_in_file_name(profile.file_name)
    try:
        meant = None if name is None else named_network(name)
    except InputError:
        return None
    return None if meant is None or meant.is_refused else meant


_ATTENTION = "attention"
_FORWARD, _OF_INPUT, _OF_FILTER = (
    tuple(f"{DEVICE_PREFIX}{kind}{part}" for kind in ("Conv2D", "DepthwiseConv2dNative", "_FusedConv2D"))
    for part in ("", "BackpropInput", "BackpropFilter")
)
#: What other kernels that a convolution's gradient starts may take beside it.
_MAX_OTHER_SHARE = 0.25


def _cuts_images(profile: Profile) -> bool:
    """Whether convolutions have no gradient of their input, as that of patches: its input are the images."""
    forward_us, input_us, filter_us = (
        sum(profile.operations.get(name, 0.0) for name in names) for names in (_FORWARD, _OF_INPUT, _OF_FILTER)
    )
    return forward_us > 0 and input_us <= _MAX_OTHER_SHARE * filter_us


def _work_us(profile: Profile) -> tuple[dict[str, float], dict[str, float]]:
    """Time of convolutions, of matrix products, and of attention among these; and of operations of unknown kinds."""
    sums, unknown_us = {_CONVOLUTIONS: 0.0, _PRODUCTS: 0.0, _ATTENTION: 0.0}, dict[str, float]()
    for name, us in profile.operations.items():
        # Most names are in the table, and say nothing.
        if (kinds := _SHIPPED_WORK.get(name)) is None:
            kinds = _work(name)
            if name in load_operation_kinds().shipped:
                _SHIPPED_WORK[name] = kinds
            elif name.startswith(DEVICE_PREFIX) and name not in IDLE_OPERATIONS and kind_of(name) is None:
                unknown_us[name] = us
        for kind in kinds:
            sums[kind] += us
    return sums, unknown_us


#: What `_work` says of shipped names that were asked for: a visitor's are not kept.
_SHIPPED_WORK: dict[str, tuple[str, ...]] = {}


def is_attention(operation: str) -> bool:
    """Whether an operation multiplies matrices that the network computes."""
    return "BatchMatMul" in operation or "Einsum" in operation or "attention" in operation


def _work(operation: str) -> tuple[str, ...]:
    """Whether a GPU's operation is a convolution or a matrix product, or attention besides; empty for others."""
    if not operation.startswith(DEVICE_PREFIX):
        return ()
    attention = (_ATTENTION,) if is_attention(operation) else ()
    operation_class = getattr(kind_of(operation), "operation_class", None) or ""
    if operation_class.startswith(("convolution", "depthwise")):
        return (_CONVOLUTIONS, *attention)
    return (_PRODUCTS, *attention) if operation_class == _PRODUCTS else attention


def check_profile(models: Models, profile: Profile, network: str | None = None) -> None:
    """Refuse a profile that no answer of a user's could help.

    Raises
    ------
    NoPredictionError : what `refusal` says, or that the profile's GPU is unknown or a processor that stands in for one.
    """
    reason, recorded = refusal(profile, network), profile.meta.gpu
    if not reason and STAND_IN in profile.warnings and not calibrated_gpus(models):
        reason = NO_ANCHOR
    if not reason and recorded is not None:
        reason = unknown_gpu(models, recorded)
    if reason:
        raise NoPredictionError(reason)


def unattributed_log_sd(profiles: Sequence[Profile]) -> np.ndarray:
    """Log standard deviation that GPU time without an operation, or without a sound duration, adds, (profiles,)."""
    shares = [
        (profile.unknown_share if profile.unknown_share > WARNED_UNATTRIBUTED_SHARE else 0.0)
        + (profile.meta.estimated_share or 0.0)
        for profile in profiles
    ]
    # That part may take from nothing to about twice its share on another GPU: an interval's half-width.
    halves = [-math.log1p(-share) if share < 1 else 0.0 for share in shares]
    log_sd: np.ndarray = log_sd_of(np.array(halves))
    return log_sd


#: Factor beyond the training range of latency over device total at which a latency needs confirmation.
RANGE_FACTOR = 3.0
#: The same beyond which a confirmed latency is refused too: no step of any GPU is so far from its operations' times.
TRUSTED_FACTOR = 10_000.0


def check_latency(models: Models, profile: Profile, anchor: str, latency_ms: float, *, trusted: bool = False) -> None:
    """Raise if a latency contradicts the profile.

    A profile's device rows, including idle, add up to about the step. In the training data the ratio has a narrow
    range. Beyond `RANGE_FACTOR` times that range, the latency probably has another unit or belongs to another profile.
    Two cases are rejected at a smaller deviation: a user-supplied number of steps that doesn't fit, and a latency well
    below the device rows of a whole trace, whose step stalled while it was recorded.

    Parameters
    ----------
    trusted : the user confirmed it.

    Raises
    ------
    InputError : it is impossible, confirmed or not.
    LatencyDoubtError : with the unit or the number of steps that would be plausible, if there is one.
    """
    device_ms = profile.device_total_us / US_PER_MS
    if device_ms == 0:
        return
    low, high = models.ranges[anchor].latency_per_device_total
    if trusted:
        if not low / TRUSTED_FACTOR <= latency_ms / device_ms <= high * TRUSTED_FACTOR:
            raise InputError(
                f"A latency of {format_ms(latency_ms)} is impossible for this profile, whose GPU rows take "
                f"{format_ms(device_ms)}: give it in milliseconds ({{latency_ms}}).",
                "latency_ms",
            )
        return
    plausible_ms = (device_ms * low / RANGE_FACTOR, device_ms * high * RANGE_FACTOR)
    steps = doubted_steps(profile, latency_ms)
    fits = plausible_ms[0] <= latency_ms <= plausible_ms[1]
    stalled = not profile.may_be_cut and device_ms > MAX_RATIO * latency_ms
    if steps is None and fits and not stalled:
        return
    unit, read_as = None, ""
    if steps is not None:
        read_as = " as one step" if profile.steps == 1 else f" as {profile.steps} steps"
    elif not fits:
        low_ms, high_ms = plausible_ms
        fitting = (unit for unit, factor in MS_PER_UNIT.items() if low_ms <= latency_ms * factor <= high_ms)
        unit = next(fitting, None)
    suggested_ms = latency_ms * MS_PER_UNIT[unit] if unit else None
    expected_ms = device_ms * models.ranges[anchor].median_latency_per_device_total
    raise LatencyDoubtError(
        f"A latency of {format_ms(latency_ms)} doesn't fit this profile, which{read_as} suggests "
        f"about {format_ms(expected_ms)}: {_hint(profile, latency_ms, unit, steps)}",
        latency_ms=latency_ms,
        expected_ms=expected_ms,
        suggested_ms=suggested_ms,
        suggested_unit=unit,
        suggested_steps=steps,
    )


def _hint(profile: Profile, latency_ms: float, unit: str | None, steps: int | None) -> str:
    if unit:
        suggested = format_ms(latency_ms * MS_PER_UNIT[unit])
        return f"did you mean {format_significant(latency_ms)} {unit} ({suggested})?"
    if steps is not None:
        return f"does the file cover {steps} step{'s' if steps > 1 else ''}?"
    idle_ms = (profile.device_total_us - profile.device_busy_us) / US_PER_MS
    if idle_ms > latency_ms:
        return f"its GPU is idle for {format_ms(idle_ms)} per step. Record a step that doesn't stall, or check it."
    return "check it."


#: How the number of steps is known -> in words.
_KNOWN_BY = {
    "marked": "marked in the file",
    "counted": "counted from its operations",
    "stated": "as the file says",
    "given": "as you say",
    "inferred": "by its latency",
    "assumed": "assumed",
}


def steps_words(profile: Profile) -> str:
    """'one step, marked in the file', '5 steps, as you say'."""
    count = "one step" if profile.steps == 1 else f"{profile.steps:,} steps"
    return f"{count}, {_KNOWN_BY[profile.steps_basis]}"


def untold(profile: Profile) -> list[str]:
    """Of "precision" and "compiled", what the file doesn't tell and may matter.

    Version 1 of PROFET JSON is FP32 and not compiled by definition.
    """
    meta = profile.meta
    recorder = f"{meta.framework or ''} {profile.source_format}".lower()
    if profile.source_format == VERSION_1 or ("torch" not in recorder and meta.precision is not None):
        return []
    return [field for field in ("precision", "compiled") if getattr(meta, field) is None]


Kind = Literal["busy", "idle", "input", "no GPU"]

#: Threshold of GPU utilization. With the step's latency known, 5.8% of the 11,052 training profiles are below it; the
#: fastest other instance ran them about as fast (median), and 6% of them more than 1.5 times as fast. For the remaining
#: profiles it was 2.9 times and 74% (counted over `data/profet`, as all counts here).
IDLE_BELOW = 0.55
#: The threshold from the profile alone: the profiler slows short steps, which then look more idle. 7.9% are below it;
#: the fastest other instance ran 6% of them more than 1.5 times as fast.
IDLE_BELOW_WITHOUT_LATENCY = 0.40
#: Input-bound thresholds: input wait above the first share of the step and GPU utilization below the second: 15 of the
#: training profiles, all of the two smallest networks. A PyTorch step waits for its loader; tf.data may overlap.
INPUT_ABOVE, INPUT_BUSY_BELOW = 0.15, 0.60
#: Below this utilization a faster GPU gains noticeably less, and the sentence says so.
MOSTLY_BUSY = 0.75


class Diagnosis(Struct, frozen=True):
    """Bottleneck of a step.

    Attributes
    ----------
    kind : "input": input-bound; "idle": the GPU waits between short kernels; "busy": neither; "no GPU": the profile has
        no GPU time.
    gpu_busy_share : GPU utilization over the step, 0 to 1; None without GPU rows.
    input_share : share of the step spent in the input pipeline, 0 to 1; it may overlap with GPU work.
    latency_known : shares refer to the step's measured latency, not to the time span of the profile.
    """

    kind: Kind
    gpu_busy_share: float | None
    input_share: float | None
    latency_known: bool

    @property
    def another_gpu_helps(self) -> bool:
        """Whether a faster GPU helps; False if it would only wait longer."""
        return self.kind in ("busy", "no GPU")

    @property
    def sentence(self) -> str:
        """One line of display text."""
        if self.gpu_busy_share is None:
            return "No GPU time was recorded, so GPU utilization is unknown."
        if self.warning is not None:
            return self.warning
        busy = f"the GPU is busy for about {self.gpu_busy_share:.0%} of the step"
        if self.gpu_busy_share < MOSTLY_BUSY:
            return f"{busy[0].upper()}{busy[1:]}: a faster GPU shortens only that part."
        return f"The GPU is well utilized: it{busy[7:]}."

    @property
    def warning(self) -> Note | None:
        """Why a faster GPU doesn't help; None if it does."""
        if self.kind == "input":
            return Note(Code.INPUT_BOUND, share=self.input_share, busy=self.gpu_busy_share)
        return Note(Code.GPU_IDLE, busy=self.gpu_busy_share) if self.kind == "idle" else None


def diagnose(profile: Profile, latency_ms: float | None = None) -> Diagnosis:
    """Find the bottleneck of the step in `profile`.

    Parameters
    ----------
    latency_ms : measured step latency, milliseconds; None: from the profile's meta.
    """
    known_ms = latency_ms or profile.meta.step_latency_ms
    # `tf.data` prefetching, the step's wait for it, or a DataLoader's.
    rows = (f"{HOST_PREFIX}Dataset", f"{HOST_PREFIX}Iterator")
    input_us = sum(us for name, us in profile.operations.items() if name == rows[0] or name.startswith(rows[1]))
    if profile.device_total_us == 0:
        share = min(1.0, input_us / (known_ms * US_PER_MS)) if known_ms else None
        return Diagnosis("no GPU", None, share, known_ms is not None)
    step_us = known_ms * US_PER_MS if known_ms else profile.device_total_us
    busy, waiting = min(1.0, profile.device_busy_us / step_us), min(1.0, input_us / step_us)
    idle_below = IDLE_BELOW if known_ms else IDLE_BELOW_WITHOUT_LATENCY
    if waiting > INPUT_ABOVE and (busy < INPUT_BUSY_BELOW or waits_for_loader(profile)):
        kind: Kind = "input"
    else:
        kind = "idle" if busy < idle_below else "busy"
    return Diagnosis(kind, busy, waiting, known_ms is not None)
