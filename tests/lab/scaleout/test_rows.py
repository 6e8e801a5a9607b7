"""Published speeds are read as what they are: batches of one GPU or of all, and what is excluded with its reason."""

from __future__ import annotations

import pytest

from profet_core.catalog.interconnects import Link
from profet_core.multi_gpu.law import Strategy
from profet_lab.measurements.tables import DataError
from profet_lab.scaleout.rows import (
    BROKEN_FILE,
    FP16_WITHOUT_XLA,
    REAL_DATA,
    SLOW_ONE_GPU,
    TENSORFLOW_2017,
    THROUGHPUTS,
    load_scale_rows,
)


def the_row(rows, **want):
    (found,) = [row for row in rows if all(getattr(row, name) == value for name, value in want.items())]
    return found


def test_the_batch_of_2017_is_that_of_all_gpus(published):
    rows = [row for row in published.kept if row.data_set == TENSORFLOW_2017]
    # The efficiencies that the benchmarks' page leads with.
    on_64 = the_row(rows, network="ResNet50", gpus=64, batch_per_gpu=64)
    assert (round(on_64.efficiency, 3), on_64.nodes, on_64.strategy) == (0.818, 8, Strategy.RING)
    assert round(the_row(rows, network="InceptionV3", gpus=64, batch_per_gpu=64).efficiency, 3) == 0.938
    vgg = the_row(rows, network="VGG16", gpu="P100", gpus=8, batch_per_gpu=32)
    assert (round(vgg.efficiency, 3), vgg.interconnect.link) == (0.712, Link.NVLINK)
    alexnet = the_row(rows, network="AlexNet", gpu="P100", gpus=8)
    assert (round(alexnet.efficiency, 3), alexnet.batch_per_gpu) == (0.746, 512)


def test_every_row_is_judged_or_has_a_reason(published):
    counted = {name: sum(row.data_set == name for row in published.kept) for name in (TENSORFLOW_2017, THROUGHPUTS)}
    assert counted == {TENSORFLOW_2017: 89, THROUGHPUTS: 1510}
    held_out = {name: published.held_out(name) for name in counted}
    assert held_out[TENSORFLOW_2017] == {REAL_DATA: 67}
    assert sum(held_out[THROUGHPUTS].values()) == 1988 - 1510
    assert held_out[THROUGHPUTS][FP16_WITHOUT_XLA] == 198
    assert (held_out[THROUGHPUTS][SLOW_ONE_GPU], held_out[THROUGHPUTS][BROKEN_FILE]) == (53, 32)


def test_fp16_without_xla_falls_back_to_fp32_s_speed(published):
    """Why it is excluded: not the links, for AlexNet and VGG16, which share most, scale."""
    held_out = [row for row in published.rows if row.excluded == FP16_WITHOUT_XLA and row.gpus == 8]
    scaling = {
        network: sorted(row.efficiency for row in held_out if row.network == network)
        for network in ("AlexNet", "VGG16", "ResNet50", "InceptionV3")
    }
    assert min(scaling["AlexNet"]) > 0.9 and min(scaling["VGG16"]) > 0.9
    assert max(scaling["ResNet50"]) < 0.57 and max(scaling["InceptionV3"]) < 0.6


def test_super_linear_rows_come_of_a_slow_one_gpu_run(published):
    # Against the same GPU elsewhere.
    def one_gpu_ms(rows):
        found = [
            row.one_gpu_ms for row in rows if row.network == "ResNet50" and row.precision == "fp32" and row.gpus == 8
        ]
        return sum(found) / len(found)

    xla = [row for row in published.rows if row.gpu == "GeForce RTX 2080 Ti" and "XLA" in row.source]
    slow = [row for row in xla if row.excluded == SLOW_ONE_GPU]
    assert one_gpu_ms(slow) > 1.15 * one_gpu_ms([row for row in xla if not row.excluded])


def test_missing_files_are_one_line(tmp_path):
    with pytest.raises(DataError, match="published multi-GPU speeds can't be read"):
        load_scale_rows(tmp_path)
