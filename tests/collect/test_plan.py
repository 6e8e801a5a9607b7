"""What is planned: the grid, the cells that tell most, and what each is expected to take."""

from __future__ import annotations

import csv

import pytest

from profet_collect.networks import MEASURED, NEWER, OF_TORCHVISION, classes_at, counts_of, missing
from profet_collect.run import (
    BATCH_SIZES,
    PIXELS,
    ExpectedTimes,
    Grid,
    Timed,
    grid_cells,
    known_error,
    measurable,
    parse_models,
    print_result,
    quick_cells,
    quick_workloads,
)
from profet_collect.store import Cell, CellResult
from profet_core.catalog import load_gpus
from profet_core.errors import InputError
from tests.recorder.runs import needs

GRID = Grid(parse_models("measured"), PIXELS, BATCH_SIZES, ("fp32",), ("tensorflow",))


def expected_on(gpu: str) -> ExpectedTimes:
    return ExpectedTimes({"tensorflow": 12.0, "pytorch": 6.0}, 15, 600.0, load_gpus().find(gpu))


def test_the_grid_of_the_published_measurements_has_its_355_cells_and_every_dimension_multiplies():
    cells = grid_cells(GRID)
    # 15 networks at 5 sizes and 5 batches, without Inception* under 75 pixels.
    assert len(cells) == len(set(cells)) == 375 - 2 * 2 * 5
    assert not [cell for cell in cells if cell.model.startswith("Inception") and cell.pixels < 75]
    grid = Grid(("LeNet5",), (32, 64), (16,), ("fp32", "tf32", "amp"), ("pytorch", "tensorflow"), repeats=2)
    cells = grid_cells(grid)
    assert len(set(cells)) == 2 * 3 * 2 * 2
    assert {cell.precision for cell in measurable(cells, 7.5)} == {"fp32", "amp"}
    assert measurable(cells, 8.0) == cells
    assert parse_models("newer") == tuple(NEWER)
    assert parse_models("resnet50, newer,ResNet50") == ("ResNet50", *NEWER)
    assert len(parse_models("measured")) == 15 and set(parse_models("all")) == {*NEWER, *parse_models("measured")}
    with pytest.raises(InputError, match="Name at least one network"):
        parse_models(" , ")


def test_quick_takes_the_head_of_a_table_and_fits_into_the_time():
    assert len(set(quick_workloads())) == 120
    head = list(quick_workloads())
    cells = quick_cells(GRID, lambda _: 15.0, within_s=300.0)
    assert [(planned.model, planned.pixels, planned.batch_size) for planned in cells] == head[:20]
    few, many = known_error(cells[:2]), known_error(cells)
    assert few is not None and many is not None and (few[0], many[0]) == (1, 20) and 5 < many[1] < few[1]
    # One that takes more than a tenth of the time isn't worth ten others.
    slow = quick_cells(GRID, lambda cell: 100.0 if cell.model == head[0][0] else 15.0, within_s=300.0)
    assert head[0] not in [(planned.model, planned.pixels, planned.batch_size) for planned in slow]
    assert known_error([]) is None
    only = Grid(("VGG11",), (256,), (16,), ("amp",), ("pytorch",))
    assert quick_cells(only, lambda _: 1.0) == [Cell("pytorch", "amp", "VGG11", 256, 16)]


def test_a_step_is_expected_by_the_data_sheet():
    t4, h200 = map(expected_on, ("Tesla T4", "H200"))
    cell = Cell("tensorflow", "fp32", "VGG16", 224, 16)
    assert t4.step_ms(cell) > 3 * h200.step_ms(cell)
    assert h200.step_ms(cell) > h200.step_ms(Cell("tensorflow", "tf32", "VGG16", 224, 16))
    assert t4.step_ms(cell) > 5 * t4.step_ms(Cell("tensorflow", "fp32", "VGG16", 64, 16))


CELL, LARGE = Cell("tensorflow", "fp32", "LeNet5", 32, 16), Cell("tensorflow", "fp32", "VGG19", 256, 256)


@pytest.fixture
def expected() -> ExpectedTimes:
    return expected_on("Tesla T4")


def test_start_layers_and_pace_are_those_of_two_cells_that_were_run(expected):
    deep, other = Cell("tensorflow", "fp32", "ResNet18", 128, 32), Cell("pytorch", "fp32", "LeNet5", 32, 16)
    others = expected.seconds(other)
    layers = {cell: counts_of(cell.model, cell.pixels).layers.all for cell in (CELL, deep)}

    def took_s(cell: Cell, latency_ms: float) -> float:
        """On a machine that starts in 9 s and takes 0.2 s a layer."""
        return 9.0 + 0.2 * layers[cell] + 17 * latency_ms / 1e3

    steps_ms = {CELL: 4.0, deep: 2 * expected.step_ms(deep)}
    shallow, timed = (Timed(cell, took_s(cell, steps_ms[cell]), steps_ms[cell]) for cell in (CELL, deep))
    expected.calibrate(shallow, timed)
    assert expected.seconds(deep) == pytest.approx(timed.took_s)
    for cell in (CELL, LARGE):
        layers[cell] = counts_of(cell.model, cell.pixels).layers.all
        assert expected.seconds(cell) == pytest.approx(took_s(cell, 2 * expected.step_ms(cell)))
    assert expected.seconds(other) == others
    # No cell may take longer than its time.
    expected.pace["tensorflow"] = 1000.0
    assert expected.seconds(LARGE) == 600.0
    # Noise may have the deep one's rest shorter than the shallow one's.
    expected.calibrate(Timed(CELL, 30.0, 4.0), Timed(deep, 17 * 100 / 1e3 + 20.0, 100.0))
    assert expected.layer_s["tensorflow"] == 0.0 and expected.start_s["tensorflow"] == pytest.approx(30 - 17 * 4 / 1e3)


def test_each_cell_that_ends_is_a_line(capsys):
    cell = Cell("pytorch", "fp32", "LeNet5", 32, 16)
    print_result("1/2", CellResult(cell, "2", "ok", "now", batch_latency_ms=12.0, latency_repeats_ms=(12.0,)), 90.0)
    print_result("2/2", CellResult(cell, "2", "out-of-memory", "now", why="8 GiB asked"), 30.0)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("1/2, 90.0 s left: LeNet5, ") and first.endswith(": 12.0 ms")
    assert second.startswith("2/2, 30.0 s left") and second.endswith(": out-of-memory (8 GiB asked)")


pytorch = needs("torch")


def parameter_count(module) -> int:
    """As the measurements count them: running averages among them, the number of batches seen not."""
    values = [*module.parameters(), *(buffer for buffer in module.buffers() if buffer.is_floating_point())]
    return sum(value.numel() for value in values)


@pytorch
def test_pytorch_has_the_parameters_of_all_measured_architectures_and_names_what_it_lacks(repository):
    import torch

    from profet_collect.in_pytorch import build

    architectures = list(csv.DictReader((repository / "data" / "architectures.csv").read_text().splitlines()))
    own = [row for row in architectures if row["model"] not in (*OF_TORCHVISION, "InceptionResNetV2")]
    assert (len(architectures), len(own)) == (71, 60)
    with torch.device("meta"):
        for row in own:
            pixels = int(row["pixels"])
            network = build(row["model"], pixels, classes_at(pixels))
            trainable = sum(parameter.numel() for parameter in network.parameters())
            assert [parameter_count(network), trainable] == [int(row["parameters"]), int(row["trainable"])], row
    with pytest.raises(InputError, match="torchvision does not have it"):
        build("InceptionResNetV2", 128, 100)


@needs("torch", "torchvision")
@pytest.mark.parametrize("name", OF_TORCHVISION)
def test_torchvision_s_networks_have_the_counted_parameters(name):
    import torch

    from profet_collect.in_pytorch import build

    network = build(name, 128, 100)
    counts = counts_of(name, 128)
    # Keras' Inception has no scales in its normalizations.
    scales = 17_216 if name == "InceptionV3" else 0
    assert sum(parameter.numel() for parameter in network.parameters()) == counts.trainable_parameters + scales
    assert network.eval()(torch.zeros(2, 3, 128, 128)).shape == (2, 100)


def test_keras_has_the_counted_parameters(in_keras):
    sizes = {name for name, _, _ in in_keras["parameters"]}
    assert sizes == {*MEASURED, *NEWER} - {"InceptionResNetV2", *missing("tensorflow")}
    for *size, built in in_keras["parameters"]:
        counts = counts_of(*size)
        assert built[1:] == [counts.trainable_parameters, counts.classes], size
        assert built[0] == counts.parameters or size[0] in NEWER, size


def test_a_network_that_a_framework_lacks_is_skipped(monkeypatch):
    monkeypatch.setattr("profet_collect.networks.find_spec", lambda name: None)
    grid = Grid(("ResNet50", "MobileNetV2", "RegNetY-800MF"), (64,), (16,), ("fp32",), ("pytorch", "tensorflow"))
    built = [(cell.framework, cell.model) for cell in grid_cells(grid)]
    assert built == [("pytorch", "ResNet50"), ("tensorflow", "ResNet50"), ("tensorflow", "MobileNetV2")]
