"""Published training speeds: which rows of the tables count, and what they say beside V100's."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from profet_lab.measurements.published import (
    MORE_POINTS_FILE,
    POINTS_FILE,
    POINTS_TABLE,
    THROUGHPUT_FILE,
    published_ratios,
    published_steps,
)
from profet_lab.measurements.tables import DataError, data_folder

LAMBDA, NVIDIA = "lambdal/lambda-tensorflow-benchmark", "NVIDIA/DeepLearningExamples"
ROW = {
    "gpus": 1,
    "network": "ResNet50",
    "pixels": 224,
    "batch_size": 128,
    "source_repo": LAMBDA,
    "source_file": "table.md",
    "framework": "TensorFlow",
    "framework_version": "2.2.0",
    "precision": "fp32",
}
SCRIPT = {"source_repo": "someone/pytorch-gpu-benchmark", "framework": "PyTorch", "batch_size": 12}
V100 = {"gpu": "Tesla V100 (16 GB)", "images_per_s": 100.0}
A6000 = {"gpu": "RTX A6000", "images_per_s": 150.0, "precision": "tf32"}
POINTS = (
    "gpu,precision,batch_size,images_per_s,source\nV100-SXM2-16GB,fp32,128,369,x\nA10 (PCIe; not A10G),tf32,224,349,x\n"
)


@pytest.fixture
def ratios(tmp_path):
    """`ratios(rows)`: what a table of these rows says, by GPU and TF32."""

    def read(*rows: dict) -> dict:
        folder = tmp_path / "external"
        folder.mkdir(exist_ok=True)
        for name in (POINTS_FILE, MORE_POINTS_FILE):
            (tmp_path / name).write_text(POINTS)
        pd.DataFrame([{**ROW, **row} for row in rows]).to_csv(tmp_path / THROUGHPUT_FILE, index=False)
        found = published_ratios(tmp_path)
        found = found[found.table != POINTS_TABLE]
        return {(row.gpu, row.tf32): row.log_ratio for row in found.itertuples()}

    return read


def test_a_speed_is_relative_to_v100s_of_the_same_table(ratios):
    assert ratios(V100, A6000) == {("RTX A6000", True): pytest.approx(math.log(1.5))}
    assert ratios({**V100, "source_repo": NVIDIA}, A6000) == {}


@pytest.mark.parametrize(
    "other",
    [
        {"gpus": 2},
        {"network": "VGG16"},
        {"pixels": 128},
        {"batch_size": 32},
        {"source_repo": "somebody/simulates"},
        {"source_file": "table_XLA.md"},
        {"framework_version": "2.4.1 XLA"},
        {"precision": "amp"},
        {"gpu": "RTX Unknown"},
    ],
)
def test_rows_of_something_else_do_not_count(ratios, other):
    assert ratios(V100, A6000, {**A6000, "images_per_s": 900.0, **other}) == ratios(V100, A6000)


def test_xla_is_compared_with_xla(ratios):
    xla = {"framework_version": "1.15 XLA"}
    found = ratios(V100, {**V100, **xla, "images_per_s": 120.0}, {**A6000, **xla, "images_per_s": 180.0})
    assert found == {("RTX A6000", True): pytest.approx(math.log(1.5))}


def test_small_batches_of_one_script_count_for_vgg_alone(ratios):
    vgg, card = {**SCRIPT, "network": "VGG16"}, {"gpu": "RTX A6000", "precision": "tf32-conv"}
    rows = [{**V100, **vgg}, {**card, **vgg, "images_per_s": 200.0}]
    assert ratios(*rows) == {("RTX A6000", True): pytest.approx(math.log(2))}
    assert ratios(*rows, {**V100, **SCRIPT}, {**card, **SCRIPT, "images_per_s": 900.0}) == ratios(*rows)


def test_missing_data_are_one_line(tmp_path):
    with pytest.raises(DataError, match=r"No external/resnet50_training_points.csv in"):
        published_ratios(tmp_path)
    with pytest.raises(DataError, match=r"No external/training_throughput.csv in"):
        published_steps(tmp_path)


def test_the_data_say_what_was_published(measurements):
    found = published_ratios(data_folder()).set_index(["gpu", "table"]).log_ratio
    assert found["H100-SXM5-80GB", POINTS_TABLE] == pytest.approx(math.log(1893 / 369))
    assert found["GeForce RTX 4090", POINTS_TABLE] == pytest.approx(math.log(721 / 369))
    assert found["B200", POINTS_TABLE] == pytest.approx(math.log(2967 / 369))
