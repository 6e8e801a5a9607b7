"""The recorder without a checkout: the wheel installs offline, loads nothing else of the project, and records."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from profet_core import read_profile
from profet_core.version import VERSION
from tests.recorder.runs import CPU_WARNING, needs
from tests.recorder.test_pytorch import LOOP, NETWORK, PARAMETERS
from tests.test_imports import import_graph
from ui.recorder import REQUIRES_PYTHON, recorder_wheel

INFO = f"profet_recorder-{VERSION}.dist-info"


@pytest.fixture(scope="module")
def archive() -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(recorder_wheel().data))


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder of commands of a fresh environment into which pip has put the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("recorder")
    wheel = folder / recorder_wheel().name
    wheel.write_bytes(recorder_wheel().data)
    environment = folder / "venv"
    venv.create(environment, symlinks=True)
    commands = environment / "bin"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", commands / "python", "install", "--quiet", "--no-index", wheel],
        check=True,
        timeout=120,
    )
    return commands


def run_in(tmp_path: Path, command: list[object], **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TF_"))}
    return subprocess.run(
        list(map(str, command)),
        cwd=tmp_path,
        env={**kept, "CUDA_VISIBLE_DEVICES": "", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_it_holds_what_the_repository_has_now(archive, repository):
    packed = [name for name in archive.namelist() if not name.startswith(INFO)]
    assert len(packed) > 60 and not [name for name in packed if not name.endswith((".py", ".csv"))]
    for name in packed:
        assert archive.read(name) == (repository / name).read_bytes(), name
    assert archive.testzip() is None


def test_it_holds_all_that_recording_imports(archive):
    graph = import_graph()
    packed = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in archive.namelist()}
    todo = {name for name in graph if name in packed}
    assert {"profet_recorder.recording", "profet_cli.commands.profile", "profet_core.profiles.reading"} <= todo
    # What profet_core offers on demand is imported by name, in a function.
    lazily = {"profet_core"}
    missing = {(name, other) for name in todo - lazily for other in graph[name] if other not in packed}
    assert not missing


def test_its_record_and_metadata_are_right(archive, repository):
    listed = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(f"{INFO}/RECORD").decode()))}
    assert set(listed) == set(archive.namelist())
    for name, (checksum, size) in listed.items():
        if name != f"{INFO}/RECORD":
            digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).decode().rstrip("=")
            assert (checksum, size) == (f"sha256={digest}", str(len(archive.read(name))))
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == REQUIRES_PYTHON
    assert project["scripts"]["profet"] in archive.read(f"{INFO}/entry_points.txt").decode()
    assert f"Version: {VERSION}\n" in archive.read(f"{INFO}/METADATA").decode()
    assert archive.read(f"{INFO}/LICENSE") == (repository / "LICENSE").read_bytes()


def test_the_same_sources_make_the_same_bytes(repository):
    code = "import hashlib, ui.recorder as it; print(hashlib.sha256(it.recorder_wheel().data).hexdigest())"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC-{seed}"}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=repository, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == hashlib.sha256(recorder_wheel().data).hexdigest()


def test_it_needs_nothing_but_the_standard_library(installed, tmp_path):
    code = """
import json, sys
import profet_recorder.script, profet_cli.commands.profile, profet_core
from profet_recorder import ProfileCallback, record_step, record_steps
roots = {name.partition(".")[0] for name in sys.modules}
print(json.dumps({"roots": sorted(roots - sys.stdlib_module_names), "where": profet_core.__file__}))
"""
    done = run_in(tmp_path, [installed / "python", "-c", code])
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    ours = [name for name in loaded["roots"] if not name.startswith("_")]
    assert ours == ["profet_cli", "profet_core", "profet_recorder"]
    assert loaded["where"].startswith(str(installed.parent))


def test_its_command_offers_what_is_there(installed, tmp_path):
    done = run_in(tmp_path, [installed / "profet", "--help"])
    assert done.returncode == 0 and "profile " in done.stdout and "predict" not in done.stdout
    done = run_in(tmp_path, [installed / "profet", "predict", "profile"])
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "without `profet predict`" in done.stderr


def test_a_checkout_without_its_requirements_says_what_to_install(installed, tmp_path, repository):
    """As after `pip install --no-deps .`, which docs/PROFILES.md has for recording."""
    for command in ("predict", "inspect", "convert", "collect", "train"):
        done = run_in(tmp_path, [installed / "python", "-m", "profet_cli", command], PYTHONPATH=str(repository))
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert "needs the serving set (" in done.stderr and "pip install -r requirements-serve.txt" in done.stderr
    (tmp_path / "train.py").write_text("import rapidfuzz\n")
    done = run_in(tmp_path, [installed / "profet", "profile", "train.py"], PYTHONPATH=str(repository))
    assert "No module named 'rapidfuzz'" in done.stderr and "serving set" not in done.stderr, "the script's own error"


@needs("torch")
def test_it_records_a_step_with_pytorch(installed, tmp_path):
    (tmp_path / "train.py").write_text(NETWORK + LOOP)
    # The user's framework, beside the recorder: as it is installed here.
    done = run_in(
        tmp_path, [installed / "profet", "profile", "train.py", "--timed", 3], PYTHONPATH=_site_packages("torch")
    )
    assert done.returncode == 0, done.stderr
    profile = read_profile((tmp_path / "profile.json").read_bytes(), "profile.json")
    meta = profile.meta
    assert (meta.batch_size, meta.pixels, meta.parameters) == (8, 32, PARAMETERS)
    assert meta.framework.startswith("PyTorch 2.") and meta.step_latency_ms > 0
    assert profile.operations["Host_Conv2D"] > 0 and profile.warnings[0].startswith(CPU_WARNING)


def _site_packages(package: str) -> str:
    return str(Path(find_spec(package).origin).parents[1])
