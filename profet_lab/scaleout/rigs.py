"""GPU links of the machines with published multi-GPU speeds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from profet_core.catalog.interconnects import PCIE_GB_PER_S, Interconnect, Link

_SHEET = "NVIDIA's data sheet"


def _of(
    link: Link, gb_per_s: float, generation: int, *, gpus: int = 8, root: int = 2, source: str = _SHEET
) -> Interconnect:
    return Interconnect(gpus, link, gb_per_s, generation, root, 10.0, source)


#: Published GPU -> its machine. GeForce cards and TITANs reach one another through host memory, whose bandwidth does
#: not rise with PCIe 4 (two RTX 3080 share gradients at the rate of two RTX 2080 Ti). Folders whose name says NVLink
#: are as slow as those without (2080 Ti, RTX 8000): they count as PCIe.
RIGS: Mapping[str, Interconnect] = MappingProxyType(
    {
        "A100-PCIE-40GB": _of(Link.PCIE, PCIE_GB_PER_S[4], 4),
        "A100-SXM4-40GB": _of(Link.NVSWITCH, 300.0, 4),
        "A100-SXM4-80GB": _of(Link.NVSWITCH, 300.0, 4),
        "Tesla V100-SXM2-16GB": _of(Link.NVLINK, 150.0, 3),
        "Tesla V100-SXM2-32GB": _of(Link.NVLINK, 150.0, 3),
        "Tesla V100-SXM3-32GB": _of(Link.NVSWITCH, 150.0, 3, gpus=16),
        "GeForce RTX 2080 Ti": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "GeForce RTX 3070": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "GeForce RTX 3080": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "GeForce RTX 3090": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "TITAN RTX": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "TITAN Xp": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "Quadro RTX 6000": _of(Link.PCIE, PCIE_GB_PER_S[3], 3),
        "Quadro RTX 8000": _of(Link.PCIE, PCIE_GB_PER_S[3], 3),
        "RTX A6000": _of(Link.PCIE, PCIE_GB_PER_S[4], 4),
    }
)
#: Platform of the benchmarks of 2017 -> its nodes. A K80 board is two GPUs; eight of them hang on two root ports.
PLATFORMS_2017: Mapping[str, Interconnect] = MappingProxyType(
    {
        "DGX-1": _of(Link.NVLINK, 80.0, 3),
        "GCE n1-standard-32-k80x8": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4),
        "EC2 p2.8xlarge": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4),
        "EC2 p2.8xlarge distributed": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4, source="AWS's instance types"),
    }
)
