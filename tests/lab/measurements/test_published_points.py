"""Published ResNet-50 speeds: which rows of the tables count, and what they say beside V100's."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from profet_core.catalog import load_gpus
from profet_lab.measurements.published_points import (
    OWN_POINTS,
    POINT_OF,
    POINTS_FILE,
    PUBLISHED_GPUS,
    THROUGHPUT_FILE,
    load_speeds,
    log_ratios,
    table_log_ratios,
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
    "precision": "fp32",
}


@pytest.fixture
def ratios(tmp_path):
    """`ratios(rows)`: what a table of these rows says."""

    def read(*rows: dict) -> dict:
        (tmp_path / THROUGHPUT_FILE).parent.mkdir(exist_ok=True)
        pd.DataFrame([{**ROW, **row} for row in rows]).to_csv(tmp_path / THROUGHPUT_FILE, index=False)
        return {key: list(found.values()) for key, found in table_log_ratios(tmp_path).items()}

    return read


V100 = {"gpu": "Tesla V100 (16 GB)", "images_per_s": 100.0}
A6000 = {"gpu": "RTX A6000", "images_per_s": 150.0, "precision": "tf32"}


def test_a_speed_is_beside_v100s_of_the_same_table(ratios):
    assert ratios(V100, A6000) == {("RTX A6000", True): pytest.approx([math.log(1.5)])}


def test_precisions_are_told_apart(ratios):
    found = ratios(V100, A6000, {**A6000, "precision": "fp32", "images_per_s": 110.0})
    assert found["RTX A6000", False] == pytest.approx([math.log(1.1)])
    assert found["RTX A6000", True] == pytest.approx([math.log(1.5)])


@pytest.mark.parametrize(
    "other",
    [
        {"gpus": 2},
        {"network": "VGG16"},
        {"pixels": 128},
        {"batch_size": 32},
        {"source_repo": "somebody/simulates"},
        {"source_file": "table_XLA.md"},
        {"precision": "amp"},
    ],
)
def test_rows_of_something_else_do_not_count(ratios, other):
    assert ratios(V100, A6000, {**A6000, "images_per_s": 900.0, **other}) == ratios(V100, A6000)


def test_a_table_without_a_v100_says_nothing(ratios):
    assert ratios({**V100, "source_repo": NVIDIA}, A6000) == {}


def test_the_sxm3_counts_for_as_much_faster_as_it_is(ratios):
    faster = {**V100, "gpu": "Tesla V100-SXM3-32GB"}
    assert ratios(faster, A6000)["RTX A6000", True] == pytest.approx([math.log(1.5 * 432 / 412)])
    # The nearest to the reference counts where there are several.
    assert ratios(faster, {**V100, "images_per_s": 75.0}, A6000)["RTX A6000", True] == pytest.approx([math.log(2)])


def test_a_gpus_speed_in_one_table_is_the_median_over_its_batches(ratios):
    rows = [{**A6000, "images_per_s": speed, "batch_size": size} for speed, size in ((140, 64), (150, 128), (900, 256))]
    assert ratios(V100, *rows)["RTX A6000", True] == pytest.approx([math.log(1.5)])


def test_the_own_point_comes_first_and_two_boards_of_one_card_count_as_one():
    speeds = {"V100-SXM2-16GB": 100.0, "A100-PCIE-40GB": 200.0}
    tables = {("A100-PCIE-40GB", True): {"one": 0.5}, ("A100-SXM4-40GB", True): {"two": 0.9}}
    for name in ("A100-PCIE-40GB", "A100-SXM4-40GB"):
        assert log_ratios(speeds, tables, name, tf32=True) == pytest.approx([math.log(2), 0.5, 0.9])
        assert log_ratios(speeds, tables, name, tf32=False) == []


def test_every_gpu_with_a_point_is_in_the_catalogue():
    assert set(POINT_OF) | set(OWN_POINTS) <= set(load_gpus())
    assert set(POINT_OF.values()) <= {gpu.point for gpu in PUBLISHED_GPUS}


def test_a_table_without_the_reference_is_one_line(tmp_path):
    path = tmp_path / POINTS_FILE
    path.parent.mkdir()
    path.write_text("gpu,precision,batch_size,images_per_s,source\nV100-SXM2-16GB,amp,256,833,x\n")
    with pytest.raises(DataError, match="has no row of V100-SXM2-16GB"):
        load_speeds(tmp_path)
    with pytest.raises(DataError, match=r"No external/resnet50_training_points.csv in"):
        load_speeds(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"No external/training_throughput.csv in"):
        table_log_ratios(tmp_path / "nowhere")


def test_the_data_say_what_was_published_of_h100(measurements):
    folder = data_folder()
    (h100,) = log_ratios(load_speeds(folder), table_log_ratios(folder), "H100-SXM5-80GB", tf32=True)
    assert h100 == pytest.approx(math.log(1893 / 369))
    assert len(log_ratios(load_speeds(folder), table_log_ratios(folder), "A100-SXM4-40GB", tf32=True)) == 3
