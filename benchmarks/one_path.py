"""Counts modules and functions that one prediction and one advice run: `python -m benchmarks.one_path`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from benchmarks import REPOSITORY
from profet_core.answers.advise import answer_advise
from profet_core.answers.library import PYTHON
from profet_core.answers.predict import answer_predict
from profet_core.answers.questions import AdviseQuestion, Knowledge, PredictQuestion
from profet_core.artifacts.models import load_models
from profet_core.artifacts.samples import load_samples
from profet_core.catalog import load_catalog, load_gpus


def main() -> None:
    """Answer both questions once to load what is loaded once, then count."""
    known, sample = Knowledge(load_models(), load_catalog(), load_gpus()), load_samples()[0]
    asked = {"profile": sample.profile, "anchor": sample.anchor, "latency_ms": sample.latency_ms}
    calls: dict[str, Callable[[], object]] = {
        "predict": lambda: answer_predict(known, PredictQuestion(**asked), PYTHON),
        "advise": lambda: answer_advise(known, AdviseQuestion(**asked, images=50_000), PYTHON),
    }
    for name, call in calls.items():
        call()
        modules, functions, levels = counted(call)
        print(f"{name:<8} {modules:>4} modules {functions:>4} functions {levels:>4} levels")


def counted(call: Callable[[], object]) -> tuple[int, int, int]:
    """Modules, functions and the deepest call, of this project's own; without expressions and generated methods."""
    found: set[tuple[str, str]] = set()
    depth = deepest = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if not code.co_filename.startswith(str(REPOSITORY)) or code.co_name.startswith("<"):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            found.add((code.co_filename, code.co_qualname))
        elif event == "return":
            depth -= 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len({module for module, _ in found}), len(found), deepest


if __name__ == "__main__":
    main()
