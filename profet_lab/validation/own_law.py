"""Validate a calibrated analytical model on held-out networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.latency import combined_sd, quantile
from profet_core.transfer.carry import ForeignSteps, KnownSteps, carry_back
from profet_core.transfer.model import TransferModel
from profet_lab.measurements.tables import WORKLOAD, Pair
from profet_lab.own_gpus.calibrate_gpus import OwnCells
from profet_lab.transfer.calibrate import Calibrated, MeasuredCells, calibrate, steps_of
from profet_lab.transfer.leave_one_gpu_out import KnownLatencies, known_of, measured_latencies
from profet_lab.transfer.steps import Steps
from profet_lab.validation.judged import judged, judged_estimate


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

    def judge(self, instance: str, cells: OwnCells, own: Steps | None) -> dict[Pair, pd.DataFrame]:
        """Both directions between the machine and each published instance, each network of its cells held out in turn.

        Parameters
        ----------
        own : the machine's own profiled steps; None: it has none and can't be an anchor.

        Returns
        -------
        pair -> as `judged`, with `model`.
        """
        measured = cells.measured
        found: dict[Pair, list[pd.DataFrame]] = {}
        exact = self._known(measured_latencies(self.medians))
        for network in np.unique(measured.networks):
            out = measured.networks == network
            if out.all():
                continue
            seen = MeasuredCells(measured.rows[~out], measured.latency_ms[~out], measured.networks[~out])
            fitted = calibrate(exact, self.transfer.reference, cells.prior, seen)
            for anchor, one in self._known(self.predicted(str(network))).items():
                mapped = fitted.carry(steps_of(one, measured.rows[out]), self.transfer.reference)
                rows = judged_estimate(mapped, measured.latency_ms[out], model=network)
                found.setdefault((anchor, instance), []).append(rows)
            for target, rows in () if own is None else self._back(fitted, own, instance, str(network)):
                found.setdefault((instance, target), []).append(rows)
        return {pair: pd.concat(parts) for pair, parts in found.items()}

    def _known(self, latencies: KnownLatencies) -> dict[str, KnownSteps]:
        law = self.transfer.step
        return {name: known_of(law, self.medians, name, latencies, True) for name in self.medians.instances}

    def _back(self, fitted: Calibrated, own: Steps, instance: str, network: str) -> Iterator[tuple[str, pd.DataFrame]]:
        """From the machine's profiles of a network to the published instances, by the analytical model alone."""
        here = own.workloads[WORKLOAD].assign(row=range(len(own.workloads)))
        published = self.medians.workloads[WORKLOAD].assign(there=range(len(self.medians.workloads)))
        both = here[here["model"] == network].merge(published, on=WORKLOAD)
        if both.empty:
            return
        rows, there = both["row"].to_numpy(), both["there"].to_numpy()
        steps = ForeignSteps(fitted.target, own.with_latency[instance].of(rows), own.latency_ms[instance][rows])
        back = carry_back(self.transfer.step, self.transfer.reference, steps)
        half = quantile() * combined_sd(self.transfer.anchor_spread.log_sd(), back.doubt_log_sd)
        for name, one in back.by_instance.items():
            yield name, judged(one.latency_ms, self.medians.latency_ms[name][there], half, model=network)
