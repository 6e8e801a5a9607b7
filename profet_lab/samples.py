"""Makes sample_traces/ from the measurements: `python -m profet_lab.samples [DATA]`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from msgspec import Struct

from profet_core.catalog import load_catalog, load_gpus
from profet_core.catalog.gpus import AMP, FP32, PLAIN, Gpu
from profet_core.ensemble.operations import COPY_CLASS, load_operation_classes
from profet_core.latency import smooth_max
from profet_core.layers.class_times import UNKNOWN_AS, Place, log_class_factors
from profet_core.layers.network import Counts
from profet_core.layers.networks import counts_of
from profet_core.layers.rates import KINDS, Mode, mode_of, rate_model_of
from profet_core.prediction.models import INDEX_NAME, load_models
from profet_lab.class_folds import Fold, predict_cases
from profet_lab.class_members import PairTraining
from profet_lab.measurements.published import POINTS_FILE
from profet_lab.measurements.tables import (
    WORKLOAD,
    ClassBank,
    Measurements,
    class_bank,
    data_folder,
    found_file,
    load_measurements,
    load_parameters,
)
from profet_lab.train import SEED
from profet_profiles.record import DEVICE_IDLE, DEVICE_PREFIX, IDLE_OPERATIONS


class Choice(Struct, frozen=True):
    """A workload of the data worth showing.

    Attributes
    ----------
    repeat : which of its nine repeats, from 0; None: the one of median latency.
    title : begins the sample's title.
    """

    anchor: str
    model: str
    pixels: int
    batch_size: int
    why: str
    repeat: int | None = None
    title: str = ""


#: The test data of PROFET's demo: each the first of nine repeats.
_TESTS = tuple(
    Choice(
        "g3s.xlarge", "VGG16", 128, batch_size,
        f"test data {letter} of PROFET's demo, the {end} of its batch scaler", 0, f"PROFET test {letter}: ",
    )
    for letter, batch_size, end in (("A", 16, "minimum"), ("B", 256, "maximum"))
)  # fmt: skip
CHOICES = (
    Choice(
        "g4dn.xlarge", "ResNet50", 224, 64, "an ImageNet training, on the only one of the four instances still for rent"
    ),
    Choice("g4dn.xlarge", "ResNet50", 128, 64, "a mid-size network"),
    Choice("g4dn.xlarge", "ResNet50", 128, 16, "one end of a batch-size pair: fill Scale with it and batch 256"),
    Choice("g4dn.xlarge", "ResNet50", 128, 256, "the other end of the batch-size pair"),
    Choice("g4dn.xlarge", "ResNet18", 32, 64, "one end of a pixel-size pair: fill Scale with it and 256 pixels"),
    Choice("g4dn.xlarge", "ResNet18", 256, 64, "the other end of the pixel-size pair"),
    Choice("g3s.xlarge", "VGG16", 224, 16, "a large plain network; its siblings VGG11, 13 and 19 make it an easy case"),
    Choice("g3s.xlarge", "LeNet5", 32, 16, "a tiny network whose step is bound by launches, not by the GPU"),
    Choice("p2.xlarge", "MobileNetV2", 224, 32, "the only network with depthwise convolutions: a hard case"),
    Choice("p2.xlarge", "AlexNet", 64, 128, "few layers, many parameters"),
    Choice("p3.2xlarge", "InceptionV3", 224, 32, "a network of many small convolutions"),
    Choice(
        "p3.2xlarge", "InceptionResNetV2", 128, 32, "the deepest network of the data, and where predictions are worst"
    ),
    *_TESTS,
)


#: The workload of the sample in AMP, on a GPU with tensor cores and a published pair of this network.
AMP_CHOICE = Choice(
    "p3.2xlarge",
    "ResNet50",
    224,
    64,
    "a step in AMP, derived: PROFET's FP32 profile on V100, sped up as lambdal/deeplearning-benchmark published "
    "({times:.2f} times, kind by kind as the rates say); FP32 took {fp32_ms:.0f} ms there",
)


def make_samples(measurements: Measurements, parameters: pd.Series, folder: Path, out: Path) -> list[dict]:
    """Write every trace of `CHOICES`, those in AMP and from layer counts, and the index to `out`; returns the index.

    Parameters
    ----------
    parameters : number of parameters by (model, pixels).
    folder : holds published speeds.
    """
    bank = class_bank(measurements)
    rows = {choice: _repeat(measurements, choice) for choice in CHOICES}
    held_out_ms = {latency_known: _held_out_ms(bank, rows, latency_known) for latency_known in (True, False)}
    out.mkdir(exist_ok=True)
    for stale in out.glob("*.json"):
        stale.unlink()
    index = []
    for choice in dict.fromkeys((CHOICES[0], *_TESTS, *CHOICES)):
        row = rows[choice]
        trace, entry = _sample(measurements, choice, row, int(parameters[choice.model, choice.pixels]))
        entry |= {"left_out_ms": held_out_ms[True][choice], "left_out_without_latency_ms": held_out_ms[False][choice]}
        index.append(_write(out, trace, entry))
    index.append(write_amp_sample(measurements, parameters, folder, out))
    index.append(write_counted_sample(out))
    (out / INDEX_NAME).write_text(json.dumps(index, indent=1) + "\n")
    return index


def _write(out: Path, trace: dict, entry: dict) -> dict:
    (out / f"{entry['name']}.json").write_text(json.dumps(trace, indent=1) + "\n")
    return entry


def write_amp_sample(measurements: Measurements, parameters: pd.Series, folder: Path, out: Path) -> dict:
    """Write the trace in AMP; returns its entry.

    No licensed profile in AMP is of a GPU that models know. This one is an FP32 profile with a published speed-up: the
    whole step's is that of the pair, the kinds of operations differ as in the model. `measured_ms` is in FP32.
    """
    row = _repeat(measurements, AMP_CHOICE)
    trace, entry = _sample(measurements, AMP_CHOICE, row, int(parameters[AMP_CHOICE.model, AMP_CHOICE.pixels]))
    gpu = load_gpus()[load_catalog()[AMP_CHOICE.anchor].gpu]
    points = pd.read_csv(found_file(folder, POINTS_FILE))
    speeds = points[points["gpu"].str.startswith("V100")].pivot(index="gpu", columns="precision", values="images_per_s")
    fp32_ms, log_speedup = entry["latency_ms"], math.log((speeds[AMP] / speeds[FP32]).median())
    amp_ms = round(fp32_ms * math.exp(-log_speedup), 3)
    trace["operations"] = _sped_up(trace["operations"], gpu, log_speedup)
    trace["meta"] |= {"precision": AMP, "step_latency_ms": amp_ms}
    entry |= {
        "name": f"{entry['name']}-amp",
        "title": entry["title"].replace(",", " in AMP,", 1),
        "description": AMP_CHOICE.why.format(times=math.exp(log_speedup), fp32_ms=fp32_ms),
        "latency_ms": amp_ms,
        "measured_ms": {AMP_CHOICE.anchor: fp32_ms, **entry["measured_ms"]},
    }
    return _write(out, trace, entry)


#: Kind of work in a step by its layers -> operations that do it; kinds that aren't here are part of all.
_OPERATIONS = {
    "convolution": ("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"),
    "normalization": ("FusedBatchNormV3", "FusedBatchNormGradV3"),
    "activation function": ("Relu", "ReluGrad"),
    "elementwise": ("AddV2", "AddN", "BiasAdd", "BiasAddGrad", "Mul"),
    "pooling": ("MaxPool", "MaxPoolGrad"),
    "copy": ("Transpose",),
    "images": ("_Recv",),
    "parameters": ("ResourceApplyGradientDescent",),
}
_CONVOLVES = (
    *("1 x 1 convolution", "narrow convolution"),
    *("convolution and product outputs", "convolution and product inputs"),
)


def write_counted_sample(out: Path) -> dict:
    """Write the trace of larger images, and return its entry: made from layer counts, and marked so, as none is known.

    It has no latency and no truth: nothing of it was measured.
    """
    network, source = "retinanet_resnet50_fpn", "made from RetinaNet's layer counts, not recorded"
    choice = Choice(CHOICES[0].anchor, "RetinaNet", 640, 8, f"larger images, up to 1,280 pixels; {source}")
    counts = counts_of(network, choice.pixels)
    measured_us = json.loads((out / f"{_name(CHOICES[0])}.json").read_text())["operations"]
    trace = {
        "operations": _counted_us(counts, choice.batch_size, choice.anchor, measured_us),
        "meta": _meta(choice, counts.parameters),
        "warnings": [f"This profile is {source}: it shows how larger images are answered."],
    }
    entry = _entry(choice, None, {})
    title = entry["title"].replace(",", " (from counts),", 1)
    return _write(out, trace, {**entry, "name": f"{entry['name']}-from-counts", "title": title})


def _counted_us(counts: Counts, batch_size: int, instance: str, measured_us: Mapping[str, float]) -> dict[str, float]:
    """Microseconds of the operations of a step by its layers: each kind as `profet estimate` takes it to be.

    A kind's time is split among its operations as in `measured_us`, a measured step of the same instance.
    """
    models = load_models()
    profiled = models.transfer.profiled[instance]
    target = load_gpus()[profiled.gpu], profiled.host
    work_ms, launch_ms, start_ms = rate_model_of(models).parts_ms(counts, batch_size, target, Mode.FP32)
    kind_us = dict(zip(KINDS, (1e3 * work_ms).tolist(), strict=True))
    kind_us["convolution"] += sum(kind_us[kind] for kind in _CONVOLVES)
    times_us: dict[str, float] = {}
    for kind, operations in _OPERATIONS.items():
        names = [DEVICE_PREFIX + name for name in operations]
        total_us = sum(measured_us[name] for name in names)
        times_us |= {name: kind_us[kind] * measured_us[name] / total_us for name in names}
    scale = 1e3 * float(work_ms.sum()) / sum(times_us.values())
    # Every step has a counter; a profile without an operation as short counts as truncated.
    times_us = {name: scale * us for name, us in times_us.items()} | {DEVICE_PREFIX + "AssignAddVariableOp": 2.0}
    step_us = 1e3 * (float(smooth_max(float(work_ms.sum()), launch_ms)) + start_ms)
    times_us |= {DEVICE_IDLE: step_us - sum(times_us.values()), "Host_IDLE": step_us}
    return {name: round(us, 3) for name, us in times_us.items()}


def _sped_up(operations: Mapping[str, float], gpu: Gpu, log_speedup: float) -> dict[str, float]:
    """Device times in AMP: each class by the GPU's rates, then all by one factor, so that their sum gains so much."""
    classes, model = load_operation_classes(), rate_model_of(load_models())
    class_of = classes.place(list(operations))
    group = {name: classes.names[column] for name, column in class_of.items() if column is not None}
    work_us = {
        name: us
        for name, us in operations.items()
        if name.startswith(DEVICE_PREFIX) and name not in IDLE_OPERATIONS and group.get(name) != COPY_CLASS
    }
    in_fp32, in_half = (Place(gpu, mode_of(gpu, precision, PLAIN)) for precision in (FP32, AMP))
    log_factors = log_class_factors(model, in_fp32, in_half)
    in_amp = {name: us * math.exp(log_factors.get(group.get(name, UNKNOWN_AS), 0.0)) for name, us in work_us.items()}
    scale = math.exp(-log_speedup) * sum(work_us.values()) / sum(in_amp.values())
    return {name: round(in_amp[name] * scale, 3) if name in in_amp else us for name, us in operations.items()}


def _workload(measurements: Measurements, choice: Choice) -> np.ndarray:
    wanted = [choice.model, choice.pixels, choice.batch_size]
    return (measurements.workloads[WORKLOAD] == wanted).all(axis=1).to_numpy()


def _repeat(measurements: Measurements, choice: Choice) -> int:
    """Row of the chosen repeat; else of that whose latency on the anchor is the median of the nine.

    One recorded step, not the median of each operation: host rows count a varying number of threads, and a profile
    mixed from several steps would be none that a profiler ever writes.
    """
    rows = np.flatnonzero(_workload(measurements, choice))
    if choice.repeat is not None:
        return int(rows[choice.repeat])
    order = np.argsort(measurements.latency_ms[choice.anchor][rows], kind="stable")
    return int(rows[order[len(rows) // 2]])


def _held_out_ms(bank: ClassBank, rows: Mapping[Choice, int], latency_known: bool) -> dict[Choice, dict[str, float]]:
    """Return predictions of members that never saw a sample's architecture, milliseconds on each other instance."""
    targets = {choice: [name for name in bank.instances if name != choice.anchor] for choice in CHOICES}
    (out_of_fold,) = predict_cases(bank, [_sample_folds(bank, rows, targets, latency_known)], seed=SEED)
    return {
        choice: {
            target: round(float(out_of_fold.ensemble_ms((choice.anchor, target), _name(choice))[0]), 3)
            for target in targets[choice]
        }
        for choice in CHOICES
    }


def _sample_folds(
    bank: ClassBank, rows: Mapping[Choice, int], targets: Mapping[Choice, Sequence[str]], latency_known: bool
) -> list[Fold]:
    """Return a fold for each pair and architecture of the samples; samples that share one are held out together."""
    held_out: dict[tuple[str, str, str], dict[str, np.ndarray]] = {}
    for choice, row in rows.items():
        for target in targets[choice]:
            own = np.arange(len(bank.architectures)) == row
            held_out.setdefault((choice.anchor, target, choice.model), {})[_name(choice)] = own
    return [
        (PairTraining(anchor, target, bank.architectures != model, latency_known, sizes_known=True), names)
        for (anchor, target, model), names in held_out.items()
    ]


def _name(choice: Choice) -> str:
    return f"{choice.model.lower()}-{choice.pixels}px-b{choice.batch_size}-{choice.anchor.split('.')[0]}"


def _sample(measurements: Measurements, choice: Choice, row: int, parameters: int) -> tuple[dict, dict]:
    """Return a measured step as a profile, and its entry without predictions."""
    times_us = measurements.times_us[choice.anchor][row].tolist()
    rows = _workload(measurements, choice)
    latency_ms = round(float(measurements.latency_ms[choice.anchor][row]), 3)
    trace = {
        "operations": {
            name: round(us, 3) for name, us in zip(measurements.operations, times_us, strict=True) if us > 0
        },
        "meta": _meta(choice, parameters, latency_ms),
    }
    measured_ms = {
        name: round(float(np.median(latency[rows])), 3)
        for name, latency in measurements.latency_ms.items()
        if name != choice.anchor
    }
    return trace, _entry(choice, latency_ms, measured_ms)


def _meta(choice: Choice, parameters: int, latency_ms: float | None = None) -> dict:
    is_measured = latency_ms is not None
    return {
        "gpu": load_catalog()[choice.anchor].gpu,
        **({"framework": "TensorFlow 2.5"} if is_measured else {}),
        "precision": "fp32",
        "network": choice.model,
        "batch_size": choice.batch_size,
        "pixels": choice.pixels,
        "parameters": parameters,
        **({"step_latency_ms": latency_ms} if is_measured else {}),
        "steps": 1,
    }


def _entry(choice: Choice, latency_ms: float | None, measured_ms: Mapping[str, float]) -> dict:
    """Return a sample's entry in the index."""
    return {
        "name": _name(choice),
        "title": f"{choice.title}{choice.model}, {choice.pixels} pixels, batch {choice.batch_size}, on {choice.anchor}",
        "description": choice.why,
        "anchor": choice.anchor,
        "model": choice.model,
        "batch_size": choice.batch_size,
        "pixels": choice.pixels,
        "latency_ms": latency_ms,
        "measured_ms": measured_ms,
        "left_out_ms": {},
        "left_out_without_latency_ms": {},
    }


def main() -> None:
    """Make the shipped folder."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    for row in make_samples(load_measurements(folder), load_parameters(folder), folder, Path("sample_traces")):
        print(row["title"], row["measured_ms"], row["left_out_ms"])


if __name__ == "__main__":
    main()
