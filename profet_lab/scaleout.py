"""Fit `scaleout.json` on published multi-GPU speeds, and validate it on held-out networks, GPU models and sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import asdict, replace
from numpy.typing import NDArray
from scipy.optimize import least_squares, linprog

from profet_core.catalog.gpus import gpu_model
from profet_core.catalog.interconnects import Interconnect, Link, load_interconnects
from profet_core.errors import InputError
from profet_core.files import sha256_hex
from profet_core.latency import quantile
from profet_core.layers.networks import named_network
from profet_core.training.scaling_model import (
    NUMBERS,
    SCALEOUT_VERSION,
    IntervalWidth,
    Links,
    ScaleoutModel,
    Strategy,
    network_sharing_ms,
    node_sharing_ms,
    one_process_ms,
    several_ms,
)
from profet_core.training.several_gpus import GRADIENT_BYTES
from profet_lab.measurements.published import THROUGHPUT_FILE
from profet_lab.measurements.tables import DataError
from profet_lab.models_folder import signed
from profet_lab.tasks import Progress, held_out, run_tasks
from profet_profiles.units import MS_PER_S

#: What the throughputs call a network -> its name in the table of networks.
NETWORKS = {
    "InceptionV3": "keras/InceptionV3",
    "ResNeXt101-32x4d": "resnext101_32x4d",
    "SE-ResNeXt101-32x4d": "seresnext101_32x4d",
    "UNet Medical": "unet_2015",
}
#: Published GPU or platform -> the GPU whose typical links it has. Folders whose name says NVLink are as slow as those
#: without (2080 Ti, RTX 8000): they count as PCIe. TITANs communicate through host memory, as GeForce cards do.
_LINKS_OF = {
    "DGX-1": "Tesla P100-SXM2-16GB",
    "GCE n1-standard-32-k80x8": "Tesla K80",
    "EC2 p2.8xlarge": "Tesla K80",
    "EC2 p2.8xlarge distributed": "Tesla K80",
    "Tesla V100-SXM2-32GB": "Tesla V100-SXM2-16GB",
    "TITAN RTX": "GeForce RTX 2080 Ti",
    "TITAN Xp": "GeForce RTX 2080 Ti",
}
#: Sixteen V100 behind switches.
_DGX_2 = Interconnect(16, Link.NVSWITCH, 150.0, 3, 2, None, "NVIDIA's data sheet")


TENSORFLOW_2017_FILE = Path("external") / "tensorflow_multi_gpu_2017.csv"
DLPERF_FILE = Path("external") / "dlperf_resnet50_v100_1to32gpus.csv"
FILES = (TENSORFLOW_2017_FILE, THROUGHPUT_FILE, DLPERF_FILE)
#: The data sets that are judged.
TENSORFLOW_2017, THROUGHPUTS, DLPERF = "tensorflow 2017", "throughputs", "dlperf"
#: Gb/s between their machines, as they say.
_NETWORK_GBIT_PER_S = {TENSORFLOW_2017: 10.0, DLPERF: 100.0}

NO_ONE_GPU = "no one-GPU row of the same machine, framework, precision and batch"
NO_BATCH = "the batch size is not known"
NO_WEIGHTS = "the number of parameters is not published with it"
REAL_DATA = "real images: decoding on the CPU limits some (AlexNet stays at 7,100 images/s from four P100 on)"
FP16_WITHOUT_XLA = (
    "FP16 without XLA: with more GPUs the networks with batch normalization fall back to FP32's speed "
    "(twice it on one GPU, 1.2 to 1.5 times it on eight), whatever links them"
)
SLOW_ONE_GPU = "the one-GPU run is 15% slower than the same GPU's elsewhere, so that two GPUs exceed twice its speed"
BROKEN_FILE = "four GPUs are 2 to 3 times as slow as three, in every network of this one file"
#: Eight GPUs of a node below this share of perfect scaling wait for images.
_WAITING_BELOW = 0.7
WAITS_FOR_IMAGES = (
    "real images: eight GPUs of one machine reach less than 70% of perfect scaling, and 16 and 32 no less: the CPU's "
    "decoding limits them"
)
CONTRADICTS = "one and two GPUs contradict each other: two run FP16 at five times the speed of one"


def has_scale_rows(folder: Path) -> bool:
    """Whether all files are there."""
    return all((folder / name).is_file() for name in FILES)


def load_scale_rows(folder: Path) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return published steps on several GPUs that have a one-GPU step beside them.

    Returns
    -------
    rows : data_set, source, group (the repository and GPU, or DLPerf's framework), count (DLPerf's number of GPUs; "":
        of the others), gpu (model, as `gpu_model` has it), network, precision, gradients (of `GRADIENT_BYTES`),
        strategy, gpus, interconnect (of a node), batch_per_gpu, one_gpu_ms (at the same batch a GPU), latency_ms (on
        all GPUs), excluded (why it is neither fitted nor judged; "": it is), gradient_bytes (that each GPU shares a
        step), tensors (of weights), and the columns of `with_nodes`.
    unusable : reason -> how many throughputs could not be used at all.
    """
    try:
        first = _tensorflow_2017(pd.read_csv(folder / TENSORFLOW_2017_FILE))
        second, unusable = _throughputs(pd.read_csv(folder / THROUGHPUT_FILE))
        third = _dlperf(pd.read_csv(folder / DLPERF_FILE))
    except (OSError, KeyError) as error:
        raise DataError(f"The published multi-GPU speeds can't be read: {error}.") from None
    rows = pd.concat([first, second, third], ignore_index=True)
    parameters, tensors = zip(*map(_weights, rows["network"]), strict=True)
    gradient_bytes = np.array(parameters) * rows["gradients"].map(GRADIENT_BYTES)
    group = rows["source"].str.split(" ").str[0] + " " + rows["gpu"]
    rows = rows.assign(
        group=rows["source"].where(rows["data_set"] == DLPERF, group),
        count=rows["gpus"].astype(str).where(rows["data_set"] == DLPERF, ""),
    )
    return with_nodes(rows.assign(gradient_bytes=gradient_bytes, tensors=tensors)), unusable


@cache
def _weights(name: str) -> tuple[float, int] | None:
    """Parameters, to 10,000, and weight tensors of a network, as PyTorch has them; None if it isn't known."""
    if "(" in name:
        # A detector with another backbone than the known one's.
        return None
    try:
        counts = named_network(NETWORKS.get(name, name)).counts
    except InputError:
        return None
    layers = counts.layers
    # A convolution has a bias where no normalization follows it, and in VGG.
    has_biases = not layers.normalizations or name.lower().startswith("vgg")
    tensors = layers.convolutions * (1 + has_biases) + 2 * (layers.normalizations + layers.dense)
    return round(counts.parameters, -4), tensors


def _links(name: str, data_set: str) -> Interconnect:
    """Return the machine of a published GPU or platform, with the network that its data set states."""
    node = _DGX_2 if name == "Tesla V100-SXM3-32GB" else load_interconnects().of_gpu(_LINKS_OF.get(name, name), 8)
    return node.linked(None, _NETWORK_GBIT_PER_S.get(data_set))


def with_nodes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with link, gpus_per_node, nodes and efficiency (share of perfect scaling that was measured)."""
    nodes = rows["interconnect"]
    per_node = np.minimum(rows["gpus"], [node.gpus for node in nodes])
    return rows.assign(
        link=[node.link for node in nodes],
        gpus_per_node=per_node,
        nodes=rows["gpus"] // per_node,
        efficiency=rows["one_gpu_ms"] / rows["latency_ms"],
    )


def kept(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are fitted and judged."""
    return rows[rows["excluded"] == ""].reset_index(drop=True)


def _with_alone(table: pd.DataFrame, gpus: str, run: list[str], value: str) -> pd.DataFrame:
    """Rows on several GPUs, with the value of the same run on one GPU, `alone`, NaN if there is none."""
    alone = table[table[gpus] == 1].groupby(run, dropna=False)[value].median().rename("alone")
    return table[table[gpus] > 1].merge(alone.reset_index(), on=run, how="left")


def _tensorflow_2017(table: pd.DataFrame) -> pd.DataFrame:
    """Read the table, whose batch size is that of all GPUs."""
    device = table["local_parameter_device"].fillna("").replace("n/a", "")
    table = table.assign(batch_per_gpu=table["batch_size"] / table["num_gpus"], local_parameter_device=device)
    run = ["gpu", "model", "batch_per_gpu", "data", "variable_update", "local_parameter_device", "platform"]
    rows = _with_alone(table, "num_gpus", run, "step_ms")
    is_server, on_gpu = rows["variable_update"] == "parameter_server", rows["local_parameter_device"] == "gpu"
    return pd.DataFrame(
        {
            "data_set": TENSORFLOW_2017,
            "source": rows["platform"],
            "gpu": [gpu_model(name.removesuffix(" (per die)")) for name in rows["gpu"]],
            "network": rows["model"].str.replace("-", ""),
            "precision": "fp32",
            "gradients": "fp32",
            "strategy": np.select([is_server & on_gpu, is_server], [Strategy.PS_GPU, Strategy.PS_CPU], Strategy.RING),
            "gpus": rows["num_gpus"],
            "interconnect": [_links(name, TENSORFLOW_2017) for name in rows["platform"]],
            "batch_per_gpu": rows["batch_per_gpu"],
            "one_gpu_ms": rows["alone"],
            "latency_ms": rows["step_ms"],
            "excluded": np.where(rows["data"] == "real", REAL_DATA, ""),
        }
    )


def _first_of(reasons: Mapping[str, Any]) -> np.ndarray:
    """Return the first reason whose mask holds a row, of each row; "" if none does."""
    return np.select([np.asarray(rows) for rows in reasons.values()], [np.array(reason) for reason in reasons], "")


_FP32_GRADIENTS = ("fp32", "fp32-inferred", "tf32", "tf32-conv")


def _throughputs(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """Read the table, whose batch size is that of one GPU; and count the rows that are left out."""
    repository, file = table["source_repo"], table["source_file"].astype(str)
    # What the rows of one machine share of their file's name; a cloud has virtual machines with one, two and four GPUs.
    folder = file.str.removeprefix("logs/").str.split("[/.]", n=1, regex=True).str[0]
    machine = np.select(
        [repository.str.startswith("lambdal"), repository.str.contains("pytorch-gpu-benchmark")],
        [folder.str.replace("_[124]xQ", "_Q", regex=True), ""],
        file,
    )
    table = table.assign(machine=machine, batch_size=table["batch_size"].fillna(0))
    run = ["source_repo", "machine", "gpu", "framework", "framework_version", "precision", "network", "pixels"]
    rows = _with_alone(table, "gpus", [*run, "batch_size"], "images_per_s")
    reasons = {
        CONTRADICTS: rows["source_repo"].str.startswith("aisensiy"),
        NO_ONE_GPU: rows["alone"].isna(),
        NO_BATCH: rows["batch_size"] == 0,
        NO_WEIGHTS: [_weights(name) is None for name in rows["network"]],
    }
    why = _first_of(reasons)
    unusable = dict(Counter(why[why != ""].tolist()))
    rows = rows.loc[why == ""]

    is_lambdal, names = rows["source_repo"].str.startswith("lambdal"), rows["machine"]
    is_xla = rows["framework_version"].str.contains("XLA", na=False)
    excluded = {
        FP16_WITHOUT_XLA: is_lambdal & (rows["precision"] == "fp16") & ~is_xla,
        SLOW_ONE_GPU: is_lambdal & names.str.contains("RTX_2080_Ti_NVLink") & names.str.contains("trt2"),
        BROKEN_FILE: (rows["gpu"] == "TITAN Xp") & (rows["precision"] == "fp32") & (rows["gpus"] == 4),
    }
    is_one_process = rows["framework"].str.contains("torchvision")
    columns = {
        "data_set": THROUGHPUTS,
        "source": rows["source_repo"] + " " + names,
        "gpu": rows["gpu"].map(gpu_model),
        "network": rows["network"],
        "precision": np.where(rows["precision"].isin(_FP32_GRADIENTS), "fp32", "fp16"),
        # Mixed precision keeps FP32 gradients.
        "gradients": np.where(rows["precision"].isin([*_FP32_GRADIENTS, "amp"]), "fp32", "fp16"),
        "strategy": np.where(is_one_process, Strategy.ONE_PROCESS, Strategy.RING),
        "gpus": rows["gpus"],
        "interconnect": [_links(name, THROUGHPUTS) for name in rows["gpu"]],
        "batch_per_gpu": rows["batch_size"],
        "one_gpu_ms": rows["batch_size"] / rows["alone"] * MS_PER_S,
        "latency_ms": rows["gpus"] * rows["batch_size"] / rows["images_per_s"] * MS_PER_S,
        "excluded": _first_of(excluded),
    }
    return pd.DataFrame(columns), unusable


#: Images per second of one V100 above which it trains in mixed precision: captions don't always name it.
_FP32_AT_MOST = 500


def _dlperf(table: pd.DataFrame) -> pd.DataFrame:
    """Each table begins with one GPU; its caption, in `note`, may have the batch size of one GPU."""
    caption = table["note"].str.split('"').str[1]
    of_caption = caption.str.extract(r"batch.size ?= ?(\d+)")[0].astype(float)
    table = table.assign(
        batch=table["batch_size"].fillna(of_caption),
        run=(table["gpus"] == 1).cumsum(),
        # FP16 weights have FP16 gradients.
        half=caption.str.contains("without amp"),
    )
    rows = _with_alone(table, "gpus", ["run"], "images_per_s")
    share = rows["images_per_s"] / rows["gpus"] / rows["alone"]
    in_node = share.where(rows["gpus"] == 8).groupby(rows["run"]).transform("max")
    is_fp32 = rows["alone"] < _FP32_AT_MOST
    return pd.DataFrame(
        {
            "data_set": DLPERF,
            "source": "DLPerf " + rows["framework"],
            "gpu": rows["gpu"].map(gpu_model),
            "network": "ResNet50",
            "precision": np.where(is_fp32, "fp32", "fp16"),
            "gradients": np.where(rows["half"], "fp16", "fp32"),
            "strategy": Strategy.RING,
            "gpus": rows["gpus"],
            "interconnect": [_links(name, DLPERF) for name in rows["gpu"]],
            "batch_per_gpu": rows["batch"],
            "one_gpu_ms": rows["batch"] / rows["alone"] * MS_PER_S,
            "latency_ms": rows["gpus"] * rows["batch"] / rows["images_per_s"] * MS_PER_S,
            "excluded": np.where(in_node < _WAITING_BELOW, WAITS_FOR_IMAGES, ""),
        }
    )


Array = NDArray[np.float64]

#: Log errors beyond this are down-weighted: some machines are far off their specs.
_ROBUST_FROM = 0.05
#: Weight of where a coefficient starts, which decides only where no row speaks of it.
_PRIOR_WEIGHT = 0.02
#: How far, in the logarithm, a coefficient may go from its start.
_RANGE = 6.0
_LINK = "link "
#: Links in no published machine: they take NVLink's efficiency, bridges and AMD's mesh.
_LIKE_NVLINK = (Link.BRIDGE, Link.FABRIC)
#: Coefficient -> where its fit starts.
STARTS = {
    **{f"{_LINK}{link}": 0.3 for link in Link if link not in _LIKE_NVLINK},
    **dict.fromkeys(("host_efficiency", "network_efficiency", "copy_efficiency", "overlap"), 0.5),
    **{"staged_gb_per_s": 1.5, "network_overlap": 0.8, "backward_left": 0.8},
    **dict.fromkeys(("straggling", "switched_straggling", "network_straggling"), 0.01),
    **{"tensor_ms": 0.1, "tensor_gpu_ms": 0.1},
}
_SHARES = tuple(
    name for name in STARTS if name.startswith(_LINK) or name.endswith(("efficiency", "overlap", "backward_left"))
)


def predicted_ms(model: ScaleoutModel, rows: pd.DataFrame) -> Array:
    """Milliseconds a step of each row; shape (rows,)."""
    return _predictor(rows)(model)


def fitted_model(rows: pd.DataFrame) -> ScaleoutModel:
    """Fit the scale-out model to these rows, without interval widths.

    The weight of a group grows with the square root of its rows: some have hundreds on one machine.
    """
    predicted = _predictor(rows)
    weights = rows.groupby("group")["group"].transform("size").to_numpy(float) ** -0.25
    weights /= weights.mean()
    true_log = np.log(rows["latency_ms"].to_numpy())
    starts = np.log(list(STARTS.values()))
    most = starts + _RANGE
    for place, name in enumerate(STARTS):
        if name in _SHARES:
            most[place] = 0.0

    def errors(logs: Array) -> Array:
        return np.concatenate([weights * (np.log(predicted(_model(logs))) - true_log), _PRIOR_WEIGHT * (logs - starts)])

    solution = least_squares(
        errors, starts, loss="soft_l1", f_scale=_ROBUST_FROM, bounds=(starts - _RANGE, most), tr_solver="lsmr"
    )
    return _model(solution.x)


def _predictor(rows: pd.DataFrame) -> Callable[[ScaleoutModel], Array]:
    """Rows of one strategy on one kind of link are predicted together."""
    kinds = rows["strategy"] + " " + rows["link"]
    groups = [(places, _alike(rows.iloc[places])) for places in kinds.groupby(kinds, sort=False).indices.values()]

    def predicted(model: ScaleoutModel) -> Array:
        out = np.empty(len(rows))
        for places, of_group in groups:
            out[places] = of_group(model)
        return out

    return predicted


def _alike(rows: pd.DataFrame) -> Callable[[ScaleoutModel], Array]:
    strategy, link = Strategy(rows["strategy"].iloc[0]), Link(rows["link"].iloc[0])
    one_gpu_ms, gpus, per_node, nodes, shared, tensors = (
        rows[["one_gpu_ms", "gpus", "gpus_per_node", "nodes", "gradient_bytes", "tensors"]].to_numpy(float).T
    )
    network = np.array([node.network_gb_per_s[0] for node in rows["interconnect"]])
    speeds = ("link_gb_per_s", "pcie_gb_per_s", "gpus_per_root")
    links = Links(link, *(np.array([getattr(node, name) for node in rows["interconnect"]], float) for name in speeds))

    def predicted(model: ScaleoutModel) -> Array:
        if strategy is Strategy.ONE_PROCESS:
            return np.asarray(one_process_ms(model, one_gpu_ms, per_node, links, shared, tensors))
        in_node = node_sharing_ms(model, strategy, per_node, links, shared)
        between = network_sharing_ms(model, strategy, gpus, nodes, network, shared)
        return np.asarray(several_ms(model, strategy, link, one_gpu_ms, per_node, nodes, in_node, between))

    return predicted


def _model(logs: Array) -> ScaleoutModel:
    values = dict(zip(STARTS, np.exp(logs).tolist(), strict=True))
    links = {Link(name.removeprefix(_LINK)): values.pop(name) for name in list(values) if name.startswith(_LINK)}
    links |= dict.fromkeys(_LIKE_NVLINK, links[Link.NVLINK])
    none = IntervalWidth(0.0, 0.0, 0.0)
    no_widths = dict.fromkeys(Link, none)
    return ScaleoutModel(links, **values, widths={False: no_widths, True: no_widths}, network_width=none)


#: Links that share a width, where few machines were measured.
ALIKE = ((Link.NVSWITCH,), (Link.NVLINK, *_LIKE_NVLINK), (Link.PCIE,), (Link.PCIE_HOST,))
#: Smallest width: published speeds themselves vary as much from run to run.
_MIN_WIDTH = 0.04
#: Share of held-out errors that widths hold: new machines differ somewhat more.
_HELD_SHARE = 0.92
#: Where no row speaks of a link.
_UNKNOWN = IntervalWidth(_MIN_WIDTH, 0.8, 0.0)


class Widths(Struct, frozen=True):
    """Widths of a process per GPU in a node, of one in all, and of several nodes."""

    several: Mapping[Link, IntervalWidth]
    one_process: Mapping[Link, IntervalWidth]
    network: IntervalWidth

    def of(self, strategy: str, link: Link, nodes: float) -> IntervalWidth:
        """Return the width of one step."""
        in_node = self.one_process if strategy == Strategy.ONE_PROCESS else self.several
        return in_node[link] if nodes == 1 else self.network


def widths(rows: pd.DataFrame, held_out_ms: Array) -> Widths:
    """Widths that hold `_HELD_SHARE` of these errors, at few GPUs as at many.

    Parameters
    ----------
    held_out_ms : milliseconds a step of each row, by a scale-out model that did not see it; shape (rows,).
    """
    links, in_node = rows["link"].to_numpy(), rows["nodes"].to_numpy() == 1
    by_one = (rows["strategy"] == Strategy.ONE_PROCESS).to_numpy()
    errors = np.abs(np.log(rows["latency_ms"].to_numpy()) - np.log(held_out_ms))
    added, doublings = added_shares(rows, held_out_ms), np.log2(rows["gpus"].to_numpy() / 2)

    def fitted(here: np.ndarray) -> IntervalWidth:
        return _regressed(errors[here], added[here], doublings[here]) if here.any() else _UNKNOWN

    def by_link(among: np.ndarray) -> dict[Link, IntervalWidth]:
        of_kind = {kind: fitted(among & np.isin(links, kind)) for kind in ALIKE}
        return {link: width for kind, width in of_kind.items() for link in kind}

    return Widths(by_link(in_node & ~by_one), by_link(by_one), fitted(~in_node))


def added_shares(rows: pd.DataFrame, predicted_ms: Array) -> Array:
    """Share of each predicted step that several GPUs add to one GPU's; shape (rows,)."""
    return 1 - rows["one_gpu_ms"].to_numpy() / predicted_ms


def log_half_widths(rows: pd.DataFrame, predicted_ms: Array, fitted: Widths) -> Array:
    """Return the log half-width of each row's interval by `widths`, (rows,)."""
    added = added_shares(rows, predicted_ms).tolist()
    kinds = zip(rows["strategy"], rows["link"], rows["nodes"], rows["gpus"], added, strict=True)
    log_sds = [fitted.of(*kind).log_sd(share, gpus) for *kind, gpus, share in kinds]
    return quantile() * np.array(log_sds)


def covered(rows: pd.DataFrame, predicted_ms: Array, half_widths: Array) -> np.ndarray:
    """Whether each measured step lies in its interval, cut at perfect scaling; (rows,)."""
    true_ms = rows["latency_ms"].to_numpy()
    low_ms = np.maximum(predicted_ms * np.exp(-half_widths), rows["one_gpu_ms"])
    return (true_ms >= low_ms) & (true_ms <= predicted_ms * np.exp(half_widths))


def _regressed(errors: Array, added: Array, doublings: Array) -> IntervalWidth:
    """Quantile regression of errors, no coefficient negative (Koenker and Bassett 1978, as a linear program)."""
    n = len(errors)
    features = np.column_stack([np.ones(n), added, doublings])
    solution = linprog(
        np.concatenate([np.zeros(3), np.full(n, _HELD_SHARE), np.full(n, 1 - _HELD_SHARE)]),
        A_eq=np.hstack([features, np.eye(n), -np.eye(n)]),
        b_eq=errors,
        bounds=[(_MIN_WIDTH, None), *[(0, None)] * (2 + 2 * n)],
        method="highs",
    )
    return IntervalWidth(*(float(value) for value in solution.x[:3]))


#: Columns whose values are held out in turn; empty ones are not.
NETWORK, GPU, GROUP, COUNT = "network", "gpu", "group", "count"
#: Inner folds for the interval widths.
_INNER = 5


def held_out_fold(rows: pd.DataFrame, by: str, name: str) -> pd.DataFrame:
    """Return the fold's rows, with predicted_ms and log_half_width by a model and widths fitted on the others.

    Parameters
    ----------
    by : `NETWORK`, `GPU`, `GROUP` or `COUNT`.
    """
    out, others = rows[rows[by] == name], rows[rows[by] != name]
    latency_ms = predicted_ms(fitted_model(others), out)
    inner_widths = widths(others, held_out_ms(others, by, groups=_INNER))
    return out.assign(predicted_ms=latency_ms, log_half_width=log_half_widths(out, latency_ms, inner_widths))


def held_out_ms(rows: pd.DataFrame, by: str, *, groups: int | None = None) -> Array:
    """Out-of-fold milliseconds per step of each row, by folds or groups of folds."""
    _, fold = np.unique(rows[by].to_numpy(str), return_inverse=True)
    group = fold if groups is None else fold % groups
    return held_out(rows, group, lambda others, out: predicted_ms(fitted_model(others), out))


def scaleout_content(folder: Path) -> dict:
    """Return the content of `scaleout.json`: coefficients, and widths from held-out networks, GPUs and sources."""
    rows = kept(load_scale_rows(folder)[0])
    model = fitted_model(rows)
    times_ms = {by: held_out_ms(rows, by) for by in (NETWORK, GPU, GROUP)}
    fitted = widths(pd.concat([rows] * len(times_ms)), np.concatenate(list(times_ms.values())))
    # Without K80, or without DLPerf's one network and GPU, nothing speaks of one of the two networks.
    fitted = replace(fitted, network=widths(rows, times_ms[GROUP]).network)
    content = {
        "schema_version": SCALEOUT_VERSION,
        "link_efficiency": {str(link): value for link, value in model.link_efficiency.items()},
        **{name: getattr(model, name) for name in NUMBERS},
        "widths": {str(link): asdict(width) for link, width in fitted.several.items()},
        "one_process_widths": {str(link): asdict(width) for link, width in fitted.one_process.items()},
        "network_width": asdict(fitted.network),
        "log_sds": _log_sds(rows),
        "fitted_on": {
            "rows": dict(Counter(rows["data_set"])),
            "sha256": {str(name): sha256_hex((folder / name).read_bytes()) for name in FILES},
        },
    }
    return signed(content)


def _log_sds(rows: pd.DataFrame) -> dict[str, float]:
    """Return the standard deviation of each coefficient's logarithm: the jackknife over sources."""
    models = [fitted_model(rows[rows[GROUP] != name]) for name in sorted(set(rows[GROUP]))]
    logs = np.log([[getattr(model, name) for name in NUMBERS] for model in models])
    return dict(zip(NUMBERS, (np.sqrt(len(logs) - 1) * logs.std(axis=0)).tolist(), strict=True))


#: Perfect scaling is nearly right above this share of it: only below it a model can show something.
HARD_BELOW = 0.9


def scaleout_report(folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """All figures: held-out networks and GPU models by data set, 64 GPUs, and excluded steps."""
    rows, unusable = load_scale_rows(folder)
    judged = {by: judged_steps(kept(rows), by, progress) for by in (NETWORK, GPU, GROUP, COUNT)}

    def predicted_by_kept(others: pd.DataFrame, out: pd.DataFrame) -> np.ndarray:
        return predicted_ms(fitted_model(others[others["excluded"] == ""]), out)

    # Excluded steps are predicted, and nothing is fitted on them.
    with_excluded = rows.assign(predicted_ms=held_out(rows, rows["network"].to_numpy(str), predicted_by_kept))
    on_64 = judged[NETWORK].query("gpus == 64")
    network_64 = zip(on_64["network"], on_64["batch_per_gpu"], on_64["predicted_ms"] / on_64["latency_ms"], strict=True)
    return {
        "data_sets": {
            name: {
                "n": int((part["excluded"] == "").sum()),
                **{by: _figures(judged[by], name, by) for by in HELD_OUT[str(name)]},
                "excluded": dict(
                    Counter(part.loc[part["excluded"] != "", "excluded"])
                    + Counter(unusable if name == THROUGHPUTS else {})
                ),
                "with_excluded": scale_errors(part),
            }
            for name, part in with_excluded.groupby("data_set", sort=False)
        },
        "links": {
            kind: {**scale_errors(part), **_covered(part)}
            for kind, part in judged[GROUP].groupby(link_kinds(judged[GROUP]))
        },
        "on_64": scale_errors(on_64),
        "network_64": {f"{name}, batch {batch:.0f}": float(100 * (off - 1)) for name, batch, off in network_64},
    }


#: Data set -> what of it is held out in turn.
HELD_OUT = {TENSORFLOW_2017: (NETWORK, GPU), THROUGHPUTS: (NETWORK, GPU), DLPERF: (GROUP, COUNT)}


def link_kinds(rows: pd.DataFrame) -> list[str]:
    """Kind of link of each row, in words: in a machine, or between machines with the precision."""
    return [
        f"{Link(link).words}{' (one process)' if strategy == Strategy.ONE_PROCESS else ''}"
        if nodes == 1
        else f"{node.network_gbit_per_s:g} Gb/s between machines, {'AMP' if precision == 'fp16' else 'FP32'}"
        for link, strategy, nodes, node, precision in zip(
            rows["link"], rows["strategy"], rows["nodes"], rows["interconnect"], rows["precision"], strict=True
        )
    ]


def judged_steps(rows: pd.DataFrame, by: str, progress: Progress | None = None) -> pd.DataFrame:
    """Return the rows with predicted_ms, log_half_width, and whether the interval is right, `inside`."""
    tasks = [(rows, by, name) for name in sorted(set(rows[by]) - {""})]
    judged = pd.concat(run_tasks(held_out_fold, tasks, progress=progress)).sort_index()
    return judged.assign(inside=covered(judged, judged["predicted_ms"].to_numpy(), judged["log_half_width"].to_numpy()))


def scale_errors(rows: pd.DataFrame) -> dict[str, float]:
    """Errors of rows with `predicted_ms`, percent; zeros of no row.

    Returns
    -------
    n, mape, bias : of predicted over measured steps, one GPU's measured step given.
    perfect_mape : of perfect scaling, the step of one GPU.
    """
    if rows.empty:
        return {"n": 0, "mape": 0.0, "bias": 0.0, "perfect_mape": 0.0}
    true_ms, predicted, one_ms = rows[["latency_ms", "predicted_ms", "one_gpu_ms"]].to_numpy().T
    return {
        "n": len(rows),
        "mape": float(100 * np.abs(predicted / true_ms - 1).mean()),
        "bias": float(100 * np.expm1(np.log(predicted / true_ms).mean())),
        "perfect_mape": float(100 * np.abs(one_ms / true_ms - 1).mean()),
    }


def _figures(judged: pd.DataFrame, data_set: object, by: str) -> dict[str, Any]:
    rows = judged[judged["data_set"] == data_set]
    several = rows[rows["strategy"] != Strategy.ONE_PROCESS]
    return {
        "every": scale_errors(rows),
        "hard": scale_errors(rows[rows["efficiency"] < HARD_BELOW]),
        "covered_90": _covered(rows)["covered_90"],
        "median_interval_pct": float(np.median(100 * np.expm1(rows["log_half_width"]))),
        "by_fold": {str(name): scale_errors(part) for name, part in rows.groupby(by)},
        "by_strategy": {str(name): scale_errors(part) for name, part in rows.groupby("strategy")},
        "covered_by_strategy": {str(name): _covered(part) for name, part in rows.groupby("strategy")},
        "covered_by_gpus": {str(name): _covered(part) for name, part in several.groupby("gpus")},
    }


def _covered(rows: pd.DataFrame) -> dict[str, float]:
    return {"n": len(rows), "covered_90": float(100 * rows["inside"].to_numpy().mean())}
