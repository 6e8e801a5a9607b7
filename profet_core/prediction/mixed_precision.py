"""The stage for precision: from steps in FP32 or TF32 to AMP, BF16 or FP32.

The models were trained on FP32 steps. A profile in AMP is first converted to FP32, class by class. A prediction in AMP
is the FP32 or TF32 prediction divided by the speedup of each GPU. The uncertainties of both conversions add in
quadrature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from profet_core.catalog.gpus import (
    AS_PROFILED,
    BF16,
    FP32,
    HALF,
    PLAIN,
    TF32,
    Gpu,
    canonical,
    runs_as,
    supported_precisions,
)
from profet_core.ensemble.classes import COPY_CLASS, IDLE_CLASS, load_operation_classes
from profet_core.ensemble.members import ProfileBatch, profile_batch
from profet_core.errors import Code, Note
from profet_core.latency import Basis, combined_sd, log_sd_of, smooth_max
from profet_core.prediction.checks import counted, host_times_ms
from profet_core.prediction.models import Models
from profet_core.prediction.table import StepTable
from profet_core.prediction.targets import Anchor, anchor_gpu
from profet_core.transfer.model import known_rates, target_of
from profet_core.transfer.rates import (
    CLASSES,
    NO_FACTORS,
    ON_TENSOR_CORES,
    ByClass,
    Factors,
    class_place,
    shares_there,
    shares_within,
)
from profet_core.transfer.step_model import KINDS, PRODUCT, StepParts, floor_of, step_parts
from profet_core.transfer.steps import UnprofiledSteps, map_to_profiled
from profet_profiles.record import DEVICE_PREFIX, IDLE_OPERATIONS, Profile
from profet_profiles.units import US_PER_MS

#: Assumed half-width of kernels that the models don't know, a compiler's or those for channels-last tensors: a factor
#: of 1.25 up or down. Their speed elsewhere is not measured.
OTHER_KERNELS_LOG_SD = log_sd_of(math.log(1.25))
_CAST = DEVICE_PREFIX + "Cast"
_NAMES = {"fp32": "FP32", "tf32": "TF32", "amp": "AMP", "bf16": "BF16"}
FP32_FROM_TF32 = Note(Code.FP32_FROM_TF32)


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A profiled step, and the same step in FP32, or in TF32 if its GPU has it.

    Attributes
    ----------
    profile, latency_ms, precision : as recorded; None if unknown.
    base, base_ms, base_precision : in FP32 or TF32, with the number of steps used.
    log_slower : log ratio of the base's latency to the recorded one.
    log_sd : its standard deviation.
    log_work_slower : log ratio of the GPU's work alone.
    """

    profile: Profile
    latency_ms: float | None
    precision: str | None
    base: Profile
    base_ms: float | None
    base_precision: str | None
    log_slower: float = 0.0
    log_sd: float = 0.0
    log_work_slower: float = 0.0


def is_tuned(profile: Profile) -> bool:
    """Whether it was recorded with channels-last tensors or a compiler, which AMP gains more from."""
    return bool(profile.meta.channels_last or profile.meta.compiled)


def _amp(models: Models, gpu: Gpu, precision: str, tuned: bool, transferred: bool = False) -> Factors:
    rates, reference = models.transfer.rates, models.transfer.gpus[models.transfer.reference_gpu]
    return rates.amp(gpu, reference, precision, tuned=tuned, transferred=transferred)


def recorded_step(models: Models, anchor: Anchor, profile: Profile, latency_ms: float | None) -> RecordedStep:
    """Convert a profile to FP32, or to TF32 if the GPU has it, and infer its number of steps."""
    known, precision = counted(profile, latency_ms), canonical(profile.meta.precision)
    if precision not in HALF:
        return RecordedStep(profile, latency_ms, precision, known, latency_ms, precision)
    base, log_slower, log_work_slower, log_sd = _in_default_precision(models, anchor, known)
    base_ms = None if latency_ms is None else latency_ms * math.exp(log_slower)
    base, base_precision = counted(base, base_ms), canonical(base.meta.precision)
    changes = log_slower, log_sd, log_work_slower
    return RecordedStep(profile, latency_ms, precision, base, base_ms, base_precision, *changes)


def _in_default_precision(models: Models, anchor: Anchor, profile: Profile) -> tuple[Profile, float, float, float]:
    """A half-precision profile in FP32 or TF32; log ratios of its latency and of its work; their uncertainty."""
    gpu = anchor_gpu(models, anchor)
    factors = _amp(models, gpu, canonical(profile.meta.precision) or "", is_tuned(profile))
    faster = factors.by_class
    class_of = load_operation_classes().place(list(profile.operations))
    names = load_operation_classes().names
    by_class_us, converted = [0.0] * len(CLASSES), {}
    for name, us in profile.operations.items():
        column = class_of[name]
        group = names[column] if column is not None else ""
        moves = not name.startswith(DEVICE_PREFIX) or name in IDLE_OPERATIONS or group == COPY_CLASS
        if moves:
            converted[name] = us
        elif name != _CAST:
            place = class_place(group)
            converted[name] = us * math.exp(faster[place])
            by_class_us[place] += converted[name]
    work_us = sum(by_class_us)
    shares = [us / work_us if work_us > 0 else 1 / len(CLASSES) for us in by_class_us]
    # The classes give the operation mix; its speedup gives the duration of the whole step.
    busy_us = profile.device_busy_us
    log_work_slower = factors.log_speedup(shares)
    wanted_us = busy_us * math.exp(log_work_slower)
    scale = wanted_us / work_us if work_us > 0 else 1.0
    operations = {
        name: us * scale if us != profile.operations[name] or name == _CAST else us for name, us in converted.items()
    }
    slower = (profile.device_total_us - busy_us + wanted_us) / profile.device_total_us
    meta = replace(
        profile.meta,
        precision=FP32 if gpu.tf32_tensor_dense_tflops is None else TF32,
        step_latency_ms=None,
        peak_memory_mib=None,
    )
    return replace(profile, operations=operations, meta=meta), math.log(slower), log_work_slower, factors.log_sd


#: What determines a step's speedup: shares of `rates.CLASSES` in the FP32 GPU work on the reference GPU, and the launch
#: time on the reference host, milliseconds.
Work: TypeAlias = tuple[ByClass, float]


def work_of(models: Models, anchor: Anchor, base: Profile, latency_ms: float | None) -> Work:
    """Compute share and launch time of an FP32 or TF32 step on the reference GPU and host."""
    transfer = models.transfer
    step_model = transfer.step
    known_ms = None if latency_ms is None else np.array([latency_ms])
    batch = profile_batch([base], anchor.instance, known_ms)
    parts = step_parts(load_operation_classes(), batch.inputs, host_times_ms([base]))
    if anchor.gpu is None:
        floor_ms = float(floor_of(step_model, transfer.counters[batch.anchor], batch.anchor, parts, known_ms)[0])
        log_speeds = step_model.log_rates(anchor.instance, transfer.reference)
        there = replace(parts, kinds_ms=parts.kinds_ms * np.exp(log_speeds))
        return _shares(there, batch), floor_ms
    target, _ = target_of(transfer, anchor.gpu, anchor.host, canonical(base.meta.precision) in (None, TF32))
    back = map_to_profiled(step_model, transfer.reference, UnprofiledSteps(target, parts, known_ms))
    return _shares(back.by_instance[transfer.reference].parts, batch), float(back.floor_ms[0])


def _shares(parts: StepParts, batch: ProfileBatch) -> ByClass:
    """Shares of classes: compute and products as on the reference GPU, others within the rest as recorded."""
    kinds_ms, recorded_ms = parts.kinds_ms[0], np.zeros(len(CLASSES))
    for name, ms in zip(load_operation_classes().device, batch.inputs.classes_ms[0], strict=False):
        if name not in (COPY_CLASS, IDLE_CLASS):
            recorded_ms[class_place(name)] += ms
    recorded_ms[-1] += batch.inputs.unknown_ms[0, 0]
    compute_ms, rest_ms = kinds_ms[:ON_TENSOR_CORES].sum(), recorded_ms[ON_TENSOR_CORES:].sum()
    product = kinds_ms[KINDS.index(PRODUCT)] / max(compute_ms, 1e-9)
    normalization, depthwise = recorded_ms[ON_TENSOR_CORES:-1] / max(rest_ms, 1e-9)
    return shares_within(float(parts.compute_share[0]), float(product), float(normalization), float(depthwise))


def speedup_note(gpu: Gpu, precision: str, log_speedup: float) -> Note:
    """Note on a row's precision."""
    over = "FP32" if gpu.tf32_tensor_dense_tflops is None else "TF32"
    faster = Note(Code.SPEEDUP, precision=_NAMES[precision], times=math.exp(log_speedup), over=over)
    return runs_as(gpu, precision)[1] or faster


def _shares_on(models: Models, gpu: Gpu, work: Work) -> ByClass:
    """Shares of the step's work on a GPU in its default precision."""
    rates = known_rates(models.transfer, gpu)
    return shares_there(work[0], rates.compute, rates.bandwidth)


@dataclass(frozen=True, slots=True)
class Change:
    """From one profile's steps in FP32 or TF32 to the requested precision and training code.

    Attributes
    ----------
    requested : precision as requested.
    precision : of the answer: half if the profile's is and no other is requested.
    tuned : the training has channels-last tensors and is compiled.
    same_precision : both the profile and the answer are in half precision, or neither.
    same_code : the training is written as the profiled step was.
    """

    models: Models
    anchor: Anchor
    step: RecordedStep
    requested: str
    precision: str
    tuned: bool
    same_precision: bool
    same_code: bool

    @classmethod
    def to(cls, models: Models, anchor: Anchor, step: RecordedStep, requested: str, training_code: str) -> Change:
        """From a recorded step to a precision and training code, as they are requested."""
        recorded, profiled_tuned = step.precision, is_tuned(step.profile)
        precision = recorded if requested == AS_PROFILED and recorded in HALF else requested
        tuned = profiled_tuned if training_code == AS_PROFILED else training_code != PLAIN
        same = (precision in HALF) == (recorded in HALF)
        return cls(models, anchor, step, requested, precision, tuned, same, tuned == profiled_tuned)

    @property
    def predicted_basis(self) -> Basis:
        """Basis of a step on the anchor that isn't the recorded one."""
        return Basis.MEASURED if self.anchor.gpu is None else Basis.MAPPED

    def in_precision(self, table: StepTable) -> StepTable:
        """The table of one profile in the precision and code of the answer."""
        models, anchor, step, precision = self.models, self.anchor, self.step, self.precision
        half = precision in HALF
        if (not half and step.log_slower == 0 and self.requested != FP32) or not table.known.any():
            return table
        work = work_of(models, anchor, step.base, step.base_ms)
        gains = self.log_gains(work)
        rows: list[int] = []
        unchanged: dict[int, tuple[Note, ...]] = {}
        log_speedups, log_sds, notes, basis = [], [], [], []
        latencies_ms, free_factors = table.latency_ms.copy(), np.ones(len(table.targets))
        for row, (gpu, host, _) in enumerate(table.targets):
            if not table.known[row]:
                continue
            given = table.basis[row] is Basis.GIVEN
            if given and self.same_precision and self.is_given_as_recorded(gpu):
                latencies_ms[row] = step.latency_ms
                continue
            factors, sign, log_sd, gain = self.factors(gpu, table.basis[row], gains)
            if log_sd == 0 and gain == 0 and not any(factors.by_class):
                unchanged[row] = ((speedup_note(gpu, precision, 0.0),) if half else ()) + table.notes[row]
                continue
            shares, free_ms, launch_ms = _shares_on(models, gpu, work), table.free_ms[row], table.launch_ms[row]
            if launch_ms > 0:
                # Launches stay: only the rest is faster.
                free_factors[row] = math.exp(-self.limited(gpu, sign * factors.log_speedup(shares) + gain))
                log_speedup = math.log(table.latency_ms[row] / smooth_max(free_ms * free_factors[row], launch_ms))
            else:
                launch_share = work[1] * host.launch / table.latency_ms[row]
                log_speedup = self.limited(gpu, sign * factors.log_speedup(shares, launch_share) + gain)
                free_factors[row] = math.exp(-log_speedup)
            rows.append(row)
            log_speedups.append(log_speedup)
            log_sds.append(log_sd)
            more = (speedup_note(gpu, precision, log_speedup),) if half else ()
            notes.append((*((FP32_FROM_TF32,) if sign < 0 else more), *table.notes[row]))
            was = table.basis[row]
            basis.append(self.predicted_basis if given else was)
        table = replace(table, latency_ms=latencies_ms, free_ms=table.free_ms * free_factors)
        factor, log_sd_added = np.ones(len(table.targets)), np.zeros(len(table.targets))
        factor[rows], log_sd_added[rows] = np.exp(-np.array(log_speedups)), log_sds
        changed = replace(
            table,
            latency_ms=table.latency_ms * factor,
            members={name: values * factor for name, values in table.members.items()},
        )
        # A method without intervals has one of the conversion.
        wider = changed.merged(changed.widened(log_sd_added), log_sd_added > 0)
        return wider.with_rows(rows, notes=notes, basis=basis).with_rows([*unchanged], notes=[*unchanged.values()])

    def log_gains(self, work: Work) -> tuple[float, float]:
        """What the recorded step gained by AMP beyond its model: on its own GPU, and what of it holds on others.

        There and back is the same step. Launches and gaps of the recorded step say nothing of another GPU.
        """
        if self.precision not in HALF or not self.same_precision:
            return 0.0, 0.0
        base_ms = self.step.base_ms or self.step.base.device_total_us / US_PER_MS
        gpu = anchor_gpu(self.models, self.anchor)
        factors = _amp(self.models, gpu, self.step.precision or "", is_tuned(self.step.profile))
        shares, launch_share = _shares_on(self.models, gpu, work), work[1] * self.anchor.host.launch / base_ms
        own = self.step.log_slower - factors.log_speedup(shares, launch_share)
        return own, self.step.log_work_slower - factors.log_speedup(shares)

    def limited(self, gpu: Gpu, log_speedup: float) -> float:
        """A step that was recorded in half precision is no slower in it on tensor cores."""
        recorded = self.precision in HALF and self.same_precision and self.precision in supported_precisions(gpu)
        return max(log_speedup, 0.0) if recorded else log_speedup

    def factors(self, gpu: Gpu, basis: Basis, gains: tuple[float, float]) -> tuple[Factors, float, float, float]:
        """Speedups on a GPU, their sign, the uncertainty, and which of `log_gains` counts; `basis` : of the step."""
        given = basis is Basis.GIVEN
        own, half = anchor_gpu(self.models, self.anchor), self.precision in HALF
        transfer = self.models.transfer
        if half:
            factors, sign = _amp(self.models, gpu, self.precision, self.tuned, basis is Basis.TRANSFERRED), 1.0
            note = runs_as(gpu, self.precision)[1]
            if note is not None and note.code is Code.NO_BF16:
                # It is the step in FP32.
                factors = Factors(NO_FACTORS, 0.0)
        elif self.requested == FP32 and given and not self.is_given_as_recorded(gpu):
            factors, sign = transfer.rates.tf32(gpu, transfer.gpus[transfer.reference_gpu]), -1.0
        else:
            factors, sign = Factors(NO_FACTORS, 0.0), 1.0
        log_sd, log_gain = combined_sd(factors.log_sd, self.step.log_sd), 0.0
        if half and self.same_precision:
            cancels = self._cancels(gpu, own)
            if cancels:
                # What networks gain cancels, and what code does if it is the same; what GPUs do doesn't.
                differ = () if gpu.name == own.name else (gpu, own)
                of_gpus = [known_rates(transfer, one).amp_log_sd for one in differ]
                log_sd = math.hypot(*of_gpus, 0.0 if self.same_code else transfer.rates.tuned_log_sd)
            log_gain = gains[gpu.name != own.name] * cancels
        return factors, sign, log_sd, log_gain

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
    found, precision, recorded = [], change.precision, change.step.precision
    if precision in HALF:
        found.append(Note(Code.HALF_PRECISION, precision=_NAMES[precision]))
        if change.tuned:
            found.append(Note(Code.TUNED_SPEEDUP))
    elif not change.same_code:
        found.append(Note(Code.CODE_IN_HALF))
    if BF16 in (precision, recorded):
        found.append(Note(Code.BF16_AS_FP16))
    if recorded in HALF:
        found.append(Note(Code.CONVERTED_PRECISION, precision=_NAMES[recorded]))
    return found


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
    unlike = np.array([not change.same_code and one not in HALF for one in runs], bool)
    given = np.array([basis is Basis.GIVEN for basis in table.basis])
    wider = combined_sd(table.log_sd, float(OTHER_KERNELS_LOG_SD) * np.sqrt(kinds + unlike))
    # A latency in other code isn't the training's.
    rows = np.flatnonzero(given & unlike).tolist()
    table = table.with_rows(rows, basis=[change.predicted_basis] * len(rows))
    return replace(table, log_sd=np.where(given & ~unlike, table.log_sd, wider))
