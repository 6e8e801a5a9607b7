"""Predict in FP32, TF32, AMP or BF16.

The models were trained on FP32 steps. A profile in AMP is first converted to FP32, class by class. A prediction in AMP
is the FP32 or TF32 prediction divided by the speedup of each GPU. The uncertainties of both conversions add in
quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from profet_core.artifacts.models import Models
from profet_core.catalog import Catalog
from profet_core.catalog.gpus import Gpu
from profet_core.ensemble.members import ProfileBatch
from profet_core.errors import InputError, NoPredictionError
from profet_core.features.classes import COPY_CLASS, IDLE_CLASS, load_operation_classes
from profet_core.latency import Basis, Estimate, Reach, combined_sd, log_sd_of
from profet_core.messages import Code, Note
from profet_core.precision.model import (
    CLASSES,
    ON_TENSOR_CORES,
    SAME_SPEED,
    Factors,
    PrecisionModel,
    Shares,
    class_place,
    has_tensor_cores,
    shares_within,
    supported_precisions,
)
from profet_core.precision.names import AS_PROFILED, BF16, FP32, TF32, asked_precision, canonical, is_half
from profet_core.prediction import predict as unasked
from profet_core.prediction.anchors import Anchor, find_anchor
from profet_core.prediction.checks import check_latency, check_predictable, counted, host_times_ms
from profet_core.prediction.records import InstancePrediction, Prediction, priced_row
from profet_core.profiles.record import DEVICE_PREFIX, IDLE_OPERATIONS, Profile
from profet_core.transfer.carry import ForeignSteps, carry_back
from profet_core.transfer.law import KINDS, PRODUCT, StepParts, step_parts
from profet_core.transfer.model import TransferModel
from profet_core.transfer.speed import evidence_of, target_of
from profet_core.transfer.targets import Source, host_named
from profet_core.units import US_PER_MS

#: Assumed half-width of kernels that the models don't know, a compiler's or those for channels-last tensors: a factor
#: of 1.25 up or down. Their speed elsewhere is not measured.
OTHER_KERNELS_LOG_SD = log_sd_of(math.log(1.25))
#: GPUs with TF32 whose FP32 speed is known; for all others only TF32 is known, and FP32 is inferred from it.
_FP32_KNOWN = (Source.CELLS, Source.PUBLISHED, Source.OWN)
_CAST = DEVICE_PREFIX + "Cast"
_NAMES = {"fp32": "FP32", "tf32": "TF32", "amp": "AMP", "bf16": "BF16"}
FP32_FROM_TF32 = Note(Code.FP32_FROM_TF32)


@dataclass(frozen=True, slots=True)
class _Work:
    """Properties of a step that determine its speedup.

    Attributes
    ----------
    shares : of `precision.model.CLASSES` in the FP32 GPU work on the reference GPU.
    launch_ms : launch time on the reference host.
    """

    shares: Shares
    launch_ms: float


@dataclass(frozen=True, slots=True)
class _Base:
    """A profile in FP32 or TF32; `log_slower`: log ratio of its step latency to the recorded one."""

    profile: Profile
    log_slower: float = 0.0
    log_sd: float = 0.0


def predict(
    models: Models,
    catalog: Catalog,
    profile: Profile,
    anchor: str,
    *,
    latency_ms: float | None = None,
    targets: Sequence[str] | None = None,
    method: str = "default",
    trust_latency: bool = False,
    precision: str = AS_PROFILED,
) -> Prediction:
    """Predict one profile's step latency on every target.

    Parameters
    ----------
    precision : of the training: "fp32" (without TF32), "tf32", "amp", "bf16" or "as profiled": the profile's. With "as
        profiled", an FP32 profile means the frameworks' default, which is TF32 on Ampere and later.
    latency_ms : measured step latency on the anchor, milliseconds.
    anchor, targets, method, trust_latency : as `prediction.predict.predict_many` takes them.

    Raises
    ------
    the same as `prediction.predict.predict_many`.
    """
    return predict_many(
        models,
        catalog,
        [profile],
        anchor,
        latencies_ms=None if latency_ms is None else [latency_ms],
        targets=targets,
        method=method,
        trust_latency=trust_latency,
        precision=precision,
    )[0]


def predict_many(
    models: Models,
    catalog: Catalog,
    profiles: Sequence[Profile],
    anchor: str,
    *,
    latencies_ms: Sequence[float] | None = None,
    targets: Sequence[str] | None = None,
    method: str = "default",
    trust_latency: bool = False,
    precision: str = AS_PROFILED,
) -> Sequence[Prediction]:
    """Run `predict` for many profiles of one anchor at once.

    Parameters
    ----------
    latencies_ms : one latency for every profile, or None for none of them.

    Raises
    ------
    the same as `predict`, for the first profile that fails.
    """
    asked = asked_precision(precision)

    found = partial(unasked.predict_many, models, catalog, anchor=anchor, targets=targets, method=method)
    given_ms: Sequence[float | None] = [None] * len(profiles) if latencies_ms is None else latencies_ms
    changed = asked not in (AS_PROFILED, TF32) or any(_changes(profile) for profile in profiles)
    if not changed or len(given_ms) != len(profiles):
        return found(profiles, latencies_ms=latencies_ms, trust_latency=trust_latency)
    where = find_anchor(models, catalog, anchor)
    for profile, latency_ms in zip(profiles, given_ms, strict=True):
        check_predictable(models, profile)
        if latency_ms is not None and not trust_latency:
            check_latency(models, counted(profile, latency_ms), where.instance, latency_ms)
    bases = [_base(models, where, counted(*one)) for one in zip(profiles, given_ms, strict=True)]
    steps = [base.profile for base in bases]
    known_ms = (
        None
        if latencies_ms is None
        else [ms * math.exp(base.log_slower) for ms, base in zip(latencies_ms, bases, strict=True)]
    )
    found = partial(found, steps, latencies_ms=known_ms, trust_latency=True)
    predicted = found(tf32=asked != FP32)
    # FP32 on a GPU that is known in TF32 only comes from TF32.
    in_tf32 = found() if asked == FP32 else None
    return [
        _In(models, where, asked, profile, base, latency_ms).prediction(
            one, None if in_tf32 is None else in_tf32[number]
        )
        for number, (profile, base, latency_ms, one) in enumerate(
            zip(profiles, bases, given_ms, predicted, strict=True)
        )
    ]


def _changes(profile: Profile) -> bool:
    """Whether the answer for a profile differs from the models' FP32 prediction."""
    return is_half(profile.meta.precision) or _other_kernels_log_sd(profile) > 0


def gpu_of(models: Models, row: InstancePrediction) -> Gpu | None:
    """Specs of the GPU of a row's offer; None if unknown."""
    if models.transfer is None:
        return None
    try:
        return models.transfer.gpus.find(row.offer.gpu, row.offer.gpu_memory_gib)
    except InputError:
        return None


def precision_of(models: Models) -> tuple[PrecisionModel, TransferModel]:
    """Precision and transfer models.

    Raises
    ------
    NoPredictionError : these models lack one of them.
    """
    if models.precision is None or models.transfer is None:
        raise NoPredictionError("These models support FP32 and TF32 only: they have no precision.json.")
    return models.precision, models.transfer


def _anchor_gpu(transfer: TransferModel, anchor: Anchor) -> Gpu:
    return anchor.gpu or transfer.gpus[transfer.step.instances[anchor.instance].gpu]


def _base(models: Models, anchor: Anchor, profile: Profile) -> _Base:
    """The profile converted to FP32, or to TF32 if the GPU has it."""
    said = canonical(profile.meta.precision)
    if not is_half(said):
        return _Base(profile)
    model, transfer = precision_of(models)
    gpu = _anchor_gpu(transfer, anchor)
    factors = model.amp(gpu, said or "")
    faster = factors.by_class
    placed = load_operation_classes().place(list(profile.operations))
    names = load_operation_classes().names
    by_class_us, converted = [0.0] * len(CLASSES), {}
    for name, us in profile.operations.items():
        column = placed[name]
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
    wanted_us = busy_us * math.exp(factors.log_speedup(shares))
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
    return _Base(replace(profile, operations=operations, meta=meta), math.log(slower), factors.log_sd)


def work_of(models: Models, anchor: Anchor, base: Profile, latency_ms: float | None) -> _Work:
    """Compute share and launch time of an FP32 or TF32 step on the reference GPU and host."""
    _, transfer = precision_of(models)
    law = transfer.step
    known_ms = None if latency_ms is None else np.array([latency_ms])
    batch = ProfileBatch([base], anchor.instance, known_ms)
    parts = step_parts(load_operation_classes(), batch.inputs, host_times_ms([base]))
    if anchor.gpu is None:
        floor_ms = float(law.floor_ms(parts, anchor.instance, known_ms)[0])
        log_speeds = np.subtract(
            law.instances[anchor.instance].kind_log_speeds, law.instances[transfer.reference].kind_log_speeds
        )
        return _Work(_shares(StepParts(parts.kinds_ms * np.exp(log_speeds), *_others(parts)), batch), floor_ms)
    target, _ = target_of(transfer, anchor.gpu, anchor.host, canonical(base.meta.precision) in (None, TF32))
    back = carry_back(law, transfer.reference, ForeignSteps(target, parts, known_ms))
    return _Work(_shares(back.by_instance[transfer.reference].parts, batch), float(back.floor_ms[0]))


def _others(parts: StepParts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return parts.copy_ms, parts.idle_ms, parts.host_ms


def _shares(parts: StepParts, batch: ProfileBatch) -> Shares:
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


def faster_step(step: Estimate, log_speedup: float, log_sd: float, *notes: Note) -> Estimate:
    """Speed up a step by exp(log_speedup), with uncertainty; launch time stays."""
    if step.latency_ms is None:
        return step
    factor = math.exp(-log_speedup)
    reach = step.reach
    return replace(
        step.widened(log_sd).noted(*notes),
        latency_ms=step.latency_ms * factor,
        reach=reach and Reach(reach.weights, reach.free_ms * factor, reach.launch_ms),
    )


def speedup_note(gpu: Gpu, precision: str, log_speedup: float) -> Note:
    """Note on a row's precision."""
    name = _NAMES[precision]
    if not has_tensor_cores(gpu):
        return Note(Code.NO_TENSOR_CORES, precision=name)
    if precision == BF16 and gpu.tf32_tensor_dense_tflops is None:
        return Note(Code.NO_BF16)
    over = "FP32" if gpu.tf32_tensor_dense_tflops is None else "TF32"
    return Note(Code.SPEEDUP, precision=name, times=math.exp(log_speedup), over=over)


@dataclass(frozen=True)
class _In:
    """Answer for one profile in the requested precision."""

    models: Models
    anchor: Anchor
    asked: str
    profile: Profile
    base: _Base
    latency_ms: float | None

    @cached_property
    def precision(self) -> str:
        """Precision of the answer; half if the profile's is and no other is requested."""
        said = canonical(self.profile.meta.precision)
        return said if self.asked == AS_PROFILED and said is not None and is_half(said) else self.asked

    def prediction(self, predicted: Prediction, in_tf32: Prediction | None) -> Prediction:
        """The prediction; `in_tf32`: for FP32, the same with TF32 on all GPUs that have it."""
        rows = predicted.predictions
        others = {row.instance: row for row in (in_tf32 or predicted).predictions}
        changed = is_half(self.precision) or self.base.log_slower != 0 or self.asked == FP32
        if changed and any(row.latency_ms is not None for row in rows) and self.models.precision is not None:
            work = work_of(self.models, self.anchor, self.base.profile, predicted.anchor_latency_ms)
            log_gain = self._log_gain(work, predicted.anchor_latency_ms)
            rows = tuple(self._rows(rows, others, work, log_gain))
        elif is_half(self.precision) or self.base.log_slower != 0:
            precision_of(self.models)
        if log_sd := _other_kernels_log_sd(self.profile):
            rows = _with_other_kernels(rows, log_sd)
        return replace(
            predicted,
            anchor_latency_ms=self.latency_ms,
            predictions=rows,
            precision=self.precision,
            warnings=tuple(
                dict.fromkeys(
                    (*precision_notes(self.precision, canonical(self.profile.meta.precision)), *predicted.warnings)
                )
            ),
        )

    @cached_property
    def _same_precision(self) -> bool:
        return is_half(self.precision) == is_half(self.profile.meta.precision)

    def _log_gain(self, work: _Work, base_ms: float | None) -> float:
        """What the recorded step gained by AMP beyond its model, so that there and back is the same step."""
        if not is_half(self.precision) or not self._same_precision:
            return 0.0
        model, transfer = precision_of(self.models)
        own, base_ms = _anchor_gpu(transfer, self.anchor), base_ms or self.base.profile.device_total_us / US_PER_MS
        factors = model.amp(own, canonical(self.profile.meta.precision) or "")
        launch_share = work.launch_ms * self.anchor.host.launch / base_ms
        return self.base.log_slower - factors.log_speedup(work.shares, launch_share)

    def _rows(
        self,
        rows: Sequence[InstancePrediction],
        in_tf32: Mapping[str, InstancePrediction],
        work: _Work,
        log_gain: float,
    ) -> Iterator[InstancePrediction]:
        """Offers with the same GPU and host share one step, which is converted once."""
        made: dict[Hashable, InstancePrediction] = {}
        for row in rows:
            offer = row.offer
            key = offer.gpu, offer.gpu_memory_gib, offer.host, id(row.estimate)
            if key in made:
                yield priced_row(offer, made[key].estimate, made[key].members)
            else:
                made[key] = self._row(row, in_tf32[row.instance], work, log_gain)
                yield made[key]

    def _row(
        self, row: InstancePrediction, in_tf32: InstancePrediction, work: _Work, log_gain: float
    ) -> InstancePrediction:
        model, transfer = precision_of(self.models)
        gpu, own = gpu_of(self.models, row), _anchor_gpu(transfer, self.anchor)
        if gpu is None or row.latency_ms is None:
            return row
        if row.basis is Basis.GIVEN and self._same_precision and self._given_as_recorded(gpu):
            return row.changed(latency_ms=self.latency_ms)
        if is_half(self.precision):
            factors, sign = model.amp(gpu, self.precision), 1.0
        elif self.asked == FP32 and self._fp32_unknown(transfer, gpu, row):
            factors, sign, row = model.tf32(gpu), -1.0, in_tf32
        else:
            factors, sign = Factors(SAME_SPEED, 0.0, 0.0), 1.0
        log_sd = combined_sd(factors.log_sd, self.base.log_sd)
        if is_half(self.precision) and self._same_precision:
            cancels = self._cancels(gpu, own)
            if cancels and gpu.name == own.name:
                log_sd = 0.0
            elif cancels:
                log_sd = float(log_sd_of(model.converted_log_half_width))
            log_gain *= cancels
        if log_sd == 0 and log_gain == 0 and not any(map(any, factors.curves)):
            return row
        return self._changed(row, gpu, factors, (sign, log_gain), log_sd, work)

    def _changed(
        self,
        row: InstancePrediction,
        gpu: Gpu,
        factors: Factors,
        change: tuple[float, float],
        log_sd: float,
        work: _Work,
    ) -> InstancePrediction:
        (sign, log_gain) = change
        assert row.latency_ms is not None
        # A machine without a known host has its GPU's typical one.
        host = host_named(row.offer.host, gpu.compute_capability)
        launch_share = work.launch_ms * host.launch / row.latency_ms
        log_speedup = sign * factors.log_speedup(work.shares, launch_share) + log_gain
        notes = (speedup_note(gpu, self.precision, log_speedup),) if is_half(self.precision) else ()
        if sign < 0:
            notes = (FP32_FROM_TF32,)
        basis = row.basis
        if basis is Basis.GIVEN:
            basis = Basis.MEASURED if self.anchor.gpu is None else Basis.CARRIED_BACK
        members = {name: ms * math.exp(-log_speedup) for name, ms in row.members.items()}
        step = faster_step(row.estimate, log_speedup, log_sd, *notes)
        return priced_row(row.offer, replace(step, basis=basis), members)

    def _given_as_recorded(self, gpu: Gpu) -> bool:
        """Whether the anchor's latency is in the requested precision."""
        if is_half(self.precision):
            return self._cancels(gpu, gpu)
        ran_in_tf32 = gpu.tf32_tensor_dense_tflops is not None and canonical(self.profile.meta.precision) != FP32
        return self.asked != FP32 or not ran_in_tf32

    def _cancels(self, gpu: Gpu, own: Gpu) -> bool:
        """Whether the errors of two divided speedups cancel: both on tensor cores, or on one GPU in one precision."""
        recorded = canonical(self.profile.meta.precision)
        both = recorded in supported_precisions(own) and self.precision in supported_precisions(gpu)
        return both or (gpu.name == own.name and recorded == self.precision)

    def _fp32_unknown(self, transfer: TransferModel, gpu: Gpu, row: InstancePrediction) -> bool:
        """Whether FP32 on the GPU is inferred from TF32 only; the anchor's own latency may be in TF32."""
        if gpu.tf32_tensor_dense_tflops is None:
            return False
        if row.basis is Basis.GIVEN:
            return not self._given_as_recorded(gpu)
        return fp32_unknown(transfer, gpu)


def fp32_unknown(transfer: TransferModel, gpu: Gpu) -> bool:
    """Whether the speed of a GPU with TF32 is known in TF32 only."""
    return gpu.tf32_tensor_dense_tflops is not None and evidence_of(transfer, gpu, False).source not in _FP32_KNOWN


def precision_notes(precision: str, recorded: str | None = None) -> list[Note]:
    """Caveats of an answer in a precision, from a profile recorded in another or the same one."""
    found = []
    if is_half(precision):
        found.append(Note(Code.HALF_PRECISION, precision=_NAMES[precision]))
    if BF16 in (precision, recorded):
        found.append(Note(Code.BF16_AS_FP16))
    if recorded is not None and is_half(recorded):
        found.append(Note(Code.CONVERTED_PRECISION, precision=_NAMES[recorded]))
    return found


def activation_growth(models: Models, profile: Profile, precision: str) -> float:
    """Ratio of activations in a precision to those of the profiled step."""
    asked, recorded = is_half(precision), is_half(profile.meta.precision)
    if asked == recorded or models.precision is None:
        return 1.0
    share = models.precision.activation_share
    return share if asked else 1 / share


def _other_kernels_log_sd(profile: Profile) -> float:
    """Log standard deviation that a compiler's kernels add, and those for channels-last tensors; 0 without both."""
    return float(OTHER_KERNELS_LOG_SD) * math.hypot(bool(profile.meta.compiled), bool(profile.meta.channels_last))


def _with_other_kernels(rows: Sequence[InstancePrediction], log_sd: float) -> tuple[InstancePrediction, ...]:
    # The ratio to another instance's latency stays because both are of the same step.
    found = {id(row.estimate): row.estimate for row in rows if row.log_sd is not None and row.basis is not Basis.GIVEN}
    wider = {key: replace(one, log_sd=combined_sd(one.log_sd, log_sd)) for key, one in found.items()}
    return tuple(replace(row, estimate=wider.get(id(row.estimate), row.estimate)) for row in rows)
