"""Sample traces: real measurements with known step latencies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from profet_core.errors import ArtifactError
from profet_core.files import shipped_folder
from profet_recorder.profiles import Profile, read_profile

INDEX_NAME = "index.json"
_LATENCIES = ("measured_ms", "left_out_ms", "left_out_without_latency_ms")


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample profile: of nine repeats of a workload in the training data, the one with median latency.

    Of the test data of PROFET's demo it is the first, whose latencies its documentation quotes.
    The sample in AMP is derived from one; only FP32 was measured elsewhere.

    Attributes
    ----------
    name : short name, used in links and as the file's stem.
    title, description : display text.
    anchor : instance it was recorded on.
    latency_ms : measured step latency there, milliseconds.
    measured_ms : instance -> measured FP32 step latency of the same workload on every other instance, milliseconds; of
        the sample in AMP on its anchor too.
    left_out_ms, left_out_without_latency_ms : instance -> prediction of the default method's models trained WITHOUT
        this architecture, with and without the anchor's latency; empty for the sample in AMP. The shipped models'
        answer is not a valid test, this is.
    """

    name: str
    title: str
    description: str
    anchor: str
    model: str
    batch_size: int
    pixels: int
    latency_ms: float
    measured_ms: Mapping[str, float]
    left_out_ms: Mapping[str, float]
    left_out_without_latency_ms: Mapping[str, float]
    path: Path

    @property
    def data(self) -> bytes:
        """The trace file, as a user would upload it."""
        return self.path.read_bytes()

    @property
    def profile(self) -> Profile:
        """The parsed trace."""
        return read_profile(self.data, self.path.name)


def load_samples(folder: Path | None = None) -> tuple[Sample, ...]:
    """All sample traces in display order; the app opens with the first. ArtifactError if their index is damaged."""
    folder = folder or shipped_folder("sample_traces")
    try:
        rows = json.loads((folder / INDEX_NAME).read_text(encoding="utf-8"))
        return tuple(
            Sample(
                **{**row, **{key: MappingProxyType(dict(row[key])) for key in _LATENCIES}},
                path=folder / f"{row['name']}.json",
            )
            for row in rows
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise ArtifactError(
            f"The sample traces in {folder.name} are missing or damaged: git checkout sample_traces."
        ) from None
