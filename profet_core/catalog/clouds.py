"""Clouds: machine names with exact GPU, host, and availability; catalog updates from their price lists.

Names follow the clouds' documentation. If a name leaves the GPU's form open, the assumption is stated. To add a cloud,
add it to `CLOUDS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from profet_core.catalog.collection import Catalog
from profet_core.catalog.instance import MARKETPLACE, ON_DEMAND, SPOT, Instance
from profet_core.errors import CatalogError, InputError
from profet_profiles.units import listed_price

A100_40, A100_40_PCIE = "A100-SXM4-40GB", "A100-PCIE-40GB"
A100_80, A100_80_PCIE = "A100-SXM4-80GB", "A100-PCIE-80GB"
V100, V100_PCIE, V100_PCIE_32 = "Tesla V100-SXM2-16GB", "Tesla V100-PCIE-16GB", "Tesla V100-PCIE-32GB"
#: The region of an offer that is wherever its market or cloud finds it.
ANYWHERE = "any"
RTX_PRO = "RTX PRO 6000 Blackwell Server Edition"

#: GPU in SkyPilot's lists -> its specs, if the cloud has only one variant.
USUAL_GPUS = {
    "A10": "A10",
    "A100-40GB": A100_40,
    "A100-80GB": A100_80,
    "A10G": "A10G",
    "A30": "A30",
    "A40": "A40",
    "B200": "B200",
    "B300": "B300",
    "GH200": "GH200-96GB",
    "H100-NVL": "H100-NVL-94GB",
    "H100-PCIe": "H100-PCIE-80GB",
    "H100-SXM": "H100-SXM5-80GB",
    "H200": "H200-SXM-141GB",
    "L4": "L4",
    "L40": "L40",
    "L40S": "L40S",
    "M60": "Tesla M60",
    "MI300X": "AMD Instinct MI300X",
    "P100": "Tesla P100-PCIE-16GB",
    "RTX-3090": "GeForce RTX 3090",
    "RTX-4090": "GeForce RTX 4090",
    "RTX-5090": "GeForce RTX 5090",
    "RTX-6000": "Quadro RTX 6000",
    "RTX-6000-Ada": "RTX 6000 Ada Generation",
    "RTX-A4000": "RTX A4000",
    "RTX-A4500": "RTX A4500",
    "RTX-A5000": "RTX A5000",
    "RTX-A6000": "RTX A6000",
    "RTX-PRO-6000": RTX_PRO,
    "T4": "Tesla T4",
    "V100-16GB": V100,
    "V100-32GB": "Tesla V100-SXM2-32GB",
}


class Machines(Struct, frozen=True):
    """Machines of one cloud with a common name prefix.

    Attributes
    ----------
    pattern : matched at the start of the cloud's own machine name.
    host : generation of the host CPU, as the cloud publishes it; "" if it doesn't.
    gpu : its specs, if not the default ones for the listed name.
    assumed : assumption that the name does not confirm.
    retired : why it can't be rented any more; "" if it can.
    """

    pattern: str
    host: str = ""
    gpu: str = ""
    assumed: str = ""
    retired: str = ""

    def gpu_of(self, listed: str) -> str:
        """Specs name of the GPU that the price list calls `listed`; raises InputError for an unlisted one."""
        if listed not in USUAL_GPUS:
            raise InputError(f"The GPU {listed!r} has no specs: name one in USUAL_GPUS.")
        return self.gpu or USUAL_GPUS[listed]


#: Clouds whose prices are bids of private hosts.
MARKETPLACES = frozenset({"vast"})


def market_of(provider: str, *, spot: bool) -> str:
    """Market of a cloud's published price."""
    return SPOT if spot else MARKETPLACE if provider in MARKETPLACES else ON_DEMAND


_P3 = "AWS migration notice 2025-12-20; no longer described by the AWS API in 2026-05"
_SXM2 = "V100 form factor unknown, SXM2 assumed"
_SXM = "SXM assumed"
_PCIE = "PCIe assumed"
_SERVER = "RTX PRO 6000 Server Edition assumed"

#: Cloud -> its machines. The first match counts, and a machine without a match has an unknown host.
CLOUDS: dict[str, tuple[Machines, ...]] = {
    "aws": (
        Machines("g3s", host="broadwell"),
        Machines("p2", host="broadwell"),
        Machines("p3", host="broadwell", retired=_P3),
        Machines("g4dn|p4d", host="cascade-lake"),
        Machines("g5", host="rome"),
        Machines("g6|p5\\.", host="milan"),
        Machines("p5en", host="sapphire-rapids"),
        Machines("p6-b200|g7e", host="emerald-rapids"),
    ),
    "gcp": (
        Machines("n1", host="skylake"),
        Machines("a2|g2", host="cascade-lake"),
        Machines("a3-highgpu", host="sapphire-rapids"),
        Machines("a3-ultragpu", host="emerald-rapids"),
    ),
    "azure": (
        Machines("Standard_NV.*_A10_v5", host="milan"),
        Machines("Standard_ND96asr_v4|Standard_ND96amsr_A100_v4|Standard_NC.*_T4_v3", host="rome"),
        Machines("Standard_NC.*_A100_v4", host="milan", gpu=A100_80_PCIE),
        Machines("Standard_NC.*_H100_v5", host="genoa"),
        Machines("Standard_ND.*_H100_v5", host="sapphire-rapids"),
        Machines("Standard_NV\\d+s_v3", host="broadwell", retired="Azure notice: NVv3 retired on 2026-09-30"),
        Machines(
            "Standard_NC\\d+s_v3",
            host="broadwell",
            gpu=V100_PCIE,
            retired="Azure notice: NCv3 retired on 2025-09-30",
        ),
    ),
    "lambda": (
        Machines("gpu_[124]x_a100$", gpu=A100_40_PCIE, assumed="PCIe assumed: only eight are said to be SXM4"),
        Machines("gpu_8x_v100", assumed=_SXM2),
    ),
    "nebius": (
        Machines("gpu-b200", host="emerald-rapids"),
        Machines("gpu-h[12]00", host="sapphire-rapids"),
        Machines("gpu-l40s-a", host="ice-lake"),
        Machines("gpu-l40s-d", host="genoa"),
    ),
    "runpod": (Machines(r"\dx_A100-80GB_", gpu=A100_80_PCIE), Machines(r"\dx_RTXPRO6000", assumed=_SERVER)),
    "vast": (
        Machines(r"\dx-A100_PCIE", gpu=A100_80_PCIE),
        Machines(r"\dx-RTX_PRO_6000_WS", gpu="RTX PRO 6000 Blackwell Workstation Edition"),
        Machines(r"\dx-Tesla_V100", assumed=_SXM2),
    ),
    "verda": (
        Machines(r"\dA100", assumed="SXM4 assumed"),
        Machines(r"\dV100", assumed=_SXM2),
        Machines(r"\dRTXPRO6000", assumed=_SERVER),
    ),
    "oci": (
        Machines(r"VM\.GPU2|BM\.GPU2", assumed=_PCIE),
        Machines(r"VM\.GPU3|BM\.GPU3", host="skylake"),
        Machines(r"(VM|BM)\.GPU\.A10\.", host="ice-lake"),
        Machines(r"BM\.GPU4", host="rome"),
        Machines(r"BM\.GPU\.A100", host="milan"),
        Machines(r"BM\.GPU\.(L40S|H100|H200)", host="sapphire-rapids"),
    ),
    "jarvislabs": (Machines(r"\dx_H100", assumed=_SXM), Machines(r"\dx_RTXPRO6000", assumed=_SERVER)),
    "yotta": (),
    # Listed by Shadeform, which rents out their machines, and Hyperstack's by itself too.
    "crusoe": (
        Machines("crusoe_A100-80GB", gpu=A100_80_PCIE),
        Machines(r"[MH]\w+-.*x8", assumed="eight a machine assumed"),
    ),
    "denvr": (),
    "hyperstack": (Machines("n3-A100", gpu=A100_80_PCIE),),
    "massedcompute": (
        Machines("massedcompute_A100-80GB", gpu=A100_80_PCIE),
        Machines("massedcompute_H100", assumed=_PCIE),
        Machines("massedcompute_RTXPro6000", assumed=_SERVER),
    ),
    "paperspace": (
        Machines("paperspace_A100$", gpu=A100_40_PCIE, assumed=_PCIE),
        Machines("paperspace_H100", assumed=_SXM),
        Machines("paperspace_V100", assumed=_SXM2),
    ),
    "scaleway": (Machines("scaleway_H100", assumed=_PCIE),),
    # In no list of SkyPilot's today.
    "coreweave": (Machines(r"8x-A100", assumed=_SXM),),
    "digitalocean": (Machines(r"gpu-h100x8", assumed=_SXM),),
    "hotaisle": (Machines(r"vm|bm", host="sapphire-rapids"),),
    "ovh": (
        Machines("a100", gpu=A100_80_PCIE, assumed=_PCIE),
        Machines("t1", gpu=V100_PCIE, assumed=_PCIE),
        Machines("t2", gpu=V100_PCIE_32, assumed=_PCIE),
    ),
    "seeweb": (
        Machines(r"ECS\dGPU3", gpu=A100_80_PCIE, assumed=_PCIE),
        Machines(r"ECS\dGPU12", assumed=_SERVER),
        Machines(r"ECS1GPU11", assumed="no region listed"),
    ),
    "vultr": (
        Machines("vbm.*-h100", host="sapphire-rapids", assumed=_SXM),
        Machines("vbm.*-mi300x", host="genoa"),
        Machines("vcg-a100", gpu=A100_80_PCIE, assumed=_PCIE),
    ),
}


def offer_name(provider: str, machine: str) -> str:
    """Catalog name: AWS names are unchanged, others get a prefix, such as 'gcp/a2-highgpu-1g'.

    >>> offer_name("runpod", "1x_A40_SECURE"), offer_name("vast", "1x-A100_SXM4-32-65536")
    ('runpod/1x-A40', 'vast/1x-A100_SXM4')
    >>> offer_name("crusoe", "crusoe_A100-80GB")
    'crusoe/A100-80GB'
    """
    if provider == "runpod":
        # All listed machines belong to the secure cloud.
        machine = machine.removesuffix("_SECURE").replace("_", "-", 1)
    elif provider == "vast":
        # vCPUs and memory are the market's minimum, not a machine's.
        machine = re.sub(r"-\d+-\d+$", "", machine)
    elif provider == "yotta":
        # "1x14v119g_NVIDIA_GeForce_RTX_5090_32G_SECURE": the GPUs before the vCPUs and memory.
        machine = re.sub(r"^(\d+x)\d+v\d+g_(?:NVIDIA_GeForce_)?(.+?)(?:_\d+G)?_SECURE$", r"\1-\2", machine)
    machine = machine.removeprefix(f"{provider}_")
    return machine if provider == "aws" else f"{provider}/{machine}"


def machine_facts(provider: str, machine: str) -> Machines:
    """Facts about a machine by its cloud's own name; raises InputError for an unlisted cloud."""
    if provider not in CLOUDS:
        raise InputError(f"Unknown cloud {provider!r}: add its machines to CLOUDS.")
    return next((machines for machines in CLOUDS[provider] if re.match(machines.pattern, machine)), Machines(""))


#: A price that changes by more than this factor is more likely an error in the list than a new price.
LARGEST_FACTOR = 5.0
#: A first spot price has no old price. Spot goes down to a tenth of on-demand; down to a twentieth is accepted.
SMALLEST_SPOT_SHARE = 1 / 20


class PriceChange(Struct, frozen=True):
    """An offer at its published price, compared with the catalog.

    Attributes
    ----------
    offer : the row to merge into the catalog.
    old_usd_per_hour : previous price of the same offer; None if there was none.
    kept : the user entered this price; it stays.
    doubt : why the price is implausible; empty if it is plausible.
    """

    offer: Instance
    old_usd_per_hour: float | None
    kept: bool
    doubt: str

    @property
    def change_percent(self) -> float | None:
        """Relative price change in percent; None for a first price."""
        old = self.old_usd_per_hour
        return None if old is None else 100 * (self.offer.usd_per_hour / old - 1)


def price_changes(
    catalog: Catalog, published: Iterable[Instance], *, source_prefix: str | tuple[str, ...], with_new: bool = False
) -> list[PriceChange]:
    """Return the changes that a published list makes to the catalog: existing offers in its order, then new ones.

    If one offer has several prices (zones), the lowest counts. New instances are skipped unless they are requested.
    Custom rows whose source starts with `source_prefix` came from such a list and are replaced; other custom rows stay.
    """
    lowest: dict[tuple[str, ...], Instance] = {}
    #: New name -> its rows. A market rents out many machines under one name: those with the first one's GPUs count.
    new: dict[str, list[Instance]] = {}
    for offer in published:
        if offer.name not in catalog:
            same = new.setdefault(offer.name, [])
            if not with_new or (same and (offer.gpu, offer.gpu_count) != (same[0].gpu, same[0].gpu_count)):
                continue
            same.append(offer)
        if offer.offer_key not in lowest or offer.usd_per_hour < lowest[offer.offer_key].usd_per_hour:
            lowest[offer.offer_key] = offer
    place = {name: number for number, name in enumerate(catalog)}
    changes = []
    for key in sorted(lowest, key=lambda key: (place.get(key[0], len(place)), *key)):
        offer = lowest[key]
        if offer.name not in catalog:
            # Hosts of one name may be unlike.
            vcpus = {row.vcpus for row in new[offer.name]}
            offer = replace(offer, vcpus=vcpus.pop() if len(vcpus) == 1 else None)
        changes.append(_change(catalog, offer, source_prefix))
    return changes


def check_believable(changes: Iterable[PriceChange]) -> None:
    """Reject the whole list if one of its prices is implausible; CatalogError names the first one and their number."""
    doubts = [change.doubt for change in changes if change.doubt and not change.kept]
    if doubts:
        more = f" ({len(doubts) - 1} more like this)" if len(doubts) > 1 else ""
        raise CatalogError(f"{doubts[0]}{more}: nothing was changed. Use --force to accept it.")


def _change(catalog: Catalog, offer: Instance, source_prefix: str | tuple[str, ...]) -> PriceChange:
    offers = catalog.offers(offer.name) if offer.name in catalog else ()
    old = next((row for row in offers if row.offer_key == offer.offer_key), None)
    doubt, what = "", f"{offer.name} ({offer.region}, {offer.market})"
    if offers and offer.gpu_count != offers[0].gpu_count:
        doubt = f"{what} is listed with {offer.gpu_count} GPUs, the catalog has {offers[0].gpu_count}"
    elif offers:
        listed, smallest = (catalog[offer.name], SMALLEST_SPOT_SHARE) if old is None else (old, 1 / LARGEST_FACTOR)
        if not smallest <= offer.usd_per_hour / listed.usd_per_hour <= LARGEST_FACTOR:
            has = listed_price(listed.usd_per_hour) + (f" ({listed.market})" if old is None else "")
            doubt = f"{what} is listed at {listed_price(offer.usd_per_hour)}/h, but the catalog has {has}"
    return PriceChange(
        offer=offer,
        old_usd_per_hour=None if old is None else old.usd_per_hour,
        kept=old is not None and old.custom and not old.source.startswith(source_prefix),
        doubt=doubt,
    )
