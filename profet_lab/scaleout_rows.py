"""Published multi-GPU speeds beside the same machine's one-GPU speed, with their networks and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import gpu_model
from profet_core.catalog.interconnects import PCIE_GB_PER_S, Interconnect, Link
from profet_core.training.scaling_model import Strategy
from profet_core.training.several_gpus import GRADIENT_BYTES
from profet_core.units import MS_PER_S
from profet_lab.measurements.published import THROUGHPUT_FILE
from profet_lab.measurements.tables import DataError

#: Network with 1,000 classes -> millions of parameters, and weight tensors as PyTorch counts them (None where no
#: measurement by one process needs them). Counts are torchvision's, else those of the network's paper or of
#: tf_cnn_benchmarks. What ships with no count (SSD, nnU-Net, UNet Industrial, EfficientDet) is excluded.
WEIGHTS: Mapping[str, tuple[float, int | None]] = MappingProxyType(
    {
        name: (millions, tensors)
        for name, millions, tensors in (
            ("AlexNet", 61.1, 16),
            ("EfficientNet-B0", 5.29, None),
            ("EfficientNet-B4", 19.34, None),
            ("InceptionV3", 23.85, None),
            ("InceptionV4", 42.68, None),
            ("MobileNetV2", 3.50, 158),
            ("ResNeXt101-32x4d", 44.18, None),
            ("ResNet101", 44.55, 314),
            ("ResNet152", 60.19, 467),
            ("ResNet18", 11.69, 62),
            ("ResNet34", 21.80, 110),
            ("ResNet50", 25.56, 161),
            ("SE-ResNeXt101-32x4d", 48.96, None),
            ("UNet Medical", 31.03, None),
            ("VGG11", 132.86, 22),
            ("VGG13", 133.05, 26),
            ("VGG16", 138.36, 32),
            ("VGG19", 143.67, 38),
            ("densenet121", 7.98, 364),
            ("densenet161", 28.68, 484),
            ("densenet169", 14.15, 508),
            ("densenet201", 20.01, 604),
            ("mnasnet0_5", 2.22, 158),
            ("mnasnet0_75", 3.17, 158),
            ("mnasnet1_0", 4.38, 158),
            ("mnasnet1_3", 6.28, 158),
            ("resnext101_32x8d", 88.79, 314),
            ("resnext50_32x4d", 25.03, 161),
            ("shufflenet_v2_x0_5", 1.37, 170),
            ("shufflenet_v2_x1_0", 2.28, 170),
            ("shufflenet_v2_x1_5", 3.50, 170),
            ("shufflenet_v2_x2_0", 7.39, 170),
            ("squeezenet1_0", 1.25, 52),
            ("squeezenet1_1", 1.24, 52),
            ("vgg11_bn", 132.87, 38),
            ("vgg13_bn", 133.05, 46),
            ("vgg16_bn", 138.37, 58),
            ("vgg19_bn", 143.68, 70),
            ("wide_resnet101_2", 126.89, 314),
            ("wide_resnet50_2", 68.88, 161),
        )
    }
)


_SHEET = "NVIDIA's data sheet"


def _of(
    link: Link, gb_per_s: float, generation: int, *, gpus: int = 8, root: int = 2, source: str = _SHEET
) -> Interconnect:
    return Interconnect(gpus, link, gb_per_s, generation, root, 10.0, source)


#: Published GPU -> its machine. GeForce cards and TITANs communicate through host memory, whose bandwidth does
#: not rise with PCIe 4 (two RTX 3080 share gradients at the rate of two RTX 2080 Ti). Folders whose name says NVLink
#: are as slow as those without (2080 Ti, RTX 8000): they count as PCIe.
RIGS: Mapping[str, Interconnect] = MappingProxyType(
    {
        "A100-PCIE-40GB": _of(Link.PCIE, PCIE_GB_PER_S[4], 4),
        "A100-SXM4-40GB": _of(Link.NVSWITCH, 300.0, 4),
        "A100-SXM4-80GB": _of(Link.NVSWITCH, 300.0, 4),
        "Tesla V100-SXM2-16GB": _of(Link.NVLINK, 150.0, 3),
        "Tesla V100-SXM2-32GB": _of(Link.NVLINK, 150.0, 3),
        "Tesla V100-SXM3-32GB": _of(Link.NVSWITCH, 150.0, 3, gpus=16),
        "GeForce RTX 2080 Ti": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "GeForce RTX 3070": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "GeForce RTX 3080": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "GeForce RTX 3090": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "TITAN RTX": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "TITAN Xp": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "Quadro RTX 6000": _of(Link.PCIE, PCIE_GB_PER_S[3], 3),
        "Quadro RTX 8000": _of(Link.PCIE, PCIE_GB_PER_S[3], 3),
        "RTX A6000": _of(Link.PCIE, PCIE_GB_PER_S[4], 4),
    }
)
#: Platform of the benchmarks of 2017 -> its nodes. A K80 board is two GPUs; eight of them hang on two root ports.
PLATFORMS_2017: Mapping[str, Interconnect] = MappingProxyType(
    {
        "DGX-1": _of(Link.NVLINK, 80.0, 3),
        "GCE n1-standard-32-k80x8": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4),
        "EC2 p2.8xlarge": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4),
        "EC2 p2.8xlarge distributed": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4, source="AWS's instance types"),
    }
)


TENSORFLOW_2017_FILE = Path("external") / "tensorflow_multi_gpu_2017.csv"
#: The two data sets that are judged.
TENSORFLOW_2017, THROUGHPUTS = "tensorflow 2017", "throughputs"

NO_ONE_GPU = "no one-GPU row of the same machine, framework, precision and batch"
NO_BATCH = "the batch size is not said"
NO_WEIGHTS = "the number of parameters is not published with it"
REAL_DATA = "real images: decoding on the CPU limits some (AlexNet stays at 7,100 images/s from four P100 on)"
FP16_WITHOUT_XLA = (
    "FP16 without XLA: with more GPUs the networks with batch normalization fall back to FP32's speed "
    "(twice it on one GPU, 1.2 to 1.5 times it on eight), whatever links them"
)
SLOW_ONE_GPU = "the one-GPU run is 15% slower than the same GPU's elsewhere, so that two GPUs exceed twice its speed"
BROKEN_FILE = "four GPUs are 2 to 3 times as slow as three, in every network of this one file"
CONTRADICTS = "one and two GPUs contradict each other: two run FP16 at five times the speed of one"


@dataclass(frozen=True)
class ScaleRows:
    """Published steps on several GPUs that have a one-GPU step beside them.

    rows : data_set (`TENSORFLOW_2017` or `THROUGHPUTS`), source, gpu (model, as `gpu_model` has it), network,
        precision, strategy, gpus, interconnect (of a node), batch_per_gpu, one_gpu_ms (at the same batch a GPU),
        latency_ms (on all GPUs), gradient_bytes (that each GPU shares a step), tensors (of weights), excluded (why;
        "": it is not), link, gpus_per_node, nodes and efficiency (share of perfect scaling that was measured).
    unusable : reason -> how many published steps could not be used at all.
    """

    rows: pd.DataFrame
    unusable: Mapping[str, int]

    @property
    def kept(self) -> pd.DataFrame:
        """The rows that are fitted and judged."""
        return self.rows[self.rows["excluded"] == ""].reset_index(drop=True)

    def held_out(self, data_set: str) -> dict[str, int]:
        """Reason -> rows of a data set that are not judged."""
        rows = self.rows
        counted = Counter(rows.loc[(rows["excluded"] != "") & (rows["data_set"] == data_set), "excluded"])
        return dict(counted + Counter(self.unusable if data_set == THROUGHPUTS else {}))


def scale_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as `ScaleRows` has them, from its columns up to `excluded`."""
    table = pd.DataFrame(rows)
    nodes = table["interconnect"]
    per_node = np.minimum(table["gpus"], [node.gpus for node in nodes])
    return table.assign(
        link=[node.link for node in nodes],
        gpus_per_node=per_node,
        nodes=table["gpus"] // per_node,
        efficiency=table["one_gpu_ms"] / table["latency_ms"],
    )


def has_scale_rows(folder: Path) -> bool:
    """Whether both files are there."""
    return all((folder / name).is_file() for name in (TENSORFLOW_2017_FILE, THROUGHPUT_FILE))


def load_scale_rows(folder: Path) -> ScaleRows:
    """Both data sets."""
    try:
        first = _rows_2017(pd.read_csv(folder / TENSORFLOW_2017_FILE))
        second, unusable = _throughputs(pd.read_csv(folder / THROUGHPUT_FILE))
    except (OSError, KeyError) as error:
        raise DataError(f"The published multi-GPU speeds can't be read: {error}.") from None
    return ScaleRows(scale_table([*first, *second]), unusable)


_SAME_RUN_2017 = [
    "gpu",
    "model",
    "batch_per_gpu",
    "data",
    "variable_update",
    "local_parameter_device",
    "platform",
]


def _rows_2017(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The batch size in this file is that of all GPUs."""
    table = table.assign(
        batch_per_gpu=table["batch_size"] / table["num_gpus"],
        local_parameter_device=table["local_parameter_device"].fillna("").replace("n/a", ""),
    )
    alone = table[table["num_gpus"] == 1].drop_duplicates(_SAME_RUN_2017).set_index(_SAME_RUN_2017)["step_ms"]
    rows = []
    for row in _dicts(table[table["num_gpus"] > 1]):
        network = row["model"].replace("-", "")
        rows.append(
            {
                "data_set": TENSORFLOW_2017,
                "source": row["platform"],
                "gpu": gpu_model(row["gpu"].removesuffix(" (per die)")),
                "network": network,
                "precision": "fp32",
                "strategy": _strategy_2017(row["variable_update"], row["local_parameter_device"]),
                "gpus": row["num_gpus"],
                "interconnect": PLATFORMS_2017[row["platform"]],
                "batch_per_gpu": row["batch_per_gpu"],
                "one_gpu_ms": alone[tuple(row[column] for column in _SAME_RUN_2017)],
                "latency_ms": row["step_ms"],
                **_weights(network, "fp32"),
                "excluded": REAL_DATA if row["data"] == "real" else "",
            }
        )
    return rows


def _strategy_2017(update: str, device: str) -> Strategy:
    if update == "parameter_server":
        return Strategy.PS_GPU if device == "gpu" else Strategy.PS_CPU
    return Strategy.RING


_SAME_RUN = ["source_repo", "machine", "gpu", "framework", "framework_version", "precision", "network", "pixels"]
_GRADIENTS = dict.fromkeys(("fp32", "fp32-inferred", "tf32", "tf32-conv"), "fp32")


def _throughputs(table: pd.DataFrame) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The batch size in this file is that of one GPU."""
    table = table.assign(machine=[_machine(row) for row in _dicts(table)], batch_size=table["batch_size"].fillna(0))
    same = [*_SAME_RUN, "batch_size"]
    alone = table[table["gpus"] == 1].groupby(same, dropna=False)["images_per_s"].median()
    rows, unusable = [], Counter[str]()
    for row in _dicts(table[table["gpus"] > 1]):
        one_gpu = alone.get(tuple(row[column] for column in same))
        reason = _unusable(row, one_gpu)
        if reason or one_gpu is None:
            unusable[reason] += 1
            continue
        rows.append(_throughput_row(row, float(one_gpu)))
    return rows, dict(unusable)


def _throughput_row(row: Mapping[str, Any], one_gpu: float) -> dict[str, Any]:
    precision = _GRADIENTS.get(row["precision"], "fp16")
    return {
        "data_set": THROUGHPUTS,
        "source": f"{row['source_repo']} {row['machine']}",
        "gpu": gpu_model(row["gpu"]),
        "network": row["network"],
        "precision": precision,
        "strategy": Strategy.ONE_PROCESS if "torchvision" in row["framework"] else Strategy.RING,
        "gpus": row["gpus"],
        "interconnect": RIGS[row["gpu"]],
        "batch_per_gpu": row["batch_size"],
        "one_gpu_ms": row["batch_size"] / one_gpu * MS_PER_S,
        "latency_ms": row["gpus"] * row["batch_size"] / row["images_per_s"] * MS_PER_S,
        **_weights(row["network"], precision),
        "excluded": _excluded(row),
    }


def _weights(network: str, precision: str) -> dict[str, float]:
    millions, tensors = WEIGHTS[network]
    return {"gradient_bytes": millions * 1e6 * GRADIENT_BYTES[precision], "tensors": tensors or 0}


def _unusable(row: Mapping[str, Any], one_gpu: float | None) -> str:
    if row["source_repo"].startswith("aisensiy"):
        return CONTRADICTS
    if one_gpu is None:
        return NO_ONE_GPU
    if not row["batch_size"]:
        return NO_BATCH
    return "" if row["network"] in WEIGHTS else NO_WEIGHTS


def _excluded(row: Mapping[str, Any]) -> str:
    if row["source_repo"].startswith("lambdal"):
        if row["precision"] == "fp16" and "XLA" not in row["framework_version"]:
            return FP16_WITHOUT_XLA
        if "RTX_2080_Ti_NVLink" in row["machine"] and "trt2" in row["machine"]:
            return SLOW_ONE_GPU
    if row["gpu"] == "TITAN Xp" and row["precision"] == "fp32" and row["gpus"] == 4:
        return BROKEN_FILE
    return ""


def _machine(row: Mapping[str, Any]) -> str:
    """What the rows of one machine share of their file's name."""
    file = str(row["source_file"])
    if row["source_repo"].startswith("lambdal"):
        folder = file.removeprefix("logs/").partition("/")[0].partition(".")[0]
        # Virtual machines of one cloud with one, two and four GPUs.
        return folder.replace("_1xQ", "_Q").replace("_2xQ", "_Q").replace("_4xQ", "_Q")
    return "" if "pytorch-gpu-benchmark" in row["source_repo"] else file


def _dicts(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    yield from ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))
