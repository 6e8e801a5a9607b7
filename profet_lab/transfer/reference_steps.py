"""Write the reference GPU's steps for comparison with published throughputs.

`python -m profet_lab.transfer.reference_steps [DATA]` writes `profet_core/transfer/reference_steps.csv` and prints the
spreads that `profet_core.transfer.custom_gpu` has.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from msgspec.structs import asdict
from profet_core.transfer.step_model import StepModel

from profet_core.catalog.custom_gpus import PRECISIONS, ThroughputPoint
from profet_core.prediction.models import load_models
from profet_core.shipped import write_shipped
from profet_core.transfer.custom_gpu import (
    BATCH_RANGE,
    PIXEL_RANGE,
    REFERENCE_STEPS_NAME,
    ReferenceStep,
    ReferenceSteps,
    log_times_reference,
)
from profet_lab.measurements.published import THROUGHPUT_FILE
from profet_lab.measurements.tables import (
    data_folder,
    found_file,
    load_architectures,
    load_measurements,
)
from profet_lab.transfer.step_model import BENCHMARK, InstanceSteps, measured_medians, root_mean_square
from profet_lab.transfer.transfer_file import REFERENCE

#: Often published, and near others' V100 measurements. Excluded: MobileNetV2, whose depthwise convolutions took
#: TensorFlow 2.5 1.8 times as long as others publish, and unpublished networks.
NETWORKS = ("ResNet18", "ResNet34", "ResNet50", "VGG11", "VGG13", "VGG16", "VGG19", "InceptionV3")
PIXELS = (128, 224, 256)
#: Forward, and backward to inputs and to weights.
_PASSES = 3


def reference_steps(medians: InstanceSteps, architectures: pd.DataFrame) -> list[ReferenceStep]:
    """The reference's steps of `NETWORKS`, by network, pixels and batch size.

    medians : one row a workload.
    architectures : operations of a forward pass, by model and pixels.
    """
    copy_ms = medians.parts(REFERENCE, True).copy_ms
    one = architectures.set_index(["model", "pixels"])
    flops = one.conv_flops + one.dwconv_flops + one.dense_flops
    table = medians.workloads.assign(latency_ms=medians.latency_ms[REFERENCE], copy_ms=copy_ms)
    wanted = table[table.model.isin(NETWORKS) & table.pixels.isin(PIXELS)]
    return [
        ReferenceStep(
            network=row["model"],
            pixels=int(row["pixels"]),
            batch_size=int(row["batch_size"]),
            latency_ms=round(float(row["latency_ms"]), 3),
            copy_ms=round(float(row["copy_ms"]), 3),
            gflop_per_image=round(_PASSES * float(flops[row["model"], row["pixels"]]) / 1e9, 3),
        )
        for row in wanted.sort_values(["model", "pixels", "batch_size"]).to_dict("records")
    ]


def throughput_log_sds(steps: Sequence[ReferenceStep], step_model: StepModel, folder: Path) -> tuple[float, float]:
    """How far apart throughputs are, root mean square of the logarithm.

    First those published of the reference GPU itself from its steps here, each network at each source counted once.
    Then the speeds that ResNet-50 and another network give for one GPU, each pair of these counted once.
    """
    table = _comparable(pd.read_csv(found_file(folder, THROUGHPUT_FILE)), ReferenceSteps(steps), step_model)
    of_reference = table[table.gpu.str.contains("V100") & (table.precision == "fp32")]
    noise = of_reference.groupby(["network", "source_repo"]).log_times.mean()
    # The same source on the same GPU: what is left is the network.
    means = table.groupby(["gpu", "precision", "source_repo", "network"]).log_times.mean().unstack()
    away = means.drop(columns=BENCHMARK[0]).sub(means[BENCHMARK[0]], axis=0).groupby("gpu").mean().stack()
    return root_mean_square(noise.tolist()), root_mean_square(away.dropna().to_numpy(float).ravel())


def _comparable(table: pd.DataFrame, steps: ReferenceSteps, step_model: StepModel) -> pd.DataFrame:
    """Throughputs of one GPU in FP32 or TF32 that there is a step to compare with, as `log_times` its speed."""
    table = table[(table.gpus == 1) & table.precision.isin(PRECISIONS) & table.network.isin(steps.networks)]
    table = table[table.batch_size.between(*BATCH_RANGE) & table.pixels.between(*PIXEL_RANGE)]
    points = [
        ThroughputPoint(float(speed), network, int(pixels), int(batch_size), precision)
        for speed, network, pixels, batch_size, precision in zip(
            table.images_per_s, table.network, table.pixels, table.batch_size, table.precision, strict=True
        )
    ]
    return table.assign(log_times=[log_times_reference(steps, step_model, point) for point in points])


def steps_csv(steps: Sequence[ReferenceStep]) -> str:
    """The table as a file."""
    return pd.DataFrame(map(asdict, steps)).to_csv(index=False, lineterminator="\n")


def main() -> None:
    """Write the table, print the spread."""
    folder = data_folder(sys.argv[1] if len(sys.argv) > 1 else None)
    steps = reference_steps(measured_medians(load_measurements(folder)), load_architectures(folder))
    path = write_shipped(REFERENCE_STEPS_NAME, steps_csv(steps).encode())
    transfer = load_models().transfer
    noise, network = throughput_log_sds(steps, transfer.step, folder)
    print(f"{len(steps)} steps in {path.name}; THROUGHPUT_LOG_SD {noise:.3f}, OTHER_NETWORK_LOG_SD {network:.3f}")


if __name__ == "__main__":
    main()
