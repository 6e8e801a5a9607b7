"""The report: everything that was asked and answered, on a page that stands alone."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from msgspec.structs import replace

from profet_core.answers.report import ReportSource, report_html
from profet_core.training.advise import Advice, advise
from profet_core.training.cost import Workload
from profet_core.training.plans import Limits
from profet_core.training.words import answer_sentences
from profet_profiles import VERSION
from tests.made.step_times import HOUR_AT_100_MS, OFFERS, ROWS, steps_of

SOURCE = ReportSource("net.json", ("recorded on g4dn.xlarge", "step 122 ms"), "90b27c62ea5e8e3415", "2026-11-21")


class Read(HTMLParser):
    """Tags with their attributes, and the text of each cell."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[list[str]] = []
        self.text = ""
        self._in_cell = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self._in_cell = True
            self.cells[-1].append("")

    def handle_endtag(self, tag):
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data):
        self.text += data
        if self._in_cell:
            self.cells[-1][-1] += data


@pytest.fixture
def advice() -> Advice:
    return advise(steps_of(ROWS), OFFERS, HOUR_AT_100_MS, Limits(deadline_h=1.5, budget_usd=4))


def test_it_has_the_question_the_answer_and_a_row_of_every_plan(advice):
    read = Read(report_html(advice, SOURCE))
    assert all(line in read.text for line in answer_sentences(advice))
    for line in ("net.json; recorded on g4dn.xlarge; step 122 ms", "64,000 images per epoch, 36 epochs, batch size 64"):
        assert line in read.text
    assert "steps only, without data loading" in read.text
    assert "90.0 min" in read.text and "$4.00" in read.text and "90%" in read.text
    assert f"PROFET {VERSION}, models 90b27c62ea5e, prices 2026; 2026-11-21." in read.text
    _, *rows = Read(report_html(advice, SOURCE)).cells
    assert [row[0] for row in rows] == [f"{plan.name}{plan.code}" for plan in advice.plans]
    middle = next(row for row in rows if row[0].endswith("middle"))
    # One unit for the column: that of the middle row, 90 minutes.
    assert middle[1:] == ["60.0 min", "51–71 min", "$1.50", "$1.27–1.77", "$1.50", "here, 2026", "●●● Predicted"]


def test_it_loads_and_runs_nothing_and_a_stranger_s_text_stays_text(advice):
    tags = Read(report_html(advice, SOURCE)).tags
    assert {tag for tag, _ in tags} & {"script", "img", "link", "iframe", "object", "base", "form"} == set()
    assert not [attrs for _, attrs in tags if {"src", "href", "onclick", "onload"} & set(attrs)]
    policy = next(attrs["content"] for tag, attrs in tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    evil = '</dd><script>alert("x")</script><img src=x onerror=y> $title ${plans}'
    hostile = replace(SOURCE, profile=evil, profile_facts=(evil,), warnings=(evil,))
    read = Read(report_html(advice, hostile))
    assert not {tag for tag, _ in read.tags} & {"script", "img"}
    assert read.text.count(evil) == 3


def test_many_plans_are_counted_and_nodes_say_how_many_gpus_train_and_if_retired():
    many = [replace(OFFERS[1], market=market, region=f"r{n}") for n, market in enumerate(("spot", "reserved") * 15)]
    advice = advise(steps_of(ROWS), many, Workload(100, 10, with_loading=True))
    read = Read(report_html(advice, SOURCE))
    assert len(read.cells) == 21 and "10 more plans are not shown." in read.text
    assert "includes data loading" in read.text
    node = [replace(OFFERS[1], gpu_count=8, status="retired")]
    text = Read(report_html(advise(steps_of(ROWS), node, HOUR_AT_100_MS, include_retired=True), SOURCE)).text
    assert "(1 of 8) · middle (retired)" in text
    node = replace(OFFERS[1], gpu="Tesla T4", gpu_count=4, provider="aws")
    one_gpu = steps_of(ROWS[1:2])
    of_all = advise(replace(one_gpu, gpus=np.array([4])), [node], HOUR_AT_100_MS)
    of_one = advise(one_gpu, [node], HOUR_AT_100_MS)
    heads = [Read(report_html(report, SOURCE)).cells[1][0] for report in (of_all, of_one)]
    assert heads == ["4 × T4 · AWSmiddle", "T4 (1 of 4) · AWSmiddle"]
