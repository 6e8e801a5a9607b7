"""Times of operation classes on another GPU or in another precision, by the rates of the work in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from profet_core.catalog.gpus import Gpu
from profet_core.ensemble.members import StepInputs
from profet_core.ensemble.operations import load_operation_classes
from profet_core.ensemble.work import GROUPS
from profet_core.latency import FloatArray
from profet_core.layers.rates import KINDS, Mode, RateModel

#: Amounts of work in an image of a usual network, ResNet-50 at 224 pixels, as `rates.work_of` has them; depthwise ones
#: are MobileNetV2's.
_USUAL_WORK = {
    "convolution": 3.94,
    "1 x 1 convolution": 4.24,
    "narrow convolution": 0.35,
    "depthwise convolution": 0.041,
    "matrix product": 0.0041,
    "convolution and product outputs": 11.1,
    "convolution and product inputs": 10.7,
    "depthwise outputs": 2.3,
    "normalization": 11.1,
    "activation function": 9.6,
    "elementwise": 5.5,
    "pooling": 0.2,
    "copy": 1.0,
    "parameters": 23.5,
    "dense parameters": 2.0,
}


class Place(NamedTuple):
    """Where a step runs, and how.

    Attributes
    ----------
    is_measured : whether the framework is that of PROFET's cells, not an unknown one.
    """

    gpu: Gpu
    mode: Mode
    is_measured: bool = False


def log_group_factors(model: RateModel, here: Place, there: Place) -> FloatArray:
    """Logarithms of the times of `GROUPS` in one place over those in another, (groups,): those of a usual network."""
    work = _group_work()
    factors: FloatArray = np.log((work @ _costs_ms(model, there)) / (work @ _costs_ms(model, here)))
    return factors


def class_work_ms(groups_ms: FloatArray, here_ms: FloatArray, there_ms: FloatArray) -> FloatArray:
    """Milliseconds of work in other places by the times of `GROUPS` in one, (places,).

    How classes differ from their mean counts in part: less of it holds on another GPU.

    Parameters
    ----------
    here_ms, there_ms : per unit of work of each kind, (kinds,) and (places, kinds).
    """
    here_ms, there_ms = _group_work() @ here_ms, there_ms @ _group_work().T
    logs = np.log(there_ms / here_ms)
    means = logs.mean(axis=1, keepdims=True)
    times_ms: FloatArray = np.exp(means + CLASS_SHARE * (logs - means)) @ groups_ms
    return times_ms


#: Part of the differences between classes that holds on another GPU; and of class times, beside the work that is read
#: off them, in a step there. Chosen on PROFET's four GPUs, each held out (`profet validate --gpus`).
CLASS_SHARE = 0.5


def log_class_factors(model: RateModel, here: Place, there: Place) -> Mapping[str, float]:
    """Class of operations -> logarithm of its time in one place over that in another; those without work have none."""
    factors = log_group_factors(model, here, there).tolist()
    return {name: factor for names, factor in zip(GROUPS, factors, strict=True) for name in names}


def mapped_inputs(model: RateModel, inputs: StepInputs, recorded: Sequence[Place], there: Place) -> StepInputs:
    """Class times of profiles as they would be in another place; gaps and copies stay as they are.

    Parameters
    ----------
    recorded : where each profile was recorded.
    """
    device = list(load_operation_classes().device)
    by_place = {place: log_class_factors(model, place, there) for place in dict.fromkeys(recorded)}
    factors = np.exp([[by_place[place].get(name, 0.0) for name in device] for place in recorded])
    classes_ms = inputs.classes_ms.copy()
    classes_ms[:, : len(device)] *= factors
    # Operations of no class are mostly elementwise.
    unknown_ms = inputs.unknown_ms * factors[:, [device.index(UNKNOWN_AS)]]
    return replace(inputs, classes_ms=classes_ms, unknown_ms=unknown_ms)


#: The class whose factors operations without one have.
UNKNOWN_AS = "elementwise"


def _costs_ms(model: RateModel, place: Place) -> FloatArray:
    framework = model.measured if place.is_measured else model.average
    return model.costs_ms(place.gpu, place.mode, framework)


@cache
def _group_work() -> FloatArray:
    """Amounts of work in a group, (groups, kinds)."""
    return np.array([[_USUAL_WORK[kind] if kind in kinds else 0.0 for kind in KINDS] for kinds in GROUPS.values()])
