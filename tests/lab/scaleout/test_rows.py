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
    (found,) = [row for row in rows.itertuples() if all(getattr(row, name) == value for name, value in want.items())]
    return found


def test_the_batch_of_2017_is_that_of_all_gpus(published):
    rows = published.kept.query("data_set == @TENSORFLOW_2017")
    # The efficiencies that the benchmarks' page leads with.
    on_64 = the_row(rows, network="ResNet50", gpus=64, batch_per_gpu=64)
    assert (round(on_64.efficiency, 3), on_64.nodes, on_64.strategy) == (0.818, 8, Strategy.RING)
    assert round(the_row(rows, network="InceptionV3", gpus=64, batch_per_gpu=64).efficiency, 3) == 0.938
    vgg = the_row(rows, network="VGG16", gpu="P100", gpus=8, batch_per_gpu=32)
    assert (round(vgg.efficiency, 3), vgg.interconnect.link) == (0.712, Link.NVLINK)
    alexnet = the_row(rows, network="AlexNet", gpu="P100", gpus=8)
    assert (round(alexnet.efficiency, 3), alexnet.batch_per_gpu) == (0.746, 512)


def test_every_row_is_judged_or_has_a_reason(published):
    counted = published.kept["data_set"].value_counts().to_dict()
    assert counted == {TENSORFLOW_2017: 89, THROUGHPUTS: 1510}
    held_out = {name: published.held_out(name) for name in counted}
    assert held_out[TENSORFLOW_2017] == {REAL_DATA: 67}
    assert sum(held_out[THROUGHPUTS].values()) == 1988 - 1510
    assert held_out[THROUGHPUTS][FP16_WITHOUT_XLA] == 198
    assert (held_out[THROUGHPUTS][SLOW_ONE_GPU], held_out[THROUGHPUTS][BROKEN_FILE]) == (53, 32)


def test_missing_files_are_one_line(tmp_path):
    with pytest.raises(DataError, match="published multi-GPU speeds can't be read"):
        load_scale_rows(tmp_path)
