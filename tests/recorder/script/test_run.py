"""`profet profile` without a framework: what is refused, and that the recorder needs nothing of the rest."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stdout

import pytest

from profet_cli.main import main


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")


def ended(*arguments: str) -> int:
    """The exit status of `profet profile`."""
    try:
        return main(["profile", *map(str, arguments)])
    except SystemExit as end:
        return end.code


@pytest.fixture
def refused(capsys, tmp_path, monkeypatch):
    """`refused("train.py", ...)` -> the last line on stderr of a command that exits with 2, or with `status`."""
    monkeypatch.chdir(tmp_path)

    def read(*arguments: str, status: int = 2) -> str:
        assert ended(*arguments) == status
        lines = capsys.readouterr().err.splitlines()
        assert lines[-1].startswith("profet: ")
        return lines[-1].removeprefix("profet: ")

    return read


@pytest.fixture
def script(tmp_path):
    """`script(code)` -> name of a script that says that it ran."""

    def write(code: str = "") -> str:
        (tmp_path / "train.py").write_text("open('ran', 'w').close()\n" + code)
        return "train.py"

    return write


def test_a_script_that_is_not_there(refused):
    assert refused("absent.py") == "Script absent.py not found: name the Python file that trains."


def test_an_output_that_exists_is_kept_and_the_script_does_not_run(refused, script, tmp_path):
    (tmp_path / "profile.json").write_text("mine")
    assert "profile.json exists" in refused(script())
    assert (tmp_path / "profile.json").read_text() == "mine"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "output, said",
    [
        ("nowhere/profile.json", "nowhere not found"),
        (".", "is a folder"),
        ("/proc/profile.json", "Can't write into /proc"),
    ],
)
def test_an_output_that_cant_be_written_is_refused_before_the_script_runs(refused, script, tmp_path, output, said):
    if output.startswith("/proc") and not sys.platform.startswith("linux"):
        pytest.skip("no /proc here")
    assert said in refused(script(), "-o", output)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("option", ["--warm-up", "--timed", "--profiled", "--batch-size", "--pixels", "--parameters"])
def test_numbers_below_one_are_refused_before_the_script_runs(refused, script, tmp_path, option):
    assert "must be a whole number of at least 1, not 0" in refused(script(), option, "0")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("precision", ["", " ", "fp32\nfp16", "x" * 101])
def test_a_precision_that_meta_could_not_hold_is_refused_before_the_script_runs(refused, script, tmp_path, precision):
    assert "must be a short text" in refused(script(), "--precision", precision)
    assert not (tmp_path / "ran").exists()


def test_the_scripts_own_arguments_follow_two_dashes(refused, script, tmp_path):
    assert refused(script(), "--epochs", "3") == (
        "Unknown arguments --epochs 3: put the script's arguments after `--`."
    )
    code = "import sys; open('arguments', 'w').write(repr((sys.argv, __name__)))"
    assert "Nothing was recorded" in refused(script(code), "--", "--epochs", "3", "--", "x")
    assert (tmp_path / "arguments").read_text() == "(['train.py', '--epochs', '3', '--', 'x'], '__main__')"


def test_a_script_finds_what_python_would_give_it(refused, tmp_path, monkeypatch):
    script = tmp_path / "elsewhere" / "train.py"
    script.parent.mkdir()
    (script.parent / "beside.py").write_text("here = __file__")
    script.write_text(
        "import beside, inspect, json, sys\n"
        "class Thing: pass\n"
        "assert sys.modules['__main__'].Thing is Thing and 'class Thing' in inspect.getsource(Thing)\n"
        "print(json.dumps([__file__, __name__, sys.argv, sys.path[0], __package__, __spec__, beside.here]))\n"
    )
    python = subprocess.run([sys.executable, "elsewhere/train.py", "a"], capture_output=True, text=True, check=True)
    with redirect_stdout(io.StringIO()) as out:
        refused("elsewhere/train.py", "--", "a")
    assert out.getvalue() == python.stdout


def test_a_script_without_a_framework_and_one_that_ends_itself(refused, script, tmp_path):
    assert refused(script()).endswith("Nothing was recorded.")
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "code, status, said",
    [
        ("raise SystemExit(3)", 3, ""),
        ("import sys; sys.exit('no data found')", 1, "no data found"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise SystemExit(0)", 2, "Nothing was recorded"),
    ],
)
@pytest.mark.parametrize("keep", [(), ("--keep-running",)], ids=["stopped", "kept running"])
def test_a_scripts_exit_status_is_its_own(capsys, script, tmp_path, monkeypatch, code, status, said, keep):
    monkeypatch.chdir(tmp_path)
    assert ended(script(code), *keep) == status
    err = capsys.readouterr().err
    assert said in err and "\nSystemExit" not in err
    assert err.splitlines()[-1].startswith("profet: train.py ")


def test_a_notebook_is_told_how(refused, tmp_path):
    (tmp_path / "train.ipynb").write_text('{"cells": []}')
    assert "nbconvert" in refused("train.ipynb")


def test_a_launcher_of_other_processes_is_told_how(refused):
    assert "torchrun --no-python" in refused("-m", "torch.distributed.run", "--", "train.py")


def test_a_script_that_fails_shows_its_own_traceback_and_one_line(capsys, script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    assert ended(script("def f():\n    return 1 / 0\nf()\n")) == 1
    err = capsys.readouterr().err
    assert err.splitlines()[-1] == "profet: train.py ended with status 1; nothing was written"
    assert f'File "{tmp_path / "train.py"}", line 4, in <module>' in err
    assert "runpy" not in err and "profet_recorder" not in err
    assert sys.path == path and sys.argv != ["train.py"]


def test_a_script_with_a_syntax_error_and_a_module(capsys, refused, script, tmp_path):
    assert ended(script("def\n")) == 1
    err = capsys.readouterr().err
    assert "SyntaxError: invalid syntax" in err and "profet_recorder" not in err and "Traceback" not in err
    package = tmp_path / "trainings"
    package.mkdir()
    (package / "one.py").write_text("import trainings, sys; open('ran', 'w').write(repr(sys.argv[1:]))")
    assert "Nothing was recorded" in refused("-m", "trainings.one", "--", "a")
    assert (tmp_path / "ran").read_text() == "['a']"


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
import profet_cli.main, profet_cli.commands.profile
assert not {"tensorflow", "keras", "torch"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
