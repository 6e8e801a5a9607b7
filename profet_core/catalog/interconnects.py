"""Interconnects of GPUs within a node, to their host, and between nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.gpus import gpu_model
from profet_core.catalog.instance import Instance
from profet_core.catalog.tables import Row, cells_of, check_numbers, read_records
from profet_core.errors import InputError, WordedEnum
from profet_core.shipped import shipped_text
from profet_profiles.units import positive_number


class Link(WordedEnum):
    """Link that transfers gradients between GPUs of a node; the values appear in documents.

    >>> Link("pcie-host").words
    'PCIe through host memory'
    """

    NVSWITCH = "nvswitch", "NVLink through NVSwitch"
    NVLINK = "nvlink", "NVLink mesh"
    BRIDGE = "nvlink-bridge", "NVLink bridges between pairs"
    FABRIC = "infinity-fabric", "Infinity Fabric mesh"
    PCIE = "pcie", "PCIe"
    PCIE_HOST = "pcie-host", "PCIe through host memory"


#: GB/s in one direction of 16 lanes, by PCIe generation.
PCIE_GB_PER_S: Mapping[int, float] = MappingProxyType({3: 15.75, 4: 31.5, 5: 63.0})
#: Links that users may name, with GB/s of one GPU to the others in one direction, by the makers' data sheets.
NAMED_LINKS: Mapping[str, tuple[Link, float]] = MappingProxyType(
    {
        "nvlink-2": (Link.NVLINK, 150.0),
        "nvswitch-2": (Link.NVSWITCH, 150.0),
        "nvlink-3": (Link.NVSWITCH, 300.0),
        "nvlink-4": (Link.NVSWITCH, 450.0),
        "nvlink-5": (Link.NVSWITCH, 900.0),
        "nvlink-bridge": (Link.BRIDGE, 300.0),
        "infinity-fabric-2": (Link.FABRIC, 150.0),
        "infinity-fabric-3": (Link.FABRIC, 448.0),
        **{f"pcie-{generation}": (Link.PCIE, gb_per_s) for generation, gb_per_s in PCIE_GB_PER_S.items()},
        # Host memory carries as much as PCIe 3.
        "pcie-host": (Link.PCIE_HOST, PCIE_GB_PER_S[3]),
    }
)
#: Networks between machines by the clouds' own pages, 10^9 bits per second.
NAMED_NETWORKS: Mapping[float, str] = MappingProxyType(
    {
        10: "10 Gb/s Ethernet",
        25: "25 Gb/s (AWS p3.16xlarge)",
        50: "50 Gb/s (AWS g4dn.12xlarge)",
        100: "100 Gb/s (GCP a2, AWS g5)",
        200: "200 Gb/s InfiniBand HDR",
        400: "400 Gb/s EFA (AWS p4d)",
        800: "800 Gb/s (4 x Slingshot)",
        1000: "1,000 Gb/s (GCP a3-highgpu)",
        1600: "1,600 Gb/s (Azure ND A100 v4)",
        3200: "3,200 Gb/s (AWS p5, Azure, Lambda)",
    }
)
#: Gb/s between machines whose network is unknown: with GPUs behind switches, and other ones.
_UNKNOWN_SWITCHED, _UNKNOWN_PLAIN = (100.0, 1600.0), (10.0, 100.0)
MAX_GBIT_PER_S = 100_000.0


class Interconnect(Struct, frozen=True):
    """The links of a node. Bandwidths come from specs, in one direction.

    Attributes
    ----------
    gpus : in the node.
    link_gb_per_s : of one GPU to the others, 10^9 bytes per second.
    pcie_generation : of each GPU's link to its host, 16 lanes.
    gpus_per_root : GPUs that share one root port of the host.
    network_gbit_per_s : of the whole node, 10^9 bits per second; None: unknown.
    source : source of the figures.
    assumed : unpublished figures that are assumed, in words; "" if none.
    """

    gpus: int
    link: Link
    link_gb_per_s: float
    pcie_generation: int
    gpus_per_root: int
    network_gbit_per_s: float | None
    source: str
    assumed: str = ""

    def __post_init__(self) -> None:
        check_numbers(self, "The links of a node")
        if self.pcie_generation not in PCIE_GB_PER_S:
            generations = ", ".join(map(str, PCIE_GB_PER_S))
            raise InputError(f"The PCIe generation must be one of {generations}, not {self.pcie_generation}.")

    @property
    def pcie_gb_per_s(self) -> float:
        """Bandwidth of one GPU to its host, 10^9 bytes per second."""
        return PCIE_GB_PER_S[self.pcie_generation]

    @property
    def network_gb_per_s(self) -> tuple[float, float]:
        """Slowest and fastest bandwidth between nodes, 10^9 bytes per second; the same if it is known."""
        unknown = _UNKNOWN_SWITCHED if self.link in (Link.NVSWITCH, Link.FABRIC) else _UNKNOWN_PLAIN
        gbit_per_s = self.network_gbit_per_s
        low, high = unknown if gbit_per_s is None else (gbit_per_s, gbit_per_s)
        return low / 8, high / 8

    def linked(self, link: str | None, network_gbit_per_s: float | None) -> Interconnect:
        """Return the same node with a link of `NAMED_LINKS`, or with another network.

        >>> load_interconnects().of_gpu("V100", 8).linked("pcie-3", 100.0).words
        'PCIe 15.75 GB/s, network 100 Gb/s'
        """
        changed = self
        if link is not None:
            if link not in NAMED_LINKS:
                raise InputError(f"Unknown link {link!r}: choose one of {', '.join(NAMED_LINKS)}.")
            kind, gb_per_s = NAMED_LINKS[link]
            changed = replace(changed, link=kind, link_gb_per_s=gb_per_s, assumed="", source="as given")
        if network_gbit_per_s is not None:
            if positive_number("The network's Gb/s", network_gbit_per_s) > MAX_GBIT_PER_S:
                raise InputError(f"The network's Gb/s must be at most {MAX_GBIT_PER_S:g}, not {network_gbit_per_s:g}.")
            changed = replace(changed, network_gbit_per_s=network_gbit_per_s)
        return changed

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
        if self.network_gbit_per_s is None:
            return f"{within}network unknown"
        return f"{within}network {self.network_gbit_per_s:g} Gb/s"


#: Of GPUs that the table doesn't have.
_ASSUMED = Interconnect(8, Link.PCIE, PCIE_GB_PER_S[4], 4, 2, None, "", "links assumed: PCIe 4")


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
    """Return the table that ships with the catalog."""

    def named(row: Row) -> tuple[str, Interconnect]:
        cells = cells_of(Interconnect, row, "instance")
        return row["instance"], Interconnect(**{**cells, "link": Link(row["link"])})

    columns = list(Interconnect.__struct_fields__)
    text = shipped_text("catalog/interconnects.csv")
    return Interconnects(read_records(text, "The interconnect table", key="instance", required=columns, make=named))
