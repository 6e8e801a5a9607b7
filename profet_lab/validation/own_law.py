"""Validate a calibrated analytical model on held-out networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from profet_core.latency import combined_sd, quantile
from profet_core.transfer.carry import ForeignSteps, KnownSteps, carry_back
from profet_core.transfer.model import TransferModel
from profet_lab.measurements.tables import WORKLOAD, Pair
from profet_lab.own_gpus.calibrate_gpus import OwnCells
from profet_lab.transfer.calibrate import Calibrated, MeasuredCells, calibrate, steps_of
from profet_lab.transfer.leave_one_gpu_out import KnownLatencies, known_of, measured_latencies
from profet_lab.transfer.steps import Steps
from profet_lab.validation.own_models import Judged


@dataclass(frozen=True)
class LawJudge:
    """Inputs of the validation.

    Attributes
    ----------
    transfer : its analytical model had seen the networks; what is fitted here has not. medians : the published steps.
    predicted : network -> latencies on the published instances by models that never saw it.
    """

    transfer: TransferModel
    medians: Steps
    predicted: Callable[[str], KnownLatencies]

    def judge(self, instance: str, cells: OwnCells, own: Steps | None) -> dict[Pair, Judged]:
        """Both directions between the machine and each published instance, each network of its cells held out in turn.

        Parameters
        ----------
        own : the machine's own profiled steps; None: it has none and can't be an anchor.
        """
        measured = cells.measured
        found: dict[Pair, list[Judged]] = {}
        exact = self._known(measured_latencies(self.medians))
        for network in np.unique(measured.networks):
            held_out = measured.networks == network
            if held_out.all():
                continue
            fitted = calibrate(exact, self.transfer.reference, cells.prior, _of(measured, ~held_out))
            for anchor, one in self._known(self.predicted(str(network))).items():
                mapped = fitted.carry(steps_of(one, measured.rows[held_out]), self.transfer.reference)
                errors = np.log(mapped.latency_ms / measured.latency_ms[held_out])
                judged = Judged(measured.networks[held_out], errors, mapped.log_half_width)
                found.setdefault((anchor, instance), []).append(judged)
            for target, judged in {} if own is None else self._back(fitted, own, instance, str(network)):
                found.setdefault((instance, target), []).append(judged)
        return {pair: _joined(parts) for pair, parts in found.items()}

    def _known(self, latencies: KnownLatencies) -> dict[str, KnownSteps]:
        law = self.transfer.step
        return {name: known_of(law, self.medians, name, latencies, True) for name in self.medians.instances}

    def _back(self, fitted: Calibrated, own: Steps, instance: str, network: str) -> list[tuple[str, Judged]]:
        """From the machine's profiles of a network to the published instances, by the analytical model alone."""
        here = own.workloads[WORKLOAD].assign(row=range(len(own.workloads)))
        published = self.medians.workloads[WORKLOAD].assign(there=range(len(self.medians.workloads)))
        both = here[here["model"] == network].merge(published, on=WORKLOAD)
        if both.empty:
            return []
        rows, there = both["row"].to_numpy(), both["there"].to_numpy()
        steps = ForeignSteps(fitted.target, own.with_latency[instance].of(rows), own.latency_ms[instance][rows])
        back = carry_back(self.transfer.step, self.transfer.reference, steps)
        half = quantile() * combined_sd(self.transfer.anchor_spread.log_sd(), back.doubt_log_sd)
        names = np.full(len(rows), network)
        return [
            (name, Judged(names, np.log(one.latency_ms / self.medians.latency_ms[name][there]), half))
            for name, one in back.by_instance.items()
        ]


def _of(cells: MeasuredCells, rows: np.ndarray) -> MeasuredCells:
    return MeasuredCells(cells.rows[rows], cells.latency_ms[rows], cells.networks[rows])


def _joined(parts: list[Judged]) -> Judged:
    names = Judged.__dataclass_fields__
    return Judged(**{name: np.concatenate([getattr(one, name) for one in parts]) for name in names})
