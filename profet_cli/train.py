"""`profet train` and `validate`: fit the models or calibrate custom GPUs; accuracy on what a fit never saw."""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profet_cli.options import add_format, add_models, training_set
from profet_cli.output import print_json, print_markdown, print_table
from profet_core.catalog import load_catalog, load_gpus
from profet_core.catalog.custom_gpus import custom_gpus_path, read_custom_gpus
from profet_core.errors import InputError
from profet_core.files import HOME_VARIABLE, models_folder, shipped_folder
from profet_core.latency import quantile
from profet_core.layers.custom_gpu import with_custom_gpus
from profet_core.layers.rates import rate_model_of
from profet_core.prediction.models import load_models

if TYPE_CHECKING:
    from profet_lab.dataset import Dataset
    from profet_lab.measurements.tables import Measurements


def open_measurements(options: argparse.Namespace) -> tuple[Measurements, Path]:
    """Open the measurements that `--data` names, PROFET's tables or a folder of the data layout; and their folder."""
    with training_set():
        from profet_lab.dataset import measurements_from_dataset
        from profet_lab.dataset_files import is_dataset, read_dataset
        from profet_lab.measurements.tables import data_folder, load_measurements
    if options.data and is_dataset(Path(options.data)):
        return measurements_from_dataset(read_dataset(Path(options.data))), Path(options.data)
    folder = data_folder(options.data)
    return load_measurements(folder), folder


def on_dask(run: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], None]:
    """Wrap a command's `run`: the cluster that `--dask` names does its fits and folds; without it this process."""

    @wraps(run)
    def run_there(options: argparse.Namespace) -> None:
        if options.dask is None:
            run(options)
            return
        with training_set():
            import distributed  # noqa: F401, missed here and not in the middle

            from profet_lab.tasks import on_cluster
        with on_cluster(options.dask):
            run(options)

    return run_there


@contextmanager
def validation_progress() -> Iterator[Callable[[int], object]]:
    """Show a bar on a terminal's stderr; call what is yielded with the number of steps done since."""
    with training_set():
        from tqdm import tqdm
    with tqdm(desc="validate", unit="step", disable=None) as bar:
        yield bar.update


#: What `--format json` prints, and the lines that are printed without it.
Trained = tuple[dict[str, object], Sequence[str]]


def train_part(options: argparse.Namespace, part: str) -> Trained:
    """One file of coefficients, beside the models there are."""
    with training_set():
        from profet_core.layers.rates import RATES_NAME
        from profet_lab.estimate_report import fit_and_write
        from profet_lab.models_folder import write_coefficients
    out = Path(options.out)
    measurements, folder = open_measurements(options)
    if part == "estimate":
        path, checksum = out / RATES_NAME, fit_and_write(measurements, folder, out).checksum
    else:
        name, make, _ = _coefficients(measurements, folder)[part]
        content = make()
        path, checksum = write_coefficients(content, out / name), content["checksum"]
    return {"out": str(path), "checksum": checksum}, [f"{path}: checksum {checksum[:16]}"]


def train_all(options: argparse.Namespace) -> Trained:
    """Every member of every pair, and the coefficients that the data tell."""
    with training_set():
        from profet_lab.train import train
    measurements, folder = open_measurements(options)
    out = Path(options.out)
    # Seconds of work that fail if a file is missing: before the minutes.
    coefficients = {name: make() for name, make, has_data in _coefficients(measurements, folder).values() if has_data()}
    manifest = train(measurements, out, anchors=options.anchor, coefficients=coefficients, seed=options.seed)
    members = sum(len(row["targets"]) for row in manifest["members"])
    size_mb = sum(path.stat().st_size for path in out.rglob("*.npz")) / 2**20
    checksum = manifest["checksum"]
    document = {"out": str(out), "members": members, "size_mb": size_mb, "checksum": checksum}
    return document, [f"{out}: {members} members, {size_mb:.1f} MB"]


def _coefficients(data: Measurements, folder: Path) -> dict[str, tuple[str, Callable[[], Mapping], Callable[[], bool]]]:
    """Option -> file, what fits its content, and whether the measurements hold what it needs."""
    with training_set():
        from profet_core.layers.rates import RATES_NAME
        from profet_core.prediction.growth import GROWTH_NAME
        from profet_core.prediction.models import TRANSFER_NAME
        from profet_core.training.memory import MEMORY_NAME
        from profet_core.training.scaling_model import SCALEOUT_NAME
        from profet_lab.memory import memory_content
        from profet_lab.scaleout import has_scale_rows, scaleout_content
        from profet_lab.sizes import growth_content, measured_sizes
        from profet_lab.transfer import transfer_content
    shipped_rates = shipped_folder("models") / RATES_NAME
    return {
        "transfer": (TRANSFER_NAME, lambda: transfer_content(data), lambda: True),
        # As shipped, unless `--estimate` fits them.
        "estimate": (RATES_NAME, lambda: json.loads(shipped_rates.read_bytes()), lambda: True),
        "memory": (MEMORY_NAME, lambda: memory_content(data, folder), lambda: True),
        "sizes": (GROWTH_NAME, lambda: growth_content(data), lambda: bool(measured_sizes(data))),
        "scaleout": (SCALEOUT_NAME, lambda: scaleout_content(folder), lambda: has_scale_rows(folder)),
    }


def calibrate(options: argparse.Namespace, folders: Sequence[Path], parts: Sequence[str]) -> Trained:
    """Fit what measured cells of other GPUs tell; refuse options about the published models, such as `parts`."""
    with training_set():
        from profet_lab.custom_gpus import calibrate_gpus, calibrated_file, check_out, read_data, write_calibrated
    named = [f"--{name}" for name in parts] + (["--anchor"] if options.anchor else [])
    if named:
        raise InputError(f"Your measurements are added to the existing models: remove {', '.join(named)}.")
    if not (given := options.out or os.environ.get(HOME_VARIABLE)):
        raise InputError(f"Give a folder for your models with --out or {HOME_VARIABLE}.")
    out = Path(given)
    check_out(out)
    dataset = read_data(folders)
    base = Path(options.models) if options.models else shipped_folder("models")
    models = load_models(base)
    models.verify()
    models = with_custom_gpus(models, read_custom_gpus(custom_gpus_path(), models.transfer.gpus))
    rates = rate_model_of(models)
    calibrated, without = calibrate_gpus(dataset, models)
    if not calibrated:
        why = "; ".join(f"{name}: {why}" for name, why in without.items()) or "the models already cover all instances"
        raise InputError(f"These measurements add nothing: {why}.")
    write_calibrated(base, out, calibrated_file(calibrated, rates, dataset))
    without = {name: why for name, why in without.items() if name not in {effects.instance for effects in calibrated}}
    gpus, lines = [], []
    for effects in calibrated:
        names = {"instance": effects.instance, "gpu": effects.gpu}
        gpus.append({**names, "cells": effects.rows, "networks": effects.networks, "log_sd": effects.log_sd})
        lines.append(
            f"{effects.instance} ({effects.gpu}): {effects.rows} workloads of {effects.networks} networks; 90% "
            f"interval of its speed: +{100 * math.expm1(quantile() * effects.log_sd):.0f}%"
        )
    lines += still_to_price([effects.instance for effects in calibrated], dataset)
    lines += [f"{name}: nothing learned: {why}" for name, why in without.items()]
    left = [{"instance": name, "why": why} for name, why in without.items()]
    return {"out": str(out), "gpus": gpus, "without": left}, [*lines, f"written to {out}"]


def still_to_price(instances: Iterable[str], dataset: Dataset) -> list[str]:
    """Return a line for each instance that no catalog has: what `gpus add` made of its GPU, or how to add one."""
    catalog, rows = load_catalog(), read_custom_gpus(custom_gpus_path(), load_gpus())
    gpus, offered = load_gpus().with_custom(row.gpu for row in rows), {row.name: row.instance for row in rows}
    lines = []
    for name in dict.fromkeys(instances):
        if name in catalog or name in offered.values():
            continue
        gpu = dataset.instances[name].gpu
        listed = gpus.named(gpu) if gpu else ()
        if same := next((offered[card.name] for card in listed if card.name in offered), None):
            lines.append(f"{name} is shown as {same}, the instance of your custom GPU")
            continue
        # As `profet instances add` takes a GPU by the name that its collection has.
        given = f"{shlex.quote(gpu)}{'' if listed else ' --other-gpu --memory-gib N'}" if gpu else "GPU"
        command = f"profet instances add {name} --gpu {given} --usd-per-hour N"
        lines.append(f"{name} needs a price to be shown: {command}")
    return lines


def _add_data(parser: argparse.ArgumentParser, several: str = "") -> None:
    """Declare `--data`: folders of measurements; `several`: help on giving more than one."""
    help_ = f"folder of measurements (default: PROFET_DATA, else data/){several}"
    parser.add_argument("--data", action="append", metavar="DIR", help=help_)


def add_dask(parser: argparse.ArgumentParser) -> None:
    """`--dask`: who does the fits and folds."""
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run the fits and folds on this Dask scheduler, such as tcp://host:8786"
    )


def add_anchors(parser: argparse.ArgumentParser) -> None:
    """`--anchor`: a choice among the measurements' anchors, which may be given several times."""
    parser.add_argument("--anchor", action="append", metavar="INSTANCE", help="only pairs with this anchor")


#: Option -> help: what is trained alone; of several the first counts.
TRAINED = {
    "transfer": "only transfer.json, for the work that times of operations tell",
    "memory": "only memory.json, for the memory fit",
    "scaleout": "only scaleout.json, for several GPUs",
    "sizes": "only growth.json, for other batch and pixel sizes",
    "estimate": "only estimate.json, for networks without a profile",
}


def add_train(parser: argparse.ArgumentParser) -> None:
    """Declare the measurements, the folder to write, and which part of it."""
    add_format(parser)
    _add_data(parser, "; repeat to add your own, which calibrate your GPUs")
    parser.add_argument(
        "--out", metavar="DIR", help="folder to write (default: models; with your own measurements: PROFET_HOME)"
    )
    add_models(parser)
    add_anchors(parser)
    for part, help_ in TRAINED.items():
        parser.add_argument(f"--{part}", action="store_true", help=help_)
    parser.add_argument("--seed", type=int, default=0)
    add_dask(parser)


@on_dask
def run_train(options: argparse.Namespace) -> None:
    """Train and write the models folder, or one of its files of coefficients alone."""
    folders = [Path(folder) for folder in options.data or ()]
    with training_set():
        from profet_lab.custom_gpus import is_custom_data
    parts = [part for part in TRAINED if getattr(options, part)]
    if is_custom_data(folders):
        document, lines = calibrate(options, folders, parts)
    else:
        options.data = options.data[0] if options.data else None
        options.out = options.out or "models"
        document, lines = train_part(options, parts[0]) if parts else train_all(options)
    if options.format == "json":
        print_json(document)
    else:
        print("\n".join(lines))


#: A part of a report, as `profet_lab` makes it and `--format json` prints it.
Report = dict[str, Any]


def _methods(options: argparse.Namespace) -> None:
    """Validate the documented method, a scaler or the default method, and print."""
    with training_set():
        from profet_lab.class_folds import default_report, default_table
        from profet_lab.documented import documented_report, documented_table, scaler_report
        from profet_lab.measurements.tables import class_bank
    measurements, _ = open_measurements(options)
    pairs = _wanted_pairs(options, measurements)
    with validation_progress() as progress:
        how: dict[str, Any] = {"seed": options.seed, "progress": progress}
        if options.scaler or options.method == "profet":
            predictions = documented_table(measurements, pairs, **how)
            report = scaler_report(measurements, predictions) if options.scaler else documented_report(predictions)
        else:
            report = default_report(default_table(class_bank(measurements), pairs, **how))
    if options.format == "json":
        print_json(report)
    elif options.scaler:
        _print_scaler(report)
    else:
        _print_method(report)


def _wanted_pairs(options: argparse.Namespace, measurements: Measurements) -> list[tuple[str, str]]:
    """Return the pairs that `--anchor` and `--target` leave."""
    with training_set():
        from profet_lab.measurements.tables import check_instances, pairs
    check_instances(measurements, [*(options.anchor or ()), *(options.target or ())])
    wanted = [
        (anchor, target)
        for anchor, target in pairs(measurements.instances)
        if (not options.anchor or anchor in options.anchor) and (not options.target or target in options.target)
    ]
    if not wanted:
        raise InputError("No pair remains: name different anchor and target.")
    return wanted


def _print_method(report: Report) -> None:
    """Pairs, means and architectures; of the documented method also errors by member and over all rows."""
    pairs = {(row["anchor"], row["target"]): row for row in report["pairs"]}
    pooled = {(name, "all"): row for name, row in report.get("pooled", {}).items()}
    rows = {**pairs, **pooled}.items()
    _print_rows(("anchor", "target"), [(names, {**row, **row.get("mape_by_member", {})}) for names, row in rows])
    for name in ("mean", "worst_pair", "without_twin", "family"):
        if name in report:
            values = ", ".join(f"{key} {value:.2f}" for key, value in report[name].items())
            print(f"\n{name.replace('_', ' ')}: {values}")
    print()
    _print_rows(("architecture",), [((model,), row) for model, row in report["by_model"].items()])
    print()


def _print_scaler(report: Report) -> None:
    """One row an instance, one of all, and the mean."""
    rows: list[tuple[tuple[str, ...], Report]] = []
    for key, method in (("settings", "profet"), ("settings_default", "default")):
        for name, setting in report.get(key, {}).items():
            by_name = {**setting["by_instance"], "all": setting["overall"], "mean": {"mape": setting["mean_mape"]}}
            rows += [((method, *name.split("_"), instance), row) for instance, row in by_name.items()]
    _print_rows(("method", "axis", "ends", "instance"), rows)


#: Header of a column -> its figure and decimals.
_COLUMNS = {
    "n": ("n", 0),
    "MAPE %": ("mape", 2),
    "MAPE with %": ("mape_with_latency", 2),
    "without %": ("mape_without_latency", 2),
    "with, sizes %": ("mape_with_latency_and_sizes", 2),
    "dense %": ("dense", 2),
    "forest %": ("forest", 2),
    "line %": ("line", 2),
    "R2": ("r2", 4),
    "RMSE ms": ("rmse_ms", 2),
    "covered %": ("coverage_90", 1),
    "half-width %": ("median_interval_pct", 1),
}


def _print_rows(names: Sequence[str], rows: Sequence[tuple[tuple[str, ...], Report]]) -> None:
    """Print a table: names, then the figures that the first row has."""
    columns = {header: column for header, column in _COLUMNS.items() if rows and rows[0][1].get(column[0]) is not None}

    def figures(row: Report) -> Iterator[str]:
        for name, digits in columns.values():
            yield "" if row.get(name) is None else f"{row[name]:.{digits}f}"

    print_table((*names, *columns), [(*row_names, *figures(row)) for row_names, row in rows])


def _part(options: argparse.Namespace, name: str) -> None:
    """Judge and print a section of the card; with `--card` write report and card beside the models."""
    with training_set():
        from profet_lab.reports import PARTS, Validation, section
    part, models = PARTS[name], models_folder(options.models)
    # Read before the work, so that a damaged file doesn't cost minutes.
    part.checksums(models)
    with validation_progress() as progress:
        task = Validation(lambda: open_measurements(options), models, options.seed, progress, options.real or "")
        report = part.dated(part.make(task), models)
    if options.card:
        report = part.write(report, models)
    if options.format == "json":
        print_json(report)
    else:
        print_markdown(section(name, report, models))


#: Option -> help: what is validated instead of the shipped models, one at a time, on all instances at once.
VALIDATED = {
    "gpus": "unprofiled GPUs, AMP and memory: held-out GPUs, published speeds, MLPerf, order of GPUs",
    "cells": "error by number of cells of a new GPU: each profiled GPU in turn, networks held out",
    "estimate": "networks without a profile: the paper's tests and ours",
    "steps": "one answer by name, by profile and from each repeat; larger batches; published speeds of GPUs not seen",
    "scaleout": "several GPUs: a network, a GPU, a source or a number of GPUs left out",
}


def add_validate(parser: argparse.ArgumentParser) -> None:
    """Declare the measurements, and what is validated on them."""
    add_format(parser)
    _add_data(parser)
    add_anchors(parser)
    parser.add_argument("--target", action="append", metavar="INSTANCE", help="only pairs with this target")
    parser.add_argument(
        "--method", choices=["default", "profet"], default="default", help="default or profet (the documented method)"
    )
    parser.add_argument(
        "--card", action="store_true", help="run all validations; writes validation.json and MODEL_CARD.md"
    )
    add_models(parser)
    parser.add_argument(
        "--scaler", action="store_true", help="the scaler: batch and pixels, with true and predicted endpoints"
    )
    for part, help_ in VALIDATED.items():
        parser.add_argument(f"--{part}", action="store_true", help=f"{help_}; --card writes the report and the card")
    parser.add_argument(
        "--real",
        metavar="DIR",
        help="third-party profiles listed in DIR/index.json, against measurements; --card writes the report and "
        "updates the card",
    )
    parser.add_argument("--seed", type=int, default=0)
    add_dask(parser)


@on_dask
def run_validate(options: argparse.Namespace) -> None:
    """Validate and print."""
    if len(options.data or ()) > 1:
        raise InputError("Validation takes one folder of measurements: give --data once.")
    options.data = options.data[0] if options.data else None
    given = [part for part in sorted([*VALIDATED, "real"]) if getattr(options, part)]
    if given:
        # A part is validated as a whole: no other beside it, and nothing that chooses pairs.
        others = {
            "--anchor": options.anchor,
            "--target": options.target,
            "--method": options.method != "default",
            "--scaler": options.scaler,
        }
        named = [name for name, is_given in others.items() if is_given] + [f"--{name}" for name in given[1:]]
        if named:
            raise InputError(f"--{given[0]} validates all of one thing: remove {', '.join(named)}.")
        _part(options, given[0])
    elif options.card:
        _part(options, "models")
    else:
        _methods(options)
