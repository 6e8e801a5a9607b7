"""What every test may use: the shipped models, catalog and sample traces, and how hypothesis runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from profet_core import Catalog, Models, load_catalog, load_models
from profet_core.prediction.models import Sample, load_samples
from profet_profiles.whole_files import write_whole
from ui.server import WHEEL

# The instances, prices and measurements of whoever runs the tests stay out of them.
os.environ["PROFET_INSTANCES"] = ""
os.environ.pop("PROFET_DATA", None)

# No deadline: a shared machine is slow now and then. Derandomised, so that a failure is the same for everyone.
settings.register_profile(
    "profet", deadline=None, max_examples=100, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("profet")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/core/prediction/golden/predictions.json from the shipped models (after a deliberate retrain)",
    )
    parser.addoption("--skips-to", type=Path, metavar="FILE", help="append the names of skipped tests to FILE")


#: With PROFET_REQUIRE_ALL=1 only these may skip.
MAY_SKIP = {
    "tests/lab/test_unlicensed_profiles.py": "its file states no license, so it is not shipped",
    "tests/end_to_end/test_own_gpus.py::test_predictions_are_what_is_measured": "the machine may be busy",
    "tests/collect/test_plan.py::test_torchvision_s": "torchvision of the package index needs CUDA's build of PyTorch",
}


class Skips:
    """Keeps which tests skip: `.ci/run` installs what they need, then runs them."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (path := session.config.getoption("--skips-to")) is not None:
            with path.open("a") as file:
                file.writelines(f"{name}\n" for name in self.names)
        if os.environ.get("PROFET_REQUIRE_ALL") != "1":
            return
        refused = [name for name in self.names if not name.startswith(tuple(MAY_SKIP))]
        if refused:
            print("\nSkipped, which PROFET_REQUIRE_ALL=1 forbids:", *refused, sep="\n")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


#: The files that take longest, the slowest first: begun at the end, one of them would keep a single core busy.
SLOWEST = (
    "recorder/test_scripts.py",
    "recorder/test_keras.py",
    "browser/test_whole_flow.py",
    "docs/test_contributing.py",
    "lab/test_validation.py",
    "lab/test_train.py",
    "lab/test_documented.py",
    "browser/test_visits.py",
    "browser/test_accessible.py",
    "lab/test_cluster.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    place = {here / name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # what the workers of pytest-xdist skip is reported to one process
        config.pluginmanager.register(Skips())


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def recorder_wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder's wheel, where the app hands it out; pip builds it if there is none as new as its sources."""
    sources = [
        path
        for package in ("profet_profiles", "profet_recorder")
        for path in (repository / package).rglob("*")
        if "__pycache__" not in path.parts
    ]
    if not WHEEL.is_file() or WHEEL.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        folder = tmp_path_factory.mktemp("wheel")
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
        subprocess.run([*build, repository / "profet_recorder"], check=True, timeout=300)
        WHEEL.parent.mkdir(exist_ok=True)
        write_whole(WHEEL, (folder / WHEEL.name).read_bytes())
    return WHEEL


@pytest.fixture(scope="session")
def models(repository: Path) -> Models:
    """The shipped models, whatever PROFET_HOME says."""
    return load_models(repository / "models")


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def samples(repository: Path) -> dict[str, Sample]:
    """The shipped sample traces in FP32 by name, in the order they are offered."""
    return {sample.name: sample for sample in load_samples(repository / "sample_traces") if sample.left_out_ms}


@pytest.fixture(scope="session")
def amp_sample(repository: Path) -> Sample:
    """The shipped sample trace in AMP."""
    shipped = load_samples(repository / "sample_traces")
    (sample,) = (sample for sample in shipped if sample.measured_ms and not sample.left_out_ms)
    return sample


@pytest.fixture(scope="session")
def counted_sample(repository: Path) -> Sample:
    """The shipped sample trace of larger images, made from layer counts."""
    (sample,) = (sample for sample in load_samples(repository / "sample_traces") if not sample.measured_ms)
    return sample
