"""Where models are found, and the checksums that tell whether they are whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

HOME_VARIABLE = "PROFET_HOME"


def default_models_folder() -> Path:
    """`$PROFET_HOME`, else `models/` of the checkout, else the copy inside an installed package."""
    home = os.environ.get(HOME_VARIABLE)
    if home:
        return Path(home)
    return shipped_folder("models")


def shipped_folder(name: str) -> Path:
    """A data folder of the project, in a checkout or inside an installed package."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / name
    return checkout if checkout.is_dir() else package / "shipped" / name


def manifest_checksum(manifest: Mapping) -> str:
    """SHA-256 of the manifest without its own checksum, over sorted compact JSON."""
    content = {key: value for key, value in manifest.items() if key != "checksum"}
    return sha256_hex(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def sha256_hex(data: bytes) -> str:
    """SHA-256 of `data` in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
