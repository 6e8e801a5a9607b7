"""Errors that users can act on, and notes: codes with values. Logic compares codes, users read sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from profet_recorder.errors import InputError as InputError
from profet_recorder.errors import ProfetError as ProfetError
from profet_recorder.errors import ProfileError as ProfileError


class OptionalInputError(InputError):
    """An optional input can't be used; the question can be answered without it.

    Attributes
    ----------
    field : of the question, such as "second" or "measured".
    """

    code = "optional_input"

    def __init__(self, message: str, field: str, *fields: str) -> None:
        super().__init__(message, field, *fields)
        self.field = field


class BusyError(ProfetError):
    """The input is valid, but the server is overloaded."""

    code = "busy"


class NoPredictionError(ProfetError):
    """The profile can be read and inspected, but no latency can be predicted from it."""

    code = "no_prediction"


class LatencyDoubtError(InputError):
    """The anchor latency contradicts the profile; confirm it before using it.

    Attributes
    ----------
    latency_ms : the given latency, milliseconds.
    expected_ms : latency that the profile's device time suggests, milliseconds.
    suggested_ms : the latency if only the unit was wrong, milliseconds, or None.
    suggested_unit : the unit in which the given number is plausible ("us", "s" or "ms"), or None.
    suggested_steps : the number of steps that the profile would cover if the latency is right, or None.
    """

    code = "latency_doubt"

    def __init__(
        self,
        message: str,
        *,
        latency_ms: float,
        expected_ms: float,
        suggested_ms: float | None,
        suggested_unit: str | None,
        suggested_steps: int | None = None,
    ) -> None:
        super().__init__(message)
        self.latency_ms = latency_ms
        self.expected_ms = expected_ms
        self.suggested_ms = suggested_ms
        self.suggested_unit = suggested_unit
        self.suggested_steps = suggested_steps

    def worded(self, name_of: Callable[[str], str]) -> str:
        """The message, and which fields confirm the latency."""
        steps = f"{name_of('steps')} {self.suggested_steps} if so, " if self.suggested_steps else ""
        return f"{super().worded(name_of)} Use {steps}{name_of('trust_latency')} if it is right."


class ArtifactError(ProfetError):
    """A models folder is missing, damaged or has another version."""

    code = "models"


class CatalogError(ProfetError):
    """The instance catalog (names, prices) is invalid."""

    code = "catalog"


class Code(StrEnum):
    """Subject of a note; the values are stable."""

    HOST_BOUND = "host_bound"
    NODE_PRICE = "node_price"
    SAME_GPU = "same_gpu"
    FROM_PROFILE = "from_profile"
    UNPROFILED_ANCHOR = "unprofiled_anchor"
    NOT_THE_PROFILED = "not_the_profiled"
    SCALED_FROM = "scaled_from"
    COMBINED = "combined"
    MEASURED_STEPS = "measured_steps"
    OTHER_PRECISION_STEPS = "other_precision_steps"
    SPREAD = "spread"
    BASED_ON = "based_on"
    EVIDENCE = "evidence"
    PUBLISHED = "published"
    CUSTOM_SPECS = "own_specs"
    GENERATION = "generation"
    SPECS_ONLY = "specs_only"
    NO_TENSOR_CORES = "no_tensor_cores"
    NO_BF16 = "no_bf16"
    SPEEDUP = "speedup"
    FP32_FROM_TF32 = "fp32_from_tf32"
    REGIME = "regime"
    SCALED_OUT = "scaled_out"
    HOST_MEMORY = "host_memory"
    # Warnings of a whole answer
    PROFILE = "profile"
    SECOND_PROFILE = "second_profile"
    COMPARED_PROFILE = "compared_profile"
    COUNTS = "counts"
    WRONG_GPU = "wrong_gpu"
    UNTRAINED_ANCHOR = "untrained_anchor"
    UNKNOWN_PRECISION = "unknown_precision"
    HALF_PRECISION = "half_precision"
    BF16_AS_FP16 = "bf16_as_fp16"
    TUNED_SPEEDUP = "tuned_speedup"
    CODE_IN_HALF = "code_in_half"
    CONVERTED_PRECISION = "converted_precision"
    COMPILED = "compiled"
    CHANNELS_LAST = "channels_last"
    STEPS_INFERRED = "steps_inferred"
    STEPS_ASSUMED = "steps_assumed"
    UNATTRIBUTED = "unattributed"
    ESTIMATED_TIMES = "estimated_times"
    INPUT_WAIT = "input_wait"
    INPUT_BOUND = "input_bound"
    GPU_IDLE = "gpu_idle"
    UNKNOWN_OPERATIONS = "unknown_operations"
    TRUNCATED = "truncated"
    DISSIMILAR = "dissimilar"
    OUT_OF_RANGE = "out_of_range"
    AT_FLOOR = "at_floor"
    MEASURED_FAR = "measured_far"
    CORRECTED = "corrected"
    MORE_CLASSES = "more_classes"
    OTHER_SIZE = "other_size"
    HYBRID_NETWORK = "hybrid_network"
    OTHER_DEFINITIONS = "other_definitions"
    NO_PEER_ACCESS = "no_peer_access"
    UNMEASURED_LINK = "unmeasured_link"


#: On the number of steps in a file.
STEPS_CODES = (Code.STEPS_INFERRED, Code.STEPS_ASSUMED)

#: Code -> its sentence, or part of one.
SENTENCES = {
    Code.HOST_BOUND: "limited by CPU launch overhead",
    Code.NODE_PRICE: "latency of one GPU, price of the whole machine with {gpus} GPUs",
    Code.SAME_GPU: "latency of {instance}, which has the same GPU",
    Code.FROM_PROFILE: "estimated from the profile because none was given",
    Code.UNPROFILED_ANCHOR: "from a profile recorded on {gpu}, which is not in the training data",
    Code.NOT_THE_PROFILED: "{gpu}, not the {profiled} that was profiled",
    Code.SCALED_FROM: "scaled from {sizes}",
    Code.COMBINED: "combined with {size}, which was predicted {how}",
    Code.MEASURED_STEPS: "{steps} on {networks} networks; range from errors on held-out networks",
    Code.OTHER_PRECISION_STEPS: "{steps} are in {precision}: they apply {how} TF32",
    Code.SPREAD: "range from errors on {gpus} held-out GPUs",
    Code.BASED_ON: "{evidence}, in {precision}",
    Code.EVIDENCE: "{text}",
    Code.PUBLISHED: "from the specs and published training speeds of {gpu}",
    Code.CUSTOM_SPECS: "{text}",
    Code.GENERATION: "from its specs and published speeds of its generation",
    Code.SPECS_ONLY: "from its specs alone: no training speeds are published for it or its generation",
    Code.NO_TENSOR_CORES: "{precision} at FP32 speed or slower: no tensor cores",
    Code.NO_BF16: "BF16 at FP32 speed: its tensor cores do not support BF16",
    Code.SPEEDUP: "{precision}, {times:.1f} times as fast as {over}",
    Code.FP32_FROM_TF32: "FP32 from the TF32 speed",
    Code.REGIME: "{text}",
    Code.SCALED_OUT: "{gpus} GPUs by {strategy} over {link}{assumed}",
    Code.HOST_MEMORY: (
        "machines with 4 or more GPUs that communicate through host memory vary: some took up to 3.6 times as long"
    ),
    Code.PROFILE: "{text}",
    Code.SECOND_PROFILE: "Second profile: {text}",
    Code.COMPARED_PROFILE: "The profile: {text}",
    Code.COUNTS: "{text}",
    Code.WRONG_GPU: "The profile says it was recorded on {recorded}, but the anchor is {anchor}: check the anchor.",
    Code.UNTRAINED_ANCHOR: (
        "{gpu} is not in the training data, so the profile is first scaled to GPUs that are. All predictions are less "
        "certain."
    ),
    Code.UNKNOWN_PRECISION: (
        "The file doesn't state the precision; assuming FP32 or TF32. If that is wrong, set the precision."
    ),
    Code.HALF_PRECISION: "The {precision} speed-up is from published runs; ranges are wider.",
    Code.TUNED_SPEEDUP: (
        "Channels-last and compiled code gains more from half precision, as MLPerf Training and NVIDIA's examples show."
    ),
    Code.CODE_IN_HALF: (
        "Training code changes AMP and BF16 only: nothing published shows what it does to FP32 or TF32. Ranges are "
        "wider."
    ),
    Code.BF16_AS_FP16: "The published AMP runs are in FP16; BF16 is assumed to be as fast.",
    Code.CONVERTED_PRECISION: (
        "The profile was recorded in {precision} and is converted to FP32 first, so the intervals are wider."
    ),
    Code.COMPILED: (
        "This step was compiled (XLA or torch.compile), which fuses operations. The models were trained on uncompiled "
        "steps, so intervals are wider."
    ),
    Code.CHANNELS_LAST: (
        "This step ran channels-last (NHWC), which uses other kernels. The models were trained without it, so "
        "intervals are wider."
    ),
    Code.STEPS_INFERRED: (
        "The file has no step count; its times and the latency fit {steps}. If that is wrong, set the number of steps."
    ),
    Code.STEPS_ASSUMED: "The file has no step count; assuming {steps}. If that is wrong, set the number of steps.",
    Code.UNATTRIBUTED: "{share:.0%} of the GPU time belongs to no named operation, so the interval is wider.",
    Code.ESTIMATED_TIMES: (
        "{share:.1%} of the GPU's work has missing or impossible times in the trace. They are estimated from kernels "
        "with the same names, and the interval is wider."
    ),
    Code.INPUT_WAIT: (
        "The GPU waits for input for {wait} of the step ({share:.0%}). Predictions exclude this data-loading stall, "
        "which a faster GPU would not shorten."
    ),
    Code.INPUT_BOUND: (
        "This step is input-bound: the input pipeline takes about {share:.0%} of it, and the GPU is busy for about "
        "{busy:.0%} of the step. A faster GPU won't help: prefetch, cache or use more loader workers first."
    ),
    Code.GPU_IDLE: (
        "This step leaves the GPU idle: the GPU is busy for about {busy:.0%} of the step. A faster GPU won't help: use "
        "larger batches or fewer, larger operations, or rent a cheaper GPU."
    ),
    Code.UNKNOWN_OPERATIONS: (
        "The models don't know {operations}, {share:.1%} of the busy time ({weight}): {treated}."
    ),
    Code.TRUNCATED: (
        "The profile is truncated: operations that every training step has are missing (TensorFlow keeps the 500 "
        "costliest). The device time was scaled up by {factor:.2f} to compensate, and the interval is wider."
    ),
    Code.DISSIMILAR: "This network is unlike those PROFET learned from: expect {error} error{more}.",
    Code.OUT_OF_RANGE: (
        "This step's GPU time, {total}, is {side} than any in the training data of {anchor} ({low} to {high}), so the "
        "prediction is an extrapolation."
    ),
    Code.AT_FLOOR: "The prediction for {instances} fell below all measurements and was set to half the fastest step.",
    Code.MEASURED_FAR: (
        "{measured} on {instance} is far from the prediction of {predicted}: check that it is in milliseconds per step "
        "and for the same network."
    ),
    Code.CORRECTED: "Your {measured} on {gpu} is used: {change} than predicted.",
    Code.MORE_CLASSES: "Other image size: assumes more classes at larger images, as in the measured data.",
    Code.OTHER_SIZE: (
        "The profile was recorded at {what} {recorded} and the estimate is for {requested}: they are different steps."
    ),
    Code.HYBRID_NETWORK: (
        "This network has attention as well as convolutions. The models know few such networks, so the interval is "
        "wider."
    ),
    Code.OTHER_DEFINITIONS: "This is {library}'s {name}. Not the same network: {others}.",
    Code.NO_PEER_ACCESS: (
        "These GPUs have no peer access. Machines with 4 or more GPUs that communicate through host memory vary: some "
        "took up to 3.6 times as long as predicted."
    ),
    Code.UNMEASURED_LINK: (
        "Only 10 Gb/s between machines was measured, not {gbit_per_s:g} Gb/s, so the intervals are widened by judgment."
    ),
}


def not_a_cnn(what: str, why: str, advice: str) -> str:
    """Why a step or a network gets no latency.

    >>> not_a_cnn("This network is not a CNN", "it has recurrent layers", "Give a CNN")
    'This network is not a CNN: it has recurrent layers, and the models know only CNNs. Give a CNN.'
    """
    return f"{what}: {why}, and the models know only CNNs. {advice}."


class Note(str):
    """A sentence, or a part of one, with its code and values.

    >>> note = Note(Code.SAME_GPU, instance="p3.2xlarge")
    >>> note.code, str(note)
    (<Code.SAME_GPU: 'same_gpu'>, 'latency of p3.2xlarge, which has the same GPU')
    """

    __slots__ = ("code", "values")

    code: Code
    values: dict[str, Any]

    def __new__(cls, code: Code, **values: Any) -> Note:
        """Word a code with the values of its sentence."""
        note = super().__new__(cls, SENTENCES[code].format(**values))
        note.code, note.values = code, values
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[Code], dict[str, Any]]:
        # Copies are made from the code too.
        return (self.code,), self.values


def line_of(notes: Iterable[Note]) -> str:
    """Notes as one line; empty if there are none.

    >>> line_of([Note(Code.HOST_BOUND), Note(Code.FP32_FROM_TF32)])
    'limited by CPU launch overhead; FP32 from the TF32 speed'
    """
    return "; ".join(notes)
