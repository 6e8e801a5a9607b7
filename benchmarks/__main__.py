"""Measure each figure several times; print medians, targets, and ratios to a reference: `python -m benchmarks [PART]`.

The reference of figures in processor time is another version (`git worktree add ../before b4d93a7`, then
`--against ../before`), measured in turns with this one; of the app's figures, a bare Streamlit page.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from benchmarks.code import BARE, IMPORT, MANY, PREDICT, TRACE, WARM, answer_calls, answers, measured, measures
from benchmarks.made_trace import write_pytorch_trace
from benchmarks.served_app import SCRIPT, chromium_path, served, served_endpoint
from profet_core.files import default_models_folder

#: In a checkout -> seconds and megabytes.
Run = Callable[[Path], tuple[float, float]]
BARE_PAGE = Path(__file__).with_name("bare_page.py")
#: A part that takes longer is stopped, and its servers with it; all of them together take ten minutes.
_LIMIT_S = {"train": 3600}
_OTHERS_LIMIT_S = 300
#: One process of the app serves so many.
_VISITORS_OF_A_PROCESS = 100


class BenchmarkFigure(Struct, frozen=True):
    """One measured figure: its runs, the most it should be (the least of "/s"), and runs of the reference."""

    name: str
    values: Sequence[float]
    unit: str
    target: float | None = None
    reference: Sequence[float] = ()

    @property
    def median(self) -> float:
        """Of its runs."""
        return statistics.median(self.values)

    @property
    def row(self) -> str:
        """As the table has it."""
        value, target, ratio, mark = self.median, "", "", ""
        if self.target is not None:
            missed = value < self.target if self.unit == "/s" else value > self.target
            target, mark = f"{self.target:.6g}", "  MISSED" if missed else ""
        if self.reference:
            ratio = f"{value / statistics.median(self.reference):.2f}"
        shown = f"{value:.3g}" if self.unit else f"{value:.0f}"
        return f"{self.name:<52} {shown:>8} {self.unit:<9} {target:>7} {ratio:>6} {len(self.values):>5}{mark}"


def _p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def code(options: argparse.Namespace) -> Iterator[BenchmarkFigure]:
    """Time the library and the command, beside `--against`."""
    checkouts = [Path(__file__).parents[1], *([options.against] if options.against else [])]

    def in_turns(name: str, run: Run, target_s: float, most_mb: float) -> list[BenchmarkFigure]:
        rounds = [[run(checkout) for checkout in checkouts] for _ in range(options.rounds)]
        seconds, megabytes = ([[cost[what] for cost in runs] for runs in zip(*rounds, strict=True)] for what in (0, 1))
        return [
            BenchmarkFigure(name, seconds[0], "s", target_s, *seconds[1:]),
            BenchmarkFigure(f"{name}: memory", megabytes[0], "MB", most_mb, *megabytes[1:]),
        ]

    yield BenchmarkFigure("python -c 'import numpy'", [measured(*BARE)[0] for _ in range(options.rounds)], "s")
    yield from in_turns(
        "profet predict, fresh process, all offers", lambda checkout: measured(*PREDICT, checkout=checkout), 0.40, 150
    )
    for name, snippet, target_s in (
        ("import profet_core", IMPORT, 0.08),
        ("warm: one profile, all offers", WARM, 0.0012),
        ("warm: 10,000 profiles, all GPUs", MANY, 0.7),
    ):
        yield in_turns(name, lambda checkout, snippet=snippet: measured("-c", snippet, checkout=checkout), target_s, 0)[
            0
        ]
    with tempfile.TemporaryDirectory() as folder:
        for megabytes, target_s, most_mb in ((15, 0.4, 150), (300, 4, 150)):
            path = Path(folder) / "made.pt.trace.json"
            with path.open("w", encoding="utf-8") as file:
                steps = write_pytorch_trace(file, megabytes * 1_000_000)
            arguments = ("-c", TRACE, str(path), str(steps))
            read = lambda checkout, arguments=arguments: measured(*arguments, checkout=checkout)  # noqa: E731
            yield from in_turns(f"PyTorch trace of {megabytes} MB", read, target_s, most_mb)
    size = sum(path.stat().st_size for path in default_models_folder().rglob("*") if path.is_file())
    yield BenchmarkFigure("models/ on disk", [size / 1e6], "MB", 25)


def calls(_: argparse.Namespace) -> Iterator[BenchmarkFigure]:
    """How much code there is, and how much of it one answer goes through."""
    for name, value in measures().items():
        yield BenchmarkFigure(name, [value], "", _BUDGETS.get(name))
    for name, (modules, functions) in answer_calls().items():
        yield BenchmarkFigure(f"one {name}: modules", [modules], "", {"predict": 26, "advise": 32}[name])
        yield BenchmarkFigure(f"one {name}: functions", [functions], "", {"predict": 120, "advise": 160}[name])


_BUDGETS = {
    "lines outside tests": 47_000,
    "lines to know for the app": 30_000,
    "lines in tests": 28_500,
    "classes": 260,
    "dataclasses": 150,
    "functions with **kwargs: Any or object": 5,
}


def app(options: argparse.Namespace) -> Iterator[BenchmarkFigure]:
    """Time the first page and the slider, in a headless Chromium."""
    if chromium_path() is None:
        print("app: skipped, no Chromium was found", file=sys.stderr)
        return
    from benchmarks.first_page import MBIT_PER_S, ROUND_TRIP_MS, chromium, opened

    with chromium() as browser:
        ours, moves_ms = opened(browser, options.rounds, SCRIPT)
        bare, bare_ms = opened(browser, options.rounds, BARE_PAGE)

    def pages(name: str, line: str, unit: str, kind: str, target: float | None) -> BenchmarkFigure:
        values, of_bare = ([page[name] for page in every[kind]] for every in (ours, bare))
        return BenchmarkFigure(line, values, unit, target, () if name == "answer_s" else of_bare)

    slow = f"app, {MBIT_PER_S} Mbit/s and {ROUND_TRIP_MS} ms"
    for line, kind, answer_s, target_s in (
        ("app, cold server", "cold", 1.5, 3.5),
        ("app, warm server", "warm", None, 1.2),
        (slow, "slow", 3, None),
    ):
        yield pages("answer_s", f"{line}: first answer", "s", kind, answer_s)
        yield pages("complete_s", f"{line}: first page", "s", kind, target_s)
    for name, unit, target in (("wire_mb", "MB", 3), ("files", "files", None), ("reload_mb", "MB", 0.3)):
        line = f"app: {'reload' if 'reload' in name else 'first page'} over the line"
        yield pages(name, line, unit, "slow", target)
    yield BenchmarkFigure("app: slider to bars, p95", [_p95(moves_ms)], "ms", 250, [_p95(bare_ms)])


def http(options: argparse.Namespace) -> Iterator[BenchmarkFigure]:
    """Answers a second over 8 connections; the processes share the machine with the client, two are set against one."""
    alone: dict[str, list[float]] = {}
    for workers in (1, 2):
        with served_endpoint(workers=workers) as port:
            for question, per_s in (("predict", {1: 250, 2: 450}), ("advise", {1: 200})):
                asyncio.run(answers(port, question, 8, 2.0))
                runs = [asyncio.run(answers(port, question, 8, 3.0)) for _ in range(options.rounds)]
                name, rates = f"POST /v1/{question}, {workers} of `--workers`", [rate for rate, _ in runs]
                yield BenchmarkFigure(name, rates, "/s", per_s.get(workers), alone.get(question, ()))
                yield BenchmarkFigure(f"{name}: p95", [p95_ms for _, p95_ms in runs], "ms", 40)
                alone[question] = rates


def visitors(options: argparse.Namespace) -> Iterator[BenchmarkFigure]:
    """Visitors who act every few seconds, 100 at most of a process; the reference: as many on a page with a slider."""
    import psutil

    from benchmarks.visitors import ACTIONS, Pace, run_level, slide

    for number in options.visitors:
        processes = -(-number // _VISITORS_OF_A_PROCESS)
        levels = []
        # A page of the app is drawn in less time than this between two arrivals.
        for script, actions, arrival_s in ((SCRIPT, list(ACTIONS.values()), 0.25), (BARE_PAGE, [slide], 0.05)):
            with ExitStack() as stack:
                urls = [stack.enter_context(served(script)) for _ in range(processes)]
                servers = psutil.Process().children()
                pace = Pace(arrival_s / processes, options.interval, options.stay, options.seconds)
                levels.append(asyncio.run(run_level(urls, servers, actions, number, pace)))
        seen, bare = levels
        if lost := {*seen.failures, *bare.failures}:
            print(f"lost: {sorted(lost)[:3]}", file=sys.stderr)
        name = f"{number} visitors{f' of {processes} processes' if processes > 1 else ''}"
        target_s = 0.2 if number <= 50 else 0.4
        yield BenchmarkFigure(f"{name}: an action, median", seen.action_s, "s", None, bare.action_s)
        yield BenchmarkFigure(f"{name}: an action, p95", [_p95(seen.action_s)], "s", target_s, [_p95(bare.action_s)])
        cpu_ms, bare_ms = (1000 * stay.server_s / len(stay.action_s) for stay in (seen, bare))
        yield BenchmarkFigure(f"{name}: an action, processor time", [cpu_ms], "ms", 25, [bare_ms])
        begin_mib, end_mib = seen.server_mib
        yield BenchmarkFigure(f"{name}: memory", [end_mib], "MiB", 300 * processes)
        yield BenchmarkFigure(f"{name}: memory, growth meanwhile", [end_mib - begin_mib], "MiB")


def train(_: argparse.Namespace) -> Iterator[BenchmarkFigure]:
    """`profet train` on all pairs, into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, megabytes = measured("-m", "profet_cli", "train", "--out", f"{folder}/models")
    yield BenchmarkFigure("profet train, all 12 pairs: processor time", [seconds / 60], "min", 20)
    yield BenchmarkFigure("profet train, all 12 pairs: memory", [megabytes], "MB")


PARTS = {part.__name__: part for part in (code, calls, app, http, visitors, train)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all but train if none is named")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="of another version, measured in turns")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each figure (default: 3)")
    levels = [25, 50, 100]
    parser.add_argument("--visitors", type=int, nargs="*", default=levels, help="at once (default: 25 50 100)")
    parser.add_argument("--seconds", type=float, default=15.0, help="how long actions are timed (default: 15)")
    parser.add_argument("--interval", type=float, default=5.0, help="between a visitor's actions, in s (default: 5)")
    parser.add_argument("--stay", type=float, help="how long a visitor stays on average, in s; another one comes")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part: {', '.join(sorted(unknown))}")
    # Servers are stopped by the blocks that started them, as they are by Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    print(f"{'figure':<52} {'median':>8} {'unit':<9} {'target':>7} {'ratio':>6} {'runs':>5}")
    failed = []
    started_s = time.monotonic()
    for name in options.parts or [name for name in PARTS if name != "train"]:
        try:
            with limited(_LIMIT_S.get(name, _OTHERS_LIMIT_S) + int(len(options.visitors) * 2 * options.seconds)):
                for figure in PARTS[name](options):
                    print(figure.row, flush=True)
        except (_TooSlowError, Exception) as error:
            failed.append(f"{name}: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
    print(f"{time.monotonic() - started_s:.0f} s")
    if failed:
        sys.exit("\n".join(failed))


class _TooSlowError(SystemExit):
    """A part was stopped; no task or library takes it for a failure of its own."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Stop the block after so many seconds; the blocks in it end what they began."""

    def stop(*_: object) -> None:
        raise _TooSlowError(f"stopped after {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    main()
