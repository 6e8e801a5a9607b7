"""Share of convolutions and matrix products in a network's GPU work: what a profile shows, or what its layers suggest.

Networks of the measurements have profiles. Of others the ratio of compute to bandwidth-bound time follows from the
FLOPs of a layer's output, by a line through the profiled networks in the logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profet_core.errors import InputError
from profet_core.features.classes import load_operation_classes
from profet_core.from_layers.costs import class_counts
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of, network_name
from profet_core.precision.model import estimated_shares
from profet_core.transfer.law import CONVOLUTION, PRODUCT, kind_of_class
from profet_lab.measurements.tables import Measurements

#: Profiles that the shares are read from: no launch-bound steps.
_LEAST_BATCH, _LEAST_PIXELS = 16, 128
SHARES_OF = "p3.2xlarge"
#: Networks whose time is in depthwise kernels, or whose profiles are truncated: no line goes through them.
_ODD = ("MobileNetV2", "InceptionResNetV2")
#: Column of a class's share -> how the names of its operations begin.
_CLASS_COLUMNS = {"product_share": PRODUCT, "normalization_share": "batch norm", "depthwise_share": "depthwise"}
#: Published under a name that the measurements have for another network.
_RENAMED = {"AlexNet": "AlexNet (2014)"}


@dataclass(frozen=True)
class ClassShares:
    """Shares of classes of operations: of products in the compute, of normalizations and depthwise kernels in the rest.

    Attributes
    ----------
    profiled : network -> the three shares. per_count : of other networks, times `class_counts`: products' time over
        convolutions', normalizations' share, depthwise time over other time.
    """

    profiled: dict[str, tuple[float, float, float]]
    per_count: tuple[float, float, float]

    def of(self, network: str, counts: Counts) -> tuple[float, float, float]:
        """Products', normalizations' and depthwise shares of a network, 0 to 1."""
        if network in self.profiled:
            return self.profiled[network]
        return estimated_shares(class_counts(counts), self.per_count)


@dataclass(frozen=True)
class NetworkShares:
    """Shares by network, and the line for all others: log(compute / rest) = line[0] + line[1] log(FLOPs / output).

    `classes` : shares within compute and rest; None: not distinguished.
    """

    profiled: dict[str, float]
    line: tuple[float, float]
    classes: ClassShares | None = None

    def of(self, network: str, counts: Counts) -> float:
        """The share of a network, 0 to 1."""
        if network in self.profiled:
            return self.profiled[network]
        ratio = math.exp(self.line[0] + self.line[1] * math.log(_intensity(counts)))
        return ratio / (1 + ratio)

    def of_classes(self, network: str, counts: Counts) -> dict[str, float]:
        """Column -> share of a class in compute or rest; empty if they aren't distinguished."""
        if self.classes is None:
            return {}
        return dict(zip(_CLASS_COLUMNS, self.classes.of(network, counts), strict=True))


def known_network(name: str) -> str | None:
    """The network here that a table's name means; None if there is none."""
    for spelled in (_RENAMED.get(name, name), name.replace("_", " "), name.replace("_", "-")):
        try:
            return network_name(spelled)
        except InputError:
            continue
    return None


def network_shares(measurements: Measurements) -> NetworkShares:
    """Shares as profiles on V100 show them: medians over the larger workloads of a network."""
    table = _profiled_shares(measurements)
    line = table[~table["network"].isin(_ODD)]
    intensity = [
        math.log(_intensity(counts_of(network, pixels)))
        for network, pixels in zip(line["network"], line["pixels"], strict=True)
    ]
    design = np.column_stack([np.ones(len(line)), intensity])
    log_ratio = np.log(line["share"] / (1 - line["share"]))
    first, second = np.linalg.lstsq(design, np.asarray(log_ratio, float), rcond=None)[0].tolist()
    profiled = table[~table["network"].isin(_ODD)].groupby("network")["share"].median()
    shares = {str(name): float(value) for name, value in profiled.items()}
    return NetworkShares(shares, (first, second), _class_shares(table))


def _class_shares(table: pd.DataFrame) -> ClassShares:
    """Class shares of profiled networks, and what others' follow from: medians, of depthwise kernels one network's."""
    medians = table.groupby("network")[list(_CLASS_COLUMNS)].median()
    counted = {
        str(network): class_counts(counts_of(str(network), int(table["pixels"].max()))) for network in medians.index
    }
    plain = [name for name in counted if name not in _ODD]
    product, normalization, depthwise = (medians[name] for name in _CLASS_COLUMNS)
    per_count = (
        np.median([product[name] / (1 - product[name]) / counted[name][0] for name in plain]),
        np.median([normalization[name] / counted[name][1] for name in plain if counted[name][1] > 0]),
        np.median([depthwise[name] / (1 - depthwise[name]) / count[2] for name, count in counted.items() if count[2]]),
    )
    rows = {name: tuple(medians.loc[name].astype(float)) for name in plain}
    return ClassShares(rows, tuple(float(value) for value in per_count))  # type: ignore[arg-type]


def _profiled_shares(measurements: Measurements) -> pd.DataFrame:
    """One row per network and pixel size: network, pixels, share, and the columns of `_CLASS_COLUMNS`."""
    classes = load_operation_classes()
    times = classes.encode_table(measurements.operations, measurements.times_us[SHARES_OF]).times_ms
    kinds = {kind: np.zeros(len(times)) for kind in ("compute", "rest", *_CLASS_COLUMNS)}
    columns = {name: times[:, place] for place, name in enumerate(classes.device)}
    for name, values in columns.items():
        if name not in ("idle", "copy"):
            kinds["compute" if kind_of_class(name) in (CONVOLUTION, PRODUCT) else "rest"] += values
            for column, prefix in _CLASS_COLUMNS.items():
                kinds[column] += values * name.startswith(prefix)
    workloads = measurements.workloads
    table = pd.DataFrame(
        {
            "network": workloads["model"].to_numpy(),
            "pixels": workloads["pixels"].to_numpy(),
            "batch": workloads["batch_size"].to_numpy(),
            "share": kinds["compute"] / (kinds["compute"] + kinds["rest"]),
            **{
                column: kinds[column] / kinds["compute" if column == "product_share" else "rest"]
                for column in _CLASS_COLUMNS
            },
        }
    )
    table = table[(table["batch"] >= _LEAST_BATCH) & (table["pixels"] >= _LEAST_PIXELS)]
    return table.groupby(["network", "pixels"])[["share", *_CLASS_COLUMNS]].median().reset_index()


def _intensity(counts: Counts) -> float:
    return (counts.convolution_flops + counts.dense_flops) / counts.activation_elements
