"""`profet profile` without a framework: what is refused, which updates mark steps, what a script finds."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stdout
from types import ModuleType, SimpleNamespace

import pytest

from profet_cli.main import main
from profet_recorder import command as script_module
from profet_recorder import hooks
from profet_recorder.plan import RecorderError, record_plan
from profet_recorder.recording import Recording, choose_engine


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where the script is run."""
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ended(capsys):
    """`ended("train.py", ...)` -> exit status of `profet profile`, and the lines on stderr."""

    def run(*arguments: str) -> tuple[int, list[str]]:
        try:
            status = main(["profile", *arguments])
        except SystemExit as end:
            status = end.code
        return status, capsys.readouterr().err.splitlines()

    return run


@pytest.fixture
def script(folder):
    """`script(code)` -> name of a script that leaves a file behind."""

    def write(code: str = "") -> str:
        (folder / "train.py").write_text("open('ran', 'w').close()\n" + code)
        return "train.py"

    return write


NUMBERS = ("--warm-up", "--timed", "--profiled", "--batch-size", "--pixels", "--parameters")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "mine.json"], "mine.json exists"),
        (["-o", "nowhere/profile.json"], "nowhere not found"),
        (["-o", "."], "is a folder"),
        (["-o", "/proc/profile.json"], "Can't write into /proc"),
        *(([option, "0"], "at least 1, not 0") for option in NUMBERS),
        *((["--precision", given], "must be a short text") for given in ("", " ", "fp32\nfp16", "x" * 101)),
        (["--epochs", "3"], "put the script's arguments after `--`"),
    ],
)
def test_what_is_wrong_is_refused_before_the_script_runs(ended, script, folder, arguments, says):
    if "/proc" in says and not sys.platform.startswith("linux"):
        pytest.skip("no /proc here")
    (folder / "mine.json").write_text("mine")
    status, lines = ended(script(), *arguments)
    assert status == 2 and lines[-1].startswith("profet: ") and says in lines[-1]
    assert (folder / "mine.json").read_text() == "mine" and not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["absent.py"], "Script absent.py not found"),
        (["train.ipynb"], "nbconvert"),
        (["-m", "torch.distributed.run", "--", "train.py"], "torchrun --no-python"),
        (["accelerate", "launch", "train.py"], "accelerate launch --no_python profet profile"),
        (["python", "train.py"], "Leave python out: profet profile train.py"),
        (["python3.11", "train.py", "--epochs", "3"], "profet profile train.py -- --epochs 3"),
        (["python", "-m", "package.train"], "profet profile -m package.train"),
    ],
)
def test_what_is_no_script_gets_advice(ended, folder, arguments, says):
    (folder / "train.ipynb").write_text('{"cells": []}')
    status, lines = ended(*arguments)
    assert status == 2 and says in lines[-1]


def test_a_script_finds_what_python_would_give_it_and_a_module_runs_by_its_name(ended, folder):
    script = folder / "elsewhere" / "train.py"
    script.parent.mkdir()
    (script.parent / "beside.py").write_text("here = __file__")
    script.write_text(
        "import beside, inspect, json, sys\n"
        "class Thing: pass\n"
        "assert sys.modules['__main__'].Thing is Thing and 'class Thing' in inspect.getsource(Thing)\n"
        "print(json.dumps([__file__, __name__, sys.argv, sys.path[0], __package__, __spec__, beside.here]))\n"
    )
    command = ["elsewhere/train.py", "--epochs", "3", "--", "x"]
    python = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    before = list(sys.path), list(sys.argv)
    with redirect_stdout(io.StringIO()) as out:
        ended(command[0], "--", *command[1:])
    assert out.getvalue() == python.stdout
    assert (sys.path, sys.argv) == before
    package = folder / "trainings"
    package.mkdir()
    (package / "one.py").write_text("import trainings, sys; open('ran', 'w').write(repr(sys.argv[1:]))")
    assert "Nothing was recorded" in ended("-m", "trainings.one", "--", "a")[1][-1]
    assert (folder / "ran").read_text() == "['a']"


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        ("", 0, "Nothing was recorded"),
        ("raise SystemExit(3)", 3, "ended with status 3; nothing was written"),
        ("import sys; sys.exit('no data found')", 1, "no data found"),
        ("1 / 0", 1, 'train.py", line 2, in <module>'),
        ("def\n", 1, "SyntaxError: invalid syntax"),
        ("raise SystemExit(0)", 0, "Nothing was recorded"),
    ],
)
@pytest.mark.parametrize("keep", [(), ("--keep-running",)], ids=["stopped", "kept running"])
def test_a_scripts_exit_status_and_error_are_its_own(ended, script, code, status, says, keep):
    exit_status, lines = ended(script(code), *keep)
    err = "\n".join(lines)
    assert exit_status == status and says in err and lines[-1].startswith("profet: train.py ")
    assert "runpy" not in err and "profet_recorder/" not in err and "\nSystemExit" not in err


def test_importing_the_recorder_loads_nothing_of_the_rest(repository):
    code = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "rapidfuzz", "pandas", "plotly", "streamlit"}:
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
import profet_recorder
assert not [name for name in sys.modules if name.startswith("profet_recorder.")], "the package alone"
from profet_recorder import ProfileCallback, record_step, record_steps
import profet_recorder.command
assert not {"tensorflow", "keras", "torch"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class CountingEngine:
    """Takes the place of a framework: this is about the order of steps, not about what they hold."""

    profiler_warm_up = 0

    def __init__(self):
        self.trained = []

    def trains(self, optimizer):
        self.trained.append(optimizer)

    def is_disturbed(self):
        return False

    def __getattr__(self, name):
        return lambda *args: None


@pytest.fixture
def recorded(tmp_path):
    """`recorded("DDG" * 9)` -> the optimizers of the steps recorded, how many steps were seen, how often it began."""

    def run(updates):
        begun = []

        def begin(make_engine):
            if not begun:
                begun.append(Recording(record_plan(tmp_path / "profile.json", timed=1_000), make_engine()))
            else:
                begun.append(begun[0])
                begun[0].start_over(make_engine())
            return begun[0]

        seen = hooks.StepMarks(begin)
        owners = {name: object() for name in set(updates)}
        for name in updates:
            seen.mark(owners[name], CountingEngine, [name])
        begun[0].abort()
        return "".join(sorted(begun[0].engine.trained)), begun[0].steps_seen, len(begun)

    return run


@pytest.mark.parametrize(
    "updates, trained, steps, begun",
    [
        ("A" * 9, "A", 9, 1),
        # A GAN: both in each step, whichever comes first.
        ("DG" * 9, "DG", 9, 1),
        # Who updates less often has the longer step: the first G begins it again.
        ("DDG" * 9, "DG", 9, 2),
        ("CCCCCG" * 9, "CG", 9, 2),
        ("DGG" * 9, "DG", 9, 1),
        # Its generator begins with the first of five steps of its critic, or a step fails now and then.
        ("DG" + "DDDDDG" * 9, "DG", 9, 2),
        ("GDDDDD" * 9, "DG", 9, 1),
        # Some steps of a pretraining.
        ("A" * 5 + "B" * 9, "B", 9, 2),
        ("A" + "B" * 9, "AB", 1, 1),
        # One that does not come back is not waited for forever.
        ("A" + "B" * 60, "B", 60 - hooks.GONE, 2),
        ("AAB" + "A" * 60, "A", 60 - hooks.GONE, 3),
    ],
)
def test_the_steps_that_are_recorded(recorded, updates, trained, steps, begun):
    assert recorded(updates) == (trained, steps, begun)


@pytest.mark.parametrize(
    "loaded, says",
    [
        (("torch",), "record_steps"),
        (("torch", "jax"), "record_steps"),
        (("tensorflow",), "record_step "),
        (("tensorflow", "keras"), "record_step "),
        (("keras", "jax"), "KERAS_BACKEND to tensorflow or torch"),
        (("jax",), "JAX"),
        (("jax", "tensorflow"), "JAX"),
        ((), "neither Keras nor PyTorch"),
    ],
)
def test_the_way_out_is_the_frameworks(monkeypatch, loaded, says):
    for name in ("torch", "tensorflow", "keras", "tf_keras", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in loaded:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    if loaded == ("keras", "jax"):
        sys.modules["keras"].config = SimpleNamespace(backend=lambda: "jax")
        with pytest.raises(RecorderError, match="Keras runs on jax here"):
            choose_engine()
    monkeypatch.setattr(script_module, "_has_worked_in_children", lambda: False)
    assert says in script_module.why_nothing_trained("train.py")
