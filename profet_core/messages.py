"""Notes as codes with values: logic compares codes, users read sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


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
    THIRD_PARTY = "third_party"
    THIRD_PARTY_TF32 = "third_party_tf32"
    SPREAD = "spread"
    BASED_ON = "based_on"
    EVIDENCE = "evidence"
    PUBLISHED = "published"
    OWN_SPECS = "own_specs"
    GENERATION = "generation"
    SPECS_ONLY = "specs_only"
    NO_TENSOR_CORES = "no_tensor_cores"
    NO_BF16 = "no_bf16"
    SPEEDUP = "speedup"
    FP32_FROM_TF32 = "fp32_from_tf32"
    REGIME = "regime"
    SCALED_OUT = "scaled_out"
    HOST_MEMORY = "host_memory"


_WORDS = {
    Code.HOST_BOUND: "limited by CPU launch overhead",
    Code.NODE_PRICE: "latency of one GPU, price of the whole machine with {gpus} GPUs",
    Code.SAME_GPU: "latency of {instance}, which has the same GPU",
    Code.FROM_PROFILE: "estimated from the profile, as none was given",
    Code.UNPROFILED_ANCHOR: "from a profile of {gpu}, which the models have no profiles of",
    Code.NOT_THE_PROFILED: "{gpu}, not the {profiled} that was profiled",
    Code.SCALED_FROM: "scaled from {sizes}",
    Code.COMBINED: "combined with {size}, which was predicted {how}",
    Code.MEASURED_STEPS: "{said}, {networks} networks; 90% from the errors on held-out networks",
    Code.OTHER_PRECISION_STEPS: "{said} are in {precision}: they apply {how} TF32",
    Code.THIRD_PARTY: (
        "from corrected epoch times of {networks} networks on this GPU; 90% if errors are log-normal with the spread "
        "of held-out networks, and the correction errs as on T4 and V100"
    ),
    Code.THIRD_PARTY_TF32: "they ran with TF32 {how}, so the interval is wider",
    Code.SPREAD: "90% if errors are log-normal with the spread of the held-out GPUs ({gpus} GPUs)",
    Code.BASED_ON: "{precision}, {evidence}",
    Code.EVIDENCE: "{said}",
    Code.PUBLISHED: "published ResNet-50 training speed of {gpu}",
    Code.OWN_SPECS: "{said}",
    Code.GENERATION: "no published benchmark: its specs, and published speeds of its generation",
    Code.SPECS_ONLY: "no published benchmark: specs only",
    Code.NO_TENSOR_CORES: "{precision} at FP32 speed: no tensor cores, sometimes slower",
    Code.NO_BF16: "BF16 at FP32 speed: no tensor cores for BF16",
    Code.SPEEDUP: "{precision}, {times:.1f} times the speed of {over}",
    Code.FP32_FROM_TF32: "FP32 from the TF32 speed",
    Code.REGIME: "{said}",
    Code.SCALED_OUT: "{gpus} GPUs by {strategy} over {link}{assumed}",
    Code.HOST_MEMORY: (
        "machines with 4 or more GPUs that communicate through host memory vary: some took up to 3.6 times as long"
    ),
}


@dataclass(frozen=True)
class Note:
    """A code, and the values in its sentence.

    >>> Note.of(Code.SAME_GPU, instance="p3.2xlarge").words
    'latency of p3.2xlarge, which has the same GPU'
    """

    code: Code
    values: tuple[tuple[str, object], ...] = ()

    @classmethod
    def of(cls, code: Code, **values: object) -> Note:
        """A note with these values."""
        return cls(code, tuple(values.items()))

    @property
    def template(self) -> str:
        """Its sentence before the values are filled in."""
        return _WORDS[self.code]

    @cached_property
    def words(self) -> str:
        """Display text: part of a sentence. Many rows share a note."""
        return self.template.format(**dict(self.values))

    def __str__(self) -> str:
        return self.words


def words_of(notes: Iterable[Note]) -> str:
    """Notes as one line; empty if there are none.

    >>> words_of([Note(Code.HOST_BOUND), Note(Code.FP32_FROM_TF32)])
    'limited by CPU launch overhead; FP32 from the TF32 speed'
    """
    return "; ".join(note.words for note in notes)
