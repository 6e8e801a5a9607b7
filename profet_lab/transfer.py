"""Fit `transfer.json`: the profiled instances, and how the times of their profiles' classes tell a step's work by kind.

The measurements have few networks. Others take part with class times that follow from their work: what the classes of
the measured ones take per amount of each kind, times noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from profet_core.catalog import load_shipped
from profet_core.catalog.gpus import load_gpus
from profet_core.ensemble.work import AMOUNT_AT_LEAST, GROUPS, StepTimes, WorkReader, regressors, work_inputs
from profet_core.errors import InputError
from profet_core.latency import LEVEL
from profet_core.layers.networks import counts_of, measured_counts, named_network, named_networks
from profet_core.layers.rates import KINDS, NO_PEAK, OF_TRANSFORMERS, work_of
from profet_core.prediction.models import TRANSFER_VERSION
from profet_lab.measurements.tables import WORKLOAD, MeasuredRows, Measurements, class_bank
from profet_lab.models_folder import rounded, signed

#: Instance whose readers read profiles of unprofiled GPUs.
REFERENCE = "p3.2xlarge"
#: The network whose latency on a GPU gives its speed: its name, pixel and batch size. The largest batch that all four
#: ran, since published speeds are of large ones.
BENCHMARK = ("ResNet50", 224, 64)
#: Processors of the hosts that PROFET measured, as EC2 documents them.
HOST_OF = {
    "g3s.xlarge": "broadwell",
    "g4dn.xlarge": "cascade-lake",
    "p2.xlarge": "broadwell",
    "p3.2xlarge": "broadwell",
}


class InstanceSteps(MeasuredRows, frozen=True):
    """Steps of the same workloads on every instance.

    with_latency, without_latency : instance -> times, imputed with and without the latency.
    """

    with_latency: Mapping[str, StepTimes]
    without_latency: Mapping[str, StepTimes]

    @property
    def benchmark(self) -> np.ndarray:
        """Rows of the benchmark network at its one size."""
        return np.asarray((self.workloads[WORKLOAD] == [*BENCHMARK]).all(axis=1))


def measured_medians(measurements: Measurements) -> InstanceSteps:
    """One row a workload of the measurements: the median over its repeats."""
    bank, groups = class_bank(measurements), measurements.workloads.groupby(WORKLOAD)
    index, unknown = groups.ngroup().to_numpy(), np.full(len(measurements.workloads), np.inf)

    def median(values: np.ndarray) -> np.ndarray:
        return pd.DataFrame(values).groupby(index).median().to_numpy().reshape(-1, *values.shape[1:])

    def times(name: str, known: bool) -> StepTimes:
        runs = StepTimes.of(bank.classes, bank.inputs[name, known], unknown)
        return StepTimes(**{field: median(getattr(runs, field)) for field in StepTimes.__struct_fields__})

    return InstanceSteps(
        workloads=groups.size().index.to_frame(index=False),
        latency_ms={name: median(values) for name, values in bank.latency_ms.items()},
        with_latency={name: times(name, True) for name in bank.latency_ms},
        without_latency={name: times(name, False) for name in bank.latency_ms},
    )


def transfer_content(measurements: Measurements) -> dict[str, Any]:
    """Fit what `transfer.json` holds on all measurements."""
    medians = measured_medians(measurements)
    return signed(
        {
            "schema_version": TRANSFER_VERSION,
            "reference": REFERENCE,
            "profiled": rounded(profiled_content(medians)),
            "work": readers_content(fit_readers(medians, np.ones(len(medians.workloads), bool))),
            "fitted_on": measurements.sha256,
        }
    )


def profiled_content(steps: InstanceSteps) -> dict[str, Any]:
    """List the measured instances as `transfer.json` holds them."""
    missed = {
        name: np.abs(np.log(times.latency_ms / steps.latency_ms[name])) for name, times in steps.without_latency.items()
    }
    return {
        name: {
            "gpu": load_gpus().find(load_shipped()[name].gpu).name,
            "host": HOST_OF[name],
            "inferred_log_half_width": float(np.quantile(missed[name], LEVEL)),
        }
        for name in steps.instances
    }


_KERNELS = KINDS.index("kernels")
#: Kinds whose amounts are read: images are known by their sizes.
_KINDS = [place for place, kind in enumerate(KINDS) if kind not in (*NO_PEAK, *OF_TRANSFORMERS)]
_LEAST = 1e-12
#: Grouped convolutions, which no profile here has: kind -> the one without groups, and how many times as long a FLOP
#: takes, by published steps.
_GROUPED = {
    **dict.fromkeys(("grouped convolution", "wide grouped convolution"), ("convolution", 8.0)),
    "narrow grouped convolution": ("narrow convolution", 3.0),
}
#: Steps of each other network, their sizes, the noise of their class times, and how many of them a measured one counts.
_STEPS, _PIXELS, _LOG_BATCHES = 4, (64, 96, 128, 160, 224, 256), (3, 8)
_NOISE, _MEASURED = 0.3, 5.0
#: Centers, how far a step is like one, and penalties of constant, inputs and centers; chosen on held-out networks.
_CENTERS, _WIDTH, _PENALTIES = 150, 2.5, (0.001, 0.005, 0.1)
#: Weight of how a network's steps differ, over that of a step: one network has one number of kernels.
_WITHIN = 100.0
#: Smallest class times count by their own size and this share of the step.
_SHARE = 0.02


@cache
def _other_steps() -> tuple[tuple[str, ...], np.ndarray]:
    """Networks by name in lower case, and the work of a step of each, (steps, kinds)."""
    random, names, work = np.random.default_rng(0), [], []
    for name in named_networks():
        network = named_network(name)
        if name.startswith("PROFET") or not network.counts.is_convolutional or network.counts.has_attention:
            continue
        for _ in range(_STEPS):
            pixels, batch_size = int(random.choice(_PIXELS)), int(2 ** random.uniform(*_LOG_BATCHES))
            try:
                work.append(work_of(counts_of(name, pixels), batch_size))
            except InputError:
                continue
            names.append(name.rpartition("/")[2].lower())
    return tuple(names), np.array(work)


def class_costs(groups_ms: np.ndarray, work: np.ndarray) -> np.ndarray:
    """Milliseconds of each group per amount of each kind, (groups, kinds): non-negative relative least squares."""
    costs = np.zeros((len(GROUPS), len(KINDS)))
    for place, kinds in enumerate(GROUPS.values()):
        columns, times_ms = [*map(KINDS.index, kinds), _KERNELS], groups_ms[:, place]
        weights = 1 / (times_ms + _SHARE * groups_ms.sum(axis=1))
        costs[place, columns] = nnls(work[:, columns] * weights[:, None], times_ms * weights)[0]
        for grouped, (plain, times) in _GROUPED.items():
            if plain in kinds and grouped in KINDS:
                costs[place, KINDS.index(grouped)] = times * costs[place, KINDS.index(plain)]
    return costs


def fit_reader(groups_ms: np.ndarray, work: np.ndarray, networks: Sequence[str], without: str = "") -> WorkReader:
    """Fit a reader on measured steps and on other networks' ones.

    Parameters
    ----------
    work : of the measured steps, (steps, kinds).
    networks : of these, with their pixels: what changes with the batch size alone counts more.
    without : architecture of which no network counts.
    """
    names, others = _other_steps()
    if without:
        others = others[[not name.startswith(without.lower()) for name in names]]
    random, costs = np.random.default_rng(0), class_costs(groups_ms, work)
    made_ms = np.maximum(others @ costs.T, 1e-6) * np.exp(random.normal(0, _NOISE, (len(others), len(GROUPS))))
    all_ms, all_work = np.concatenate([made_ms, groups_ms]), np.concatenate([others, work])
    inputs = work_inputs(all_ms)
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0)
    inputs = (inputs - mean) / scale
    centers = inputs[random.choice(len(inputs), min(_CENTERS, len(inputs)), replace=False)]
    rows = np.concatenate([np.ones(len(others)), np.full(len(work), _MEASURED)])
    columns = regressors(inputs, centers, _WIDTH)
    penalty = np.repeat(_PENALTIES, (1, inputs.shape[1], len(centers)))
    weighted = (columns * rows[:, None]).T
    per_ms = all_work / all_ms.sum(axis=1, keepdims=True)
    typical = np.maximum(per_ms.mean(axis=0), _LEAST)
    wanted = np.column_stack([np.log(per_ms / typical + AMOUNT_AT_LEAST)[:, _KINDS], np.log(all_work[:, _KERNELS])])
    within, wanted_within = (
        each - pd.DataFrame(each).groupby(list(networks)).transform("mean").to_numpy()
        for each in (columns[len(others) :], wanted[len(others) :])
    )
    gram = weighted @ columns + _WITHIN * within.T @ within + np.diag(penalty)
    weights = np.linalg.solve(gram, weighted @ wanted + _WITHIN * within.T @ wanted_within)
    of_kinds = {KINDS[place]: float(typical[place]) for place in _KINDS}
    return WorkReader(mean, scale, centers, _WIDTH, of_kinds, weights)


def fit_readers(medians: InstanceSteps, rows: np.ndarray, without: str = "") -> dict[str, WorkReader]:
    """Readers of all instances, fitted on `rows` (boolean mask) of workloads."""
    table = medians.workloads[rows]
    sizes = zip(table["model"], table["pixels"], table["batch_size"], strict=True)
    work = np.array([work_of(measured_counts(name, int(pixels)), int(batch)) for name, pixels, batch in sizes])
    networks = (table["model"] + " " + table["pixels"].astype(str)).tolist()
    return {
        name: fit_reader(times.groups_ms[rows], work, networks, without) for name, times in medians.with_latency.items()
    }


def readers_content(readers: Mapping[str, WorkReader]) -> dict:
    """Readers as `transfer.json` holds them."""
    arrays = ("mean", "scale", "centers", "weights")
    return {
        name: {
            "width": reader.width,
            "typical": rounded(dict(reader.typical)),
            **{key: np.round(getattr(reader, key), 3).tolist() for key in arrays},
        }
        for name, reader in readers.items()
    }
