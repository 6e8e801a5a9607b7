"""Load `transfer.json`, the model for unprofiled GPUs, with its own checksum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from profet_core.catalog.gpus import Gpu, Gpus, load_gpus
from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder, shown
from profet_core.latency import Basis, combined_sd
from profet_core.transfer.carry import Targets
from profet_core.transfer.derived import DerivedLaw
from profet_core.transfer.evidence import Evidence, Source
from profet_core.transfer.hosts import Host
from profet_core.transfer.sharpened import SharpenedGpu, sharpened_of
from profet_core.transfer.step import InstanceStep, StepLaw
from profet_core.transfer.targets import Speed, Target

TRANSFER_NAME = "transfer.json"
TRANSFER_VERSION = 3
#: File in the same folder for GPUs with a few measured workloads.
SHARPENED_NAME, SHARPENED_VERSION = "sharpened.json", 1


@dataclass(frozen=True, slots=True)
class BenchmarkPoint:
    """Published speed of the benchmark's work over the reference GPU's, in the logarithm.

    Attributes
    ----------
    measured_on : the GPU that ran it: this one, or one with the same chip. tables : number of tables in the mean.
    log_sd : standard deviation between tables, from another batch size and, if applicable, from another card.
    log_throughput : published images per second over the reference's, including kernel tails.
    """

    log_speed: float
    log_sd: float
    measured_on: str
    tables: int
    log_throughput: float

    def evidence(self, gpu: str) -> Evidence:
        """Evidence for a GPU with this full name."""
        return Evidence(Source.PUBLISHED, gpu, self.measured_on, self.tables)


@dataclass(frozen=True, slots=True)
class OwnPoint(BenchmarkPoint):
    """A user's statement about a custom GPU's speed; no other GPU's speed is inferred from it."""

    said: str

    def evidence(self, gpu: str) -> Evidence:
        """The user's statement as evidence."""
        return Evidence(Source.OWN, gpu, gpu, said=self.said)


@dataclass(frozen=True, slots=True)
class Spread:
    """Log errors on held-out GPUs, with the latencies on the others known.

    Attributes
    ----------
    between : root mean square of each GPU's mean error. within : standard deviation of the networks' errors around it.
    gpus : number of held-out GPUs.
    """

    between: float
    within: float
    gpus: int

    def log_sd(self, *more: float) -> float:
        """Log standard deviation of a step; `more`: additional ones of the GPU's own error."""
        return float(combined_sd(self.between, self.within, *more))


@dataclass(frozen=True)
class TransferModel:
    """Model for estimates on unprofiled GPUs.

    Attributes
    ----------
    reference : profiled instance that published points are relative to.
    spread : errors of leave-one-GPU-out with a benchmark point. anchor_spread : with the GPU held out as anchor.
    sheet_log_sd, relative_log_sd, same_chip_log_sd, kernel_log_sd : error of a speed inferred from specs alone, from
    specs
        relative to a GPU with published points, from a GPU with the same chip, and from kernels.
    points, fp32_points, derived : by full GPU name; `fp32_points` for GPUs whose `points` are TF32.
    sharpened : by full GPU name and TF32, GPUs calibrated with a few measured workloads.
    kernels : full GPU name -> kind -> speed of its kernels over the reference GPU's, in the logarithm.
    checksum : of the file's content.
    """

    step: StepLaw
    reference: str
    spread: Spread
    anchor_spread: Spread
    sheet_log_sd: float
    relative_log_sd: float
    same_chip_log_sd: float
    kernel_log_sd: float
    points: Mapping[str, BenchmarkPoint]
    fp32_points: Mapping[str, BenchmarkPoint]
    kernels: Mapping[str, Mapping[str, float]]
    derived: Mapping[str, DerivedLaw]
    sharpened: Mapping[tuple[str, bool], SharpenedGpu]
    gpus: Gpus
    fitted_on: Mapping[str, str]
    checksum: str

    @property
    def instances(self) -> tuple[str, ...]:
        """Profiled instances: each can be the anchor."""
        return tuple(self.step.instances)

    def sharpened_gpu(self, gpu: Gpu, tf32: bool) -> SharpenedGpu | None:
        """Calibration of a GPU in this precision from measured steps."""
        return self.sharpened.get((gpu.name, tf32 and gpu.tf32_tensor_dense_tflops is not None))

    def basis_of(self, gpu: Gpu, tf32: bool = True) -> Basis:
        """Basis of a latency on the GPU: steps measured on it, others' timings, or neither."""
        profiled = {row.gpu for row in self.step.instances.values()}
        if gpu.name not in profiled and self.sharpened_gpu(gpu, tf32) is not None:
            return Basis.SHARPENED
        return Basis.DERIVED if gpu.name in self.derived or gpu.name in profiled else Basis.TRANSFERRED

    @cached_property
    def targets(self) -> dict[tuple[Gpu, Host, bool], tuple[Target, Speed]]:
        """Cache of `speed.target_of` by GPU, host and TF32: every prediction needs all of them."""
        return {}

    @cached_property
    def target_sets(self) -> dict[tuple[tuple[tuple[Gpu, Host], ...], bool], tuple[Targets, tuple[Speed, ...]]]:
        """Cache of `speed.targets_of` by GPUs in hosts and TF32."""
        return {}

    @property
    def reference_gpu(self) -> str:
        """Full name of the reference instance's GPU."""
        return self.step.instances[self.reference].gpu


_Record = TypeVar("_Record", InstanceStep, Spread, BenchmarkPoint, DerivedLaw)


def load_transfer(folder: Path | str | None = None, gpus: Gpus | None = None) -> TransferModel:
    """Load `transfer.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    path = models_folder(folder) / TRANSFER_NAME
    model = load_coefficients(path, TRANSFER_VERSION, lambda content: transfer_model(content, gpus or load_gpus()))
    beside = path.with_name(SHARPENED_NAME)
    return _with_sharpened(model, beside) if beside.exists() else model


def _with_sharpened(model: TransferModel, path: Path) -> TransferModel:
    """Add the file's calibrated GPUs, with a few measured workloads, to the model."""

    def parse(content: JsonObject) -> TransferModel:
        if content.get("transfer_checksum") != model.checksum:
            raise ArtifactError(
                f"{shown(path)} belongs to another {TRANSFER_NAME}: run `profet train` with its data again."
            )
        return replace(model, sharpened=MappingProxyType(sharpened_of(content["gpus"])))

    return load_coefficients(path, SHARPENED_VERSION, parse)


def transfer_model(content: JsonObject, gpus: Gpus) -> TransferModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    law = content["step"]
    model = TransferModel(
        step=StepLaw(
            start_ms=finite_number(law["start_ms"]),
            copy_factor=finite_number(law["copy_factor"]),
            tail_share=finite_number(law["tail_share"]),
            bandwidth_tilt=finite_number(law["bandwidth_tilt"]),
            scattered_power=finite_number(law["scattered_power"]),
            instances=MappingProxyType({name: _record(InstanceStep, row) for name, row in law["instances"].items()}),
        ),
        reference=str(content["reference"]),
        spread=_record(Spread, content["spread"]),
        anchor_spread=_record(Spread, content["anchor_spread"]),
        sheet_log_sd=finite_number(content["sheet_log_sd"]),
        relative_log_sd=finite_number(content["relative_log_sd"]),
        same_chip_log_sd=finite_number(content["same_chip_log_sd"]),
        kernel_log_sd=finite_number(content["kernel_log_sd"]),
        points=_points(content["points"]),
        fp32_points=_points(content["fp32_points"]),
        kernels=MappingProxyType(
            {
                name: MappingProxyType({kind: finite_number(value) for kind, value in row.items()})
                for name, row in content["kernels"].items()
            }
        ),
        derived=MappingProxyType({name: _record(DerivedLaw, row) for name, row in content["derived"].items()}),
        sharpened=MappingProxyType({}),
        gpus=gpus,
        fitted_on=MappingProxyType(dict(content["fitted_on"])),
        checksum=str(content["checksum"]),
    )
    if model.reference_gpu not in gpus:
        raise ValueError(f"no specs of {model.reference_gpu}")
    return model


def _points(rows: JsonObject) -> Mapping[str, BenchmarkPoint]:
    return MappingProxyType({name: _record(BenchmarkPoint, row) for name, row in rows.items()})


def _record(kind: type[_Record], row: JsonObject) -> _Record:
    values: dict[str, Any] = {field.name: _value(str(field.type), row[field.name]) for field in fields(kind)}
    return kind(**values)


def _value(kind: str, value: Any) -> Any:
    if kind == "float":
        return finite_number(value)
    return tuple(finite_number(one) for one in value) if kind == "tuple[float, ...]" else value
