"""Read published multi-GPU speeds beside the same machine's one-GPU speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from profet_core.catalog.gpus import gpu_model
from profet_core.multi_gpu.law import Strategy
from profet_core.multi_gpu.step import GRADIENT_BYTES
from profet_core.units import MS_PER_S
from profet_lab.measurements.published_points import THROUGHPUT_FILE
from profet_lab.measurements.tables import DataError
from profet_lab.scaleout.published import PLATFORMS_2017, RIGS, WEIGHTS

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

    Attributes
    ----------
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
    """Both data sets.

    Raises
    ------
    DataError : a file is missing or has other columns.
    """
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
