"""The documents, and a copy of the repository that a recipe may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

COPIED = (
    *("profet_profiles", "profet_core", "profet_lab", "profet_cli", "profet_recorder", "profet_http"),
    *("profet_collect", "ui", "pages", "tests"),
)
LINKED = (
    "models",
    "sample_traces",
    "benchmarks",
    "pyproject.toml",
    "streamlit_app.py",
    "docs",
    "README.md",
    ".streamlit",
)


@pytest.fixture(scope="session")
def contributing(repository: Path) -> str:
    return (repository / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def tree(repository: Path, tmp_path: Path) -> Path:
    """A copy of the code; what no recipe changes is linked."""
    copy = tmp_path / "tree"
    copy.mkdir()
    for name in COPIED:
        shutil.copytree(repository / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in LINKED:
        (copy / name).symlink_to(repository / name)
    return copy
