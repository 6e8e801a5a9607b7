"""What training says of machines that have no price yet: the command that gives them one, as it is taken."""

from __future__ import annotations

import shlex

import pandas as pd

from profet_cli.train import still_to_price
from profet_lab.dataset import Dataset, InstanceFacts

GPUS = {
    "lab.t4": "Tesla T4",
    "lab.desk": "Quadro RTX 4000",
    "lab.cpu": "one thread of this CPU",
    "p2.xlarge": "Tesla K80",
}


def test_each_is_told_by_what_is_known_of_its_gpu(document, tmp_path, monkeypatch):
    monkeypatch.setenv("PROFET_INSTANCES", str(tmp_path / "instances.csv"))
    facts = {name: InstanceFacts(gpu) for name, gpu in GPUS.items()}
    dataset = Dataset(pd.DataFrame(), pd.DataFrame(), (), {**facts, "lab.new": InstanceFacts()}, {})
    lines = still_to_price(["lab.t4", "lab.desk", "lab.cpu", "lab.t4", "p2.xlarge", "lab.new"], dataset)
    asked = [line.split("needs a price to be shown: ")[1] for line in lines]
    assert asked == [
        "profet instances add lab.t4 --gpu 'Tesla T4' --usd-per-hour N",
        "profet instances add lab.desk --gpu 'Quadro RTX 4000' --other-gpu --memory-gib N --usd-per-hour N",
        "profet instances add lab.cpu --gpu 'one thread of this CPU' --other-gpu --memory-gib N --usd-per-hour N",
        "profet instances add lab.new --gpu GPU --usd-per-hour N",
    ]
    for command in asked[:3]:
        _, *words = shlex.split(command.replace(" N", " 1"))
        assert document(*words)["offer"]["gpu"] == GPUS[words[2]]


def test_a_gpu_that_was_added_needs_no_second_offer(document, tmp_path, monkeypatch):
    monkeypatch.setenv("PROFET_INSTANCES", str(tmp_path / "instances.csv"))
    document("gpus", "add", "GeForce RTX 4080", "--like", "L40S")
    facts = {name: InstanceFacts("NVIDIA GeForce RTX 4080") for name in ("desk", "geforce-rtx-4080")}
    dataset = Dataset(pd.DataFrame(), pd.DataFrame(), (), facts, {})
    assert still_to_price(facts, dataset) == ["desk is shown as geforce-rtx-4080, the instance of your custom GPU"]
