"""What measured cells of custom GPUs say of their rates, and a custom models folder with it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from profet_core.catalog.gpus import FP32, PLAIN, Gpu, Host, canonical, host_named
from profet_core.errors import InputError
from profet_core.files import shipped_folder
from profet_core.layers.gpu_effects import MEASURED, effects_by_steps, known_step
from profet_core.layers.networks import PROFET, measured_counts, measured_networks
from profet_core.layers.rates import (
    CALIBRATED_VERSION,
    RateModel,
    UserEffects,
    calibrated_content,
    mode_of,
    rate_model_of,
)
from profet_core.prediction.models import CALIBRATED_NAME, Models
from profet_lab.dataset import OK, Dataset, merged
from profet_lab.dataset_files import is_dataset, read_folder
from profet_lab.measurements.tables import WORKLOAD, DataError
from profet_lab.models_folder import MEASUREMENTS, new_models_folder, rounded, signed, write_coefficients

#: Frameworks that run PROFET's program, whose kernels its measurements have; what is likest to that counts where an
#: instance ran several.
_PROFETS_FRAMEWORKS = ("tensorflow", "keras")
_FRAMEWORKS = (*_PROFETS_FRAMEWORKS, "pytorch")


def is_custom_data(folders: Sequence[Path]) -> bool:
    """Whether any folder is of the data layout, or there are several."""
    return len(folders) > 1 or any(is_dataset(folder) for folder in folders)


def read_data(folders: Sequence[Path]) -> Dataset:
    """All cells of all folders."""
    return merged([read_folder(folder) for folder in folders], [str(folder) for folder in folders])


def calibrate_gpus(dataset: Dataset, models: Models) -> tuple[list[UserEffects], dict[str, str]]:
    """Learn effects of GPUs from the cells of instances that the models did not learn from; instance -> why nothing."""
    measured: list[UserEffects] = []
    without: dict[str, str] = {}
    for name in sorted(dataset.instances):
        if name in models.instances:
            continue
        try:
            measured.append(_measured_effects(dataset, name, models))
        except DataError as error:
            without[name] = str(error)
    best: dict[str, UserEffects] = {}
    for effects in sorted(measured, key=lambda effects: -effects.rows):
        kept = best.setdefault(effects.gpu, effects)
        if kept is not effects:
            without[effects.instance] = f"{kept.instance} has the same GPU and {kept.rows} cells"
    return list(best.values()), without


def _measured_effects(dataset: Dataset, instance: str, models: Models) -> UserEffects:
    """Effects of an instance's GPU by the median of each workload's cells, of one framework."""
    facts, model = dataset.instances[instance], rate_model_of(models)
    gpu = _specs(models, facts.gpu)
    cells = dataset.cells
    cells = cells[(cells["instance"] == instance) & (cells["status"] == OK)]
    ran = [name for name in (*_FRAMEWORKS, *sorted(set(cells["framework"]))) if name in set(cells["framework"])]
    if not ran:
        raise DataError("none of its cells ran to the end")
    cells = cells[(cells["framework"] == ran[0]) & (PROFET + cells["model"]).isin(measured_networks())]
    if cells.empty:
        raise DataError("none of its cells is of a network that is known by its layers")
    table = cells.groupby([*WORKLOAD, "precision"], as_index=False)["batch_latency_ms"].median()
    machine = gpu, host_named(facts.host, gpu.compute_capability)
    return effects_of_cells(model, table, machine, instance, is_tensorflow=ran[0] in _PROFETS_FRAMEWORKS)


def effects_of_cells(
    model: RateModel, cells: pd.DataFrame, machine: tuple[Gpu, Host], instance: str, *, is_tensorflow: bool
) -> UserEffects:
    """Return effects of a GPU by workloads that an instance ran.

    Parameters
    ----------
    cells : columns `WORKLOAD`, precision and batch_latency_ms.
    is_tensorflow : PROFET's cells of these networks on other GPUs say what they take there, by its framework alone.
    """
    gpu, steps = machine[0], []
    for row in cells.to_dict("records"):
        counts, mode = measured_counts(row["model"], int(row["pixels"])), canonical(row["precision"]) or FP32
        name = PROFET + row["model"] if is_tensorflow else row["model"]
        size = int(row["batch_size"]), mode_of(gpu, mode, PLAIN)
        steps.append(known_step(model, name, counts, *size, machine, row["batch_latency_ms"]))
    effects = effects_by_steps(model, gpu, steps, MEASURED, model.measured if is_tensorflow else None)
    values = {name: getattr(effects, name) for name in effects.__struct_fields__}
    networks = cells["model"].nunique()
    return UserEffects(**values, instance=instance, networks=networks, in_tensorflow=is_tensorflow)


def _specs(models: Models, name: str) -> Gpu:
    if not name:
        raise DataError("the data don't say which GPU it has")
    try:
        gpu = models.transfer.gpus.find(name)
    except InputError:
        raise DataError(f"no specs of {name}: add the GPU with `profet gpus add`") from None
    if gpu.name in models.transfer.profiled_gpus:
        raise DataError(f"{gpu.name} is one of the profiled GPUs: the shipped models already cover it")
    return gpu


def check_out(out: Path) -> None:
    """Refuse to write over the models that ship."""
    if out.resolve() == shipped_folder("models").resolve():
        raise InputError("The shipped models can't be overwritten: name another folder with --out, or PROFET_HOME.")


def calibrated_file(gpus: Sequence[UserEffects], model: RateModel, dataset: Dataset) -> dict:
    """Content of `calibrated.json`, for one `estimate.json`; it names the files it was fitted on."""
    content = {
        "schema_version": CALIBRATED_VERSION,
        "rates_checksum": model.checksum,
        "gpus": [rounded(calibrated_content(effects)) for effects in gpus],
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
