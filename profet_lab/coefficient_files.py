"""Writes the files of coefficients that `profet_core.files.read_coefficients` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def write_coefficients(content: Mapping, path: Path) -> Path:
    """Write signed content, whole or not at all; the folder is made. Returns `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    scratch.replace(path)
    return path
