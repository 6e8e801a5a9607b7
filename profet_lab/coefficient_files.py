"""Write JSON signed with its own checksum: coefficients and reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from profet_core.files import manifest_checksum
from profet_core.whole_files import write_whole


def signed(content: Mapping) -> dict:
    """Add the checksum that `profet_core.files` verifies; the content must be plain JSON values."""
    return {**content, "checksum": manifest_checksum(content)}


def write_signed(content: Mapping, path: Path) -> None:
    """Write signed content, whole or not at all."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


def write_coefficients(content: Mapping, path: Path) -> Path:
    """The same of coefficients, whose folder is made. Returns `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_signed(content, path)
    return path
