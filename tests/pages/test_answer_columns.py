"""The answer's columns: as read, and every digit of them for export."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pages.answer.columns import answer_columns
from pages.answer.rows import AnswerRow, Per, answer_rows, plan_key
from pages.sizes.columns import size_columns
from pages.sizes.rows import size_row
from profet_core.advice.advise import Advice, advise
from profet_core.advice.request import Limits, Workload
from profet_core.catalog import load_gpus
from profet_core.energy.regions import load_regions
from profet_core.latency import Basis, Reach
from profet_core.memory.fit import FitAnswer, Verdict
from tests.made.step_times import Z90, row
from ui.result_table.columns import Cell, chosen_columns, exported_rows

#: 1,000 steps an epoch and 36 epochs: a step of 100 ms makes an hour.
WORKLOAD = Workload(images=64_000, batch_size=64, epochs=36)


@pytest.fixture
def advice(catalog) -> Advice:
    rows = (
        row("g4dn.xlarge", 100, math.log(1.1) / Z90),
        row("g5.xlarge", 50, math.log(1.4) / Z90, Basis.DERIVED),
        row("p4d.24xlarge", 20, deviation=None, basis=Basis.GIVEN),
    )
    return advise(rows, [catalog[one.instance] for one in rows], WORKLOAD, Limits(deadline_h=1, budget_usd=1))


def table(advice: Advice, per: Per = Per.TRAINING) -> dict[str, AnswerRow]:
    fits = {"g4dn.xlarge": FitAnswer(Verdict.FITS, 0.99, 156, "it ran there")}
    return {plan_key(one): one for one in answer_rows(advice, load_gpus(), load_regions(), fits, per)}


def cells(one: AnswerRow, per: Per = Per.TRAINING) -> dict[str, str]:
    return {column.title: column.drawn(one).text for column in answer_columns(per)}


def test_six_columns_are_shown_until_others_are_chosen():
    titles = [column.title for column in chosen_columns(answer_columns(), [])]
    assert titles == ["Instance", "Time", "Range", "Cost", "$ an hour", "How sure"]


def test_a_row_as_it_is_read(advice):
    read = cells(table(advice)["g4dn.xlarge"])
    assert {name: read[name] for name in ("Time", "Range", "Cost", "Cost range", "$ an hour", "How sure")} == {
        "Time": "1 h 0 min",
        "Range": "0.91–1.1 h",
        "Cost": "$0.53",
        "Cost range": "$0.48–0.58",
        "$ an hour": "$0.53",
        "How sure": "good",
    }
    # 84 W for an hour, times 1.15 and 396.25 g a kilowatt hour.
    assert (read["Energy"], read["CO₂e"], read["Memory"]) == ("84 Wh", "38 g", "fits, ≤ 156")
    assert (read["In time"], read["Images a second"]) == ("50 %", "640")


def test_what_is_not_known_is_said_so_and_a_node_names_its_gpus(advice):
    node = table(advice)["p4d.24xlarge"]
    read = cells(node)
    assert (read["Range"], read["Memory"], read["How sure"]) == ("–", "–", "good")
    first = answer_columns()[0].drawn(node)
    assert first == Cell("p4d.24xlarge", beneath="A100 (1 of 8), AWS", colour="#5454ee")


def test_a_gpu_that_waits_for_its_host_says_why_others_tie_with_it(catalog):
    rows = [
        replace(row(name, 20, basis=Basis.TRANSFERRED), reach=Reach({}, free_ms, 20.0))
        for name, free_ms in (("p4d.24xlarge", 12.0), ("p5.4xlarge", 8.0), ("g6.xlarge", 30.0))
    ]
    found = table(advise(rows, [catalog[one.instance] for one in rows], WORKLOAD))
    assert {name: answer_columns()[0].drawn(one).beneath for name, one in found.items()} == {
        "p4d.24xlarge": "A100 (1 of 8), AWS, host-limited",
        "p5.4xlarge": "H100, AWS, host-limited",
        "g6.xlarge": "L4, AWS",
    }
    sizes = [size_row(one, catalog[one.instance], WORKLOAD, None) for one in rows]
    assert [size_columns()[0].drawn(one).beneath for one in sizes] == [
        "A100 (1 of 8), AWS, host-limited",
        "H100, AWS, host-limited",
        "L4, AWS",
    ]


def test_exports_name_the_unit_and_what_the_numbers_are_for(advice):
    columns = chosen_columns(answer_columns(), [])
    first, *_ = exported_rows([table(advice)["g5.xlarge"]], columns)
    assert first == {
        "plan": "g5.xlarge",
        "instance": "g5.xlarge",
        "gpu": "A10G",
        "gpu_count": 1,
        "provider": "aws",
        "training_s": pytest.approx(1800),
        "training_s_low": pytest.approx(1800 / 1.4),
        "training_s_high": pytest.approx(1800 * 1.4),
        "training_usd": pytest.approx(0.503),
        "usd_per_hour": 1.006,
        "usd_per_gpu_hour": 1.006,
        "sureness": "fair",
    }


@pytest.mark.parametrize(
    ("per", "time_s", "name"),
    [
        (Per.TRAINING, 3600, "training_s"),
        (Per.EPOCH, 100, "epoch_s"),
        (Per.THOUSAND_STEPS, 100, "1000_steps_s"),
        (Per.STEP, 0.1, "step_s"),
    ],
)
def test_times_costs_and_energy_are_of_what_is_asked_for(advice, per, time_s, name):
    one = table(advice, per)["g4dn.xlarge"]
    exported = exported_rows([one], answer_columns(per))[0]
    assert exported[name] == pytest.approx(time_s)
    assert exported[f"{per}_usd"] == pytest.approx(time_s / 3600 * 0.526)
    assert exported[f"{per}_kwh_at_most"] == pytest.approx(time_s / 3600 * 0.084)
    assert exported[f"{per}_usd_high"] == pytest.approx(1.1 * time_s / 3600 * 0.526)


def test_no_two_columns_share_a_key_or_a_name_in_exports(advice):
    columns = answer_columns()
    assert len({column.key for column in columns}) == len(columns)
    names = [name for column in columns for name in column.exported(table(advice)["g5.xlarge"])]
    assert len(set(names)) == len(names)
