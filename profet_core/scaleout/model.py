"""Load `scaleout.json`, fitted on published multi-GPU measurements, with its own checksum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import MappingProxyType

from profet_core.catalog.interconnects import Link
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder
from profet_core.latency import log_sd_of

SCALEOUT_NAME = "scaleout.json"
SCALEOUT_VERSION = 2

#: Scalar coefficients.
NUMBERS = (
    "host_efficiency",
    "network_efficiency",
    "message_ms",
    "overlap",
    "straggling",
    "network_straggling",
    "copy_efficiency",
    "tensor_ms",
    "tensor_gpu_ms",
)


@dataclass(frozen=True, slots=True)
class Width:
    """90% half-width of a step in the logarithm, given one GPU's step.

    It grows with the time that more GPUs add.

    Attributes
    ----------
    least : of two GPUs with no added time. exposed : increase with the share of the step that is added.
    doubling : increase for each doubling of two GPUs.
    """

    least: float
    exposed: float
    doubling: float

    def log_sd(self, added_share: float, gpus: int) -> float:
        """Standard deviation in the logarithm for that many GPUs, two or more.

        >>> round(Width(0.04, 0.5, 0.1).log_sd(0.2, 8) * 1.645, 3)
        0.34
        """
        return float(log_sd_of(self.least + self.exposed * added_share + self.doubling * math.log2(gpus / 2)))


@dataclass(frozen=True, slots=True)
class ScaleoutModel:
    """Coefficients of a step on several GPUs.

    Attributes
    ----------
    link_efficiency : share of the specified bandwidth that gradients reach, by type of link between the GPUs of a node.
    host_efficiency : the same for PCIe to a parameter server on the CPU. network_efficiency : between nodes.
    message_ms : latency per message, within a node and between nodes. At 10 Gb/s, the only measured bandwidth, it can't
        be separated from the bandwidth term, and on faster networks it is what remains.
    overlap : share of communication that the backward pass may hide.
    straggling, network_straggling : share of a step lost for each doubling of GPUs in a node, and of nodes.
    copy_efficiency : share of the specified bandwidth at which one process copies weights to all GPUs of a node.
    tensor_ms, tensor_gpu_ms : cost of each weight tensor for that process, and the increment per additional GPU.
    widths, one_process_widths : by type of link in a node, for one process per GPU, and for one process in total.
    checksum : of the file's content.
    """

    link_efficiency: Mapping[Link, float]
    host_efficiency: float
    network_efficiency: float
    message_ms: float
    overlap: float
    straggling: float
    network_straggling: float
    copy_efficiency: float
    tensor_ms: float
    tensor_gpu_ms: float
    widths: Mapping[Link, Width]
    one_process_widths: Mapping[Link, Width]
    checksum: str = ""


def load_scaleout(folder: Path | str | None = None) -> ScaleoutModel:
    """Load `scaleout.json` of a models folder (`$PROFET_HOME` or the shipped one if None).

    Raises
    ------
    ArtifactError : the file is missing, damaged, changed, or has another version.
    """
    return load_coefficients(models_folder(folder) / SCALEOUT_NAME, SCALEOUT_VERSION, scaleout_model)


def scaleout_model(content: JsonObject) -> ScaleoutModel:
    """Parse the model from a file's content; raises `ValueError` or similar for invalid content."""
    numbers = {name: finite_number(content[name]) for name in NUMBERS}
    widths, by_one_process = _widths(content["widths"]), _widths(content["one_process_widths"])
    efficiency = {Link(name): finite_number(value) for name, value in content["link_efficiency"].items()}
    shares = [*efficiency.values(), *(numbers[name] for name in numbers if name.endswith("efficiency"))]
    of_widths = [part for each in (*widths.values(), *by_one_process.values()) for part in astuple(each)]
    least = [*numbers.values(), *of_widths]
    if min(shares) <= 0 or max(*shares, numbers["overlap"]) > 1 or min(least) < 0:
        raise ValueError("no multi-GPU model")
    if set(efficiency) != set(Link) or not set(widths) == set(by_one_process) == set(Link):
        raise ValueError("not every link")
    return ScaleoutModel(
        MappingProxyType(efficiency),
        **numbers,
        widths=MappingProxyType(widths),
        one_process_widths=MappingProxyType(by_one_process),
        checksum=content["checksum"],
    )


def _widths(rows: JsonObject) -> dict[Link, Width]:
    names = [part.name for part in fields(Width)]
    return {Link(link): Width(**{name: finite_number(row[name]) for name in names}) for link, row in rows.items()}
