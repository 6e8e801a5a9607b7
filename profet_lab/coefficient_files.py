"""Writes the files of coefficients that `profet_core.files.read_coefficients` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from profet_core.whole_files import write_whole


def write_coefficients(content: Mapping, path: Path) -> Path:
    """Write signed content, whole or not at all; the folder is made. Returns `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())
    return path
