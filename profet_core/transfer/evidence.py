"""Evidence for a GPU's speed, from most to least certain."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from profet_core.messages import Code, Note


class Source(Enum):
    """Source of a GPU's speed."""

    PROFILED = "profiled"
    CELLS = "cells"
    DERIVED = "derived"
    PUBLISHED = "published"
    OWN = "own"
    SAME_CHIP = "same chip"
    KERNELS = "kernels"
    RELATIVE = "relative"
    DATA_SHEET = "data sheet"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A source, with its details.

    Attributes
    ----------
    gpu : full name of the GPU with this speed. measured_on : the GPU that ran; empty for specs alone.
    tables : number of published tables, 0 for other sources. said : a user's statement about a custom GPU, or the
        number of its measured steps.
    """

    source: Source
    gpu: str
    measured_on: str = ""
    tables: int = 0
    said: str = ""

    @property
    def words(self) -> str:
        """Short text for a table cell.

        >>> Evidence(Source.PUBLISHED, "A100-PCIE-40GB", "A100-PCIE-40GB", tables=3).words
        'published speed, 3 tables'
        """
        match self.source:
            case Source.PROFILED:
                return "profiled"
            case Source.CELLS:
                return self.said
            case Source.DERIVED:
                return "third-party runs"
            case Source.PUBLISHED:
                of = "" if self.measured_on == self.gpu else f" of {self.measured_on}"
                return f"published speed{of}, {self.tables} table{'' if self.tables == 1 else 's'}"
            case Source.OWN:
                return "your specs"
            case Source.SAME_CHIP:
                return f"same chip as {self.measured_on}"
            case Source.KERNELS:
                return "its kernels"
            case Source.RELATIVE:
                return f"{self.measured_on} and specs"
            case Source.DATA_SHEET:
                return "specs only"

    @property
    def note(self) -> Note:
        """As a prediction's note."""
        match self.source:
            case Source.PUBLISHED | Source.SAME_CHIP | Source.RELATIVE:
                return Note.of(Code[self.source.name], gpu=self.measured_on)
            case Source.OWN:
                return Note.of(Code.OWN_SPECS, said=self.said)
            case Source.KERNELS:
                return Note(Code.KERNELS)
            case Source.DATA_SHEET:
                return Note(Code.SPECS_ONLY)
            case _:
                return Note.of(Code.EVIDENCE, said=self.words)
