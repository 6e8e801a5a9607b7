"""Which pairs get models of their own, and why others don't."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from profet_core.transfer.model import load_transfer
from profet_lab.datasets.dataset import Dataset, InstanceFacts, Source, dataset_of
from profet_lab.own_gpus.groups import pair_groups

FOUR = ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
NAME, GPU = "desk", "GeForce RTX 2080 Ti"


@pytest.fixture(scope="module")
def transfer(repository):
    return load_transfer(repository / "models")


def made(*machines: dict, networks: int = 5) -> Dataset:
    """The four with 150 workloads each, and machines: `name`, `workloads`, and what else their cells say."""
    runs = [{"name": name, "workloads": 150, "gpu": ""} for name in FOUR]
    rows, facts = [], {}
    for machine in [*runs, *machines]:
        machine = {"framework": "tensorflow", "precision": "fp32", "gpu": GPU, "steps_profiled": 1, **machine}
        name, count = machine.pop("name"), machine.pop("workloads")
        facts[name] = InstanceFacts(machine.pop("gpu"))
        for number in range(count):
            size = {"model": f"net{number % networks}", "pixels": 32, "batch_size": 1 + number, "repeat": 1}
            rows.append({"instance": name, **size, "batch_latency_ms": 5.0, **machine})
    cells = pd.DataFrame(rows)
    cells["cell"] = range(len(cells))
    operations = cells[["cell"]].assign(operation="Device_Conv2D", time_us=4_000.0)
    operations = operations[cells["steps_profiled"].notna().to_numpy()]
    return dataset_of(cells, operations, Source("made", "collection", {}), facts)


def pairs_of(groups) -> set[tuple[str, str]]:
    return {pair for group in groups for pair in group.pairs}


BOTH_WAYS = {(name, NAME) for name in FOUR} | {(NAME, name) for name in FOUR}


@pytest.mark.parametrize(
    ("workloads", "trained"),
    [(49, set()), (50, {(NAME, name) for name in FOUR}), (99, {(NAME, name) for name in FOUR}), (100, BOTH_WAYS)],
)
def test_so_many_workloads_are_enough_from_a_machine_and_to_it(transfer, workloads, trained):
    groups, without = pair_groups(made({"name": NAME, "workloads": workloads}), transfer)
    assert pairs_of(groups) == trained
    assert without.keys() == BOTH_WAYS - trained
    assert all(f"{workloads} workloads of 5 networks" in why for why in without.values())


def test_what_one_instance_lacks_is_common_to_the_others(transfer):
    dataset = made({"name": NAME, "workloads": 120})
    small = (dataset.cells["instance"] == "g3s.xlarge") & (dataset.cells["batch_size"] > 30)
    cells = dataset.cells[~small]
    operations = dataset.operations[dataset.operations["cell"].isin(cells["cell"])]
    groups, without = pair_groups(replace(dataset, cells=cells, operations=operations), transfer)
    assert pairs_of(groups) == BOTH_WAYS - {("g3s.xlarge", NAME), (NAME, "g3s.xlarge")}
    assert {group.measurements.distinct_workloads for group in groups} == {120}
    assert all("30 workloads of 5 networks" in why for why in without.values()) and len(without) == 2


def test_few_networks_are_too_few(transfer):
    groups, without = pair_groups(made({"name": NAME, "workloads": 150}, networks=4), transfer)
    assert groups == [] and all("of 5:" in why for why in without.values())


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        ({"gpu": ""}, "its GPU's specs are unknown"),
        ({"gpu": "Cray-1"}, "its GPU's specs are unknown"),
        ({"framework": "pytorch"}, "none of its cells has a profile"),
        ({"precision": "amp"}, "none of its cells has a profile"),
        ({"steps_profiled": None}, "none of its cells has a profile"),
    ],
)
def test_a_machine_that_can_be_in_no_pair_says_why(transfer, machine, why):
    groups, without = pair_groups(made({"name": NAME, "workloads": 120, **machine}), transfer)
    assert groups == [] and without.keys() == BOTH_WAYS
    assert all(why in said for said in without.values())


def test_two_machines_are_a_pair_too_and_one_gpu_counts_once(transfer):
    other = {"name": "rig", "workloads": 120, "gpu": "GeForce RTX 3090", "precision": "tf32"}
    twin = {"name": "twin", "workloads": 110}
    groups, without = pair_groups(made({"name": NAME, "workloads": 120}, other, twin), transfer)
    assert [tuple(one.instance for one in group.machines) for group in groups] == [(NAME,), ("rig",), (NAME, "rig")]
    assert [one.tf32 for one in groups[2].machines] == [False, True]
    assert groups[2].measurements.instances == (NAME, "rig") and groups[2].measurements.distinct_workloads == 120
    assert {(anchor, why) for (anchor, _), why in without.items() if anchor not in FOUR} == {
        ("twin", f"{NAME} has the same GPU and more cells")
    }


def test_published_measurements_that_are_missing_leave_the_machines_alone(transfer):
    dataset = made({"name": NAME, "workloads": 100}, {"name": "rig", "workloads": 100, "gpu": "L4"})
    own = {name: facts for name, facts in dataset.instances.items() if name not in FOUR}
    cells = dataset.cells[dataset.cells["instance"].isin(own)]
    groups, _ = pair_groups(replace(dataset, cells=cells, instances=own), transfer)
    assert (NAME, "rig") in pairs_of(groups)
