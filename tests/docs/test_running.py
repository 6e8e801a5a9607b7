"""Every command and every Python block of README and docs runs as it stands, in order, in one folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch
from urllib.error import URLError
from urllib.request import urlopen

import pandas as pd
import pytest

from benchmarks.served_app import free_port
from profet_cli.main import main
from profet_collect.store import Cell, CellResult, Precision, open_store
from profet_lab.measurements.tables import data_folder
from tests.cli.commands.test_estimate import keras_file
from tests.docs.recipes import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))]
RUN = ("sh", "python")
#: Why a block may say `not-run="..."`.
REASONS = {"needs a GPU", "needs the network", "needs a cloud account", "needs Docker", "takes minutes"}
#: What the reader has not set.
SETTINGS = ("PROFET_HOME", "PROFET_INSTANCES", "PROFET_GPUS", "PROFET_APP_INSTANCES", "XDG_CONFIG_HOME")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, samples) -> Path:
    """A checkout as far as commands name it, and what the reader is to have: a profile, networks, a collection."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("sample_traces", "requirements.txt", "models"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "data").symlink_to(data_folder())
    (folder / "home").mkdir()
    for name in ("TRACE", "profile.json"):
        shutil.copy(samples["vgg16-224px-b16-g3s"].path, folder / name)
    for name in ("mine.keras", "model.keras"):
        keras_file(folder / name)
    (table,) = (block.text for block in blocks(text_of("docs/NETWORKS.md")) if block.language == "csv")
    (folder / "layers.csv").write_text(table)
    (folder / "train.log").write_text("391/391 [==============================] - 57s 146ms/step - loss: 1.2\n")
    (totals,) = (block.text for block in blocks(text_of("docs/PROFILES.md")) if block.options.get("profile") == "2")
    (folder / "totals.json").write_text(totals)
    collect(folder / "collected" / "my-gpu", "my-gpu", "Tesla T4", "fp32")
    collect(folder / "collected" / "rtx-4080", "rtx-4080", "GeForce RTX 4080", "tf32")
    (folder / "measured").mkdir()
    assert main(["data", "import", str(folder / "collected/rtx-4080"), "--out", str(folder / "measured/rtx-4080")]) == 0
    return folder


def collect(folder: Path, instance: str, gpu: str, precision: Precision) -> None:
    """What `profet collect --quick` leaves behind: the T4's published steps, under another name."""
    steps = pd.read_parquet(data_folder() / "profet" / "latencies.parquet")
    steps = steps[(steps.instance == "g4dn.xlarge") & (steps.repeat == 1) & (steps.batch_size == 16)]
    manifest = {
        "instance": instance,
        "device": "gpu",
        "gpu": gpu,
        "driver": "550",
        "frameworks": {"tensorflow": "2.21"},
    }
    with open_store(folder, manifest) as store:
        for row in steps.itertuples():
            cell = Cell("tensorflow", precision, row.model, int(row.pixels), 16)
            latency_ms = round(float(row.batch_latency_ms), 4)
            store.append(
                CellResult(
                    cell, "2.21", "ok", "2026-11-22T00:00:00+00:00",
                    batch_latency_ms=latency_ms, latency_repeats_ms=(latency_ms,),
                )
            )  # fmt: skip


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def to_run(name: str) -> list[Block]:
    return [block for block in blocks(text_of(name)) if block.language in RUN and "not-run" not in block.options]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_does_not_run_says_why(name):
    text = text_of(name)
    every = blocks(text)
    assert {block.language for block in every} <= {*RUN, "json", "csv", "keys", "rooms", "text"}
    assert {block.options["not-run"] for block in every if "not-run" in block.options} <= REASONS
    # A fence without a language would be neither run nor marked.
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(every)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if to_run(name)])
def test_a_reader_may_do_what_stands_there(name, folder, monkeypatch, capsys):
    port = str(free_port())
    monkeypatch.chdir(folder)
    with patch.dict(os.environ, {"HOME": str(folder / "home")}), ExitStack() as servers:
        for variable in SETTINGS:
            os.environ.pop(variable, None)
        for block in to_run(name):
            # Whatever listens on this machine's ports already is left alone.
            text = re.sub(r"\b850[12]\b", port, block.text)
            if block.language == "python":
                exec(compile(text, name, "exec"), {"__name__": "__main__"})
                assert "g4dn.xlarge" in capsys.readouterr().out
                continue
            for line in text.splitlines():
                follow(line, capsys, lambda words: servers.enter_context(serving(words, port)))


def follow(line: str, capsys, serve: Callable[[list[str]], object]) -> None:
    """Do what a shell would of `export NAME=value` and `profet ...`, and check the basis that a comment promises."""
    words = [os.path.expandvars(word) for word in shlex.split(line, comments=True)]
    if not words:
        return
    program, *arguments = words
    if program == "export":
        variable, _, value = arguments[0].partition("=")
        os.environ[variable] = str(Path(value).expanduser())
        return
    assert program == "profet", f"mark it with not-run, or have this test run it: {line}"
    if arguments[0] == "serve":
        serve(arguments)
        return
    status = main(arguments)
    out, err = capsys.readouterr()
    assert (status, bool(out)) == (0, True), f"{line}\n{err}"
    if promised := re.search(r"# basis: (\w+)", line):
        assert f" {promised[1]} " in out, out


@contextmanager
def serving(arguments: list[str], port: str) -> Iterator[None]:
    """A server, from its first healthy answer to its end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "profet_cli", *arguments], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        ends = time.monotonic() + 120
        while not is_healthy(port):
            assert time.monotonic() < ends and process.poll() is None, "the server does not answer"
            time.sleep(0.2)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def is_healthy(port: str) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/v1/health", timeout=10) as answer:
            return answer.status == 200
    except URLError:
        return False
