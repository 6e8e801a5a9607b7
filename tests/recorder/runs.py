"""What the tests of recordings share: what a process left, and what needs a framework."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from profet_core import Profile, read_profile

_ROOT = Path(__file__).resolve().parents[2]
#: PYTHONPATH of a script: this checkout, and nothing of what frameworks import only where it happens to be installed.
PYTHONPATH = os.pathsep.join([str(_ROOT / "tests" / "made" / "without_extras"), str(_ROOT)])
CPU_WARNING = "This profile has no GPU time (no Device_ rows): it was recorded on a CPU"
#: Put before a script: as if nothing of what the rest of the project needs were installed.
WITHOUT_THE_REST = """
import sys
sys.modules.update(dict.fromkeys(("rapidfuzz", "pandas", "plotly", "streamlit", "gpuhunt", "msgspec")))
"""


@dataclass(frozen=True)
class Run:
    """What a process left: its status, what it printed, and its folder."""

    status: int
    out: str
    err: str
    folder: Path

    @property
    def progress(self) -> list[str]:
        """The lines of the recorder itself."""
        return [line.removeprefix("profet: ") for line in self.err.splitlines() if line.startswith("profet: ")]

    def profile(self, name: str = "profile.json") -> Profile:
        """A profile it wrote."""
        return read_profile((self.folder / name).read_bytes(), name)


def needs(*modules: str) -> pytest.MarkDecorator:
    """Skips by name where a framework is not installed."""
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")
