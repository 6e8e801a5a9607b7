"""Measures each figure several times and prints the median beside its target: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import REPOSITORY
from benchmarks.made_trace import write_pytorch_trace
from benchmarks.served_app import chromium_path
from profet_core import load_catalog, load_models, predict, predict_many
from profet_core.artifacts.samples import load_samples
from profet_core.catalog import load_shipped
from profet_core.files import default_models_folder


@dataclass(frozen=True)
class Figure:
    """One measured figure: the median of `repeats` runs, beside the most it should be."""

    name: str
    value: float
    unit: str
    target: float
    repeats: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--train", action="store_true", help="time a whole training too (needs the measurements)")
    options = parser.parse_args()
    figures = [*fresh_process(), *traces(), warm_predict(), catalogue(), warm_many(), models_size(), *first_page()]
    if options.train:
        figures.append(training())
    print(f"{'figure':<58} {'median':>10} {'at most':>10}  unit  runs")
    for figure in figures:
        mark = "" if figure.value <= figure.target else "  MISSED"
        print(f"{figure.name:<58} {figure.value:>10.3g} {figure.target:>10g}  {figure.unit:<4}  {figure.repeats}{mark}")


def fresh_process(repeats: int = 15) -> list[Figure]:
    """Wall time and peak memory of `profet predict` as a new process, for all offers of the catalogue."""
    sample = load_samples()[0]
    command = [
        sys.executable,
        "-m",
        "profet_cli",
        "predict",
        str(sample.path),
        "--anchor",
        sample.anchor,
        "--format",
        "json",
    ]
    runs = [_run(command) for _ in range(repeats)]
    return [
        Figure("profet predict, fresh process, all offers", statistics.median(r[0] for r in runs), "s", 0.45, repeats),
        Figure("profet predict, fresh process, peak memory", statistics.median(r[1] for r in runs), "MB", 150, repeats),
    ]


_READ = """
import sys
from pathlib import Path
from profet_core import read_profile
shares = []
with Path(sys.argv[1]).open("rb") as file:
    assert read_profile(file, progress=shares.append).steps == int(sys.argv[2])
assert len(shares) > 50 and shares[-1] == 1, shares
"""


def traces() -> Iterator[Figure]:
    """Wall time and peak memory of reading made-up PyTorch traces of two sizes, each in a new process."""
    for megabytes, most_s, most_mb, repeats in ((15, 1.5, 200, 9), (300, 60, 300, 3)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.pt.trace.json"
            with path.open("w", encoding="utf-8") as file:
                steps = write_pytorch_trace(file, megabytes * 1_000_000)
            runs = [_run([sys.executable, "-c", _READ, str(path), str(steps)]) for _ in range(repeats)]
        name = f"PyTorch trace of {megabytes} MB, fresh process"
        yield Figure(name, statistics.median(run[0] for run in runs), "s", most_s, repeats)
        yield Figure(f"{name}, peak memory", max(run[1] for run in runs), "MB", most_mb, repeats)


def warm_predict(repeats: int = 300) -> Figure:
    """One profile, all offers of the catalogue, models loaded."""
    models, catalog, sample = load_models(), load_catalog(), load_samples()[0]
    profile = sample.profile
    seconds = _times(lambda: predict(models, catalog, profile, sample.anchor, latency_ms=sample.latency_ms), repeats)
    return Figure(f"warm: one profile, all {len(catalog)} offers", 1000 * statistics.median(seconds), "ms", 5, repeats)


def catalogue(repeats: int = 50) -> Figure:
    """Reading the shipped tables."""
    return Figure("catalogue: read", 1000 * statistics.median(_times(load_shipped, repeats)), "ms", 10, repeats)


def warm_many(count: int = 10_000, repeats: int = 7) -> Figure:
    """Many different profiles, all targets, models loaded."""
    models, catalog, sample = load_models(), load_catalog(), load_samples()[0]
    random = np.random.default_rng(0)
    base = sample.profile
    scales = random.uniform(0.5, 2.0, count)
    profiles = [
        replace(base, operations={name: value * scale for name, value in base.operations.items()}) for scale in scales
    ]
    latencies = [sample.latency_ms * scale for scale in scales]
    seconds = _times(lambda: predict_many(models, catalog, profiles, sample.anchor, latencies_ms=latencies), repeats)
    return Figure(f"warm: {count:,} profiles, all targets", statistics.median(seconds), "s", 2, repeats)


def models_size() -> Figure:
    """Everything in the models folder."""
    size = sum(path.stat().st_size for path in default_models_folder().rglob("*") if path.is_file())
    return Figure("models/ on disk", size / 1e6, "MB", 25, 1)


def first_page(repeats: int = 5) -> Iterator[Figure]:
    """The first page and the slider, in a headless Chromium."""
    if chromium_path() is None:
        print("the app: skipped, no Chromium was found", file=sys.stderr)
        return
    from benchmarks.first_page import BARE_PAGE, MBIT_PER_S, MOVES, ROUND_TRIP_MS, chromium, opened, p95

    with chromium() as browser:
        app, bare = opened(browser, repeats), opened(browser, repeats, BARE_PAGE)
    beside = "the same / a bare page with two charts"
    line = f"app, {MBIT_PER_S} Mbit/s and {ROUND_TRIP_MS} ms"
    yield Figure("app, cold server: first page complete", app.cold.complete_s, "s", 3, repeats)
    yield Figure("app, warm server: first page complete", app.warm.complete_s, "s", 1.2, repeats)
    yield Figure(beside, app.warm.complete_s / bare.warm.complete_s, "x", 1.2, repeats)
    yield Figure(f"{line}: first answer", app.slow.answer_s, "s", 3, repeats)
    yield Figure(f"{line}: first page complete", app.slow.complete_s, "s", 4, repeats)
    yield Figure("app: first page, over the line", app.slow.wire_mb, "MB", 3, repeats)
    yield Figure("app: slider to bars, p95", p95(app.moves_ms), "ms", 350, MOVES)
    yield Figure(beside, p95(app.moves_ms) / p95(bare.moves_ms), "x", 2, MOVES)


def training() -> Figure:
    """`profet train` on all pairs, into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, _ = _run([sys.executable, "-m", "profet_cli", "train", "--out", str(Path(folder) / "models")])
    return Figure("profet train, all 12 pairs", seconds / 60, "min", 20, 1)


def _times(call: Callable[[], object], repeats: int) -> list[float]:
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def _run(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak resident megabytes of a process that must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=REPOSITORY)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    main()
