"""The stage for precision: from steps in FP32 or TF32 to AMP, BF16 or FP32.

The models were trained on FP32 steps. A profile in AMP is first converted to FP32, class by class. A prediction in AMP
is the FP32 or TF32 prediction divided by the speedup of each GPU. The uncertainties of both conversions add in
quadrature.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.gpus import (
    AS_PROFILED,
    BF16,
    CHANNELS_LAST,
    FP32,
    HALF,
    PLAIN,
    TF32,
    Gpu,
    canonical,
    runs_as,
    supported_precisions,
)
from profet_core.ensemble.operations import load_operation_classes
from profet_core.errors import Code, Note
from profet_core.latency import Basis, combined_sd, log_sd_of
from profet_core.layers.class_times import UNKNOWN_AS, Place, log_class_factors
from profet_core.layers.rates import WITHOUT_TENSOR_CORES_LOG_SD, mode_of, rate_model_of
from profet_core.prediction.checks import counted
from profet_core.prediction.models import Models
from profet_core.prediction.targets import Anchor, StepTable, anchor_gpu
from profet_profiles.record import DEVICE_PREFIX, IDLE_OPERATIONS, Profile

#: Assumed half-width of kernels that the models don't know, a compiler's or those for channels-last tensors: a factor
#: of 1.25 up or down. Their speed elsewhere is not measured.
OTHER_KERNELS_LOG_SD = log_sd_of(math.log(1.25))
_CAST = DEVICE_PREFIX + "Cast"
_NAMES = {"fp32": "FP32", "tf32": "TF32", "amp": "AMP", "bf16": "BF16"}
FP32_FROM_TF32 = Note(Code.FP32_FROM_TF32)


class RecordedStep(Struct, frozen=True):
    """A profiled step, and the same step in FP32, or in TF32 if its GPU has it.

    Attributes
    ----------
    profile, latency_ms, precision : as recorded; None if unknown.
    base, base_ms, base_precision : in FP32 or TF32, with the number of steps used.
    log_slower : log ratio of the base's latency to the recorded one.
    log_sd : its standard deviation.
    """

    profile: Profile
    latency_ms: float | None
    precision: str | None
    base: Profile
    base_ms: float | None
    base_precision: str | None
    log_slower: float = 0.0
    log_sd: float = 0.0


def is_tuned(profile: Profile) -> bool:
    """Whether it was recorded with channels-last tensors or a compiler, which AMP gains more from."""
    return bool(profile.meta.channels_last or profile.meta.compiled)


def recorded_step(models: Models, anchor: Anchor, profile: Profile, latency_ms: float | None) -> RecordedStep:
    """Convert a profile to FP32, or to TF32 if the GPU has it, and infer its number of steps."""
    with_steps, precision = counted(profile, latency_ms), canonical(profile.meta.precision)
    if precision not in HALF:
        return RecordedStep(profile, latency_ms, precision, with_steps, latency_ms, precision)
    base, log_slower, log_sd = _in_default_precision(models, anchor, with_steps)
    base_ms = None if latency_ms is None else latency_ms * math.exp(log_slower)
    base, base_precision = counted(base, base_ms), canonical(base.meta.precision)
    return RecordedStep(profile, latency_ms, precision, base, base_ms, base_precision, log_slower, log_sd)


def _in_default_precision(models: Models, anchor: Anchor, profile: Profile) -> tuple[Profile, float, float]:
    """Convert a half-precision profile to FP32 or TF32; also the log ratio of its latency, and its uncertainty."""
    gpu, precision = anchor_gpu(models, anchor), canonical(profile.meta.precision) or ""
    default = FP32 if gpu.tf32_tensor_dense_tflops is None else TF32
    code = CHANNELS_LAST if is_tuned(profile) else PLAIN
    log_factors: Mapping[str, float] = {}
    if runs_as(gpu, precision)[0] in HALF:
        here, there = (Place(gpu, mode_of(gpu, code_precision, code)) for code_precision in (precision, default))
        log_factors = log_class_factors(rate_model_of(models), here, there)
    classes = load_operation_classes()
    class_of, converted, slower_us = classes.place(list(profile.operations)), dict[str, float](), 0.0
    for name, us in profile.operations.items():
        column = class_of[name]
        on_gpu = name.startswith(DEVICE_PREFIX)
        # Nothing is cast there.
        if name == _CAST and log_factors:
            continue
        group = classes.names[column] if on_gpu and column is not None else ""
        # Operations of no known class gain as elementwise ones do.
        log_factor = log_factors.get(group or UNKNOWN_AS, 0.0) if on_gpu and name not in IDLE_OPERATIONS else 0.0
        converted[name] = us * math.exp(max(log_factor, 0.0))
        slower_us += on_gpu * converted[name]
    meta = dataclasses.replace(profile.meta, precision=default, step_latency_ms=None, peak_memory_mib=None)
    log_slower = math.log(slower_us / profile.device_total_us)
    return dataclasses.replace(profile, operations=converted, meta=meta), log_slower, gain_log_sd(gpu, precision, code)


#: Standard deviations, in the logarithm, of what networks gain by half precision, as classes of operations tell: in
#: plain code, and what channels-last tensors and a compiler add. ResNet-50 gains 2.26 times on V100, its classes 1.78.
_GAIN_LOG_SD, _TUNED_LOG_SD = 0.15, 0.13


def gain_log_sd(gpu: Gpu, precision: str, code: str) -> float:
    """Uncertainty of what half precision gains on a GPU."""
    if runs_as(gpu, precision)[0] not in HALF:
        return WITHOUT_TENSOR_CORES_LOG_SD
    return math.hypot(_GAIN_LOG_SD, _TUNED_LOG_SD * (code != PLAIN))


def speedup_note(gpu: Gpu, precision: str, log_speedup: float) -> Note:
    """Note on a row's precision."""
    over = "FP32" if gpu.tf32_tensor_dense_tflops is None else "TF32"
    faster = Note(Code.SPEEDUP, precision=_NAMES[precision], times=math.exp(log_speedup), over=over)
    return runs_as(gpu, precision)[1] or faster


class Change(Struct, frozen=True):
    """From one profile's steps in FP32 or TF32 to the requested precision and training code.

    Attributes
    ----------
    requested : precision as requested.
    precision : of the answer: half if the profile's is and no other is requested.
    code : of the answer's training, one of `catalog.gpus.CODES`.
    same_precision : both the profile and the answer are in half precision, or neither.
    same_code : the training is written as the profiled step was.
    """

    models: Models
    anchor: Anchor
    step: RecordedStep
    requested: str
    precision: str
    code: str
    same_precision: bool
    same_code: bool

    @classmethod
    def to(cls, models: Models, anchor: Anchor, step: RecordedStep, requested: str, training_code: str) -> Change:
        """From a recorded step to a precision and training code, as they are requested."""
        recorded, profiled_tuned = step.precision, is_tuned(step.profile)
        precision = recorded if requested == AS_PROFILED and recorded in HALF else requested
        own = CHANNELS_LAST if profiled_tuned else PLAIN
        code = own if training_code == AS_PROFILED else training_code
        same = (precision in HALF) == (recorded in HALF)
        return cls(models, anchor, step, requested, precision, code, same, code == own)

    @property
    def tuned(self) -> bool:
        """Whether the training has channels-last tensors and is compiled."""
        return self.code != PLAIN

    @property
    def predicted_basis(self) -> Basis:
        """Basis of a step on the anchor that isn't the recorded one."""
        return Basis.MEASURED if self.anchor.gpu is None else Basis.MAPPED

    def given(self, table: StepTable) -> StepTable:
        """Return the table of one profile: the anchor's latency counts in the precision and code that it has."""
        rows = [row for row, basis in enumerate(table.basis) if basis is Basis.GIVEN]
        kept = [row for row in rows if self.same_precision and self.is_given_as_recorded(table.targets[row].gpu)]
        others = [row for row in rows if row not in kept]
        in_fp32 = (FP32_FROM_TF32,) if self.requested == FP32 and self.step.precision not in HALF else ()
        table = table.with_rows(kept, latency_ms=[self.step.latency_ms] * len(kept)) if self.step.latency_ms else table
        return table.with_rows(
            others, basis=[self.predicted_basis] * len(others), notes=[(*in_fp32, *table.notes[row]) for row in others]
        )

    def is_given_as_recorded(self, gpu: Gpu) -> bool:
        """Whether the anchor's latency is in the requested precision."""
        if self.precision in HALF:
            return self.same_code and self._cancels(gpu, gpu)
        ran_in_tf32 = gpu.tf32_tensor_dense_tflops is not None and self.step.precision != FP32
        return self.requested != FP32 or not ran_in_tf32

    def _cancels(self, gpu: Gpu, own: Gpu) -> bool:
        """Whether the errors of two divided speedups cancel: both on tensor cores, or on one GPU in one precision."""
        recorded = self.step.precision
        both = recorded in supported_precisions(own) and self.precision in supported_precisions(gpu)
        return both or (gpu.name == own.name and recorded == self.precision)


def precision_notes(change: Change) -> list[Note]:
    """Caveats of an answer in a precision and training code, from a profile recorded in others or the same."""
    notes, precision, recorded = [], change.precision, change.step.precision
    if precision in HALF:
        notes.append(Note(Code.HALF_PRECISION, precision=_NAMES[precision]))
        if change.tuned:
            notes.append(Note(Code.TUNED_SPEEDUP))
    elif not change.same_code:
        notes.append(Note(Code.CODE_IN_HALF))
    if BF16 in (precision, recorded):
        notes.append(Note(Code.BF16_AS_FP16))
    if recorded in HALF:
        notes.append(Note(Code.CONVERTED_PRECISION, precision=_NAMES[recorded]))
    return notes


def with_other_kernels(table: StepTable, change: Change) -> StepTable:
    """Widen intervals for a compiler's kernels, and for those for channels-last tensors.

    The ratio to another instance's latency stays because both are of the same step.
    """
    meta = change.step.profile.meta
    kinds = bool(meta.compiled) + bool(meta.channels_last)
    if not kinds and change.same_code:
        return table
    # What they gain in half precision has a range of its own.
    runs = [runs_as(target.gpu, change.precision)[0] for target in table.targets]
    unlike = np.array([not change.same_code and precision not in HALF for precision in runs], bool)
    given = np.array([basis is Basis.GIVEN for basis in table.basis])
    wider = combined_sd(table.log_sd, float(OTHER_KERNELS_LOG_SD) * np.sqrt(kinds + unlike))
    # A latency in other code isn't the training's.
    rows = np.flatnonzero(given & unlike).tolist()
    table = table.with_rows(rows, basis=[change.predicted_basis] * len(rows))
    return replace(table, log_sd=np.where(given & ~unlike, table.log_sd, wider))
