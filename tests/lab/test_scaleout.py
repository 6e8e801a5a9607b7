"""Published multi-GPU speeds are read as what they are; the scale-out model is found again from them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from profet_core.catalog.interconnects import Interconnect, Link
from profet_core.files import shipped_folder
from profet_core.latency import quantile
from profet_core.training.scaling_model import NUMBERS, IntervalWidth, ScaleoutModel, Strategy, load_scaleout
from profet_core.training.several_gpus import OneGpuStep, scaled_step
from profet_lab.measurements.tables import DataError, data_folder
from profet_lab.reports import read_report
from profet_lab.scaleout import (
    BROKEN_FILE,
    COUNT,
    DLPERF,
    FP16_WITHOUT_XLA,
    GPU,
    GROUP,
    NETWORK,
    REAL_DATA,
    SLOW_ONE_GPU,
    TENSORFLOW_2017,
    THROUGHPUTS,
    WAITS_FOR_IMAGES,
    covered,
    fitted_model,
    held_out_fold,
    held_out_ms,
    kept,
    load_scale_rows,
    log_half_widths,
    predicted_ms,
    scale_errors,
    widths,
    with_nodes,
)


@pytest.fixture(scope="session")
def published() -> tuple[pd.DataFrame, dict[str, int]]:
    return load_scale_rows(data_folder())


@pytest.fixture(scope="session")
def true_model() -> ScaleoutModel:
    return ScaleoutModel(
        link_efficiency={**dict.fromkeys(Link, 0.6), Link.NVSWITCH: 0.8, Link.PCIE: 0.5, Link.PCIE_HOST: 0.2},
        host_efficiency=0.7,
        network_efficiency=0.4,
        staged_gb_per_s=1.0,
        overlap=0.4,
        network_overlap=0.8,
        backward_left=0.6,
        straggling=0.02,
        switched_straggling=0.01,
        network_straggling=0.01,
        copy_efficiency=0.5,
        tensor_ms=0.05,
        tensor_gpu_ms=0.1,
        widths=dict.fromkeys((False, True), dict.fromkeys(Link, IntervalWidth(0.0, 0.0, 0.0))),
        network_width=IntervalWidth(0.0, 0.0, 0.0),
    )


@pytest.fixture(scope="session")
def made(true_model) -> pd.DataFrame:
    """Every strategy on every link, exactly as the scale-out model has it: networks A-D, GPUs one for each link."""
    networks = (("A", 140, 200.0), ("B", 60, 300.0), ("C", 25, 100.0), ("D", 5, 40.0))
    links = ((Link.NVSWITCH, 300), (Link.NVLINK, 150), (Link.PCIE, 16), (Link.PCIE_HOST, 16))
    strategies = (Strategy.RING, Strategy.PS_CPU, Strategy.ONE_PROCESS)
    rows = [
        {
            "gpu": str(link),
            "group": f"{network} on {link}",
            "network": network,
            "strategy": strategy,
            "gpus": gpus,
            "interconnect": Interconnect(8, link, gb_per_s, 3, 2, gbit_per_s, "made up"),
            "one_gpu_ms": one_gpu_ms / shorter,
            "latency_ms": 1.0,
            "gradient_bytes": 4e6 * millions,
            "tensors": 50 + millions,
        }
        for (network, millions, one_gpu_ms), (link, gb_per_s), gpus, strategy, (shorter, gbit_per_s) in product(
            networks, links, (2, 4, 8, 32), strategies, ((1, 10.0), (8, 100.0))
        )
        if gpus <= 8 or strategy is not Strategy.ONE_PROCESS
    ]
    table = with_nodes(pd.DataFrame(rows))
    return table.assign(latency_ms=predicted_ms(true_model, table))


@pytest.fixture
def noisy(made) -> pd.DataFrame:
    """The same, 3 % off at random."""
    return made.assign(latency_ms=made["latency_ms"] * np.exp(np.random.default_rng(0).normal(0, 0.03, len(made))))


def test_it_finds_the_model_that_made_the_rows_and_runs_what_serves(made, true_model):
    fitted = fitted_model(made)
    np.testing.assert_allclose(predicted_ms(fitted, made), made["latency_ms"], rtol=0.01)
    for name in ("network_efficiency", "staged_gb_per_s", "copy_efficiency", "backward_left", "tensor_gpu_ms"):
        assert getattr(fitted, name) == pytest.approx(getattr(true_model, name), rel=0.1), name
    for link, share in fitted.link_efficiency.items():
        assert share == pytest.approx(true_model.link_efficiency[link], rel=0.2), link
    for row in made[::7].itertuples():
        step = OneGpuStep(row.one_gpu_ms, 64, row.gradient_bytes / 4, "fp32", tensors=row.tensors)
        served = scaled_step(true_model, step, row.interconnect, row.gpus, Strategy(row.strategy))
        assert served.latency_ms == pytest.approx(row.latency_ms)


@pytest.mark.parametrize(("by", "fold", "third"), [(NETWORK, "A", "B"), (GPU, "pcie", "nvlink")])
def test_a_fold_does_not_see_what_is_held_out(noisy, by, fold, third):
    """Poisoned: were a single step of the fold seen, scale-out model and widths would be others."""
    of_fold = (noisy[by] == fold).to_numpy()
    poisoned = noisy.assign(latency_ms=noisy["latency_ms"] * np.where(of_fold, 9, 1))
    clean, other = (held_out_fold(rows, by, fold) for rows in (noisy, poisoned))
    for name in ("predicted_ms", "log_half_width"):
        np.testing.assert_array_equal(clean[name], other[name])
    # The poison does reach those that may see it.
    seen = [held_out_fold(rows, by, third)["log_half_width"] for rows in (noisy, poisoned)]
    assert not np.array_equal(*seen)


def test_widths_hold_nine_of_ten_errors_and_those_of_one_process_are_no_others(noisy):
    times_ms = held_out_ms(noisy, NETWORK)
    fitted = widths(noisy, times_ms)
    inside = covered(noisy, times_ms, log_half_widths(noisy, times_ms, fitted))
    assert 0.85 <= inside.mean() <= 0.97
    # One process far off, and each doubling far more: neither reaches what it says nothing of, nor a network.
    factor = {2: 1.02, 4: 1.2, 8: 1.4, 32: 1.1}
    rows = noisy[noisy["link"] == "pcie"]
    off = np.where(rows["strategy"] == Strategy.ONE_PROCESS, 3.0, rows["gpus"].map(factor))
    fitted = widths(rows, rows["latency_ms"].to_numpy() / off)
    several = fitted.several[Link.PCIE]
    assert several.doubling == pytest.approx(np.log(1.4) / 2, rel=0.3)
    assert quantile() * several.log_sd(0.0, 2) < 0.2 < quantile() * several.log_sd(0.0, 8) < 0.6
    assert quantile() * fitted.one_process[Link.PCIE].log_sd(0.0, 2) > 0.9
    assert quantile() * fitted.network.log_sd(0.0, 32) < 0.2


MODELS = shipped_folder("models")


@pytest.fixture(scope="module")
def model():
    return load_scaleout(MODELS)


@pytest.fixture(scope="module")
def accuracy(model):
    return read_report(MODELS / "scaleout_validation.json", "", scaleout=model.checksum)


@pytest.mark.parametrize("data_set", [TENSORFLOW_2017, THROUGHPUTS])
def test_the_shipped_figures_are_those_that_were_required(accuracy, data_set):
    figures = accuracy["data_sets"][data_set]
    assert figures[NETWORK]["every"]["mape"] <= 10
    assert figures[GPU]["every"]["mape"] <= 15
    for part in (figures[NETWORK], figures[GPU]):
        every, hard = part["every"], part["hard"]
        assert 85 <= part["covered_90"] <= 95
        assert every["mape"] < every["perfect_mape"] / 1.4
        assert hard["mape"] < hard["perfect_mape"] / 2
        assert every["n"] == figures["n"] == sum(row["n"] for row in part["by_fold"].values())


def test_held_out_frameworks_and_counts_and_each_kind_of_link_beat_perfect_scaling(accuracy):
    figures = accuracy["data_sets"][DLPERF]
    for by in (GROUP, COUNT):
        assert figures[by]["every"]["mape"] <= 8 and figures["n"] == 95
        assert 85 <= figures[by]["covered_90"] <= 95
    counts = figures[COUNT]["by_fold"]
    in_node = [counts[gpus] for gpus in ("2", "4", "8")]
    assert sum(row["n"] * row["mape"] for row in in_node) / sum(row["n"] for row in in_node) <= 5
    for kind, row in accuracy["links"].items():
        assert row["mape"] < row["perfect_mape"], kind


def test_a_held_out_network_and_the_shipped_model_come_out_again(published, accuracy, model):
    rows = kept(published[0])
    judged = held_out_fold(rows, NETWORK, "VGG16")
    for name in (TENSORFLOW_2017, THROUGHPUTS):
        shipped = accuracy["data_sets"][name][NETWORK]["by_fold"]["VGG16"]
        assert scale_errors(judged[judged["data_set"] == name])["mape"] == pytest.approx(shipped["mape"], rel=1e-3)
    fitted = fitted_model(rows)
    for name in NUMBERS:
        assert getattr(fitted, name) == pytest.approx(getattr(model, name), rel=1e-3), name
    on_64, by_network = accuracy["on_64"], accuracy["network_64"]
    assert on_64["mape"] <= 10 and on_64["perfect_mape"] > 15
    assert max(map(abs, by_network.values())) <= 12
    assert len(by_network) == on_64["n"] == 5


def the_row(rows, **want):
    (matching,) = [row for row in rows.itertuples() if all(getattr(row, name) == value for name, value in want.items())]
    return matching


def test_published_rows_are_judged_or_have_a_reason(published, tmp_path):
    every, unusable = published
    rows = kept(every).query("data_set == @TENSORFLOW_2017")
    # The efficiencies that the benchmarks' page leads with.
    on_64 = the_row(rows, network="ResNet50", gpus=64, batch_per_gpu=64)
    assert (round(on_64.efficiency, 3), on_64.nodes, on_64.strategy) == (0.818, 8, Strategy.RING)
    assert round(the_row(rows, network="InceptionV3", gpus=64, batch_per_gpu=64).efficiency, 3) == 0.938
    vgg = the_row(rows, network="VGG16", gpu="P100", gpus=8, batch_per_gpu=32)
    assert (round(vgg.efficiency, 3), vgg.interconnect.link) == (0.712, Link.NVLINK)
    alexnet = the_row(rows, network="AlexNet", gpu="P100", gpus=8)
    assert (round(alexnet.efficiency, 3), alexnet.batch_per_gpu) == (0.746, 512)
    reasons = every.groupby("data_set")["excluded"].value_counts().to_dict()
    assert (reasons[TENSORFLOW_2017, ""], reasons[TENSORFLOW_2017, REAL_DATA]) == (89, 67)
    assert (reasons[DLPERF, ""], reasons[DLPERF, WAITS_FOR_IMAGES]) == (95, 17)
    dlperf = kept(every).query("data_set == @DLPERF")
    amp = the_row(dlperf, source="DLPerf MXNet NVIDIA examples", gpus=16, precision="fp16", gradients="fp32")
    assert (round(amp.efficiency, 3), amp.nodes, amp.batch_per_gpu, amp.gradient_bytes) == (0.651, 2, 256, 102_240_000)
    assert amp.interconnect.network_gbit_per_s == 100
    of_throughputs = {why: count for (data_set, why), count in reasons.items() if data_set == THROUGHPUTS}
    assert of_throughputs == {"": 1510, FP16_WITHOUT_XLA: 198, SLOW_ONE_GPU: 53, BROKEN_FILE: 32}
    assert sum(of_throughputs.values()) + sum(unusable.values()) == 1988
    with pytest.raises(DataError, match="published multi-GPU speeds can't be read"):
        load_scale_rows(tmp_path)
