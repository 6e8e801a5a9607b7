"""Errors that users can act on, and notes: codes with values. Logic compares codes, users read sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Self

from profet_profiles.errors import BusyError as BusyError
from profet_profiles.errors import InputError as InputError
from profet_profiles.errors import ProfetError as ProfetError
from profet_profiles.errors import ProfileError as ProfileError

#: So many names of a longer list stand in a message: the most similar ones.
_MOST_NAMES = 3


def nearest(wanted: str, names: Iterable[str]) -> str:
    """Return the names most like the one wanted, the first ones where none is like it, and how many others there are.

    >>> nearest("g4dn.xlagre", ["p3.2xlarge", "g4dn.xlarge", "A", "B", "C"])
    'g4dn.xlarge, p3.2xlarge, A or 2 others'
    """
    import difflib

    names = list(dict.fromkeys(names))
    close = difflib.get_close_matches(wanted, names, n=_MOST_NAMES, cutoff=0.5)
    shown = [*close, *(name for name in names if name not in close)][:_MOST_NAMES]
    others = len(names) - len(shown)
    more = f" or {others} other{'s' if others > 1 else ''}" if others else ""
    # A region may be "Australia, AU".
    return ("; " if "," in "".join(shown) else ", ").join(shown) + more


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
        """Return the message, and which fields confirm the latency."""
        steps = f"{name_of('steps')} {self.suggested_steps} if so, " if self.suggested_steps else ""
        return f"{super().worded(name_of)} Use {steps}{name_of('trust_latency')} if it is right."


class ArtifactError(ProfetError):
    """A models folder is missing, damaged or has another version."""

    code = "models"


class CatalogError(ProfetError):
    """The instance catalog (names, prices) is invalid."""

    code = "catalog"


class WordedEnum(StrEnum):
    """A string enumeration whose members are a value, as documents have it, and `words`, as people read it."""

    words: str

    def __new__(cls, value: str, words: str = "") -> Self:
        """Make a member with its words."""
        member = str.__new__(cls, value)
        member._value_, member.words = value, words
        return member


class Code(WordedEnum):
    """Subject of a note; `words` : its sentence or part of one. The values are stable."""

    HOST_BOUND = "host_bound", "limited by CPU launch overhead"
    NODE_PRICE = "node_price", "latency of one GPU, price of the whole machine with {gpus} GPUs"
    SAME_GPU = "same_gpu", "latency of {instance}, which has the same GPU"
    FROM_PROFILE = "from_profile", "estimated from the profile because none was given"
    UNPROFILED_ANCHOR = "unprofiled_anchor", "from a profile recorded on {gpu}, which is not in the training data"
    NOT_THE_PROFILED = "not_the_profiled", "{gpu}, not the {profiled} that was profiled"
    SCALED_FROM = "scaled_from", "scaled from {sizes}"
    COMBINED = "combined", "combined with {size}, which was predicted {how}"
    MEASURED_STEPS = "measured_steps", "{steps} on {networks} networks"
    BASED_ON = "based_on", "{evidence}, in {precision}"
    PUBLISHED = "published", "from the specs and published training speeds of {gpu}"
    CUSTOM_SPECS = "custom_specs", "{text}"
    GENERATION = "generation", "from its specs and published speeds of its generation"
    SPECS_ONLY = "specs_only", "from its specs alone: no training speeds are published for it or its generation"
    NO_TENSOR_CORES = "no_tensor_cores", "AMP at FP32 speed or slower: no tensor cores"
    NO_BF16 = "no_bf16", "BF16 at FP32 speed: no fast BF16 units"
    SPEEDUP = "speedup", "{precision}, {times:.1f} times as fast as {over}"
    FP32_FROM_TF32 = "fp32_from_tf32", "FP32 from the TF32 speed"
    REGIME = "regime", "{text}"
    SCALED_STEP = "scaled_step", "scaled from your {measured}"
    SCALED_OUT = "scaled_out", "{gpus} GPUs by {strategy} over {link}{assumed}"
    HOST_MEMORY = (
        "host_memory",
        "machines with 4 or more GPUs that communicate through host memory vary: some took up to 3.6 times as long",
    )
    # Warnings of a whole answer
    PROFILE = "profile", "{text}"
    SECOND_PROFILE = "second_profile", "Second profile: {text}"
    COMPARED_PROFILE = "compared_profile", "The profile: {text}"
    COUNTS = "counts", "{text}"
    WRONG_GPU = (
        "wrong_gpu",
        "The profile says it was recorded on {recorded}, but the anchor is {anchor}: check the anchor.",
    )
    UNTRAINED_ANCHOR = (
        "untrained_anchor",
        "{gpu} is not in the training data, so predictions from it follow from specs and published steps, and are less "
        "certain.",
    )
    UNKNOWN_PRECISION = (
        "unknown_precision",
        "The file doesn't state the precision; assuming FP32 or TF32. If that is wrong, set the precision.",
    )
    HALF_PRECISION = "half_precision", "The {precision} speed-up is from published runs; ranges are wider."
    PROFILED_PROGRAM = (
        "profiled_program",
        "Work takes about {times:.1f} times as long in the profile's program as in today's software: all times are for "
        "that program.",
    )
    BF16_AS_FP16 = "bf16_as_fp16", "The published AMP runs are in FP16; BF16 is assumed to be as fast."
    TUNED_SPEEDUP = (
        "tuned_speedup",
        "Channels-last and compiled code gains more from half precision, as MLPerf Training and NVIDIA's examples "
        "show.",
    )
    CODE_IN_HALF = (
        "code_in_half",
        "Training code changes AMP and BF16 only: too little is published on what it does to FP32 or TF32. Ranges are "
        "wider.",
    )
    CONVERTED_PRECISION = (
        "converted_precision",
        "The profile was recorded in {precision} and is converted to FP32 first, so the intervals are wider.",
    )
    COMPILED = (
        "compiled",
        "This step was compiled (XLA or torch.compile), which fuses operations. The models were trained on uncompiled "
        "steps, so intervals are wider.",
    )
    CHANNELS_LAST = (
        "channels_last",
        "This step ran channels-last (NHWC), which uses other kernels. The models were trained without it, so "
        "intervals are wider.",
    )
    STEPS_INFERRED = (
        "steps_inferred",
        "The file has no step count; its times and the latency fit {steps}. If that is wrong, set the number of steps.",
    )
    STEPS_ASSUMED = (
        "steps_assumed",
        "Assumes that the file covers {steps}. If that is wrong, set the number of steps.",
    )
    UNATTRIBUTED = (
        "unattributed",
        "{share:.0%} of the GPU time belongs to no named operation, so the interval is wider.",
    )
    ESTIMATED_TIMES = (
        "estimated_times",
        "{share:.1%} of the GPU's work has missing or impossible times in the trace. They are estimated from kernels "
        "with the same names, and the interval is wider.",
    )
    INPUT_WAIT = (
        "input_wait",
        "The GPU waits for input for {wait} of the step ({share:.0%}). Predictions exclude this data-loading stall, "
        "which a faster GPU would not shorten.",
    )
    INPUT_BOUND = (
        "input_bound",
        "This step is input-bound: the input pipeline takes about {share:.0%} of it, and the GPU is busy for about "
        "{busy:.0%} of the step. A faster GPU won't help: prefetch, cache or use more loader workers first.",
    )
    GPU_IDLE = (
        "gpu_idle",
        "This step leaves the GPU idle: the GPU is busy for about {busy:.0%} of the step. A faster GPU won't help: use "
        "larger batches or fewer, larger operations, or rent a cheaper GPU.",
    )
    UNKNOWN_OPERATIONS = (
        "unknown_operations",
        "The models don't know {operations}, {share:.1%} of the busy time ({weight}): {treated}.",
    )
    TRUNCATED = (
        "truncated",
        "The profile is truncated: operations that every training step has are missing (TensorFlow keeps the 500 "
        "costliest). The device time was scaled up by {factor:.2f} to compensate, and the interval is wider.",
    )
    DISSIMILAR = "dissimilar", "This network is unlike those PROFET learned from: expect {error} error{more}."
    OUT_OF_RANGE = (
        "out_of_range",
        "This step's GPU time, {total}, is {side} than any in the training data of {anchor} ({low} to {high}), so the "
        "prediction is an extrapolation.",
    )
    AT_FLOOR = (
        "at_floor",
        "The prediction for {instances} fell below all measurements and was set to half the fastest step.",
    )
    NETWORK_UNUSED = "network_unused", "{network} is not used for the prediction: {why}."
    MEASURED_FAR = (
        "measured_far",
        "{measured} on {instance} is far from the prediction of {predicted}: check that it is in milliseconds per step "
        "and for the same network.",
    )
    USUAL = "usual", "{measured} is what {gpu} usually takes for this ({low} to {high})."
    SLOWER = "slower", "{measured} on {gpu} is {times:.1f} times slower than usual ({low} to {high}). {causes}"
    FASTER = "faster", "{measured} on {gpu} is {times:.1f} times faster than usual ({low} to {high}). {causes}"
    LAUNCHES_MEASURED = (
        "launches_measured",
        "CPU launches explain {measured} on {gpu}: it says little of the GPU's speed, or of larger batches.",
    )
    CORRECTED = "corrected", "Uses your {measured} on {gpu} (predicted: {predicted})."
    MORE_CLASSES = "more_classes", "Other image size: assumes more classes at larger images, as in the measured data."
    OTHER_SIZE = (
        "other_size",
        "The profile was recorded at {what} {recorded} and the estimate is for {requested}: they are different steps.",
    )
    TRANSFORMER = (
        "transformer",
        "Training steps of transformers are published for one GPU (RTX 3090, AMP, 2022). On others their speed follows "
        "that of CNNs.",
    )
    CHECKPOINTED = (
        "checkpointed",
        "With activation checkpointing one more forward pass takes about {factor:g} times the time; {kept:.0%} of the "
        "activations stay in memory. Both are assumed.",
    )
    TRANSFORMER_BY_NAME = (
        "transformer_by_name",
        "The models learned from no profile of a transformer: its step is scaled by its layers and estimated rates.",
    )
    TRANSFORMER_BY_SHAPES = (
        "transformer_by_shapes",
        "The models learned from no profile of a transformer: its step is scaled by the shapes in the profile and "
        "estimated rates.",
    )
    TRANSFORMER_BY_TIMES = (
        "transformer_by_times",
        "The models learned from no profile of a transformer: its step is scaled by the times of its operations and "
        "estimated rates, and the interval is wide by judgment. The network's name, or record_shapes=True, makes it "
        "more accurate.",
    )
    PRODUCTS_IN_FP32 = (
        "products_in_fp32",
        "Matrix products are in FP32, PyTorch's default. Choose TF32 if your script calls "
        "torch.set_float32_matmul_precision.",
    )
    HYBRID_NETWORK = (
        "hybrid_network",
        "This network has attention as well as convolutions. Few such networks were measured, so the range is wider.",
    )
    DETECTION_SIZE = (
        "detection_size",
        "Images are taken as {pixels} x {pixels} pixels, about COCO's 800 x 1,066 to 1,333.",
    )
    SMALL_IMAGES = "small_images", "No step below {pixels} pixels was measured, so the interval is wider."
    SMALL_BATCH = "small_batch", "Few steps below batch {batch} were measured, so the interval is wider."
    OTHER_DEFINITIONS = "other_definitions", "{library}'s {name}. Similar: {others}."
    NO_PEER_ACCESS = (
        "no_peer_access",
        "These GPUs have no peer access. Machines with 4 or more GPUs that communicate through host memory vary: some "
        "took up to 3.6 times as long as predicted.",
    )
    UNMEASURED_LINK = (
        "unmeasured_link",
        "Networks of {gbit_per_s:,g} Gb/s were not measured: 80% of that speed is assumed (RDMA).",
    )
    UNKNOWN_NETWORK = (
        "unknown_network",
        "The network between these machines is unknown, so intervals over several machines are wide: "
        "{low_gbit_per_s:,g} to {high_gbit_per_s:,g} Gb/s are assumed. Give its speed.",
    )


#: What the reader should do something about, or not rely on; all other notes are for information.
ACTION_CODES = frozenset(
    {
        *(Code.WRONG_GPU, Code.UNKNOWN_PRECISION, Code.INPUT_WAIT, Code.INPUT_BOUND, Code.GPU_IDLE, Code.TRUNCATED),
        *(Code.DISSIMILAR, Code.OUT_OF_RANGE, Code.NETWORK_UNUSED, Code.MEASURED_FAR, Code.SLOWER, Code.FASTER),
        *(Code.COUNTS, Code.OTHER_SIZE, Code.UNKNOWN_NETWORK),
    }
)
#: On the number of steps in a file.
STEPS_CODES = (Code.STEPS_INFERRED, Code.STEPS_ASSUMED)


def no_vision(what: str, why: str, advice: str) -> str:
    """Why a step or a network gets no latency.

    >>> no_vision("This is a language model", "it reads words", "Give another")
    'This is a language model: it reads words, and the models know only CNNs and vision transformers. Give another.'
    """
    return f"{what}: {why}, and the models know only CNNs and vision transformers. {advice}."


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
        note = super().__new__(cls, code.words.format(**values))
        note.code, note.values = code, values
        return note

    def __getnewargs_ex__(self) -> tuple[tuple[Code], dict[str, Any]]:
        # Copies are made from the code too.
        return (self.code,), self.values


def line_of(notes: Iterable[Note]) -> str:
    """Return notes as one line; empty if there are none.

    >>> line_of([Note(Code.HOST_BOUND), Note(Code.FP32_FROM_TF32)])
    'limited by CPU launch overhead; FP32 from the TF32 speed'
    """
    return "; ".join(notes)
