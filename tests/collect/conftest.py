"""What Keras says, asked once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import document, refused, run

__all__ = ["document", "refused", "run"]


@pytest.fixture(scope="session")
def in_keras(repository: Path) -> dict[str, Any]:
    """What `tests/made/in_keras.py` found out."""
    for name in ("tensorflow", "torch"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [sys.executable, repository / "tests" / "made" / "in_keras.py"],
        cwd=repository, capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "PYTHONPATH": str(repository), "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "tensorflow"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
