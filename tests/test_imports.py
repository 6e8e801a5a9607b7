"""Serving loads no training library, imports go one way, and nothing in the repository opens pickles."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TRAINING = ["tensorflow", "keras", "sklearn", "xgboost", "lightgbm", "scipy", "torch"]
SERVING = ["profet_core", "profet_http", "ui", "pages", "streamlit_app"]
PAGES = [folder for folder in (ROOT / "pages").iterdir() if (folder / f"{folder.name}.py").exists()]
OPENS_PICKLES = (
    r"allow_pickle\s*=\s*True|read_pickle\(|to_pickle\(|joblib\.(load|dump)|from joblib import [^\n]*\b(load|dump)\b"
)
#: What each part of the project may import of the others: pages -> ui -> profet_core -> profet_profiles.
MAY_IMPORT = {
    "profet_profiles": set(),
    "profet_recorder": {"profet_profiles"},
    "profet_core": {"profet_profiles"},
    "profet_lab": {"profet_core", "profet_profiles", "profet_collect"},
    "profet_collect": {"profet_core", "profet_profiles", "profet_recorder"},
    "ui": {"profet_core", "profet_profiles"},
    "pages": {"ui", "profet_core", "profet_profiles"},
    "profet_http": {"profet_core", "profet_profiles"},
    "streamlit_app": {"ui", "profet_http", "profet_core"},
    "profet_cli": {"profet_core", "profet_lab", "profet_profiles", "profet_recorder", "profet_collect", "profet_http"},
}
#: What the recorder imports besides the standard library: it is installed alone, beside the framework that it records.
#: numpy comes with both frameworks, protobuf with TensorFlow; msgspec is used where it is installed.
OF_THE_RECORDER = {"torch", "keras", "tensorflow", "numpy", "google", "msgspec", "_typeshed"}
#: The packages of profet_core in layers, the lowest first: each imports only from layers above its own line.
CORE = """
errors
latency
files
shipped
catalog
offers
ensemble
training
prediction
layers
questions
answers
"""
#: Imports upwards: a profile of an unknown network is read as work by the rates of networks that are known, and rates
#: say what the speed of a GPU is based on.
UPWARDS = [
    "profet_core.prediction.checks imports profet_core.layers.networks",
    "profet_core.prediction.checks imports profet_core.layers.rates",
    "profet_core.prediction.counts imports profet_core.layers.by_name",
    "profet_core.prediction.mixed_precision imports profet_core.layers.class_times",
    "profet_core.prediction.mixed_precision imports profet_core.layers.rates",
    "profet_core.prediction.predict imports profet_core.layers.by_name",
    "profet_core.prediction.predict imports profet_core.layers.rates",
    "profet_core.prediction.targets imports profet_core.layers.gpu_effects",
    "profet_core.prediction.targets imports profet_core.layers.rates",
]
#: The same of profet_profiles. Packages in one layer, such as the formats, don't import each other.
PROFILES = """
errors
units, whole_files, queues
limits
record
unpacking
chrome_trace, protobuf_wire, intervals, kernel_names
profet_json, pytorch_shapes
pytorch_events, tensorflow_trace
pytorch_steps, statistics, trace_json, xplane
pytorch_work
pytorch_trace
reading
sandbox
"""
#: What a library is called where it is installed, if not as where it is imported.
DISTRIBUTIONS = {
    "axe_playwright_python": "axe-playwright-python",
    "google": "protobuf",
    "sklearn": "scikit-learn",
    "xgboost": "xgboost-cpu",
    "yaml": "pyyaml",
}
#: What the recorder's tests record: scripts as people write them, of any framework, one with a syntax error.
SMALL_SCRIPTS = ROOT / "tests" / "recorder" / "scripts"
#: Imported and not declared: brought by tensorflow, the user's in a recording or a timed loader, installed to
#: count their networks, known to type checkers only.
UNDECLARED = {"keras", "torch", "PIL", "timm", "_typeshed"}
#: Declared and not imported: a build of another name, and commands of `make`.
UNIMPORTED = {
    *("tensorflow-cpu", "pytest-cov", "pytest-xdist", "ruff", "mypy", "pandas-stubs", "types-protobuf"),
    # Streamlit takes it where it is installed.
    "uvloop",
}


def modules_of(part: str) -> list[Path]:
    paths = (ROOT / part).rglob("*.py") if (ROOT / part).is_dir() else ROOT.glob(f"{part}.py")
    return sorted(path for path in paths if SMALL_SCRIPTS not in path.parents)


@cache
def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> frozenset[str]:
    """Top-level names a file imports anywhere in it."""
    packages: set[str] = set()
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            packages.add(str(node.module).partition(".")[0])
    return frozenset(packages)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def import_graph() -> dict[str, set[str]]:
    """Module -> the modules of the project that it imports, at the top, in a function or for types alone.

    A package stands for its `__init__`; that Python runs it before any module inside is no import of the module's.
    """
    paths = {module_name(path): path for part in MAY_IMPORT for path in modules_of(part)}
    return {name: set(imported_modules(path, paths)) - {name} for name, path in paths.items()}


def imported_modules(path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(syntax_tree(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [
                name if (name := f"{node.module}.{imported_name}") in known else str(node.module)
                for imported_name in names
            ]
        yield from (name for name in names if name in known)


def layers(lines: str) -> dict[str, int]:
    """Package -> its layer, of one line a layer."""
    return {name: layer for layer, line in enumerate(lines.split("\n")) for name in re.findall(r"\w+", line)}


def imports_upwards(package: str, layer: dict[str, int]) -> list[str]:
    """Imports inside a package, from one package in it to another, that do not go to a lower layer."""
    upwards = []
    for name, others in import_graph().items():
        for other in others:
            if name.startswith(f"{package}.") and other.startswith(f"{package}."):
                inner, other_inner = (module.removeprefix(f"{package}.").partition(".")[0] for module in (name, other))
                if inner != other_inner and layer[inner] <= layer[other_inner]:
                    upwards.append(f"{name} imports {other}")
    return upwards


def parts_of(package: str) -> set[str]:
    """Modules of a package and folders of modules in it."""
    folder = ROOT.joinpath(*package.split("."))
    modules = {path.relative_to(folder).with_suffix("").parts[0] for path in folder.rglob("*.py")}
    return modules - {"__init__"}


def loaded_training_libraries(code: str) -> list[str]:
    """Which training libraries a fresh interpreter has loaded after `code`."""
    report = f"\nimport json, sys\nprint('LOADED', json.dumps([name for name in {TRAINING!r} if name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code + report], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("LOADED")[2])


def test_predicting_loads_no_training_library(samples):
    """In this order: what a later part may load, an earlier one may not."""
    sample = next(iter(samples.values()))
    trace, anchor = [str(sample.path)], ["--anchor", sample.anchor]
    commands = [
        ["predict", *trace, *anchor],
        ["cost", *trace, *anchor, "--images", "100"],
        ["advise", *trace, *anchor, "--images", "100"],
        ["inspect", *trace],
        ["scale", "--instance", sample.anchor, "--axis", "batch", "--min-ms", "1", "--max-ms", "2", "--at", "64"],
        ["instances"],
        ["--help"],
    ]
    code = f"""
import sys
from profet_profiles import read_profile, write_profile
assert write_profile(read_profile(b'{{"Device_Conv2D": 51425.8}}'))
assert not {{"numpy", "profet_core", "msgspec", "google.protobuf"}} & set(sys.modules)

from profet_core import cost_table, load_catalog, load_models, predict, scale
from profet_core.prediction.models import load_samples
models, catalog, sample = load_models(), load_catalog(), load_samples()[0]
for latency_ms in (sample.latency_ms, None):
    prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=latency_ms)
    assert {{"given", "measured", "transferred"}} == {{row.basis for row in prediction.predictions}}
cost_table(prediction.latencies_ms, catalog, images=100, batch_size=sample.batch_size)
scale(models, sample.anchor, "batch", 10, 100, 64)
assert not {{"streamlit", "pandas", "plotly"}} & set(sys.modules)

from profet_http.app import create
assert create().routes
assert not {{"streamlit", "pandas", "plotly", "pyarrow"}} & set(sys.modules)

from profet_cli.main import main
for command in {commands!r}:
    try:
        assert main(command) == 0
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


def test_imports_go_one_way():
    for part, allowed in MAY_IMPORT.items():
        for path in modules_of(part):
            others = imported(path) & (set(MAY_IMPORT) - {part})
            assert others <= allowed, f"{path.relative_to(ROOT)} imports {sorted(others - allowed)}"
    graph = import_graph()
    assert len(graph) > 100 and graph["profet_profiles.reading"] > {"profet_profiles.record"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))
    for name, others in graph.items():
        packages = {name[:end] for end, character in enumerate(name) if character == "."}
        assert not others & packages or name.endswith("__main__"), name


def test_the_recorder_needs_the_standard_library_alone():
    for path in [*modules_of("profet_profiles"), *modules_of("profet_recorder")]:
        others = imported(path) - sys.stdlib_module_names - {"profet_profiles", "profet_recorder"}
        assert others <= OF_THE_RECORDER, f"{path.relative_to(ROOT)} imports {sorted(others - OF_THE_RECORDER)}"


def test_layers_of_the_core_import_downwards_and_every_page_is_a_script_named_as_its_folder():
    for package, lines in (("profet_core", CORE), ("profet_profiles", PROFILES)):
        assert parts_of(package) == set(layers(lines))
        assert sorted(imports_upwards(package, layers(lines))) == (UPWARDS if package == "profet_core" else [])
    assert {page.name for page in PAGES} == {path.name for path in (ROOT / "pages").iterdir() if path.name[0] != "_"}


def test_every_library_is_declared_and_every_declared_one_is_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    declared = {re.match(r"[\w.-]+", line)[0] for line in lines} - {project["name"]}
    paths = [path for part in [*MAY_IMPORT, "benchmarks", "docs", "tests"] for path in modules_of(part)]
    names = {name for path in paths for name in imported(path)} - sys.stdlib_module_names - UNDECLARED
    libraries = {DISTRIBUTIONS.get(name, name) for name in names - {*MAY_IMPORT, "benchmarks", "docs", "tests"}}
    assert libraries - declared == set()
    assert declared - libraries == UNIMPORTED


def test_serving_code_names_no_training_library_the_core_no_web_framework_and_nothing_opens_a_pickle():
    for path in (path for part in SERVING for path in modules_of(part)):
        assert not imported(path) & set(TRAINING), path
    for path in modules_of("profet_core"):
        assert not imported(path) & {"streamlit", "starlette", "uvicorn", "pandas", "plotly"}, path
    parts = [*MAY_IMPORT, "benchmarks", "docs", "tests"]
    for path in (path for part in parts for path in modules_of(part)):
        assert not imported(path) & {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}, path
        if path != Path(__file__).resolve():
            source = path.read_text(encoding="utf-8")
            assert not re.search(OPENS_PICKLES, source), path


def test_no_file_of_the_repository_is_a_pickle():
    # An array in .npy or .npz may hold a pickle: test_models loads each one with pickles forbidden.
    endings = {".pkl", ".pickle", ".joblib", ".h5", ".keras"}
    parts = [*MAY_IMPORT, "models", "sample_traces", "tests", "benchmarks", "docs"]
    files = [path for part in parts if (ROOT / part).is_dir() for path in (ROOT / part).rglob("*")]
    assert files
    assert [path for path in files if path.suffix.lower() in endings] == []
    arrays = [path for path in files if path.suffix.lower() in {".npy", ".npz"}]
    assert all(path.is_relative_to(ROOT / "models") for path in arrays)
