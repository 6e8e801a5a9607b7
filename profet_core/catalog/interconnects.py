"""Interconnects of GPUs within a node, to their host, and between nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from types import MappingProxyType

from profet_core.catalog.gpus import gpu_model
from profet_core.catalog.instance import Instance
from profet_core.catalog.tables import Row, cells_of, check_numbers, read_records
from profet_core.errors import InputError, WordedEnum
from profet_core.shipped import shipped_text


class Link(WordedEnum):
    """Link that transfers gradients between GPUs of a node; the values appear in documents.

    >>> Link("pcie-host").words
    'PCIe through host memory'
    """

    NVSWITCH = "nvswitch", "NVLink through NVSwitch"
    NVLINK = "nvlink", "NVLink mesh"
    BRIDGE = "nvlink-bridge", "NVLink bridges between pairs"
    PCIE = "pcie", "PCIe"
    PCIE_HOST = "pcie-host", "PCIe through host memory"


#: GB/s in one direction of 16 lanes, by PCIe generation.
PCIE_GB_PER_S: Mapping[int, float] = MappingProxyType({3: 15.75, 4: 31.5, 5: 63.0})


@dataclass(frozen=True, slots=True)
class Interconnect:
    """The links of a node. Bandwidths come from specs, in one direction.

    Attributes
    ----------
    gpus : in the node.
    link_gb_per_s : of one GPU to the others, 10^9 bytes per second.
    pcie_generation : of each GPU's link to its host, 16 lanes.
    gpus_per_root : GPUs that share one root port of the host.
    network_gbit_per_s : of the whole node, 10^9 bits per second.
    source : source of the figures.
    assumed : unpublished figures that are assumed, in words; "" if none.
    """

    gpus: int
    link: Link
    link_gb_per_s: float
    pcie_generation: int
    gpus_per_root: int
    network_gbit_per_s: float
    source: str
    assumed: str = ""

    def __post_init__(self) -> None:
        check_numbers(self, "The links of a node")
        if self.pcie_generation not in PCIE_GB_PER_S:
            known = ", ".join(map(str, PCIE_GB_PER_S))
            raise InputError(f"The PCIe generation must be one of {known}, not {self.pcie_generation}.")

    @property
    def pcie_gb_per_s(self) -> float:
        """Bandwidth of one GPU to its host, 10^9 bytes per second."""
        return PCIE_GB_PER_S[self.pcie_generation]

    @property
    def network_gb_per_s(self) -> float:
        """Bandwidth between nodes, 10^9 bytes per second."""
        return self.network_gbit_per_s / 8

    def among(self, gpus: int) -> Interconnect:
        """Links that transfer gradients among a number of GPUs: bridges connect pairs, and pairs connect by PCIe.

        >>> h100 = load_interconnects().of_gpu("H100-NVL-94GB", 8)
        >>> h100.among(2).link.value, h100.among(4).link.value, h100.among(4).link_gb_per_s
        ('nvlink-bridge', 'pcie', 63.0)
        """
        if self.link is Link.BRIDGE and gpus > 2:
            return replace(self, link=Link.PCIE, link_gb_per_s=self.pcie_gb_per_s)
        return self

    @property
    def words(self) -> str:
        """Short description, such as 'NVLink mesh 150 GB/s, network 25 Gb/s'."""
        within = "" if self.gpus == 1 else f"{self.link.words} {self.link_gb_per_s:g} GB/s, "
        return f"{within}network {self.network_gbit_per_s:g} Gb/s"


#: Of GPUs that the table doesn't have.
_ASSUMED = Interconnect(8, Link.PCIE, PCIE_GB_PER_S[4], 4, 2, 10.0, "", "links assumed: PCIe 4, 10 Gb/s between nodes")


class Interconnects(dict[str, Interconnect]):
    """Rows of the table by instance; GPU models are the fallback for instances without a row."""

    def of(self, offer: Instance) -> Interconnect:
        """Links of an offer: its own row, else the default of its GPU's form factor, noted in `assumed`."""
        if offer.name in self:
            return replace(self[offer.name], gpus=offer.gpu_count)
        return self.of_gpu(offer.gpu, offer.gpu_count)

    def of_gpu(self, gpu: str, gpus: int) -> Interconnect:
        """Links of `gpus` GPUs, given by full or short name, in one node."""
        row = self.get(gpu) or self.get(gpu_model(gpu))
        if row is None:
            return replace(_ASSUMED, gpus=gpus)
        typical = "typical links for this GPU's form factor"
        return replace(row, gpus=gpus, assumed="; ".join(filter(None, (typical, row.assumed))))


@cache
def load_interconnects() -> Interconnects:
    """The table that ships with the catalog."""

    def named(row: Row) -> tuple[str, Interconnect]:
        cells = cells_of(Interconnect, row, "instance")
        return row["instance"], Interconnect(**{**cells, "link": Link(row["link"])})

    columns = [field.name for field in fields(Interconnect)]
    text = shipped_text("catalog/interconnects.csv")
    return Interconnects(read_records(text, "The interconnect table", key="instance", required=columns, make=named))
