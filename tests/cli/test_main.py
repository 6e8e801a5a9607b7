"""How any command begins and ends: one line, an exit status, inputs of every kind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profet_cli.commands import COMMANDS
from profet_cli.main import main
from profet_core.prediction.checks import NO_ANCHOR
from profet_core.prediction.models import Sample
from profet_profiles import VERSION
from profet_profiles.record import FORWARD_ONLY, NO_DEVICE, STAND_IN
from tests.cli.cases import CPU_ONLY, covering, written


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "are required: COMMAND (see `profet --help`)"),
        (["guess"], "choose from gpus, predict, scale or 15 others"),
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
    assert [name for name in sys.modules if name[:11] == "profet_cli."] == ["profet_cli.main"]
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
    imported = {name.split(".")[1] for name in sys.modules if name.startswith("profet_cli.")}
    imported -= {"main", "commands", "options", "files", "output"}
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


def test_a_process_exits_with_one_line_and_escapes_what_the_terminal_can_not_show(repository, sample, tmp_path):
    asked = ("predict", sample.path, "--anchor", sample.anchor)
    done = process(repository, *asked, PROFET_HOME="/nowhere")
    assert done.returncode == 0 and done.stdout == process(repository, *asked).stdout, "the shipped models serve"
    (tmp_path / "transfer.json").write_text("{}")
    done = process(repository, *asked, PROFET_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"profet: There are no models in {tmp_path.name}: ") and done.stderr.count("\n") == 1
    path = written(tmp_path, {"operations": {"Device_Conv2DBackpropInput": 1.0}, "meta": {"gpu": "T4\u2122"}})
    done = process(repository, "inspect", path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpu: T4\\u2122" in done.stdout


#: The command as installed, less what an installer's script imports before it; a byte marks its own start.
PROFET = "import os, sys; from profet_cli.main import main; os.write(int(sys.argv.pop(1)), b'.'); sys.exit(main())"
CLOSED = "profet: there is no standard output: redirect it, such as with > FILE or > /dev/null\n"
FULL = "profet: the output can't be written: No space left on device\n"
#: One of each kind of output: argparse's, a document, a table, a file that is written, and a change of the own file.
OUTPUTS = {
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
    commands = {name: text.format(trace=sample.path, anchor=sample.anchor) for name, text in OUTPUTS.items()}

    def run(line: str, **more: str) -> tuple[int, str, str]:
        line = line.format(**commands).replace("profet ", f"'{sys.executable}' -m profet_cli ", 1)
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env={**environment, **more}, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("name", OUTPUTS)
def test_without_a_place_to_write_to_nothing_is_done(shell, name, tmp_path):
    assert shell(f"profet {{{name}}} >&-") == (1, "", CLOSED)
    assert not (tmp_path / "own.csv").exists() and not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(("name", "buffered"), [*((name, "") for name in OUTPUTS), ("help", "1"), ("table", "1")])
def test_a_full_output_is_said_in_one_line(shell, name, buffered):
    assert shell(f"profet {{{name}}} > /dev/full", PYTHONUNBUFFERED=buffered) == (1, "", FULL)


def test_too_little_memory_is_one_line(shell):
    # How much it needs differs by machine, and what fails first by the limit: at some of them Python itself does.
    ends = [shell(f"ulimit -v {limit_kb}; profet {{table}}") for limit_kb in range(90_000, 121_000, 6_000)]
    lines = [err for status, out, err in ends if (status, out, err.count("\n")) == (1, "", 1)]
    assert sum("memory" in line.lower() for line in lines) >= 3, ends


def test_a_thread_that_can_t_start_is_too_little_memory(capsys, monkeypatch):
    def start(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("profet_http.connections.check_address", start)
    assert main(["app"]) == 1 and "not enough memory" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error_and_without_stderr_the_document_stands_alone(shell):
    # `true` is gone before the table is printed.
    assert shell("set -o pipefail; profet {table} | true") == (0, "", "")
    status, out, err = shell("set -o pipefail; profet {table} | head -1")
    assert (status, out.count("\n"), err) == (0, 1, "")
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


BUSY = {"Device_Conv2D": 45_000.0, "Device_Conv2DBackpropFilter": 45_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}
#: Command -> what it asks for beside a trace.
READERS = {
    "predict": ("--anchor", "p2.xlarge"),
    "cost": ("--anchor", "p2.xlarge", "--images", 9),
    "advise": ("--anchor", "p2.xlarge", "--images", 9),
    "inspect": (),
    "convert": ("-o", "-"),
}


@pytest.fixture
def whole(samples) -> Sample:
    """A sample that TensorFlow did not cut."""
    return samples["vgg16-224px-b16-g3s"]


def test_the_steps_given_are_those_of_every_command(document, whole, tmp_path):
    one, four = (covering(tmp_path, whole, steps, batch_size=16) for steps in (1, 4))
    for command in ("predict", "cost", "advise"):
        asked = ("--anchor", whole.anchor, *READERS[command][2:])
        answers = [document(command, path, *asked, "--steps", steps) for path, steps in ((one, 1), (four, 4))]
        if command == "predict":
            assert [(each.pop("steps"), each.pop("steps_basis")) for each in answers] == [(1, "given"), (4, "given")]
        assert answers[0] == answers[1]
    answers = document("inspect", four, "--steps", 4)
    assert (answers["steps"], answers["steps_basis"]) == (4, "given")
    assert answers["operations_us"] == pytest.approx(dict(whole.profile.operations))


def test_steps_are_a_whole_number_and_questioned_where_they_do_not_fit_the_latency(refused, document, sample, tmp_path):
    command = ("predict", covering(tmp_path, sample, 3), "--anchor", sample.anchor, "--latency-ms", sample.latency_ms)
    assert "--steps 3" in refused(*command, "--steps", 12)
    assert document(*command, "--steps", 12, "--trust-latency")["steps"] == 12
    for command, asked in READERS.items():
        assert "steps must be a whole number" in refused(command, sample.path, *asked, "--steps=0")
    for number, says in (("-3", "not -3"), ("10001", "10,000"), ("1.5", "--steps: invalid int")):
        assert says in refused("inspect", sample.path, f"--steps={number}")


def test_what_a_processor_stood_in_for_is_no_anchor(refused, document, tmp_path):
    path = written(tmp_path, {"operations": BUSY, "warnings": [STAND_IN], "meta": {"batch_size": 16, "pixels": 64}})
    for command in ("predict", "cost", "advise"):
        assert refused(command, path, *READERS[command]) == NO_ANCHOR
    assert refused("predict", path) == NO_ANCHOR, "before the anchor is asked"
    assert document("inspect", path)["refusal"] == NO_ANCHOR


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CPU_ONLY, NO_DEVICE),
        ({"operations": BUSY, "meta": {"compiled": True}}, "XLA"),
        ({"operations": {**BUSY, "Device_Unknown": 50_000.0}}, "34% of the GPU time"),
        ({"operations": BUSY, "refusal": "Only forward passes: record training."}, "Only forward passes"),
        ([{"Device_Conv2D": 90_000.0, "Device_MatMul": 9_000.0, "Host_IDLE": 9e5}], FORWARD_ONLY),
        ({"operations": BUSY, "meta": {"gpu": "Intel(R) Xeon(R) CPU @ 2.20GHz"}}, "This profile was recorded on a CPU"),
    ],
    ids=["no GPU time", "XLA", "no operations", "the reader's word", "inference", "a CPU by its name"],
)
def test_no_number_is_made_of_sand_but_it_can_be_looked_at(refused, document, run, tmp_path, content, says):
    path = written(tmp_path, content)
    for command in ("predict", "cost", "advise"):
        assert refused(command, path, *READERS[command]).startswith(says)
    # Nothing is asked, and no other argument looked at, for a file that can't be used.
    assert refused("predict", path).startswith(says)
    assert refused("predict", path, "--anchor", "no such GPU").startswith(says)
    assert document("inspect", path)["refusal"].startswith(says)
    status, out, err = run("inspect", path)
    assert status == 0 and out and err.splitlines()[0].startswith(f"warning: {says}")
    assert run("convert", path, "-o", tmp_path / "out.json", "--force")[0] == 0
    assert refused("predict", tmp_path / "out.json", *READERS["predict"]).startswith(says)


def test_which_other_trace_has_no_number_is_said(refused, samples, sample, tmp_path):
    path = written(tmp_path, CPU_ONLY)
    measured = ("--measured", f"{next(iter(sample.measured_ms))}=50", "--measured-trace", path)
    line = refused("predict", sample.path, "--anchor", sample.anchor, *measured)
    assert line == f"--measured-trace: {NO_DEVICE}"
    small = samples["resnet50-128px-b16-g4dn"]
    command = ("cost", small.path, "--anchor", small.anchor, "--images", 9, "--at-batch", 64, "--second", path)
    assert refused(*command) == f"--second: {NO_DEVICE}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file or directory"),
        ("folder", "no profile among its 0 files"),
        (b"", "empty"),
        (b"[" * 200_000, "nested too deeply"),
        (b"PK\x03\x04", "archive is damaged"),
    ],
    ids=["absent", "folder", "empty", "deep", "zip"],
)
def test_a_bad_trace_is_refused_in_one_line(refused, tmp_path, content, says):
    path = tmp_path / "a trace\nof two lines.json"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    for command in ("predict", "cost", "inspect"):
        assert says in refused(command, path, *READERS[command])


@pytest.mark.parametrize("command", ["predict {} --anchor T4", "inspect {}", "estimate resnet50 --batch 8 --log {}"])
def test_a_named_pipe_is_refused_and_what_a_program_writes_is_read(refused, run, sample, tmp_path, command):
    os.mkfifo(tmp_path / "pipe")
    assert "named pipe" in refused(*command.format(tmp_path / "pipe").split())
    reads, writes = os.pipe()
    os.write(writes, sample.data)
    os.close(writes)
    status, out, _ = run("inspect", f"/dev/fd/{reads}")
    os.close(reads)
    assert (status, out.partition(":")[0]) == (0, "PROFET JSON, version 2")
