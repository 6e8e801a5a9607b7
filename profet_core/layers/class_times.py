"""Times of operation classes on another GPU or in another precision, by the rates of the work in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from profet_core.catalog.gpus import Gpu
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
_CONVOLUTIONS = (
    *("convolution", "1 x 1 convolution", "narrow convolution"),
    *("convolution and product outputs", "convolution and product inputs"),
)
#: Groups of classes whose times are read together -> kinds of work in them. Other classes are no work.
GROUPS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("convolution",): _CONVOLUTIONS,
    ("convolution filter gradient",): _CONVOLUTIONS,
    ("convolution input gradient",): _CONVOLUTIONS,
    ("matrix product",): ("matrix product",),
    ("depthwise", "depthwise filter gradient", "depthwise input gradient"): (
        *("depthwise convolution", "depthwise outputs"),
    ),
    ("batch norm", "batch norm gradient"): ("normalization",),
    ("pooling", "pooling gradient"): ("pooling", "activation function"),
    ("activation", "activation gradient", "bias gradient"): ("activation function", "normalization"),
    ("addition", "elementwise", "rest"): (
        *("elementwise", "convolution and product outputs", "parameters", "dense parameters"),
    ),
    ("weight update",): ("parameters", "dense parameters"),
    ("data movement",): ("copy",),
}


class Place(NamedTuple):
    """Where a step runs, and how.

    Attributes
    ----------
    is_measured : whether the framework is that of PROFET's cells, not an unknown one.
    instance : measured instance, if the GPU is one's.
    """

    gpu: Gpu
    mode: Mode
    is_measured: bool = False
    instance: str = ""


def log_group_factors(model: RateModel, here: Place, there: Place) -> FloatArray:
    """Logarithms of the times of `GROUPS` in one place over those in another, (groups,): those of a usual network."""
    factors: FloatArray = np.log(_group_work() @ _costs_ms(model, there)) - np.log(
        _group_work() @ _costs_ms(model, here)
    )
    return factors


def log_class_factors(model: RateModel, here: Place, there: Place) -> Mapping[str, float]:
    """Class of operations -> logarithm of its time in one place over that in another; those without work have none."""
    factors = log_group_factors(model, here, there).tolist()
    return {name: factor for names, factor in zip(GROUPS, factors, strict=True) for name in names}


def _costs_ms(model: RateModel, place: Place) -> FloatArray:
    framework = model.measured if place.is_measured else model.average
    return model.costs_ms(place.gpu, place.mode, framework, place.instance)


@cache
def _group_work() -> FloatArray:
    """Amounts of work in a group, (groups, kinds)."""
    return np.array([[_USUAL_WORK[kind] if kind in kinds else 0.0 for kind in KINDS] for kinds in GROUPS.values()])


@cache
def group_sums(device: tuple[str, ...]) -> FloatArray:
    """Indicator of GPU class in group, 0 or 1, (classes, groups)."""
    return np.array([[float(name in group) for group in GROUPS] for name in device])
