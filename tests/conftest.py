"""What every test may use: the shipped models, catalogue and sample traces, and how hypothesis runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from profet_core import Catalog, Models, load_catalog, load_models
from profet_core.artifacts.samples import Sample, load_samples

# The instances and prices of whoever runs the tests stay out of them.
os.environ["PROFET_INSTANCES"] = ""

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
    parser.addoption(
        "--alone",
        choices=["without", "only"],
        help="without: no test that is to run alone, so that others may run side by side; only: none but these",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (part := config.getoption("--alone")) is None:
        return
    alone = [item for item in items if item.get_closest_marker("alone")]
    left_out = alone if part == "without" else [item for item in items if item not in alone]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def models(repository: Path) -> Models:
    """The shipped models, whatever PROFET_HOME says."""
    return load_models(repository / "models")


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def samples(repository: Path) -> dict[str, Sample]:
    """The shipped sample traces by name, in the order they are offered."""
    return {sample.name: sample for sample in load_samples(repository / "sample_traces")}
