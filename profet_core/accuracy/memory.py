"""How often "does it fit?" was answered rightly for networks that nothing was fitted on, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MemoryScores:
    """Answers to "does it fit?", shares from 0 to 1 as `profet_lab.validation.memory.memory_report` counts them.

    None: no probability is known.
    """

    cells: int
    did_not_run: int
    always_fits: float
    accuracy: float | None
    recall: float | None
    false_fits: float | None
    cant_tell: float
    decided_accuracy: float
    strict_accuracy: float
    strict_recall: float
    strict_false_fits: float
    false_does_not_fit: float

    @property
    def called_fitting(self) -> float:
        """Share of what did not run that was answered by "fits"."""
        return self.strict_false_fits * self.cells / self.did_not_run

    @property
    def left_open(self) -> float:
        """Share of what did not run that was answered by "can't tell"."""
        return max(1 - self.strict_recall - self.called_fitting, 0.0)


@dataclass(frozen=True)
class MemoryAccuracy:
    """Networks held out in turn.

    Attributes
    ----------
    profiled_batch : batch size of the profiles given. layers_known : every layer's output is known.
    served : what is known of the network -> scores, from most to least.
    recorded : what is known of a step whose peak was recorded -> scores, the plainest first; empty in older reports.
    pairs, failures : workloads that ran on a GPU, tried on one with as much memory; those that did not run there.
    """

    architectures: int
    certain: float
    profiled_batch: int
    pairs: int
    failures: int
    layers_known: MemoryScores
    served: Mapping[str, MemoryScores]
    recorded: Mapping[str, MemoryScores] = field(default_factory=dict)
