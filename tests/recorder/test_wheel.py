"""The recorder without a checkout: pip builds its wheel, installs it offline and alone, and it records."""

from __future__ import annotations

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

from profet_profiles import VERSION, read_profile
from tests.recorder.runs import CPU_WARNING, needs
from tests.recorder.test_pytorch import LOOP, NETWORK, PARAMETERS


@pytest.fixture(scope="module")
def installed(tmp_path_factory, recorder_wheel) -> Path:
    """The folder of commands of a fresh environment into which pip has put the wheel and nothing else."""
    environment = tmp_path_factory.mktemp("recorder") / "venv"
    venv.create(environment, symlinks=True)
    commands = environment / "bin"
    pip = [sys.executable, "-m", "pip", "--python", commands / "python", "install", "--quiet", "--no-index"]
    subprocess.run([*pip, recorder_wheel], check=True, timeout=120)
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


def test_it_holds_the_recorder_and_nothing_else_of_the_project(recorder_wheel, repository):
    archive = zipfile.ZipFile(recorder_wheel)
    info = f"profet_recorder-{VERSION}.dist-info/"
    packed = {name for name in archive.namelist() if not name.startswith(info)}
    sources = {
        path.relative_to(repository).as_posix()
        for package in ("profet_profiles", "profet_recorder")
        for path in (repository / package).rglob("*")
        if path.suffix in (".py", ".csv", ".toml")
    }
    assert packed == sources | {"profet_recorder/LICENSE", "profet_recorder/NOTICE"}
    assert archive.read("profet_recorder/LICENSE") == (repository / "LICENSE").read_bytes()
    assert f"Version: {VERSION}\n" in archive.read(f"{info}METADATA").decode()
    assert "Requires-Dist" not in archive.read(f"{info}METADATA").decode()
    both = [tomllib.loads((repository / folder / "pyproject.toml").read_text()) for folder in ("", "profet_recorder")]
    assert len({project["project"]["requires-python"] for project in both}) == 1


def test_it_needs_the_standard_library_alone(installed, tmp_path):
    code = """
import json, sys
import profet_recorder.command, profet_recorder.hooks
from profet_recorder import ProfileCallback, record_step, record_steps
roots = {name.partition(".")[0] for name in sys.modules}
print(json.dumps({"roots": sorted(roots - sys.stdlib_module_names), "where": profet_recorder.__file__}))
"""
    done = run_in(tmp_path, [installed / "python", "-c", code])
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert [name for name in loaded["roots"] if not name.startswith("_")] == ["profet_profiles", "profet_recorder"]
    assert loaded["where"].startswith(str(installed.parent))
    assert not (installed / "profet").exists()
    done = run_in(tmp_path, [installed / "profet-record", "--help"])
    assert done.returncode == 0 and "SCRIPT" in done.stdout and "predict" not in done.stdout
    for arguments, error in (([], "SCRIPT"), (["missing.py"], "missing.py not found")):
        done = run_in(tmp_path, [installed / "profet-record", *arguments])
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and error in done.stderr


@pytest.fixture(scope="module")
def app_wheel(tmp_path_factory, repository) -> Path:
    """The wheel of the whole project."""
    folder = tmp_path_factory.mktemp("app")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, repository]
    subprocess.run(build, check=True, timeout=300)
    (wheel,) = folder.glob("profet_app*.whl")
    return wheel


@pytest.mark.parametrize("is_recorder_first", [True, False])
def test_both_distributions_install_in_either_order_and_both_commands_run(
    is_recorder_first, recorder_wheel, app_wheel, tmp_path
):
    venv.create(tmp_path / "venv", symlinks=True)
    commands = tmp_path / "venv" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", commands / "python", "install", "--quiet", "--no-index"]
    for wheel in [recorder_wheel, app_wheel] if is_recorder_first else [app_wheel, recorder_wheel]:
        subprocess.run([*pip, "--no-deps", wheel], check=True, timeout=120)
    for command in ("profet", "profet-record"):
        done = run_in(tmp_path, [commands / command, "--version"])
        assert (done.returncode, done.stdout) == (0, f"{command} {VERSION}\n"), done.stderr


def test_a_checkout_without_its_requirements_says_what_to_install(installed, tmp_path, repository):
    for command in ("predict", "inspect", "convert", "collect", "train"):
        done = run_in(tmp_path, [installed / "python", "-m", "profet_cli", command], PYTHONPATH=str(repository))
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert "needs the serving set (" in done.stderr and "pip install -r requirements-serve.txt" in done.stderr
    (tmp_path / "train.py").write_text("import rapidfuzz\n")
    done = run_in(tmp_path, [installed / "profet-record", "train.py"], PYTHONPATH=str(repository))
    assert "No module named 'rapidfuzz'" in done.stderr and "serving set" not in done.stderr, "the script's own error"


@needs("torch")
def test_it_records_a_step_with_pytorch(installed, tmp_path):
    (tmp_path / "train.py").write_text(NETWORK + LOOP)
    # The user's framework, beside the recorder: as it is installed here.
    done = run_in(tmp_path, [installed / "profet-record", "train.py", "--timed", 3], PYTHONPATH=_site_packages("torch"))
    assert done.returncode == 0, done.stderr
    profile = read_profile((tmp_path / "profile.json").read_bytes(), "profile.json")
    meta = profile.meta
    assert (meta.batch_size, meta.pixels, meta.parameters) == (8, 32, PARAMETERS)
    assert meta.framework.startswith("PyTorch 2.") and meta.step_latency_ms > 0
    assert profile.operations["Host_Conv2D"] > 0 and profile.warnings[0].startswith(CPU_WARNING)
    without = tmp_path / "without_numpy"
    without.mkdir()
    for path in Path(_site_packages("torch")).iterdir():
        if not path.name.startswith("numpy"):
            (without / path.name).symlink_to(path)
    done = run_in(tmp_path, [installed / "profet-record", "train.py", "-o", "p.json"], PYTHONPATH=str(without))
    assert done.returncode == 2 and done.stderr.endswith("pip install numpy.\n"), done.stderr


def _site_packages(package: str) -> str:
    return str(Path(find_spec(package).origin).parents[1])
