"""Profiles that the tests of several commands are about."""

from __future__ import annotations

import json
from pathlib import Path

from profet_core.artifacts.samples import Sample

CPU_ONLY = {"Host_Dataset": 1000.0, "Host_IDLE": 50_000.0}


def written(tmp_path: Path, content: object, name: str = "profile.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def covering(tmp_path: Path, sample: Sample, steps: int, **meta: object) -> Path:
    """A file with the totals of so many steps of the sample, which doesn't say so."""
    operations = {name: us * steps for name, us in sample.profile.operations.items()}
    return written(tmp_path, {"operations": operations, "meta": meta}, f"{steps}.json")


def sample_at(samples, axis: str, size: int) -> Sample:
    """The sample at one end of the pair of `axis`."""
    other = "pixels" if axis == "batch_size" else "batch_size"
    ends = {"batch_size": (16, 256), "pixels": (32, 256)}[axis]
    for one in samples.values():
        pair = [
            each
            for each in samples.values()
            if (each.model, each.anchor, getattr(each, other)) == (one.model, one.anchor, getattr(one, other))
        ]
        sizes = {getattr(each, axis): each for each in pair}
        if set(ends) <= set(sizes):
            return sizes[size]
    raise AssertionError(f"no pair of samples along {axis}")


def unexpected(warnings: list[str]) -> list[str]:
    """Warnings beside those that even a recorded sample may earn: TensorFlow cut its profile short."""
    return [text for text in warnings if not text.startswith("operations that every training step has are missing")]
