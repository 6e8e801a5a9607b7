"""Cells are really measured, on this machine's processor; what goes wrong with one is recorded, the next goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from profet_cli.main import main
from profet_collect.cell import CellTask, Seen, measure, measure_here, result_of_recording
from profet_collect.run import (
    IMAGE_ENDINGS,
    ExpectedTimes,
    Grid,
    MeasuringMachine,
    collect,
    grid_cells,
    measure_loading,
)
from profet_collect.store import Cell, CellResult, Precision, open_store, read_collection
from profet_core.catalog import load_gpus
from profet_core.errors import InputError
from profet_profiles import read_profile
from profet_recorder.plan import record_plan
from profet_recorder.recording import MAX_REPEATS, Recording
from tests.made.collected import MANIFEST
from tests.recorder.runs import needs

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
    path, ends = folder / "cells.jsonl", time.monotonic() + 300
    while not path.exists() or path.read_bytes().count(b"\n") < number:
        assert time.monotonic() < ends
        time.sleep(0.02)


def wait_for_the_process_of(model: str, collector: subprocess.Popen[str]) -> Path:
    """The process in /proc that measures a cell of a network."""
    children, ends = Path(f"/proc/{collector.pid}/task/{collector.pid}/children"), time.monotonic() + 300
    while True:
        assert time.monotonic() < ends and collector.poll() is None
        for number in children.read_text().split():
            process = Path(f"/proc/{number}")
            with suppress(OSError):
                if model in (process / "cmdline").read_text():
                    return process
        time.sleep(0.02)


@needs("torch")
def test_a_collection_is_stopped_then_killed_and_gone_on_with(tmp_path, start, capsys):
    names = ("--models-list", "LeNet5,MNIST_CNN")
    first = start(*names)
    wait_for_cells(tmp_path / "c", 1)
    first.send_signal(signal.SIGINT)
    _, stderr = first.communicate(timeout=60)
    assert first.returncode == 130 and "Traceback" not in stderr
    assert stderr.splitlines()[-1].startswith("profet: stopped: ") and str(tmp_path / "c") in stderr.splitlines()[-1]
    before = read_collection(tmp_path / "c")[1]
    assert [result.cell.model for result in before] == ["LeNet5"]

    second = start(*names)
    cell = wait_for_the_process_of("MNIST_CNN", second)
    second.kill()
    second.communicate()
    ends = time.monotonic() + 60
    while cell.exists() and "Z" not in (cell / "stat").read_text().split(")")[1][:3]:
        assert time.monotonic() < ends, "the cell's process outlives its collector"
        time.sleep(0.05)

    assert main([*command(tmp_path / "c", *names), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {key: document[key] for key in ("instance", "cells", "measured", "ok", "out_of_memory", "failed")} == {
        "instance": "stand-in", "cells": 2, "measured": 1, "ok": 1, "out_of_memory": 0, "failed": 0,
    }  # fmt: skip
    assert main(command(tmp_path / "c", *names)) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'c'}: all 2 cells are already measured\n"
    manifest, results = read_collection(tmp_path / "c")
    assert results[:1] == before
    assert [result.cell.model for result in results] == ["LeNet5", "MNIST_CNN"]
    for result in results:
        assert len(result.latency_repeats_ms) == 2
        assert result.batch_latency_ms == pytest.approx(median(result.latency_repeats_ms), abs=1e-3)
        assert result.peak_memory_bytes is not None and result.peak_memory_bytes > 50e6
        assert result.operations_us["Device_Conv2D"] > 0
        assert not any(name.startswith("Host_") and name != "Host_IDLE" for name in result.operations_us)
    assert manifest["gpu"].endswith("on 1 thread")
    assert manifest["frameworks"].keys() == {"pytorch"}
    assert (manifest["device"], manifest["instance"]) == ("cpu", "stand-in")


def in_this_process(precision: Precision, batch_size: int) -> CellResult:
    """What the process of a cell in PyTorch would answer."""
    cell = Cell("pytorch", precision, "LeNet5", 32, batch_size)
    return measure_here(CellTask("pytorch", cell, "cpu", warm_up=1, timed=2))


def test_both_frameworks_measure_a_cell_go_their_way_of_mixed_precision_and_tell_too_large_a_batch(in_keras):
    """As on a GPU: casts, a scaled loss, its gradients scaled back; only the command refuses it on a processor."""
    result = in_this_process("amp", 4)
    assert (result.status, result.why) == ("ok", "")
    plain = in_this_process("fp32", 4)
    for amp, fp32 in ((result.operations_us, plain.operations_us),
                      (in_keras["amp"]["operations_us"], in_keras["fp32"]["operations_us"])):  # fmt: skip
        assert set(amp) - set(fp32)
    assert in_keras["amp"]["status"] == "ok"
    result = in_keras["fp32"]
    assert (result["status"], result["why"]) == ("ok", "")
    assert len(result["latency_repeats_ms"]) == 2 and min(result["latency_repeats_ms"]) > 0
    assert result["operations_us"]["Device_Conv2DBackpropFilter"] > 0
    # One warms up, two are timed, one is profiled, and again where it was slow: none is trained for nothing.
    assert 4 <= result["steps"] <= 4 + MAX_REPEATS
    result = in_this_process("fp32", 10**10)
    assert result.status == "out-of-memory" and "memory" in result.why and "\n" not in result.why
    assert in_keras["too large"]["status"] == "out-of-memory"
    assert in_keras["too large"]["why"].startswith("ResourceExhaustedError: ")


def test_a_gpu_s_recording_keeps_its_device_rows_and_its_own_peak(tmp_path, repository):
    """What a GPU leaves behind: a profile as the recorder writes it, and the peak of the GPU's memory."""
    sample = repository / "sample_traces" / "vgg16-224px-b16-g3s.json"
    task = CellTask("pytorch", Cell("pytorch", "fp32", "VGG16", 224, 16), "gpu")
    recording = Recording(record_plan(tmp_path / "profile.json"), engine=None)
    recording.latencies_ms, recording.peak_memory_mib = [210.12345, 209.0], 512.5
    recording.plan.output.write_bytes(sample.read_bytes())
    recorded = result_of_recording(recording, task)
    true = read_profile(sample.read_bytes(), sample.name).operations
    assert recorded.operations_us == true and sum(name.startswith("Device_") for name in true) > 10
    assert (recorded.peak_memory_bytes, recorded.latency_repeats_ms) == (round(512.5 * 2**20), (210.1234, 209.0))


@pytest.fixture
def ending(monkeypatch):
    """`ending(script)`: cells' processes end as `script` does, as if a driver or a library had ended them."""
    from profet_collect import cell

    real = subprocess.Popen

    def end_as(script: str) -> None:
        monkeypatch.setattr(cell.subprocess, "Popen", lambda _, **more: real(["/bin/sh", "-c", script], **more))

    return end_as


@pytest.mark.parametrize(
    ("script", "status", "why"),
    [
        ("echo 'Xid 79' >&2; kill -SEGV $$", "failed", "its process ended with signal 11: Xid 79"),
        (
            "echo 'terminate called after throwing: std::bad_alloc' >&2; kill -ABRT $$",
            "out-of-memory",
            "its process ended with signal 6: terminate called after throwing: std::bad_alloc",
        ),
        (
            "echo 'Check failed: CUDA_ERROR_OUT_OF_MEMORY' >&2; echo '*** stack ***' >&2; kill -ABRT $$",
            "out-of-memory",
            "its process ended with signal 6: *** stack ***",
        ),
        ("exit 0", "failed", "its process ended with exit status 0"),
        # What makes TF32 of FP32, or FP32 of TF32, is not handed on.
        ('echo "${NVIDIA_TF32_OVERRIDE-unset}"; exit 3', "failed", "its process ended with exit status 3: unset"),
    ],
)
def test_how_a_process_died_is_recorded(script, status, why, ending, monkeypatch):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    ending(script)
    result = measure(CellTask("pytorch", Cell("pytorch", "fp32", "LeNet5", 32, 4), "cpu", 1))
    assert (result.status, result.why) == (status, why)
    ending("sleep 600")
    assert measure(CellTask("pytorch", Cell("pytorch", "fp32", "LeNet5", 32, 4), "cpu", 1, timeout_s=0.1)).why.endswith(
        "0.1 s"
    )


def test_cells_that_all_fail_stop_the_collection_and_are_measured_again(tmp_path, ending):
    machine = MeasuringMachine("cpu", "none", None, "", 1, {"pytorch": Seen("2.13.0")}, {"pytorch": 4.0})
    expected = ExpectedTimes({"pytorch": 4.0}, 15, 600.0, load_gpus().find("Tesla T4"))
    grid = Grid(("LeNet5", "MNIST_CNN"), (32,), (16, 32, 64, 128), ("fp32",), ("pytorch",))
    cells = grid_cells(grid)
    ending("echo 'GPU is lost' >&2; exit 1")
    with open_store(tmp_path / "c", MANIFEST) as store, pytest.raises(InputError, match=r"GPU is lost.*--retry"):
        collect(cells, machine, store, expected, CellTask("pytorch", device="cpu"))
    # One network alone may well be what fails.
    assert [result.cell for result in read_collection(tmp_path / "c")[1]] == cells[:5]
    with open_store(tmp_path / "c", MANIFEST) as store:
        store.retry()
        collect(cells[:4], machine, store, expected, CellTask("pytorch", device="cpu"))
        assert list(store.finished) == cells[:4]
        # A full disk of temporary files says nothing of a cell.
        ending("echo 'OSError: [Errno 28] No space left on device' >&2; exit 1")
        with pytest.raises(InputError, match="TMPDIR"):
            collect(cells, machine, store, expected, CellTask("pytorch", device="cpu"))
        assert list(store.finished) == cells[:4]


def test_frameworks_must_see_the_same_gpu(monkeypatch):
    from profet_collect import run

    gpus = {"pytorch": "NVIDIA H200", "tensorflow": "Tesla T4"}
    monkeypatch.setattr(run, "installed_frameworks", lambda: tuple(gpus))
    monkeypatch.setattr(run, "look", lambda task: Seen("2", gpu=gpus[task.framework], capability=9.0))
    with pytest.raises(InputError, match="'NVIDIA H200', tensorflow 'Tesla T4'"):
        run.machine_at_hand(("pytorch", "tensorflow"), "gpu", None)
    gpus["tensorflow"] = "NVIDIA H200"
    assert run.machine_at_hand(("pytorch", "tensorflow"), "gpu", None).gpu == "NVIDIA H200"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--models-list", "ResNet7"], "ResNet7"),
        (["--pixels", "32,-1"], "from 1 to 4,096"),
        (["--frameworks", "jax"], "choose from pytorch, tensorflow"),
        (["--precision", "amp"], "FP32 only"),
        (["--models-list", "InceptionV3", "--pixels", "32"], "can be built"),
        (["--threads", "0"], "number of threads"),
        (["--instance", "../.."], "can't be a folder name"),
        (["--instance", "\n"], "short text"),
    ],
)
def test_what_cannot_be_meant_is_one_line_before_anything_starts(arguments, line, tmp_path, refused, monkeypatch):
    from profet_cli import collect

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(collect, "machine_at_hand", lambda *_: pytest.fail("a framework was started"))
    assert line in refused("collect", "--instance", "x", "--device", "cpu", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_a_name_is_one_line(refused):
    assert "Name this machine: --instance NAME" in refused("collect", "--plan", "--device", "cpu")


NEEDS = {"pytorch": needs("torch", "PIL"), "tensorflow": needs("tensorflow", "PIL")}


@pytest.fixture
def folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)
    for number, ending in enumerate(IMAGE_ENDINGS):
        (tmp_path / "class").mkdir(exist_ok=True)
        image.fromarray(pixels).save(tmp_path / "class" / f"{number}{ending}")
    (tmp_path / "labels.txt").write_text("no image")
    return tmp_path


@pytest.mark.parametrize("framework", [pytest.param(name, marks=mark) for name, mark in NEEDS.items()])
def test_the_rate_of_a_folder_of_every_kind_of_image(folder, framework):
    rates = measure_loading(folder, (framework,), pixels=32, seconds=0.2)
    assert (rates["framework"], rates["images"], rates["pixels"]) == (framework, len(IMAGE_ENDINGS), 32)
    # A small image takes less than a tenth of a second, and more than a microsecond.
    assert 10 < rates["images_per_s_per_vcpu"] < 1e6


@NEEDS["tensorflow"]
def test_the_command_says_what_to_count_with_and_refuses_what_is_no_image(folder, document, run, tmp_path):
    answer = document("collect", "--loading", folder, "--pixels", "32", "--frameworks", "tensorflow")
    assert list(answer) == ["framework", "images_per_s", "vcpus", "images", "pixels", "images_per_s_per_vcpu"]
    assert answer["images_per_s_per_vcpu"] == answer["images_per_s"] / answer["vcpus"]
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "text.jpg").write_text("no image")
    with pytest.raises(InputError, match="can't be loaded"):
        measure_loading(tmp_path / "bad", ("tensorflow",), seconds=0.1)


def test_a_folder_without_images_is_refused_in_one_line(folder, tmp_path, refused):
    assert "is not a folder" in refused("collect", "--loading", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "has no .jpg" in refused("collect", "--loading", tmp_path / "empty")
