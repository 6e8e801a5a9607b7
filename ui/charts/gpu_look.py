"""How a GPU is drawn: its color and dash, the same on every page."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

#: Distinct for readers of any color vision, and at least 3:1 against the light and the dark background;
#: `tests/ui/charts/test_gpu_look.py` computes both.
SKY, OCHRE, GREEN, MAGENTA, INDIGO, BROWN, PURPLE = (
    *("#119bdf", "#b98f03", "#589257", "#c13e80"),
    *("#5454ee", "#915f1f", "#a54aa9"),
)
COLORS = (SKY, OCHRE, GREEN, MAGENTA, INDIGO, BROWN, PURPLE)


@dataclass(frozen=True, slots=True)
class Look:
    """By plotly's names; where two GPUs share a color, the dash differs."""

    color: str
    dash: str


_DASHES = ("solid", "dash", "dot", "longdash")
_OTHER_DASHES = ("dashdot", "longdashdot", "12px,4px")
#: Full names of the specs. There are more GPUs than colors: forms of a model share one.
_GPUS = {
    SKY: ("Tesla T4", "GeForce RTX 2080 Ti", "GeForce RTX 4090", "RTX 6000 Ada Generation"),
    OCHRE: ("A10G", "Tesla K80", "A10", "A40"),
    GREEN: ("L4", "Tesla M60", "B200", "RTX A6000"),
    MAGENTA: ("L40S", "Tesla P100-PCIE-16GB", "Tesla P100-SXM2-16GB", "GeForce RTX 5090"),
    INDIGO: ("A100-SXM4-40GB", "A100-SXM4-80GB", "A100-PCIE-40GB", "A100-PCIE-80GB"),
    BROWN: ("H100-SXM5-80GB", "H200-SXM-141GB", "H100-PCIE-80GB", "H100-NVL-94GB"),
    PURPLE: ("Tesla V100-SXM2-16GB", "GeForce RTX 3090", "Tesla V100-PCIE-16GB"),
}
_LOOKS = {gpu: Look(color, dash) for color, gpus in _GPUS.items() for gpu, dash in zip(gpus, _DASHES, strict=False)}


def gpu_look(gpu: str) -> Look:
    """The look of a GPU by its full name in a catalog; a custom one has a look by its name.

    >>> gpu_look("Tesla T4").dash, gpu_look("A10G").color
    ('solid', '#b98f03')
    """
    number = zlib.crc32(gpu.encode())
    return _LOOKS.get(gpu) or Look(COLORS[number % 7], _OTHER_DASHES[number // 7 % 3])
