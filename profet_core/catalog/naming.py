"""What people call an offer: the cloud, the machine there, and the GPU in it."""

from __future__ import annotations

import re

from profet_core.catalog.instance import OWN_PROVIDER, Instance

#: As the clouds write themselves; any other stays as it is written.
_CLOUDS = {
    "aws": "AWS",
    "azure": "Azure",
    "gcp": "GCP",
    "lambda": "Lambda",
    "nebius": "Nebius",
    "runpod": "RunPod",
    "vast": "Vast",
    "verda": "Verda",
}


def cloud_words(provider: str) -> str:
    """A cloud's name as it writes itself; 'your own' of what is one's own.

    >>> cloud_words("gcp"), cloud_words("own"), cloud_words("acme")
    ('GCP', 'your own', 'acme')
    """
    return "your own" if provider == OWN_PROVIDER else _CLOUDS.get(provider, provider)


def machine_words(offer: Instance) -> str:
    """An instance's name as its cloud has it: 'a2-highgpu-1g' of 'gcp/a2-highgpu-1g'.

    Of Azure's, which all begin so, without 'Standard_'.
    """
    return offer.name.removeprefix(f"{offer.provider}/").removeprefix("Standard_")


def gpu_words(offer: Instance) -> str:
    """A GPU's model in few letters: 'V100', 'RTX 4090'."""
    return re.sub(r"^(NVIDIA |GeForce )+| Generation$", "", offer.gpu_model)


def gpu_and_cloud(offer: Instance) -> str:
    """'V100, Verda'; of what is one's own the GPU alone, for its name is one's own too."""
    own = offer.provider == OWN_PROVIDER
    return gpu_words(offer) if own else f"{gpu_words(offer)}, {cloud_words(offer.provider)}"
