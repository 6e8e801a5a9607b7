"""Reads `scaleout.json`: what was fitted on published multi-GPU measurements, with its own checksum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from profet_core.catalog.interconnects import Link
from profet_core.files import damaged, default_models_folder, finite_number, read_coefficients

SCALEOUT_NAME = "scaleout.json"
SCALEOUT_VERSION = 1

_NUMBERS = (
    "host_efficiency",
    "network_efficiency",
    "message_ms",
    "network_message_ms",
    "overlap",
    "straggling",
    "network_straggling",
    "log_half_width",
    "exposed_log_half_width",
)


@dataclass(frozen=True, slots=True)
class ScaleoutModel:
    """Coefficients of a step on several GPUs.

    Attributes
    ----------
    link_efficiency : share of a data sheet's bandwidth that gradients get, by what links the GPUs of a node.
    host_efficiency : the same of PCIe to a parameter server on the CPU. network_efficiency : between nodes.
    message_ms, network_message_ms : each message's own time, within a node and between nodes.
    overlap : share of the sharing that may hide behind the backward pass.
    straggling, network_straggling : share of a step lost for each doubling of GPUs in a node, and of nodes.
    log_half_width : 90 % half width of a step, in the logarithm, one GPU's step known; `exposed_log_half_width` more
        times the share of the step that several GPUs add.
    checksum : of the file's content.
    """

    link_efficiency: Mapping[Link, float]
    host_efficiency: float
    network_efficiency: float
    message_ms: float
    network_message_ms: float
    overlap: float
    straggling: float
    network_straggling: float
    log_half_width: float
    exposed_log_half_width: float
    checksum: str = ""


def load_scaleout(folder: Path | str | None = None) -> ScaleoutModel:
    """Load `scaleout.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : it is missing, damaged, changed, or of another version.
    """
    path = (Path(folder) if folder is not None else default_models_folder()) / SCALEOUT_NAME
    content = read_coefficients(path, SCALEOUT_VERSION)
    try:
        return scaleout_model(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged(path) from None


def scaleout_model(content: Mapping) -> ScaleoutModel:
    """The model a file's content describes; `ValueError` or the like if it describes none."""
    numbers = {name: finite_number(content[name]) for name in _NUMBERS}
    efficiency = {Link(name): finite_number(value) for name, value in content["link_efficiency"].items()}
    shares = [*efficiency.values(), numbers["host_efficiency"], numbers["network_efficiency"]]
    if set(efficiency) != set(Link) or min(shares) <= 0 or min(numbers.values()) < 0 or numbers["overlap"] > 1:
        raise ValueError("no law of several GPUs")
    return ScaleoutModel(MappingProxyType(efficiency), **numbers, checksum=content["checksum"])
