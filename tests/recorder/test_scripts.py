"""The scripts in scripts/ and of `variations`: what each expects of its recording, which its first lines say.

`# expect:` lists facts of the profile (batch, pixels, parameters, precision; None where there is none), the exit
`status` if it isn't 0, and `compiled`; `needs=` names a framework beyond its own; `plain`: it records itself, and
Python runs it. `# operations:` are in the profile, `# says:` is on stderr, `# prints:` on stdout, `# silent:` on
neither, `# keeps:` is a file it wrote; `# warns:` are parts of ALL its warnings, with "|" between, but for those that
every profile of a CPU or of PyTorch has; `# command:` has options, and after `--` the script's arguments.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from profet_cli.commands import parsed
from profet_profiles.record import NO_DEVICE, NO_WORK, TRANSLATED_WARNING
from tests.recorder.runs import PYTHONPATH, Run, needs
from tests.recorder.variations import PREFIXES, VARIATIONS

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
_SLOW = "The profiled step was not like the others: it took"
IN_EVERY_RUN = ("torch", "keras", "tf", "tfkeras")
_FRAMEWORKS = {"keras": ("tensorflow", "keras"), "tf": ("tensorflow", "keras"), "tfkeras": ("tensorflow", "tf_keras")}


@dataclass(frozen=True)
class Script:
    """A script of a kind ("torch", "keras", ...) and what its first lines say."""

    kind: str
    source: str
    facts: dict[str, str]
    lines: dict[str, str]

    @property
    def modules(self) -> tuple[str, ...]:
        """The frameworks it is written for."""
        if self.facts.get("needs") == "torch":
            return ("keras", "torch")
        others = (self.facts["needs"],) if "needs" in self.facts else ()
        own = ("torch", self.kind) if self.kind not in ("torch", "jax") else (self.kind,)
        return tuple(dict.fromkeys((*_FRAMEWORKS.get(self.kind, own), *others)))

    @property
    def command(self) -> list[str]:
        """The arguments of `profet profile` around the script."""
        options, _, arguments = f"{self.lines.get('command', '')} ".partition("-- ")
        return [*STEPS, *shlex.split(options), *(["--", *shlex.split(arguments)] if arguments else [])]


def scripts() -> list:
    """A parameter for each script, skipped by name where its framework isn't installed."""
    by_name = {path.stem: read_script(path) for path in sorted(FOLDER.glob("*.py"))}
    by_name |= {f"{kind}: {name}": _variation(kind, text) for (kind, name), text in VARIATIONS.items()}
    return [pytest.param(script, id=name, marks=marks(script)) for name, script in by_name.items()]


def marks(script: Script) -> list:
    """What a script needs: a framework beyond the training set's and PyTorch runs with `make test-frameworks` alone."""
    return [needs(*script.modules), *([] if script.kind in IN_EVERY_RUN else [pytest.mark.frameworks])]


def read_script(path: Path) -> Script:
    """A script with what its first lines say."""
    source = path.read_text()
    return Script(path.stem.partition("_")[0], source, *_first_lines(source))


def _variation(kind: str, text: str) -> Script:
    facts, lines = _first_lines(text.lstrip())
    if "status" not in facts:
        facts = {"batch": "8", "pixels": "16", "parameters": "314", "precision": "fp32", **facts}
        # `pixels=` is a fact that there is none of; `compiled` has no value.
        dropped = {word.removesuffix("=") for word in lines.get("expect", "").split() if word.endswith("=")}
        facts = {name: value for name, value in facts.items() if name not in dropped}
        lines = {"operations": "Conv2DBackpropFilter MatMul", **lines}
    return Script(kind, PREFIXES[kind] + text, facts, lines)


def _first_lines(source: str) -> tuple[dict[str, str], dict[str, str]]:
    lines = {}
    for line in source.splitlines():
        if not line.startswith("# "):
            break
        name, _, text = line.removeprefix("# ").partition(":")
        lines[name] = text.strip()
    words = [word.partition("=") for word in lines.get("expect", "").split()]
    return {name: value for name, _, value in words}, lines


def run(script: Script, folder: Path) -> Run:
    """What the script left in the folder, in a process of its own."""
    # Beside the folder: that is to hold only what the script and its recording write.
    path = folder.with_suffix(".py")
    path.write_text(script.source)
    program = [path] if "plain" in script.facts else ["-m", "profet_cli", "profile", path, *script.command]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "KERAS"))}
    done = subprocess.run(
        list(map(str, [sys.executable, *program])),
        cwd=folder,
        env=kept | ENVIRONMENT | {"PYTHONPATH": PYTHONPATH},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr, folder)


def check(script: Script, done: Run) -> None:
    """Assert what the script's first lines say."""
    facts, lines = script.facts, script.lines
    assert done.status == int(facts.get("status", 0)), done.err
    for name, text in (("says", done.err), ("prints", done.out)):
        assert lines.get(name, "") in text, done.err
    assert "silent" not in lines or lines["silent"] not in done.out + done.err, done.err
    assert all((done.folder / name).is_file() for name in lines.get("keeps", "").split())
    assert (done.folder / "profile.json").is_file() == ("batch" in facts), done.err
    if "batch" not in facts:
        return
    profile = done.profile()
    meta = profile.meta
    precision = (meta.precision or "None").replace(" ", "_")
    read = {"batch": meta.batch_size, "pixels": meta.pixels, "parameters": meta.parameters, "precision": precision}
    assert {name: str(value) for name, value in read.items() if name in facts} == {
        name: facts[name] for name in read if name in facts
    }, read
    assert ("PyTorch" if "torch" in script.modules else "TensorFlow") in meta.framework
    assert meta.compiled is (True if "compiled" in facts else None)
    missing = [name for name in lines.get("operations", "").split() if f"Host_{name}" not in profile.operations]
    assert not missing, sorted(profile.operations)
    assert (profile.refusal, profile.steps) == ("", 1) and NO_WORK not in profile.warnings
    assert meta.step_latency_ms > 0
    # Each has these; and on a busy machine any step may be slow.
    always = (NO_DEVICE, TRANSLATED_WARNING) if "torch" in script.modules else (NO_DEVICE,)
    assert profile.warnings[: len(always)] == always
    warnings = [
        warning
        for warning in profile.warnings[len(always) :]
        if not warning.startswith(_SLOW) or _SLOW in lines.get("warns", "")
    ]
    expected = lines["warns"].split(" | ") if lines.get("warns") else []
    assert len(warnings) == len(expected) and all(map(str.__contains__, warnings, expected)), warnings


@pytest.mark.parametrize("script", scripts())
def test_a_script_is_recorded_as_it_is(script, tmp_path):
    check(script, run(script, tmp_path))


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "PROFILES.md"
ROWS = re.findall(
    r"^\| (.+?) \| (.+?) \| (.*?) ?\|$",
    DOCUMENT.read_text().split("### Your script, and what to type")[1].split("\n## ")[0],
    re.MULTILINE,
)[2:]


def test_there_is_a_row_for_each_shape():
    assert len(ROWS) >= 32 and len({shape for shape, _, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("shape, typed, example", ROWS, ids=[row[0] for row in ROWS])
def test_what_is_typed_is_what_the_tests_run(shape, typed, example):
    (command,) = re.findall(r"`(.*?profet-record [^`]+)`", typed) or [None]
    if command is not None:
        options = parsed(["profile", *command.partition("profet-record ")[2].split()])
        assert options.module or options.script == "train.py"
    link = re.match(r"\[(\w+)\]\(\.\./tests/recorder/scripts/(\w+)\.py\)(.*)", example)
    if link is None:
        # Tested in test_script.py.
        assert example == "" and ("module" in shape or "notebook" in shape)
        return
    script = read_script(FOLDER / f"{link[2]}.py")
    assert link[1] == link[2]
    if link[3]:
        assert link[3] == " is refused" and "batch" not in script.facts and script.lines["says"]
    elif command is None:
        assert "plain" in script.facts and typed.strip("`") in script.source
    else:
        assert "batch" in script.facts and "plain" not in script.facts
        assert options.keep_running == ("--keep-running" in script.lines.get("command", ""))
