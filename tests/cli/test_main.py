"""The command line as a whole: wrong ones are refused in one line, and it runs as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from profet_cli.main import main
from profet_cli.parsing import COMMANDS
from profet_core.version import VERSION
from tests.cli.cases import written


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "are required: COMMAND (see `profet --help`)"),
        (["guess"], "invalid choice: 'guess'"),
        (["--format", "json"], "argument COMMAND: invalid choice"),
        (["predict", "--anchor", "T4"], "are required: TRACE (see `profet predict --help`)"),
        (["inspect"], "Name a profile, or list the bounds with --limits."),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(refused, arguments, says):
    assert says in refused(*arguments)


def test_every_command_of_the_table_has_its_help(capsys):
    for command, sentence in COMMANDS.items():
        with pytest.raises(SystemExit) as done:
            main([command, "--help"])
        out, err = capsys.readouterr()
        assert (done.value.code, err) == (0, ""), command
        assert out.startswith(f"usage: profet {command} [")
        assert " ".join(sentence.split())[1:] in " ".join(out.split()), "the table's line is its sentence"


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_printed_and_no_command_imported(repository, option):
    code = f"""
import sys
from profet_cli.main import main
try:
    main([{option!r}])
finally:
    assert not {{"numpy", "rapidfuzz"}} & set(sys.modules)
    assert not [name for name in sys.modules if name.startswith("profet_cli.commands.")]
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"profet {VERSION}\n", "")


def test_help_imports_no_command_and_a_command_no_other(repository):
    code = """
import sys
from profet_cli.main import main
for arguments, expected in ((["--help"], set()), (["inspect", "--help"], {"inspect"})):
    try:
        main(arguments)
    except SystemExit:
        pass
    imported = {name.split(".")[2] for name in sys.modules if name.startswith("profet_cli.commands.")}
    assert imported == expected, imported
    assert expected or "numpy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in COMMANDS)


def process(repository: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "profet_cli", *map(str, arguments)],
        cwd=repository,
        env={**{key: value for key, value in os.environ.items() if key != "PROFET_HOME"}, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_process_exits_with_2_and_one_line_and_looks_for_models_in_profet_home(repository, sample):
    done = process(repository, "predict", sample.path, "--anchor", sample.anchor, PROFET_HOME="/nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("profet: There are no models in nowhere: ") and done.stderr.count("\n") == 1


def test_a_text_the_terminal_can_not_show_is_escaped(repository, tmp_path):
    path = written(tmp_path, {"operations": {"Device_Conv2D": 1.0}, "meta": {"gpu": "T4\u2122"}})
    done = process(repository, "inspect", path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpu: T4\\u2122" in done.stdout
