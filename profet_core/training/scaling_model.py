"""What sharing gradients takes and adds to a step, and the coefficients of `scaleout.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.errors import WordedEnum
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder
from profet_core.latency import FloatArray, log_sd_of

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

    Attributes
    ----------
    least : of two GPUs with no added time.
    exposed : increase with the share of the step that is added.
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
    link_efficiency : share of the specified bandwidth that gradients attain, by type of link between GPUs of a node.
    host_efficiency : the same for PCIe to a parameter server on the CPU.
    network_efficiency : between nodes.
    message_ms : latency per message, within a node and between nodes. At 10 Gb/s, the only measured bandwidth, it can't
        be separated from the bandwidth term, and on faster networks it is what remains.
    overlap : share of communication that the backward pass may hide.
    straggling, network_straggling : share of a step lost for each doubling of GPUs in a node, and of nodes.
    copy_efficiency : share of the specified bandwidth at which one process copies weights to all GPUs of a node.
    tensor_ms, tensor_gpu_ms : cost of each weight tensor for that process, and the increment per additional GPU.
    widths : whether one process trains on all GPUs -> type of link in a node -> width.
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
    widths: Mapping[bool, Mapping[Link, Width]]
    checksum: str = ""


def load_scaleout(folder: Path | str | None = None) -> ScaleoutModel:
    """Load `scaleout.json` of a models folder (`$PROFET_HOME` or the shipped one if None); raises ArtifactError."""
    return load_coefficients(models_folder(folder) / SCALEOUT_NAME, SCALEOUT_VERSION, _model)


def _model(content: JsonObject) -> ScaleoutModel:
    """Parse a file's content; raises `ValueError` or similar for invalid content."""
    numbers = {name: finite_number(content[name]) for name in NUMBERS}
    efficiency = {Link(name): finite_number(value) for name, value in content["link_efficiency"].items()}
    names = [part.name for part in fields(Width)]
    widths, by_one_process = (
        {Link(link): Width(**{name: finite_number(row[name]) for name in names}) for link, row in content[key].items()}
        for key in ("widths", "one_process_widths")
    )
    shares = [*efficiency.values(), *(numbers[name] for name in numbers if name.endswith("efficiency"))]
    parts = [part for width in (*widths.values(), *by_one_process.values()) for part in astuple(width)]
    if min(shares) <= 0 or max(*shares, numbers["overlap"]) > 1 or min(*numbers.values(), *parts) < 0:
        raise ValueError("no multi-GPU model")
    if any(set(table) != set(Link) for table in (efficiency, widths, by_one_process)):
        raise ValueError("not every link")
    return ScaleoutModel(
        MappingProxyType(efficiency),
        **numbers,
        widths=MappingProxyType({False: widths, True: by_one_process}),
        checksum=content["checksum"],
    )


# The formulas work on scalars or on arrays of equal shape. They are standard forms, after Pei et al., IEEE Access 2019
# (doi 10.1109/ACCESS.2019.2916550), whose equations were not read. Deviations based on published measurements are
# noted.

Values: TypeAlias = "float | FloatArray"

#: Share of the backward pass in a step: two convolutions per forward convolution.
BACKWARD_SHARE = 2 / 3
_BYTES_PER_MS = 1e6
#: The only strategy measured between nodes.
_MEASURED_NETWORK_GB_PER_S = 10.0 / 8


class Strategy(WordedEnum):
    """Strategy for exchanging gradients; the values appear in documents and on the command line.

    >>> Strategy("ps-cpu").words
    'parameter server on the CPU'
    """

    RING = "ring", "ring all-reduce"
    TREE = "tree", "tree all-reduce"
    PS_CPU = "ps-cpu", "parameter server on the CPU"
    PS_GPU = "ps-gpu", "parameter server on the GPUs"
    ONE_PROCESS = "one-process", "one process for all GPUs (DataParallel)"


@dataclass(frozen=True, slots=True)
class Links:
    """Bandwidths of several `Interconnect`s with one type of link, as arrays; 10^9 bytes per second, one direction."""

    link: Link
    link_gb_per_s: FloatArray
    pcie_gb_per_s: FloatArray
    gpus_per_root: FloatArray
    network_gb_per_s: FloatArray


def node_sharing_ms(
    model: ScaleoutModel, strategy: Strategy, gpus: Values, links: Interconnect | Links, gradient_bytes: Values
) -> Values:
    """Time to exchange gradients among the GPUs of a node, milliseconds; 0 on one GPU.

    All GPUs behind a root port send to a CPU parameter server at once (measured on K80 nodes: eight take no longer
    than four). A parameter server on the GPUs is sharded over them, as in TensorFlow, so it moves as many bytes as a
    ring.
    """
    if strategy is Strategy.PS_CPU:
        once_ms = _ms(gradient_bytes, links.pcie_gb_per_s * model.host_efficiency)
        several = np.minimum(gpus, links.gpus_per_root)
        return np.where(np.greater(gpus, 1), 2 * several * once_ms + gpus * model.message_ms, 0.0)
    once_ms = _ms(gradient_bytes, links.link_gb_per_s * model.link_efficiency[links.link])
    return all_reduce_ms(strategy, gpus, once_ms, model.message_ms)


def network_sharing_ms(
    model: ScaleoutModel, strategy: Strategy, nodes: Values, links: Interconnect | Links, gradient_bytes: Values
) -> Values:
    """Time to exchange sums between nodes, milliseconds; 0 on one node. Parameter servers are sharded over nodes."""
    once_ms = _ms(gradient_bytes, links.network_gb_per_s * model.network_efficiency)
    return all_reduce_ms(strategy, nodes, once_ms, model.message_ms)


def all_reduce_ms(strategy: Strategy, members: Values, once_ms: Values, message_ms: float) -> Values:
    """Time of a tree or a ring; `once_ms`: time of all gradients over one link.

    >>> float(all_reduce_ms(Strategy.RING, 4, 10, 0.5)), float(all_reduce_ms(Strategy.TREE, 4, 10, 0.5))
    (18.0, 42.0)
    """
    if strategy is Strategy.TREE:
        return 2 * np.ceil(np.log2(members)) * (once_ms + message_ms)
    return 2 * (members - 1) / members * once_ms + 2 * (members - 1) * message_ms


def several_ms(
    model: ScaleoutModel, one_gpu_ms: Values, gpus_per_node: Values, nodes: Values, sharing_ms: Values
) -> Values:
    """Step latency in milliseconds on several GPUs with one process each; at least one GPU's.

    The part of communication that can overlap is hidden by the backward pass. The rest, and straggling, adds up.
    """
    backward_ms = BACKWARD_SHARE * one_gpu_ms
    overlapped_ms = model.overlap * sharing_ms
    waiting = model.straggling * np.log2(gpus_per_node) + model.network_straggling * np.log2(nodes)
    longer_ms = np.maximum(overlapped_ms - backward_ms, 0.0) + sharing_ms - overlapped_ms
    return one_gpu_ms * (1 + waiting) + longer_ms


def one_process_ms(
    model: ScaleoutModel,
    one_gpu_ms: Values,
    gpus: Values,
    links: Interconnect | Links,
    gradient_bytes: Values,
    tensors: Values,
) -> Values:
    """Step latency in milliseconds if one process launches for all GPUs of a node and copies weights from one of them.

    Weights are sent and gradients returned at once for all GPUs (measured: as long for four GPUs as for two). Each
    tensor costs process time, and more for each GPU.
    """
    copies_ms = 2 * _ms(gradient_bytes, links.link_gb_per_s * model.copy_efficiency)
    launches_ms = tensors * (model.tensor_ms + model.tensor_gpu_ms * (gpus - 1))
    return one_gpu_ms + np.where(np.greater(gpus, 1), copies_ms + launches_ms, 0.0)


def input_copy_ms(model: ScaleoutModel, gpus: Values, links: Interconnect | Links, input_bytes: Values) -> Values:
    """Time to copy the input to all GPUs behind one root port of the host, milliseconds."""
    sharing_port = np.minimum(gpus, links.gpus_per_root)
    return sharing_port * _ms(input_bytes, links.pcie_gb_per_s * model.host_efficiency)


def network_doubt(network_gb_per_s: float) -> float:
    """Factor on the half-width of a step over several nodes, for networks that were not measured.

    A judgment: the half-width grows by its own size for each factor of ten from the 10 Gb/s of all measurements.

    >>> network_doubt(1.25), round(network_doubt(125), 3)
    (1.0, 3.0)
    """
    return 1 + abs(math.log10(network_gb_per_s / _MEASURED_NETWORK_GB_PER_S))


def _ms(amount_bytes: Values, gb_per_s: Values) -> Values:
    return amount_bytes / (gb_per_s * _BYTES_PER_MS)
