"""Profiles that the tests of several commands are about."""

from __future__ import annotations

import json
from pathlib import Path

from profet_core.prediction.models import Sample

CPU_ONLY = {"Host_Dataset": 1000.0, "Host_IDLE": 50_000.0}


def written(tmp_path: Path, content: object, name: str = "profile.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def covering(tmp_path: Path, sample: Sample, steps: int, **meta: object) -> Path:
    """A file with the totals of so many steps of the sample, which doesn't say so."""
    operations = {name: us * steps for name, us in sample.profile.operations.items()}
    return written(tmp_path, {"operations": operations, "meta": meta}, f"{steps}.json")


def unexpected(warnings: list[str]) -> list[str]:
    """Warnings beside those that a recorded sample may earn: TensorFlow cut its profile short, or runs it slowly."""
    usual = ("The profile is truncated: ", "Work takes about ")
    return [text for text in warnings if not text.startswith(usual)]
