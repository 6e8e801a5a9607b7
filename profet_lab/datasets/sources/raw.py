"""Read PROFET's raw folders: operation statistics as CSV, times as pickles.

`data_generation/` of PROFET's repository writes `INSTANCE-PIXELS-MODEL-OPTIMISER-BATCH[-GPUS]-DAY-TIME...csv` and
`times-` with the same and `.pickle`; in `raw_data/` they lie below `expNN/INSTANCE/`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import pandas as pd

from profet_core.errors import ProfileError
from profet_core.files import sha256_hex
from profet_core.profiles import Profile, read_profile
from profet_core.profiles.profet_json.reader import VERSION_1_STEPS
from profet_core.units import MS_PER_S
from profet_lab.datasets.dataset import Dataset, Source
from profet_lab.datasets.parquet import file_bytes
from profet_lab.datasets.sources.draft import dataset_of
from profet_lab.datasets.sources.pickles.guarded import MAX_TIMES_BYTES, read_times
from profet_lab.datasets.sources.profet_pickles import ENDINGS
from profet_lab.datasets.sources.tables import PROFET_LICENCE, PROFET_RUNS
from profet_lab.measurements.tables import DataError

_NAME = re.compile(
    r"(?:times-)?(?:(?P<instance>\w[\w.-]{0,60}?)-)?(?P<pixels>\d{1,5})(?:dataset)?-(?P<model>[A-Za-z]\w{0,60})-"
    r"(?P<optimizer>[A-Za-z]{1,20})-(?P<batch_size>\d{1,6})(?:-(?P<gpus>\d{1,2}))?-(?P<when>\d{8}-\d{6})",
    re.ASCII,
)
#: The published statistics name the instance twice.
_TWICE = re.compile(r"(.+)-\1")
_EXPERIMENT = re.compile(r"exp(\d{1,4})", re.ASCII)
_OPTIMIZER = "SGD"
_MAX_CSV_BYTES = 4 * 2**20

Note = Callable[[str], object]


@dataclass(frozen=True, slots=True, order=True)
class _Run:
    """What a file's name says."""

    instance: str
    model: str
    pixels: int
    batch_size: int
    experiment: int | None


def raw_files(folder: Path) -> list[Path]:
    """All files at or below a folder that have a raw file's name."""
    endings = {".csv", *ENDINGS}
    found = (path for path in folder.rglob("*") if path.suffix.lower() in endings and path.is_file())
    return sorted(path for path in found if _NAME.match(path.name))


def read_raw(folder: Path, note: Note = lambda line: None) -> Dataset:
    """Every run that has times, with its profile where it has one.

    Parameters
    ----------
    note : called with a line about what is skipped.

    Raises
    ------
    DataError : there is nothing, a file can't be read, or a run is there twice.
    """
    paths = raw_files(folder)
    if not paths:
        raise DataError(f"{folder} holds no raw files such as g3s.xlarge-128-VGG16-SGD-16-1-20210202-142640.csv.")
    profiles = _by_run([path for path in paths if path.suffix.lower() == ".csv"], note)
    times = _by_run([path for path in paths if path.suffix.lower() != ".csv"], note)
    untimed = sum(max(0, len(files) - len(times.get(run, ()))) for run, files in profiles.items())
    if untimed:
        note(f"{untimed} profiles have no file of times and are skipped")
    taken = [(run, place, path) for run in sorted(times, key=_order) for place, path in enumerate(times[run])]
    timed = [(path, _bytes(path, MAX_TIMES_BYTES)) for _, _, path in taken]
    hashes = {path.relative_to(folder).as_posix(): sha256_hex(data) for path, data in timed}
    cells: list[dict] = []
    operations: list[tuple[int, str, float]] = []
    for cell, ((run, place, _), (epoch_s, step_s)) in enumerate(zip(taken, read_times(timed), strict=True)):
        files = profiles.get(run, [])
        profile = None
        if place < len(files):
            data = _bytes(files[place], _MAX_CSV_BYTES)
            hashes[files[place].relative_to(folder).as_posix()] = sha256_hex(data)
            profile = _profile(files[place], data)
            operations.extend((cell, name, us) for name, us in profile.operations.items())
        cells.append(_cell(cell, run, place, epoch_s, step_s, profile))
    source = Source("profet-raw", "profet raw", {"all files": _hash_of(hashes)}, PROFET_LICENCE)
    return dataset_of(pd.DataFrame(cells), pd.DataFrame(operations, columns=["cell", "operation", "time_us"]), source)


def _cell(cell: int, run: _Run, place: int, epoch_s: float, step_s: float, profile: Profile | None) -> dict:
    return {
        **asdict(run),
        "cell": cell,
        "repeat": place + 1 if run.experiment is None else run.experiment,
        "batch_latency_ms": step_s * MS_PER_S,
        "epoch_latency_s": epoch_s,
        "steps_profiled": pd.NA if profile is None else profile.steps,
        **PROFET_RUNS,
    }


def _by_run(paths: Iterable[Path], note: Note) -> dict[_Run, list[Path]]:
    """Files of each run, the oldest first."""
    found: defaultdict[_Run, list[tuple[str, Path]]] = defaultdict(list)
    others = 0
    for path in paths:
        name = _NAME.match(path.name)
        if name is None or name["optimizer"] != _OPTIMIZER or (name["gpus"] or "1") != "1":
            others += 1
            continue
        found[_run(path, name)].append((name["when"], path))
    if others:
        note(f"{others} files are of several GPUs or use an optimizer other than {_OPTIMIZER} and are skipped")
    return {run: _by_time(run, sorted(files)) for run, files in found.items()}


def _by_time(run: _Run, files: list[tuple[str, Path]]) -> list[Path]:
    """Files of one run's repeats: an experiment has one, and no two begin in the same second."""
    for (when, path), (next_when, next_path) in pairwise(files):
        if run.experiment is not None or when == next_when:
            raise DataError(f"{path} and {next_path} are of one run: remove one of them.")
    return [path for _, path in files]


def _run(path: Path, name: re.Match) -> _Run:
    instance = name["instance"] or path.parent.name
    if twice := _TWICE.fullmatch(instance):
        instance = twice[1]
    experiment = next((found for part in path.parts[:-1] if (found := _EXPERIMENT.fullmatch(part))), None)
    number = None if experiment is None else int(experiment[1])
    return _Run(instance, name["model"], int(name["pixels"]), int(name["batch_size"]), number)


def _order(run: _Run) -> tuple:
    return run.instance, run.model, run.pixels, run.batch_size, run.experiment or 0


def _profile(path: Path, data: bytes) -> Profile:
    """The profile of one step; a file without a number of steps covers two, as in PROFET's recipe."""
    try:
        profile = read_profile(data, path.name)
    except ProfileError as error:
        raise DataError(f"{path.parent}: {error}") from None
    return profile if profile.steps_basis in ("marked", "counted") else profile.with_steps(VERSION_1_STEPS, "assumed")


def _bytes(path: Path, most_bytes: int) -> bytes:
    return file_bytes(path, most_bytes=most_bytes, remedy="get it again")


def _hash_of(hashes: Mapping[str, str]) -> str:
    """One hash of thousands of files."""
    return sha256_hex("".join(f"{name} {hashes[name]}\n" for name in sorted(hashes)).encode())
