"""The scripts in scripts/: what each expects of its recording, which its first lines say, and how it is run.

`# expect:` lists facts of the profile (batch, pixels, parameters, precision; None where there is none), the exit
`status` if it isn't 0, and `compiled`; `needs=` names a framework beyond its own; `fresh`: what it imports, and in what
order, matters, so it runs in a process of its own; `plain`: it records itself, and Python runs it. `# operations:` are
in the profile, `# says:` is on stderr, `# prints:` on stdout, `# silent:` on neither, `# keeps:` is a file it wrote;
`# command:` has options, and after `--` the script's arguments.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from profet_core.profiles.record import NO_WORK
from tests.recorder.preloaded import TIMEOUT_S, Preloaded
from tests.recorder.runs import Run, needs

FOLDER = Path(__file__).parent / "scripts"
#: Few steps, and no threads that wait for each other: these tests run beside others.
STEPS = ("--warm-up", "2", "--timed", "3")
ENVIRONMENT = {
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
}
_FRAMEWORKS = {
    "keras": ("tensorflow", "keras"),
    "tf": ("tensorflow", "keras"),
    "tfkeras": ("tensorflow", "tf_keras"),
    "torch": ("torch",),
    "plain": (),
    "lightning": ("torch", "lightning"),
    "transformers": ("torch", "transformers"),
    "accelerate": ("torch", "accelerate"),
    "timm": ("torch", "timm"),
    "fastai": ("torch", "fastai"),
    "ignite": ("torch", "ignite"),
    "jax": ("jax",),
}
#: What a training loads besides, whatever it is.
_LOADED_BY_ANY = {
    ("torch",): ("torch._dynamo", "profet_core.profiles.pytorch.reduction"),
    ("tensorflow",): ("profet_core.profiles.tensorflow.xplane.reader",),
}


@dataclass(frozen=True)
class Script:
    """A script and what its first lines say."""

    path: Path
    facts: dict[str, str]
    lines: dict[str, str]

    @property
    def modules(self) -> tuple[str, ...]:
        """The frameworks it is written for."""
        if self.facts.get("needs") == "torch":
            return ("keras", "torch")
        others = (self.facts["needs"],) if "needs" in self.facts else ()
        return tuple(dict.fromkeys((*_FRAMEWORKS[self.path.stem.partition("_")[0]], *others)))

    @property
    def command(self) -> list[str]:
        """The arguments of `profet`."""
        options, _, arguments = f"{self.lines.get('command', '')} ".partition("-- ")
        own = ["--", *shlex.split(arguments)] if arguments else []
        return ["profile", str(self.path), *STEPS, *shlex.split(options), *own]


def scripts(*prefixes: str) -> list:
    """A parameter for each script of these kinds, skipped by name where its framework isn't installed."""
    chosen = sorted(path for path in FOLDER.glob("*.py") if path.stem.partition("_")[0] in prefixes)
    return [pytest.param(one, id=one.path.stem, marks=needs(*one.modules)) for one in map(read_script, chosen)]


def read_script(path: Path) -> Script:
    """A script with what its first lines say."""
    lines = {}
    for line in path.read_text().splitlines():
        if not line.startswith("# "):
            break
        name, _, text = line.removeprefix("# ").partition(":")
        lines[name] = text.strip()
    words = [word.partition("=") for word in lines.get("expect", "").split()]
    return Script(path, {name: value for name, _, value in words}, lines)


class Runner:
    """Runs scripts, in forks of processes that have loaded a framework where that is the same to them."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "KERAS"))}
        self._environment = kept | ENVIRONMENT | {"PYTHONPATH": str(repository)}
        self._preloaded: dict[tuple[str, ...], Preloaded] = {}

    def run(self, script: Script, folder: Path, *options: str) -> Run:
        """What the script left."""
        # Beside the folder: that is to hold only what the script and its recording write.
        out, err = folder.with_suffix(".out"), folder.with_suffix(".err")
        if "fresh" in script.facts or "plain" in script.facts or not hasattr(os, "fork"):
            is_plain = "plain" in script.facts or "plain" in options
            program = [str(script.path)] if is_plain else ["-m", "profet_cli", *script.command]
            with out.open("w") as stdout, err.open("w") as stderr:
                status = subprocess.run(
                    [sys.executable, *program],
                    cwd=folder,
                    env=self._environment,
                    stdout=stdout,
                    stderr=stderr,
                    timeout=TIMEOUT_S,
                    check=False,
                ).returncode
        else:
            modules = (*script.modules, *_LOADED_BY_ANY.get(script.modules[:1], ()))
            if modules not in self._preloaded:
                self._preloaded[modules] = Preloaded(modules, self._environment, self._repository)
            status = self._preloaded[modules].run(script.command, folder, out, err)
        return Run(status, out.read_text(), err.read_text(), folder)

    def close(self) -> None:
        """End the processes."""
        for process in self._preloaded.values():
            process.close()


def check(script: Script, done: Run) -> None:
    """Assert what the script's first lines say."""
    facts, lines = script.facts, script.lines
    assert done.status == int(facts.get("status", 0)), done.err
    for name, text in (("says", done.err), ("prints", done.out)):
        assert lines.get(name, "") in text, done.err
    assert "silent" not in lines or lines["silent"] not in done.out + done.err, done.err
    for name in lines.get("keeps", "").split():
        assert (done.folder / name).is_file()
    assert (done.folder / "profile.json").is_file() == ("batch" in facts), done.err
    if "batch" not in facts:
        return
    profile = done.profile()
    found = {
        "batch": profile.meta.batch_size,
        "pixels": profile.meta.pixels,
        "parameters": profile.meta.parameters,
        "precision": (profile.meta.precision or "None").replace(" ", "_"),
    }
    assert {name: str(value) for name, value in found.items() if name in facts} == {
        name: facts[name] for name in found if name in facts
    }
    assert profile.meta.compiled is (True if "compiled" in facts else None)
    missing = [name for name in lines.get("operations", "").split() if f"Host_{name}" not in profile.operations]
    assert not missing, sorted(profile.operations)
    assert (
        profile.refusal == ""
        and NO_WORK not in profile.warnings
        and profile.steps == 1
        and profile.meta.step_latency_ms > 0
    )


@pytest.fixture(scope="module")
def runner(repository):
    """Runs small scripts, each in a folder of its own."""
    made = Runner(repository)
    yield made
    made.close()
