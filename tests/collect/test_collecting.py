"""Cells are really measured, on this machine's processor; what goes wrong with one is recorded, the next goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from profet_cli.main import main
from profet_collect.cells.process import measure
from profet_collect.cells.task import Task
from profet_core.collected.reading import read_collection
from profet_core.collected.record import Cell

SMALL = ("--device", "cpu", "--threads", "1", "--pixels", "32", "--batch", "4", "--timed", "2", "--warm-up", "1")


def command(folder: Path, *more: str) -> list[str]:
    return ["collect", "--instance", "stand-in", "--out", str(folder), *SMALL, "--frameworks", "pytorch", *more]


@pytest.fixture
def start(tmp_path, repository):
    """`start(*more)` -> a collector of its own into tmp_path / "c", in its own process."""
    begun = []

    def begin(*more: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "profet_cli", *command(tmp_path / "c", *more)],
            cwd=repository, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        begun.append(process)
        return process

    yield begin
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for_cells(folder: Path, number: int) -> None:
    path, ends = folder / "cells.jsonl", time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < number:
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_collection_is_stopped_and_gone_on_with(tmp_path, start, capsys):
    pytest.importorskip("torch")
    names = ("--models-list", "LeNet5,MNIST_CNN,ResNetSmall")
    first = start(*names)
    wait_for_cells(tmp_path / "c", 1)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130 and said.splitlines()[-1] == "profet: stopped" and "Traceback" not in said
    before = read_collection(tmp_path / "c").results
    assert len(before) < 3

    assert main([*command(tmp_path / "c", *names), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {key: document[key] for key in ("instance", "cells", "ok", "out_of_memory", "failed")} == {
        "instance": "stand-in", "cells": 3, "ok": 3, "out_of_memory": 0, "failed": 0,
    }  # fmt: skip
    collection = read_collection(tmp_path / "c")
    assert collection.results[: len(before)] == before
    assert [one.cell.model for one in collection.results] == ["LeNet5", "MNIST_CNN", "ResNetSmall"]
    for one in collection.results:
        assert len(one.latency_repeats_ms) == 2
        assert one.batch_latency_ms == pytest.approx(median(one.latency_repeats_ms), abs=1e-3)
        assert one.peak_memory_bytes is not None and one.peak_memory_bytes > 50e6
        assert one.operations_us is not None and one.operations_us["Device_Conv2D"] > 0
        assert not any(name.startswith("Host_") and name != "Host_IDLE" for name in one.operations_us)
    assert collection.manifest["gpu"].endswith("on 1 thread") and collection.manifest["frameworks"].keys() == {
        "pytorch"
    }
    assert (collection.manifest["device"], collection.manifest["instance"]) == ("cpu", "stand-in")


def test_a_collector_that_is_killed_leaves_no_process_behind(tmp_path, start):
    pytest.importorskip("torch")
    first = start("--models-list", "VGG11")
    children = Path(f"/proc/{first.pid}/task/{first.pid}/children")
    ends = time.monotonic() + 120
    child = ""
    while not (tmp_path / "c" / "cells.jsonl").exists() or not child:
        assert time.monotonic() < ends and first.poll() is None
        child = children.read_text().strip()
        time.sleep(0.02)
    first.kill()
    first.communicate()
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split(")")[1][:3]:
        assert time.monotonic() < ends, "the cell's process outlives its collector"
        time.sleep(0.05)


def test_too_large_a_batch_is_out_of_memory():
    pytest.importorskip("torch")
    found = measure(Task("pytorch", Cell("pytorch", "fp32", "LeNet5", 256, 10**8), "cpu", 1), 120)
    assert found.status == "out-of-memory" and "memory" in found.why and "\n" not in found.why


def test_too_slow_a_cell_is_ended_and_recorded():
    found = measure(Task("pytorch", Cell("pytorch", "fp32", "LeNet5", 32, 4), "cpu", 1), 0.3)
    assert (found.status, found.why) == ("failed", "it took more than 0.3 s")


def test_a_crash_is_recorded_with_its_signal(monkeypatch):
    from profet_collect.cells import process

    # A process that crashes as a driver's does, in the place of the cell's own.
    monkeypatch.setattr(process.sys, "executable", "/bin/sh")
    real = subprocess.Popen
    monkeypatch.setattr(
        process.subprocess, "Popen",
        lambda command, **more: real(["/bin/sh", "-c", "echo 'Xid 79' >&2; kill -SEGV $$"], **more),
    )  # fmt: skip
    found = measure(Task("pytorch", Cell("pytorch", "fp32", "LeNet5", 32, 4), "cpu", 1), 60)
    assert (found.status, found.why) == ("failed", "its process ended with signal 11: Xid 79")


def test_keras_measures_a_cell_as_pytorch_does():
    pytest.importorskip("tensorflow")
    task = Task("tensorflow", Cell("tensorflow", "fp32", "LeNet5", 32, 4), "cpu", 1, warm_up=1, timed=2)
    found = measure(task, 300)
    assert (found.status, found.why) == ("ok", "")
    assert len(found.latencies_ms) == 2 and min(found.latencies_ms) > 0
    assert found.operations_us is not None and found.operations_us["Device_Conv2DBackpropFilter"] > 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--models-list", "ResNet7"], "is no network that is known by name"),
        (["--pixels", "32,-1"], "whole numbers from 1 to 4,096"),
        (["--batch", ""], "whole numbers"),
        (["--frameworks", "jax"], "pytorch, tensorflow are known"),
        (["--precision", "amp"], "A processor is measured in FP32 alone"),
        (["--models-list", "InceptionV3", "--pixels", "32"], "None of these networks can be built"),
        (["--threads", "0"], "The number of threads must be a whole number of at least 1"),
        (["--instance", "../.."], None),
        (["--instance", "\n"], "--instance must be a short text"),
    ],
)
def test_what_cannot_be_meant_is_one_line_before_anything_starts(arguments, line, tmp_path, capsys, monkeypatch):
    from profet_cli.commands import collect

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(collect, "machine_at_hand", lambda *_: pytest.fail("a framework was started"))
    options = ["collect", "--instance", "x", "--device", "cpu", *arguments]
    if line is None:
        line = "makes no name of a folder"
    assert main(options) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert list(tmp_path.iterdir()) == []
