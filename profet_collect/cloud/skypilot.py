"""SkyPilot's names of clouds, machines and GPUs (its catalog, schema version 8)."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.catalog.instance import Instance

#: Where SkyPilot rents machines and mounts buckets on them: RunPod, Vast and Verda take none.
CLOUDS = ("aws", "azure", "gcp", "lambda", "nebius")

#: Data sheet -> accelerator.
_ACCELERATORS = {
    "Tesla M60": "M60",
    "Tesla K80": "K80",
    "Tesla T4": "T4",
    "Tesla V100-SXM2-16GB": "V100",
    "Tesla V100-PCIE-16GB": "V100",
    "Tesla P100-PCIE-16GB": "P100",
    "A10": "A10",
    "A10G": "A10G",
    "L4": "L4",
    "L40S": "L40S",
    "A100-SXM4-40GB": "A100",
    "A100-PCIE-40GB": "A100",
    "A100-SXM4-80GB": "A100-80GB",
    "A100-PCIE-80GB": "A100-80GB",
    "H100-SXM5-80GB": "H100",
    "H100-PCIE-80GB": "H100",
    "H100-NVL-94GB": "H100",
    "H200-SXM-141GB": "H200",
    "B200": "B200",
    "RTX A6000": "A6000",
}
#: SkyPilot's catalog has them on other clouds alone.
_NOT_THERE = {("aws", "Tesla M60"), ("aws", "Tesla K80")}


@dataclass(frozen=True, slots=True)
class SkyMachine:
    """A machine as a task asks for it: cloud, instance type and accelerator, all of SkyPilot's names."""

    infra: str
    instance_type: str
    accelerator: str


def sky_machine(offer: Instance) -> SkyMachine | None:
    """The offer's machine by SkyPilot's names; None: SkyPilot doesn't rent it, or it has several GPUs.

    With the instance type said, a machine that takes over from a preempted one is the same kind.
    """
    accelerator = _ACCELERATORS.get(offer.gpu)
    there = offer.provider in CLOUDS and (offer.provider, offer.gpu) not in _NOT_THERE
    if accelerator is None or not there or offer.gpu_count != 1:
        return None
    return SkyMachine(offer.provider, _instance_type(offer), accelerator)


def _instance_type(offer: Instance) -> str:
    name = offer.name.removeprefix(f"{offer.provider}/")
    # Google's N1 machines take their GPUs beside them.
    return name.partition("+")[0]
