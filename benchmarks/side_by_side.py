"""Compares this checkout with another one, in turns on one machine: `python -m benchmarks.side_by_side CHECKOUT`.

`git worktree add ../before b4d93a7` makes such a checkout. Figures are processor time, the least of several runs: what
else runs on the machine counts little.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import REPOSITORY
from benchmarks.made_trace import write_pytorch_trace

_SAMPLE = ("sample_traces/vgg16-224px-b16-g3s.json", "g3s.xlarge", 323.0)
_SETUP = f"""
import sys, time
from dataclasses import replace
from pathlib import Path
from profet_core import load_catalog, load_models, predict, predict_many, read_profile
def least(call, runs):
    call()
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    print(min(seconds))
models, catalog = load_models(), load_catalog()
profile = read_profile(Path({_SAMPLE[0]!r}).read_bytes())
"""
_MANY = """
scales = [0.5 + 1.5 * number / 10_000 for number in range(10_000)]
profiles = [replace(profile, operations={name: us * one for name, us in profile.operations.items()}) for one in scales]
"""
#: Figure -> unit and code that prints seconds of processor time.
_FIGURES = {
    "import profet_core": "import time, sys\nstart = time.process_time()\nimport profet_core\n"
    "print(time.process_time() - start)",
    "warm: one profile, all offers": f"{_SETUP}least(lambda: predict(models, catalog, profile, {_SAMPLE[1]!r}, "
    f"latency_ms={_SAMPLE[2]}), 200)",
    "warm: 10,000 profiles, all GPUs": f"{_SETUP}{_MANY}least(lambda: predict_many(models, catalog, profiles, "
    f"{_SAMPLE[1]!r}, latencies_ms=[{_SAMPLE[2]} * one for one in scales]), 2)",
    "PyTorch trace of 60 MB": "import sys, time\nfrom profet_core import read_profile\nstart = time.process_time()\n"
    "with open(sys.argv[1], 'rb') as file:\n    read_profile(file)\nprint(time.process_time() - start)",
}


def main() -> None:
    """Measure both in turns and print the ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__)
    parser.add_argument("checkout", type=Path, help="of the other version")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'processor time, s':<40} {'other':>9} {'this':>9} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "made.pt.trace.json"
        with trace.open("w", encoding="utf-8") as file:
            write_pytorch_trace(file, 60_000_000)
        for name, code in {**_FIGURES, "profet predict, fresh process": ""}.items():
            both = [[_seconds(where, code, trace) for where in (options.checkout, REPOSITORY)]]
            both += [
                [_seconds(where, code, trace) for where in (options.checkout, REPOSITORY)]
                for _ in range(options.rounds - 1)
            ]
            other, this = (min(row[side] for row in both) for side in (0, 1))
            print(f"{name:<40} {other:>9.4f} {this:>9.4f} {this / other:>7.2f}")


def _seconds(checkout: Path, code: str, trace: Path) -> float:
    """What `code` prints; without any, the processor time of `profet predict` as a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(checkout.resolve()), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-c", code, str(trace)]
    if not code:
        path, anchor, latency_ms = _SAMPLE
        command = [sys.executable, "-m", "profet_cli", "predict", path, "--anchor", anchor]
        command += ["--latency-ms", str(latency_ms), "--format", "json"]
    process = subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{checkout}: {' '.join(command[:4])} failed")
    return float(printed) if code else usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
