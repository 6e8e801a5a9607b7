"""Calibrate the analytical model on measured cells of custom GPUs, and write a custom models folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from profet_core.transfer.steps import KnownSteps

from profet_core.catalog.gpus import Gpu
from profet_core.errors import InputError
from profet_core.files import shipped_folder
from profet_core.transfer.model import (
    CALIBRATED_NAME,
    CALIBRATED_VERSION,
    CalibratedGpu,
    TransferModel,
    calibrated_content,
    target_of,
)
from profet_core.transfer.targets import host_named
from profet_lab.dataset import AMP, OK, TF32, Dataset, measurements_from_dataset, merged
from profet_lab.dataset_files import is_dataset, read_folder
from profet_lab.measurements.tables import WORKLOAD, DataError, Measurements
from profet_lab.models_folder import MEASUREMENTS, new_models_folder, signed, write_coefficients
from profet_lab.transfer.calibrate import MeasuredCells, calibrate, calibrated_gpu
from profet_lab.transfer.leave_one_gpu_out import known_of, measured_latencies
from profet_lab.transfer.step_model import InstanceSteps, measured_medians

#: The profiled instances ran TensorFlow: what is likest to that counts where an instance ran several.
_FRAMEWORKS = ("tensorflow", "keras", "pytorch")


def is_custom_data(folders: Sequence[Path]) -> bool:
    """Whether any folder is of the data layout, or there are several."""
    return len(folders) > 1 or any(is_dataset(folder) for folder in folders)


def read_data(folders: Sequence[Path]) -> Dataset:
    """All cells of all folders."""
    return merged([read_folder(folder) for folder in folders], [str(folder) for folder in folders])


def calibrate_gpus(dataset: Dataset, transfer: TransferModel) -> tuple[list[CalibratedGpu], dict[str, str]]:
    """Calibrated model of every instance that the models did not learn from; instance -> why it has none.

    Parameters
    ----------
    transfer : of the models that profiles are predicted with; the dataset must hold its instances' profiles.
    """
    new = [name for name in sorted(dataset.instances) if name not in transfer.instances]
    if not new:
        return [], {}
    published = published_runs(dataset, transfer)
    medians = measured_medians(published)
    measured = measured_latencies(medians)
    known = {
        name: known_of(transfer.step, medians, name, measured, True, transfer.readers) for name in medians.instances
    }
    plain = replace(transfer, calibrated={})
    found: list[CalibratedGpu] = []
    without: dict[str, str] = {}
    for name in new:
        try:
            found += _calibrated(dataset, name, medians, known, plain)
        except DataError as error:
            without[name] = str(error)
    best: dict[tuple[str, bool], CalibratedGpu] = {}
    for one in sorted(found, key=lambda one: -one.cells):
        kept = best.setdefault((one.gpu, one.tf32), one)
        if kept is not one:
            without[one.instance] = f"{kept.instance} has the same GPU and {kept.cells} cells"
    return list(best.values()), without


def published_runs(dataset: Dataset, transfer: TransferModel) -> Measurements:
    """The runs that every instance of the analytical model was profiled with."""
    missing = [name for name in transfer.instances if name not in dataset.instances]
    if missing:
        raise DataError(
            f"No profiles of {', '.join(missing)} in the data, which the models learned from: name the published "
            "measurements with --data too."
        )
    measurements = measurements_from_dataset(dataset, transfer.instances, framework="tensorflow")
    if measurements.workloads.empty:
        raise DataError(f"{', '.join(transfer.instances)} have no workload in common that has a profile on each.")
    return measurements


def _calibrated(
    dataset: Dataset, instance: str, medians: InstanceSteps, known: Mapping[str, KnownSteps], transfer: TransferModel
) -> list[CalibratedGpu]:
    """One for each precision that the instance ran."""
    facts = dataset.instances[instance]
    gpu = _data_sheet(transfer, facts.gpu)
    cells = dataset.cells
    # In one framework, not in mixed precision.
    cells = cells[(cells["instance"] == instance) & (cells["status"] == OK) & (cells["precision"] != AMP)]
    ran = [name for name in (*_FRAMEWORKS, *sorted(set(cells["framework"]))) if name in set(cells["framework"])]
    if not ran:
        raise DataError("none of its cells ran to the end in FP32 or TF32")
    cells = cells[cells["framework"] == ran[0]]
    found = []
    for tf32, own in cells.groupby((cells["precision"] == TF32) & (gpu.tf32_tensor_dense_tflops is not None)):
        latency_ms = own.groupby(WORKLOAD)["batch_latency_ms"].median().rename("latency_ms").reset_index()
        both = medians.workloads[WORKLOAD].reset_index(drop=True).reset_index().merge(latency_ms, on=WORKLOAD)
        if len(both):
            measured = MeasuredCells(*(both[name].to_numpy() for name in ("index", "latency_ms", "model")))
            host = host_named(facts.host, gpu.compute_capability)
            prior, _ = target_of(transfer, gpu, host, bool(tf32))
            fitted = calibrate(known, transfer.reference, prior, measured)
            found.append(calibrated_gpu(fitted, measured, gpu=gpu.name, instance=instance, tf32=bool(tf32)))
    if not found:
        raise DataError(f"none of its {len(cells)} cells is a workload that the models' instances were profiled with")
    return found


def _data_sheet(transfer: TransferModel, name: str) -> Gpu:
    if not name:
        raise DataError("the data don't say which GPU it has")
    try:
        gpu = transfer.gpus.find(name)
    except InputError:
        raise DataError(f"no specs of {name}: add the GPU with `profet gpus add`") from None
    if gpu.name in {row.gpu for row in transfer.step.instances.values()}:
        raise DataError(f"{gpu.name} is one of the profiled GPUs: the shipped models already cover it")
    return gpu


def check_out(out: Path) -> None:
    """Refuse to write over the models that ship."""
    if out.resolve() == shipped_folder("models").resolve():
        raise InputError("The shipped models can't be overwritten: name another folder with --out, or PROFET_HOME.")


def calibrated_file(gpus: Sequence[CalibratedGpu], transfer: TransferModel, dataset: Dataset) -> dict:
    """Content of `calibrated.json`, for one `transfer.json`; it names the files it was fitted on."""
    content = {
        "schema_version": CALIBRATED_VERSION,
        "transfer_checksum": transfer.checksum,
        "gpus": [calibrated_content(gpu) for gpu in gpus],
        "fitted_on": {file: value for source in dataset.sources for file, value in source.files.items()},
    }
    return signed(content)


def write_calibrated(models: Path, out: Path, calibrated: dict) -> None:
    """Write a copy of `models` with the content of `calibrated.json` as `out`, whole or not at all."""
    # Found now: the new folder may take the place of the old one.
    files = {path.relative_to(models): path for path in models.rglob("*") if path.is_file()}
    # Neither what an earlier calibration added, nor measurements beside the models.
    files = {name: path for name, path in files.items() if name.parts[0] not in (CALIBRATED_NAME, *MEASUREMENTS)}
    with new_models_folder(out) as folder:
        for name, path in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            # Without its mode: what ships may be read-only.
            shutil.copyfile(path, folder / name)
        write_coefficients(calibrated, folder / CALIBRATED_NAME)
