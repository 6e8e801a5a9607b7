"""`profet profile` without a framework: what is refused, and that the recorder needs nothing of the rest."""

from __future__ import annotations

import subprocess
import sys

import pytest

from profet_cli.main import main


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")


@pytest.fixture
def refused(capsys, tmp_path, monkeypatch):
    """`refused("train.py", ...)` -> the last line on stderr of a command that exits with 2."""
    monkeypatch.chdir(tmp_path)

    def read(*arguments: str) -> str:
        assert main(["profile", *map(str, arguments)]) == 2
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
    assert refused("absent.py") == "There is no script absent.py: name the Python file that trains."


def test_an_output_that_exists_is_kept_and_the_script_does_not_run(refused, script, tmp_path):
    (tmp_path / "profile.json").write_text("mine")
    assert "profile.json exists" in refused(script())
    assert (tmp_path / "profile.json").read_text() == "mine"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "output, said",
    [("nowhere/profile.json", "There is no folder"), (".", "is a folder"), ("/proc/profile.json", "can be written")],
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
        "Unknown arguments --epochs 3: what belongs to the script follows `--`."
    )
    code = "import sys; open('arguments', 'w').write(repr((sys.argv, __name__)))"
    assert "nothing was recorded" in refused(script(code), "--", "--epochs", "3", "--", "x")
    assert (tmp_path / "arguments").read_text() == "(['train.py', '--epochs', '3', '--', 'x'], '__main__')"


def test_a_script_without_a_framework_and_one_that_ends_itself(refused, script, tmp_path):
    assert refused(script()).endswith("nothing was recorded.")
    assert (tmp_path / "ran").exists()
    assert refused(script("raise SystemExit(3)")) == "train.py ended itself with status 3; nothing was written."


def test_a_script_that_fails_shows_its_own_traceback_and_one_line(capsys, script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    assert main(["profile", script("def f():\n    return 1 / 0\nf()\n")]) == 2
    err = capsys.readouterr().err
    assert err.splitlines()[-1] == "profet: train.py failed with ZeroDivisionError (above); nothing was written."
    assert 'File "train.py", line 4, in <module>' in err and "runpy" not in err
    assert sys.path == path and sys.argv != ["train.py"]


def test_a_script_with_a_syntax_error_and_a_module(refused, script, tmp_path):
    assert "train.py failed with SyntaxError" in refused(script("def\n"))
    package = tmp_path / "trainings"
    package.mkdir()
    (package / "one.py").write_text("import trainings, sys; open('ran', 'w').write(repr(sys.argv[1:]))")
    assert "nothing was recorded" in refused("-m", "trainings.one", "--", "a")
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
