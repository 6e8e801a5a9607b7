"""How to rent an offer: a SkyPilot or dstack task, the provider's page, and a checklist. Starts nothing."""

from __future__ import annotations

import re
import textwrap
from types import MappingProxyType

from msgspec import Struct

from profet_core.catalog.clouds import ANYWHERE
from profet_core.catalog.gpus import Gpu
from profet_core.catalog.instance import (
    CUSTOM_PROVIDER,
    MARKETPLACE,
    RETIRED,
    SPOT,
    Instance,
    cloud_words,
    date_words,
    machine_words,
)
from profet_core.errors import InputError

#: What a task runs unless a command is given, and the longest one.
USUAL_COMMAND, MAX_COMMAND = "python train.py", 2_000


class _Rental(Struct, frozen=True):
    """How a provider is called elsewhere ("" where it isn't known), and its own page."""

    page: str
    skypilot: str = ""
    dstack: str = ""


_RENTALS = MappingProxyType(
    {
        "aws": _Rental("https://aws.amazon.com/ec2/instance-types/{family}/", "aws", "aws"),
        "azure": _Rental("https://azure.microsoft.com/pricing/details/virtual-machines/linux/", "azure", "azure"),
        "coreweave": _Rental("https://www.coreweave.com/pricing"),
        "crusoe": _Rental("https://console.crusoecloud.com/", "shadeform", "crusoe"),
        "denvr": _Rental("https://www.denvr.com/", "shadeform"),
        "digitalocean": _Rental("https://cloud.digitalocean.com/gpus", "", "digitalocean"),
        "gcp": _Rental("https://cloud.google.com/compute/gpus-pricing", "gcp", "gcp"),
        "hotaisle": _Rental("https://hotaisle.xyz/", "", "hotaisle"),
        "hyperstack": _Rental("https://console.hyperstack.cloud/", "shadeform"),
        "jarvislabs": _Rental("https://jarvislabs.ai/", "", "jarvislabs"),
        "lambda": _Rental("https://cloud.lambda.ai/instances", "lambda", "lambda"),
        "massedcompute": _Rental("https://vm.massedcompute.com/", "shadeform"),
        "nebius": _Rental("https://console.nebius.com/", "nebius", "nebius"),
        "oci": _Rental("https://www.oracle.com/cloud/compute/gpu/", "oci", "oci"),
        "ovh": _Rental("https://www.ovhcloud.com/en/public-cloud/gpu/"),
        "paperspace": _Rental("https://console.paperspace.com/", "shadeform"),
        "runpod": _Rental("https://console.runpod.io/deploy", "runpod", "runpod"),
        "scaleway": _Rental("https://www.scaleway.com/en/gpu-instances/", "shadeform"),
        "seeweb": _Rental("https://www.seeweb.it/en/products/cloud-server-gpu", "seeweb"),
        "vast": _Rental("https://cloud.vast.ai/create/", "vast", "vastai"),
        "verda": _Rental("https://console.verda.com/", "verda", "verda"),
        "vultr": _Rental("https://console.vultr.com/deploy/", "", "vultr"),
        "yotta": _Rental("https://console.yottalabs.ai/", "yotta"),
    }
)
#: SkyPilot's name of a GPU: the usual one, and others by provider. Where none is here it is the GPU's model.
_SKYPILOT_GPUS = MappingProxyType(
    {
        "A100-SXM4-80GB": "A100-80GB",
        "A100-PCIE-80GB": "A100-80GB",
        "Tesla V100-PCIE-32GB": "V100-32GB",
        "Tesla V100-SXM2-32GB": "V100-32GB",
        "GeForce RTX 3090": "RTX3090",
        "GeForce RTX 4090": "RTX4090",
        "GeForce RTX 5090": "RTX5090",
        "Quadro RTX 6000": "RTX6000",
        "RTX 6000 Ada Generation": "RTX6000-Ada",
        "RTX A4000": "RTXA4000",
        "RTX A4500": "RTXA4500",
        "RTX A5000": "RTXA5000",
        "RTX A6000": "RTXA6000",
        "RTX PRO 6000 Blackwell Server Edition": "RTXPRO6000",
        "RTX PRO 6000 Blackwell Workstation Edition": "RTXPRO6000WS",
    }
)
_OTHER_SKYPILOT_GPUS = MappingProxyType(
    {
        ("lambda", "RTX A6000"): "A6000",
        ("runpod", "A100-SXM4-80GB"): "A100-80GB-SXM",
        ("runpod", "H100-NVL-94GB"): "H100-NVL",
        ("runpod", "H100-SXM5-80GB"): "H100-SXM",
        ("runpod", "H200-SXM-141GB"): "H200-SXM",
        ("seeweb", "A100-PCIE-80GB"): "A100",
        ("seeweb", "RTX PRO 6000 Blackwell Server Edition"): "RTX PRO 6000 96GB",
        ("shadeform", "RTX 6000 Ada Generation"): "RTX6000Ada",
        ("shadeform", "RTX A4000"): "A4000",
        ("shadeform", "RTX A5000"): "A5000",
        ("shadeform", "RTX A6000"): "A6000",
        ("shadeform", "RTX PRO 6000 Blackwell Server Edition"): "RTXPro6000",
        ("verda", "RTX 6000 Ada Generation"): "RTX-6000-Ada",
        ("verda", "RTX PRO 6000 Blackwell Server Edition"): "RTX-PRO-6000",
    }
)
_SPOT_POLICIES = MappingProxyType({SPOT: "spot", MARKETPLACE: "auto"})
#: GPUs that dstack tells apart by their memory alone.
_BY_MEMORY = frozenset({"A100", "H100", "V100"})
#: Compute capability from which on a GPU needs a CUDA release, newest first.
_CUDA = ((10.0, "12.8"), (8.9, "11.8"), (8.0, "11.1"))


class Launch(Struct, frozen=True):
    """How to rent an offer and run a command there.

    Attributes
    ----------
    skypilot, dstack : a task file; "" where that program doesn't know the provider.
    page : the provider's own page; "" for custom hardware.
    availability : what is known of it.
    checklist : what to check before.
    """

    skypilot: str
    dstack: str
    page: str
    availability: str
    checklist: str


def launch_of(offer: Instance, gpu: Gpu | None = None, command: str = "") -> Launch:
    """Return how to rent an offer; `gpu` are its specs, for the driver.

    Raises
    ------
    InputError : the command isn't printable text.
    """
    rental = _RENTALS.get(offer.provider, _Rental(""))
    lines = _command_lines(command)
    if offer.status == RETIRED:
        return Launch("", "", "", "it can't be rented any more", "")
    where = offer.market
    if offer.provider != CUSTOM_PROVIDER:
        where += ", region not listed" if offer.region == ANYWHERE else f" in {offer.region}"
    listed = f", listed in {date_words(offer.as_of)}" if offer.as_of else ""
    cloud = cloud_words(offer.provider)
    capability = None if gpu is None else gpu.compute_capability
    cuda = next((cuda for least, cuda in _CUDA if capability is not None and capability >= least), "")
    driver = f"a driver for CUDA {cuda} or newer" if cuda else "ROCm" if offer.gpu.startswith("AMD ") else "the driver"
    rented = offer.provider in _RENTALS
    return Launch(
        skypilot=_skypilot(offer, rental.skypilot, lines) if rental.skypilot else "",
        dstack=_dstack(offer, rental.dstack, lines) if rental.dstack else "",
        page=rental.page.format(family=_aws_family(offer.name)),
        availability=f"{where}{listed}; whether one is free, {cloud} knows" if rented else where,
        checklist=f"Check your quota, the region, {driver}, and the price now." if rented else "",
    )


def _command_lines(command: str) -> list[str]:
    text = textwrap.dedent(command or USUAL_COMMAND).expandtabs(4).strip()
    lines = [line.rstrip() for line in text.splitlines()]
    if len(text) > MAX_COMMAND or not all(line.isprintable() for line in lines):
        raise InputError(f"A command is up to {MAX_COMMAND:,} printable characters.")
    return lines or [USUAL_COMMAND]


def _skypilot(offer: Instance, cloud: str, lines: list[str]) -> str:
    """Return a task of SkyPilot; at Shadeform, which rents out many clouds, with the machine's name there."""
    machine = machine_words(offer)
    if cloud == "shadeform" and (machine.startswith("n3-") or offer.region == ANYWHERE):
        # Lists of Hyperstack and Crusoe themselves, whose names Shadeform doesn't have.
        return ""
    gpu = _OTHER_SKYPILOT_GPUS.get((cloud, offer.gpu)) or _SKYPILOT_GPUS.get(offer.gpu, offer.gpu_model)
    # Markets have no region to choose, and RunPod's are data centers.
    has_region = cloud not in ("vast", "runpod") and offer.region != ANYWHERE and re.fullmatch(r"[\w-]+", offer.region)
    fields = [f"  infra: {cloud}/{offer.region}" if has_region else f"  infra: {cloud}"]
    fields.append(f"  accelerators: {gpu}:{offer.gpu_count}")
    if cloud == "shadeform":
        fields.append(f"  instance_type: {offer.provider}_{machine}")
    if offer.market == SPOT:
        fields.append("  use_spot: true")
    return _yaml(["resources:", *fields, "run: |", *(f"  {line}".rstrip() for line in lines)])


def _dstack(offer: Instance, backend: str, lines: list[str]) -> str:
    """Return a task of dstack, which finds the machine by its GPU, memory and price."""
    name = re.sub(
        r"^(AMD Instinct|GeForce|Tesla|Quadro) | (Generation|Blackwell .*)$|[ -]", "", offer.gpu.partition("-")[0]
    )
    # "RTX A6000" is "A6000" there, "RTX 4090" "RTX4090".
    name = re.sub(r"^RTX(?=A\d)", "", name.replace(" ", ""))
    memory = f":{offer.gpu_memory_gib:g}GB" if name in _BY_MEMORY else ""
    return _yaml(
        [
            "type: task",
            "name: training",
            "commands:",
            "  - |",
            *(f"    {line}".rstrip() for line in lines),
            "resources:",
            f"  gpu: {name}{memory}:{offer.gpu_count}",
            f"backends: [{backend}]",
            f"spot_policy: {_SPOT_POLICIES.get(offer.market, 'on-demand')}",
        ]
    )


def _yaml(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _aws_family(machine: str) -> str:
    """AWS has a page a family: 'p5' for 'p5en.48xlarge', 'g6e' for 'g6e.xlarge'."""
    family = machine.partition(".")[0].partition("-")[0]
    return family if re.fullmatch(r"g[67]e", family) else re.sub(r"(?<=\d)[a-z]+$", "", family)
