"""Speed and memory of the library in fresh processes, code that one answer runs, and size and shape of all code."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from types import FrameType

from benchmarks import REPOSITORY
from profet_core.answers.advise import answer_advise
from profet_core.answers.context import Context
from profet_core.answers.predict import answer_predict
from profet_core.catalog import load_catalog, load_gpus
from profet_core.prediction.models import load_models, load_samples
from profet_core.questions import AdviseQuestion, PredictQuestion

_SAMPLE, _ANCHOR, _LATENCY_MS = "sample_traces/vgg16-224px-b16-g3s.json", "g3s.xlarge", 323.0
_SETUP = f"""
import sys, time
from dataclasses import replace
from pathlib import Path
from statistics import median
from profet_core import load_catalog, load_models, predict, predict_many, read_profile
def timed(call, runs):
    call()
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    print(median(seconds))
models, catalog = load_models(), load_catalog()
profile = read_profile(Path({_SAMPLE!r}).read_bytes())
"""
#: What prints seconds of processor time: what else runs on the machine counts little. Any version can run it.
IMPORT = "import time\nstart = time.process_time()\nimport profet_core\nprint(time.process_time() - start)"
WARM = f"{_SETUP}timed(lambda: predict(models, catalog, profile, {_ANCHOR!r}, latency_ms={_LATENCY_MS}), 200)"
MANY = f"""{_SETUP}
scales = [0.5 + 1.5 * number / 10_000 for number in range(10_000)]
operations = [{{name: us * scale for name, us in profile.operations.items()}} for scale in scales]
profiles = [replace(profile, operations=times_us) for times_us in operations]
latencies = [{_LATENCY_MS} * scale for scale in scales]
timed(lambda: predict_many(models, catalog, profiles, {_ANCHOR!r}, latencies_ms=latencies), 3)
"""
TRACE = """
import sys, time
from profet_core import read_profile
start = time.process_time()
with open(sys.argv[1], "rb") as file:
    assert read_profile(file).steps == int(sys.argv[2])
print(time.process_time() - start)
"""


#: All offers.
PREDICT = (
    "-m",
    "profet_cli",
    "predict",
    _SAMPLE,
    "--anchor",
    _ANCHOR,
    "--latency-ms",
    f"{_LATENCY_MS}",
    "--format=json",
)
#: A process that imports numpy: none of the command's can take less.
BARE = ("-W", "ignore", "-m", "numpy.version")


def measured(*arguments: str, checkout: Path = REPOSITORY) -> tuple[float, float]:
    """Processor time in seconds and largest memory in MB of Python with these arguments, in a checkout of some version.

    The seconds are those that `-c` code prints. It is the checkout's own Python, if it has one: another version may
    need other libraries.
    """
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python.absolute()) if python.exists() else sys.executable, *arguments]
    paths = os.pathsep.join([str(checkout.resolve()), os.environ.get("PYTHONPATH", "")])
    # Compiled code is kept, as pip and the image keep it; the first of several runs makes it.
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    if status != 0:
        raise SystemExit(f"{checkout}: {' '.join(command[:4])} failed")
    seconds = float(printed) if "-c" in arguments else usage.ru_utime + usage.ru_stime
    return seconds, usage.ru_maxrss * 1024 / 1e6


def answer_calls() -> dict[str, tuple[int, int]]:
    """Question -> modules and functions of this project that answer it, when all that is loaded once is loaded."""
    context, sample = Context(load_models(), load_catalog(), load_gpus()), load_samples()[0]
    question = {"profile": sample.profile, "anchor": sample.anchor, "latency_ms": sample.latency_ms}
    calls: dict[str, Callable[[], object]] = {
        "predict": lambda: answer_predict(context, PredictQuestion(**question)),
        "advise": lambda: answer_advise(context, AdviseQuestion(**question, images=50_000)),
    }
    for call in calls.values():
        call()
    calls_of = {name: called(call) for name, call in calls.items()}
    return {name: (len({module for module, _ in functions}), len(functions)) for name, functions in calls_of.items()}


def called(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Modules, as paths, and functions of this project, in the order of their first calls.

    Without expressions and generated methods.
    """
    entered: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(str(REPOSITORY)) and "site-packages" not in code.co_filename
        if event == "call" and is_ours and not code.co_name.startswith("<"):
            entered[str(Path(code.co_filename).relative_to(REPOSITORY)), code.co_qualname] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


async def answers(port: int, question: str, connections: int, seconds: float) -> tuple[float, float]:
    """Ask "predict" or "advise" about every sample in turn, each connection again at once.

    Returns answers a second, and the 95th percentile of their latencies, milliseconds.
    """
    requests = cycle(_requests(question))
    found_ms: list[float] = []
    started = time.perf_counter()

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (begun_s := time.perf_counter()) < started + seconds:
            writer.write(next(requests))
            await _take_answer(reader)
            found_ms.append(1000 * (time.perf_counter() - begun_s))
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    took_s = time.perf_counter() - started
    return len(found_ms) / took_s, sorted(found_ms)[int(0.95 * len(found_ms))]


def _requests(question: str) -> list[bytes]:
    """Return a request about every sample, as bytes on the wire."""
    more = {"advise": {"images": 50_000}}.get(question, {})
    requests = []
    for sample in load_samples():
        values = {"profile": json.loads(sample.data), "anchor": sample.anchor, "latency_ms": sample.latency_ms, **more}
        body = json.dumps(values).encode()
        head = (
            f"POST /v1/{question} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        requests.append(head.encode() + body)
    return requests


async def _take_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    body = await reader.readexactly(int(length))
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(body.decode(errors="replace")[:300])


#: What has to be known to change the app.
_TO_KNOW = {"profet_core", "profet_profiles", "ui", "pages", "profet_cli", "profet_http", "streamlit_app.py"}


def measures() -> dict[str, int]:
    """Name of each measure of the code -> its value."""
    sources = [(path, text, ast.parse(text)) for path, text in _sources()]
    ours = [source for source in sources if source[0].parts[0] != "tests"]
    nodes = [node for _, _, tree in ours for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        "lines outside tests": sum(text.count("\n") for _, text, _ in ours),
        "lines to know for the app": sum(text.count("\n") for path, text, _ in ours if path.parts[0] in _TO_KNOW),
        "lines in tests": sum(text.count("\n") for path, text, _ in sources if path.parts[0] == "tests"),
        "modules": len(ours),
        "classes": len(classes),
        "dataclasses": sum(any("dataclass" in ast.unparse(used) for used in node.decorator_list) for node in classes),
        "functions with **kwargs: Any or object": sum(map(_takes_anything, functions)),
    }


def _takes_anything(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    gathered = function.args.kwarg
    return (
        gathered is not None
        and gathered.annotation is not None
        and ast.unparse(gathered.annotation) in ("Any", "object")
    )


def _sources() -> Iterator[tuple[Path, str]]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        if (REPOSITORY / name).exists():
            yield Path(name), (REPOSITORY / name).read_text(encoding="utf-8")
