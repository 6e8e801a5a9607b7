"""The shipped report keeps what is promised, and a piece of it comes out again."""

from __future__ import annotations

import pytest

from profet_core.files import shipped_folder
from profet_core.multi_gpu.law import NUMBERS, load_scaleout
from profet_lab.reports import read_report
from profet_lab.scaleout.fit import NETWORK, fitted_model
from profet_lab.scaleout.rows import TENSORFLOW_2017, THROUGHPUTS
from profet_lab.validation.scaleout import judged_steps, scale_errors

MODELS = shipped_folder("models")


@pytest.fixture(scope="module")
def law():
    return load_scaleout(MODELS)


@pytest.fixture(scope="module")
def accuracy(law):
    return read_report(MODELS / "scaleout_validation.json", "", scaleout=law.checksum)


@pytest.mark.parametrize("data_set", [TENSORFLOW_2017, THROUGHPUTS])
def test_the_shipped_figures_are_those_that_were_asked_for(accuracy, data_set):
    found = accuracy["data_sets"][data_set]
    assert found["networks"]["every"]["mape"] <= 10
    assert found["gpus"]["every"]["mape"] <= 15
    for part in (found["networks"], found["gpus"]):
        every, hard = part["every"], part["hard"]
        assert 85 <= part["covered_90"] <= 95
        assert every["mape"] < every["perfect_mape"] / 1.5
        assert hard["mape"] < hard["perfect_mape"] / 2
        assert every["n"] == found["n"] == sum(row["n"] for row in part["by_fold"].values())


def test_64_gpus_over_a_network(accuracy):
    on_64, by_network = accuracy["on_64"], accuracy["network_64"]
    assert on_64["mape"] <= 10 and on_64["perfect_mape"] > 15
    assert max(map(abs, by_network.values())) <= 10
    assert len(by_network) == on_64["n"] == 5


def test_a_held_out_network_comes_out_again(published, accuracy):
    judged = judged_steps(published.kept, NETWORK, only=["VGG16"]).query("network == 'VGG16'")
    for name in (TENSORFLOW_2017, THROUGHPUTS):
        said = accuracy["data_sets"][name]["networks"]["by_fold"]["VGG16"]
        assert scale_errors(judged[judged["data_set"] == name])["mape"] == pytest.approx(said["mape"], rel=1e-3)


def test_the_shipped_law_is_the_fit_s(published, law):
    found = fitted_model(published.kept)
    for name in NUMBERS:
        assert getattr(found, name) == pytest.approx(getattr(law, name), rel=1e-3), name
