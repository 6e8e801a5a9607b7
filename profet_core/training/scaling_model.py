"""Time of exchanging gradients, its share in a step, and the coefficients of `scaleout.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import astuple

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.errors import WordedEnum
from profet_core.files import JsonObject, finite_number, load_coefficients, models_folder
from profet_core.latency import FloatArray, log_sd_of

SCALEOUT_NAME = "scaleout.json"
SCALEOUT_VERSION = 3

#: Scalar coefficients.
NUMBERS = (
    "host_efficiency",
    "network_efficiency",
    "staged_gb_per_s",
    "overlap",
    "network_overlap",
    "backward_left",
    "straggling",
    "switched_straggling",
    "network_straggling",
    "copy_efficiency",
    "tensor_ms",
    "tensor_gpu_ms",
)
#: Those that are divided by.
POSITIVE = ("host_efficiency", "network_efficiency", "staged_gb_per_s", "copy_efficiency")


class IntervalWidth(Struct, frozen=True):
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
        """Return the standard deviation in the logarithm for that many GPUs, two or more.

        >>> round(IntervalWidth(0.04, 0.5, 0.1).log_sd(0.2, 8) * 1.645, 3)
        0.34
        """
        return float(log_sd_of(self.least + self.exposed * added_share + self.doubling * math.log2(gpus / 2)))


class ScaleoutModel(Struct, frozen=True):
    """Coefficients of a step on several GPUs.

    Attributes
    ----------
    link_efficiency : share of the specified bandwidth that gradients attain, by type of link between GPUs of a node.
    host_efficiency : the same for PCIe to a parameter server on the CPU.
    network_efficiency : between nodes, without RDMA.
    staged_gb_per_s : bandwidth of copies through host memory, which limits networks without RDMA.
    overlap, network_overlap : share of communication that the backward pass may hide: over links between GPUs, where it
        takes part of the GPUs, and through host memory or between nodes.
    backward_left : share of the backward pass that is left when the first bucket of gradients is ready.
    straggling, switched_straggling, network_straggling : share of a step lost for each doubling of GPUs in a node, in a
        node with NVSwitch, and of nodes.
    copy_efficiency : share of the specified bandwidth at which one process copies weights to all GPUs of a node.
    tensor_ms, tensor_gpu_ms : cost of each weight tensor for that process, and the increment per additional GPU.
    widths : whether one process trains on all GPUs -> type of link in a node -> width.
    network_width : of several nodes.
    log_sds : coefficient -> standard deviation of its logarithm, by leaving out each source.
    checksum : of the file's content.
    """

    link_efficiency: Mapping[Link, float]
    host_efficiency: float
    network_efficiency: float
    staged_gb_per_s: float
    overlap: float
    network_overlap: float
    backward_left: float
    straggling: float
    switched_straggling: float
    network_straggling: float
    copy_efficiency: float
    tensor_ms: float
    tensor_gpu_ms: float
    widths: Mapping[bool, Mapping[Link, IntervalWidth]]
    network_width: IntervalWidth
    log_sds: Mapping[str, float] = field(default_factory=dict)
    checksum: str = ""


def load_scaleout(folder: Path | str | None = None) -> ScaleoutModel:
    """Load `scaleout.json` of a models folder (`$PROFET_HOME` or the shipped one if None); raises ArtifactError."""
    return load_coefficients(models_folder(folder) / SCALEOUT_NAME, SCALEOUT_VERSION, _model)


def _model(content: JsonObject) -> ScaleoutModel:
    """Parse a file's content; raises `ValueError` or similar for invalid content."""
    numbers = {name: finite_number(content[name]) for name in NUMBERS}
    efficiency = {Link(name): finite_number(value) for name, value in content["link_efficiency"].items()}

    def width(row: JsonObject) -> IntervalWidth:
        return IntervalWidth(*(finite_number(row[part]) for part in IntervalWidth.__struct_fields__))

    widths, by_one_process = (
        {Link(link): width(row) for link, row in content[key].items()} for key in ("widths", "one_process_widths")
    )
    network_width = width(content["network_width"])
    log_sds = {name: finite_number(value) for name, value in content["log_sds"].items()}
    shares = [*efficiency.values(), *(numbers[name] for name in numbers if name.endswith(("efficiency", "overlap")))]
    parts = [part for width in (*widths.values(), *by_one_process.values(), network_width) for part in astuple(width)]
    if min(*efficiency.values(), *(numbers[name] for name in POSITIVE)) <= 0:
        raise ValueError("a speed is not positive")
    if max(*shares, numbers["backward_left"]) > 1 or min(*numbers.values(), *parts, *log_sds.values()) < 0:
        raise ValueError("no multi-GPU model")
    if any(set(table) != set(Link) for table in (efficiency, widths, by_one_process)):
        raise ValueError("not every link")
    return ScaleoutModel(
        MappingProxyType(efficiency),
        **numbers,
        widths=MappingProxyType({False: widths, True: by_one_process}),
        network_width=network_width,
        log_sds=MappingProxyType(log_sds),
        checksum=content["checksum"],
    )


# The formulas work on scalars or on arrays of equal shape. They are standard forms, after Pei et al., IEEE Access 2019
# (doi 10.1109/ACCESS.2019.2916550), whose equations were not read; overlap in buckets is that of Li et al., VLDB 2020
# (doi 10.14778/3415478.3415530). Deviations based on published measurements are noted.

Values: TypeAlias = "float | FloatArray"

#: Share of the backward pass in a step: two convolutions per forward convolution.
BACKWARD_SHARE = 2 / 3
_BYTES_PER_MS = 1e6
#: Gradients are exchanged in buckets: PyTorch's default size.
BUCKET_BYTES = 25e6
#: Latency of one message of a bucket; the order of NCCL's own constants, too small to be fitted.
LINK_LATENCY_MS: Mapping[Link, float] = MappingProxyType(
    {
        Link.NVSWITCH: 0.01,
        Link.NVLINK: 0.01,
        Link.BRIDGE: 0.01,
        Link.FABRIC: 0.01,
        Link.PCIE: 0.02,
        Link.PCIE_HOST: 0.03,
    }
)
NETWORK_LATENCY_MS = 0.05
#: Networks from here on are taken to have RDMA from GPU to GPU: InfiniBand HDR, EFA, Slingshot, RoCE. Slower ones stage
#: gradients in host memory, as all measured ones do (10 Gb/s Ethernet; InfiniBand 100 Gb/s, where DLPerf's frameworks
#: attain 1 to 2 GB/s).
RDMA_GB_PER_S = 200 / 8
#: Share of an RDMA network that NCCL attains; from its own benchmarks, not fitted.
RDMA_EFFICIENCY = 0.8


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


class Links(Struct, frozen=True):
    """Bandwidths of several `Interconnect`s with one type of link, as arrays; 10^9 bytes per second, one direction."""

    link: Link
    link_gb_per_s: FloatArray
    pcie_gb_per_s: FloatArray
    gpus_per_root: FloatArray


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
        sent_ms = 2 * several * once_ms + gpus * LINK_LATENCY_MS[links.link]
        return np.where(np.greater(gpus, 1), sent_ms, 0.0)
    once_ms = _ms(gradient_bytes, links.link_gb_per_s * model.link_efficiency[links.link])
    return all_reduce_ms(strategy, gpus, gpus, once_ms, _message_ms(gradient_bytes, LINK_LATENCY_MS[links.link]))


def network_sharing_ms(
    model: ScaleoutModel,
    strategy: Strategy,
    gpus: Values,
    nodes: Values,
    network_gb_per_s: Values,
    gradient_bytes: Values,
) -> Values:
    """Time to exchange gradients between nodes, milliseconds; 0 on one node.

    A ring of all GPUs passes each network adapter once in each direction (measured: 16 and 32 GPUs take as long).
    Parameter servers are sharded over nodes.
    """
    staged = 1 / (1 / (network_gb_per_s * model.network_efficiency) + 1 / model.staged_gb_per_s)
    attained = np.where(
        np.greater_equal(network_gb_per_s, RDMA_GB_PER_S), RDMA_EFFICIENCY * np.asarray(network_gb_per_s), staged
    )
    message_ms = _message_ms(gradient_bytes, NETWORK_LATENCY_MS)
    sent_ms = all_reduce_ms(strategy, gpus, nodes, _ms(gradient_bytes, attained), message_ms)
    return np.where(np.greater(nodes, 1), sent_ms, 0.0)


def _message_ms(gradient_bytes: Values, latency_ms: float) -> Values:
    """Latency of one message of each bucket."""
    return np.ceil(np.asarray(gradient_bytes) / BUCKET_BYTES) * latency_ms


def all_reduce_ms(strategy: Strategy, gpus: Values, hops: Values, once_ms: Values, message_ms: Values) -> Values:
    """Time of a tree or a ring of `gpus`; `once_ms`: time of all gradients over one link; `hops`: links that matter.

    >>> float(all_reduce_ms(Strategy.RING, 4, 4, 10, 0.5)), float(all_reduce_ms(Strategy.TREE, 4, 4, 10, 0.5))
    (18.0, 42.0)
    """
    if strategy is Strategy.TREE:
        return 2 * np.ceil(np.log2(hops)) * (once_ms + message_ms)
    return 2 * (gpus - 1) / gpus * once_ms + 2 * (hops - 1) * message_ms


def several_ms(
    model: ScaleoutModel,
    strategy: Strategy,
    link: Link,
    one_gpu_ms: Values,
    gpus_per_node: Values,
    nodes: Values,
    in_node_ms: Values,
    between_ms: Values,
) -> Values:
    """Step latency in milliseconds on several GPUs with one process each; at least one GPU's.

    Communication starts when the first bucket of gradients is ready. What the rest of the backward pass can't hide, and
    straggling, adds up.
    """
    in_node = model.network_overlap if strategy is Strategy.PS_CPU else model.overlap
    straggling = model.switched_straggling if link is Link.NVSWITCH else model.straggling
    hidden_ms = in_node * in_node_ms + model.network_overlap * between_ms
    left_ms = model.backward_left * BACKWARD_SHARE * one_gpu_ms
    waiting = straggling * np.log2(gpus_per_node) + model.network_straggling * np.log2(nodes)
    longer_ms = np.maximum(hidden_ms - left_ms, 0.0) + in_node_ms + between_ms - hidden_ms
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


def _ms(amount_bytes: Values, gb_per_s: Values) -> Values:
    return amount_bytes / (gb_per_s * _BYTES_PER_MS)
