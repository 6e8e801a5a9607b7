"""Serving loads no training library, imports go one way, and nothing in the repository opens a pickle."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TRAINING = [
    "tensorflow",
    "keras",
    "sklearn",
    "xgboost",
    "lightgbm",
    "scipy",
    "skl2onnx",
    "onnxmltools",
    "onnx",
    "torch",
]
PAGES = [folder for folder in (ROOT / "pages").iterdir() if (folder / f"{folder.name}.py").exists()]
OPENS_PICKLES = (
    r"allow_pickle\s*=\s*True|read_pickle\(|to_pickle\(|joblib\.(load|dump)|from joblib import [^\n]*\b(load|dump)\b"
)
#: What each part of the project may import of the others: pages -> ui -> profet_core <- profet_lab.
MAY_IMPORT = {
    "profet_core": set(),
    "profet_lab": {"profet_core"},
    "profet_recorder": {"profet_core"},
    "ui": {"profet_core"},
    "pages": {"ui", "profet_core"},
    "streamlit_app": set(),
    "profet_cli": {"profet_core", "profet_lab", "profet_recorder"},
}


def modules_of(part: str) -> list[Path]:
    return sorted((ROOT / part).rglob("*.py")) if (ROOT / part).is_dir() else sorted(ROOT.glob(f"{part}.py"))


def imported(path: Path) -> set[str]:
    """Top-level names a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).partition(".")[0])
    return found


def loaded_training_libraries(code: str) -> list[str]:
    """Which training libraries a fresh interpreter has loaded after `code`."""
    report = f"\nimport json, sys\nprint('LOADED', json.dumps([name for name in {TRAINING!r} if name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code + report], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("LOADED")[2])


def test_importing_the_core_loads_no_training_library_and_no_web_framework():
    code = "import sys, profet_core\nassert not {'streamlit', 'pandas', 'plotly'} & set(sys.modules)"
    assert loaded_training_libraries(code) == []


def test_a_whole_prediction_loads_no_training_library():
    code = """
from profet_core import cost_table, load_catalog, load_models, predict, scale
from profet_core.artifacts.samples import load_samples
models, catalog, sample = load_models(), load_catalog(), load_samples()[0]
for latency_ms in (sample.latency_ms, None):
    prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=latency_ms)
    assert {"given", "measured", "derived", "transferred"} == {row.basis for row in prediction.predictions}
cost_table(prediction.latencies_ms, catalog, images=100, batch_size=sample.batch_size)
scale(models, sample.anchor, "batch", 10, 100, 64)
"""
    assert loaded_training_libraries(code) == []


@pytest.mark.parametrize("command", ["predict", "cost", "advise", "inspect", "scale", "instances", "--help"])
def test_serving_commands_load_no_training_library(command, samples):
    sample = next(iter(samples.values()))
    arguments = {
        "predict": [str(sample.path), "--anchor", sample.anchor],
        "cost": [str(sample.path), "--anchor", sample.anchor, "--images", "100"],
        "advise": [str(sample.path), "--anchor", sample.anchor, "--images", "100"],
        "inspect": [str(sample.path)],
        "scale": ["--instance", sample.anchor, "--axis", "batch", "--min-ms", "1", "--max-ms", "2", "--at", "64"],
    }.get(command, [])
    code = f"""
from profet_cli.main import main
try:
    assert main({[command, *arguments]!r}) == 0
except SystemExit as done:
    assert done.code == 0
"""
    assert loaded_training_libraries(code) == []


def test_the_app_loads_no_training_library():
    scripts = {ROOT / "ui" / "navigation.py", *(ROOT / "pages" / page.name / f"{page.name}.py" for page in PAGES)}
    modules = [path.relative_to(ROOT) for part in ("ui", "pages") for path in modules_of(part) if path not in scripts]
    code = "".join(f"import {'.'.join(path.with_suffix('').parts)}\n" for path in modules)
    code += """
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("ui/navigation.py", default_timeout=60).run()
assert not app.exception, app.exception
"""
    assert loaded_training_libraries(code) == []


def test_every_page_is_a_script_named_as_its_folder():
    assert {page.name for page in PAGES} == {path.name for path in (ROOT / "pages").iterdir() if path.name[0] != "_"}


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_go_one_way(part):
    for path in modules_of(part):
        others = imported(path) & (set(MAY_IMPORT) - {part})
        assert others <= MAY_IMPORT[part], f"{path.relative_to(ROOT)} imports {sorted(others - MAY_IMPORT[part])}"


@pytest.mark.parametrize("part", ["profet_core", "ui", "pages", "streamlit_app"])
def test_serving_code_names_no_training_library(part):
    for path in modules_of(part):
        assert not imported(path) & set(TRAINING), path


def test_the_core_knows_no_web_framework():
    for path in modules_of("profet_core"):
        assert not imported(path) & {"streamlit", "pandas", "plotly"}, path


def test_nothing_opens_a_pickle():
    parts = [*MAY_IMPORT, "benchmarks", "tests"]
    for path in (path for part in parts for path in modules_of(part)):
        assert not imported(path) & {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}, path
        if path != Path(__file__).resolve():
            source = path.read_text(encoding="utf-8")
            assert not re.search(OPENS_PICKLES, source), path


def test_no_file_of_the_repository_is_a_pickle():
    # An array in .npy may hold a pickle: test_artifacts loads each one with pickles forbidden.
    endings = {".pkl", ".pickle", ".joblib", ".npz", ".h5", ".keras"}
    parts = [*MAY_IMPORT, "models", "sample_traces", "tests", "benchmarks"]
    files = [path for part in parts if (ROOT / part).is_dir() for path in (ROOT / part).rglob("*")]
    assert files
    assert [path for path in files if path.suffix.lower() in endings] == []
