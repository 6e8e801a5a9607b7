"""A real Dask cluster of two worker processes does the folds: the same numbers."""

from __future__ import annotations

import os
from importlib.util import find_spec

import numpy as np
import pytest
from msgspec.structs import replace

from profet_cli.main import main
from profet_core.errors import InputError
from profet_lab.measurements.tables import Measurements, class_bank, pairs
from profet_lab.tasks import on_cluster, run_tasks
from profet_profiles.units import positive_number

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")

INSTANCES, NETWORKS, REPEATS = ("g3s.xlarge", "p3.2xlarge"), ("AlexNet", "LeNet5", "VGG11"), (1, 2)


@pytest.fixture(scope="module")
def cluster():
    """Two processes of one thread each, and the scheduler's; nothing of it is a stand-in."""
    import distributed

    # By default a task is given up after the fourth worker that dies of it.
    once = {"allowed_failures": 0}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", scheduler_kwargs=once
    ) as local:
        yield local


@pytest.fixture(scope="module")
def some(measurements) -> Measurements:
    """Four networks on two instances, as they were measured."""
    workloads = measurements.workloads
    rows = (workloads["model"].isin(NETWORKS) & workloads["repeat"].isin(REPEATS)).to_numpy()
    return replace(
        measurements,
        workloads=workloads[rows].reset_index(drop=True),
        times_us={name: measurements.times_us[name][rows] for name in INSTANCES},
        latency_ms={name: measurements.latency_ms[name][rows] for name in INSTANCES},
    )


def judged(some: Measurements) -> dict[str, np.ndarray]:
    """Every network held out in turn: what each member says of it."""
    from profet_lab.class_folds import one_held_out, predict_cases

    bank = class_bank(some)
    folds = one_held_out(bank.architectures, pairs(bank.instances), latency_known=True)
    (case,) = predict_cases(bank, [folds], seed=0, steps=20)
    return {f"{pair} {name}": values for (pair, name), values in case.members_ms.items()}


def test_a_cluster_gives_the_same_numbers_to_the_last_digit(cluster, some):
    here = judged(some)
    with on_cluster(cluster.scheduler_address):
        there = judged(some)
    assert here.keys() == there.keys() and len(here) == 2 * len(NETWORKS)
    assert {name for name in here if here[name].tobytes() != there[name].tobytes()} == set()


def test_tasks_are_done_by_the_workers_and_come_back_in_their_order(cluster):
    counted: list[int] = []
    with on_cluster(cluster.scheduler_address):
        results = run_tasks(divmod, [(number, 3) for number in range(20)], progress=counted.append)
        processes = run_tasks(os.getpid, [()] * 4)
    assert results == [divmod(number, 3) for number in range(20)]
    assert os.getpid() not in processes
    assert counted == [20]
    assert run_tasks(os.getpid, [(), ()]) == [os.getpid()] * 2


def test_what_a_task_refuses_and_a_worker_of_another_version(cluster, monkeypatch):
    with on_cluster(cluster.scheduler_address), pytest.raises(InputError, match=r"^The price must be"):
        run_tasks(positive_number, [("The price", -1)])
    monkeypatch.setattr("profet_lab.tasks.VERSION", "0.0.1")
    with pytest.raises(InputError, match=r"has profet .* here is 0\.0\.1"), on_cluster(cluster.scheduler_address):
        pass


def test_a_task_that_no_worker_survives_ends_in_one_line(cluster):
    """A worker dies of it: then it is given up, and nobody waits for it."""
    with pytest.raises(InputError, match="was lost; nothing is written"), on_cluster(cluster.scheduler_address):
        run_tasks(os._exit, [(1,)])


def test_where_no_scheduler_or_worker_answers_is_reported_in_one_line(monkeypatch):
    import distributed

    monkeypatch.setattr("profet_lab.tasks._CONNECT_S", 0.5)
    for address in ("nonsense", "foo://here:1", "", "tcp://127.0.0.1:1"):
        with pytest.raises(InputError, match=r"^No Dask scheduler answers at") as refused, on_cluster(address):
            pass
        assert "\n" not in str(refused.value)
    monkeypatch.setattr("profet_lab.tasks._CONNECT_S", 1)
    with (
        distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as empty,
        pytest.raises(InputError, match="has no worker"),
        on_cluster(empty.scheduler_address),
    ):
        pass


@pytest.mark.parametrize("command", ["train", "validate"])
def test_both_commands_take_a_cluster_and_say_in_one_line_that_none_answers(command, capsys):
    assert main([command, "--dask", "nonsense"]) != 0
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert "No Dask scheduler answers at 'nonsense'" in shown.err
