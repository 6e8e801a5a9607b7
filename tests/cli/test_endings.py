"""Every end of a real process is one line or none: no output to write to, a full one, a reader gone, an interrupt."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: The command as installed, less what an installer's script imports before it; a byte marks its own start.
PROFET = "import os, sys; from profet_cli.main import main; os.write(int(sys.argv.pop(1)), b'.'); sys.exit(main())"
CLOSED = "profet: there is no standard output: redirect it, such as with > FILE or > /dev/null\n"
FULL = "profet: the output can't be written: No space left on device\n"
#: One of each kind of output: argparse's, a document, a table, a file that is written, and a change of the own file.
COMMANDS = {
    "help": "--help",
    "version": "--version",
    "document": "predict '{trace}' --anchor {anchor} --format json",
    "table": "instances",
    "file": "convert '{trace}' --force -o p.json",
    "change": "instances add my.l4 --gpu L4 --usd-per-hour 1",
}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell and signals of Unix")


@pytest.fixture
def shell(repository, sample, tmp_path):
    """`shell("profet {table} | head -1")` -> status, stdout, stderr."""
    environment = {**os.environ, "PROFET_INSTANCES": str(tmp_path / "own.csv"), "PYTHONPATH": str(repository)}
    commands = {name: text.format(trace=sample.path, anchor=sample.anchor) for name, text in COMMANDS.items()}

    def run(line: str, **more: str) -> tuple[int, str, str]:
        line = line.format(**commands).replace("profet ", f"'{sys.executable}' -m profet_cli ", 1)
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env={**environment, **more}, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_place_to_write_to_nothing_is_done(shell, name, tmp_path):
    assert shell(f"profet {{{name}}} >&-") == (1, "", CLOSED)
    assert not (tmp_path / "own.csv").exists() and not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(("name", "buffered"), [*((name, "") for name in COMMANDS), ("help", "1"), ("table", "1")])
def test_a_full_output_is_said_in_one_line(shell, name, buffered):
    assert shell(f"profet {{{name}}} > /dev/full", PYTHONUNBUFFERED=buffered) == (1, "", FULL)


def test_a_reader_that_goes_away_is_no_error(shell):
    # `true` is gone before the table is printed.
    assert shell("set -o pipefail; profet {table} | true") == (0, "", "")
    status, out, err = shell("set -o pipefail; profet {table} | head -1")
    assert (status, out.count("\n"), err) == (0, 1, "")


def test_without_standard_error_the_document_stays_alone_on_stdout(shell):
    sound = shell("profet {document}")
    assert shell("profet {document} 2>&-")[:2] == sound[:2]
    assert shell("profet predict nowhere --anchor g3s.xlarge 2>&-") == (2, "", "")
    assert shell("profet predict nowhere --anchor g3s.xlarge 2>/dev/full") == (2, "", "")


def interrupted(arguments: list[str], delay_s: float, environment: dict[str, str]) -> tuple[int, str, str]:
    """The end of a process that is interrupted so long after its first own line."""
    ready, started = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", PROFET, str(started), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[started],
        env=environment,
    )
    os.close(started)
    assert os.read(ready, 1) == b"."
    os.close(ready)
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_an_interrupt_at_any_moment_is_one_line_and_130(repository, sample, tmp_path):
    own = tmp_path / "own.csv"
    environment = {**os.environ, "PROFET_INSTANCES": str(own), "PYTHONPATH": str(repository)}
    moments, ends = random.Random(5), []
    for number in range(16):
        arguments = (
            ["instances", "add", f"my.{number}", "--gpu", "L4", "--usd-per-hour", "1"]
            if number % 2
            else ["predict", str(sample.path), "--anchor", sample.anchor, "--targets", "p2.xlarge"]
        )
        # Every fourth as early as a person can: that one ends by the interrupt, however fast the machine is.
        delay_s = 0.005 if number % 4 == 0 else moments.uniform(0.005, 0.6)
        status, _, err = interrupted(arguments, delay_s, environment)
        if status == -signal.SIGINT and 'File "<string>", line 1' in err and "profet_cli" not in err:
            continue  # a busy machine: Python had not come to our first line
        assert (status, err) in {(130, "profet: stopped\n"), (0, "")}, (number, status, err)
        ends.append(status)
        assert {path.name for path in Path(tmp_path).iterdir()} <= {"own.csv", ".own.csv.lock"}
    assert 130 in ends
