"""How a GPU is drawn: its colour, marker and dash, the same on every page."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

#: Told apart by readers of any colour vision, and at least 3:1 against the light and the dark background;
#: `tests/ui/charts/test_gpu_look.py` computes both.
SKY, OCHRE, GREEN, MAGENTA, INDIGO, BROWN, PURPLE = (
    "#119bdf",
    "#b98f03",
    "#589257",
    "#c13e80",
    "#5454ee",
    "#915f1f",
    "#a54aa9",
)
COLORS = (SKY, OCHRE, GREEN, MAGENTA, INDIGO, BROWN, PURPLE)


@dataclass(frozen=True, slots=True)
class GpuLook:
    """By plotly's names; where two GPUs share a colour, marker and dash differ."""

    colour: str
    symbol: str
    dash: str


_FIRST, _SECOND, _THIRD = ("circle", "solid"), ("square", "dash"), ("triangle-up", "dot")
_FOURTH = ("diamond", "longdash")
#: Full name of the data sheet -> look. There are more GPUs than colours: forms of a model share one.
_LOOKS = {
    "Tesla T4": GpuLook(SKY, *_FIRST),
    "GeForce RTX 2080 Ti": GpuLook(SKY, *_SECOND),
    "GeForce RTX 4090": GpuLook(SKY, *_THIRD),
    "RTX 6000 Ada Generation": GpuLook(SKY, *_FOURTH),
    "A10G": GpuLook(OCHRE, *_FIRST),
    "Tesla K80": GpuLook(OCHRE, *_SECOND),
    "A10": GpuLook(OCHRE, *_THIRD),
    "A40": GpuLook(OCHRE, *_FOURTH),
    "L4": GpuLook(GREEN, *_FIRST),
    "Tesla M60": GpuLook(GREEN, *_SECOND),
    "B200": GpuLook(GREEN, *_THIRD),
    "RTX A6000": GpuLook(GREEN, *_FOURTH),
    "L40S": GpuLook(MAGENTA, *_FIRST),
    "Tesla P100-PCIE-16GB": GpuLook(MAGENTA, *_SECOND),
    "Tesla P100-SXM2-16GB": GpuLook(MAGENTA, *_THIRD),
    "GeForce RTX 5090": GpuLook(MAGENTA, *_FOURTH),
    "A100-SXM4-40GB": GpuLook(INDIGO, *_FIRST),
    "A100-SXM4-80GB": GpuLook(INDIGO, *_SECOND),
    "A100-PCIE-40GB": GpuLook(INDIGO, *_THIRD),
    "A100-PCIE-80GB": GpuLook(INDIGO, *_FOURTH),
    "H100-SXM5-80GB": GpuLook(BROWN, *_FIRST),
    "H200-SXM-141GB": GpuLook(BROWN, *_SECOND),
    "H100-PCIE-80GB": GpuLook(BROWN, *_THIRD),
    "H100-NVL-94GB": GpuLook(BROWN, *_FOURTH),
    "Tesla V100-SXM2-16GB": GpuLook(PURPLE, *_FIRST),
    "GeForce RTX 3090": GpuLook(PURPLE, *_SECOND),
    "Tesla V100-PCIE-16GB": GpuLook(PURPLE, *_THIRD),
}
_OTHER_SHAPES = (("triangle-down", "dashdot"), ("pentagon", "longdashdot"), ("hexagon", "12px,4px"))


def gpu_look(gpu: str) -> GpuLook:
    """The look of a GPU by its full name in a catalogue; one of the user's own has a look by its name.

    >>> gpu_look("Tesla T4") == gpu_look("Tesla T4"), gpu_look("A10G").colour
    (True, '#b98f03')
    """
    if gpu in _LOOKS:
        return _LOOKS[gpu]
    number = zlib.crc32(gpu.encode())
    return GpuLook(COLORS[number % len(COLORS)], *_OTHER_SHAPES[number // 7 % len(_OTHER_SHAPES)])
