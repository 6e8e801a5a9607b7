"""How the answer is predicted: its intervals, its likeness, its methods, TF32, and what nobody profiled."""

from __future__ import annotations

from profet_core.advice.words import answer_sentences
from profet_core.units import format_duration_range
from tests.pages.conftest import (
    answer,
    assert_says,
    column,
    everything,
    go,
    has_results,
    lines,
    link,
    result_rows,
    sentences,
)
from tests.pages.expected import FIRST
from ui.sureness import sureness_explained

VGG = "vgg16-224px-b16-g3s"


def test_intervals_are_profet_core_s(open_app, core, samples):
    for sample in list(samples.values())[:2]:
        app = open_app(sample=sample.name, retired="True")
        found = core.predict(sample)
        steps = core.advise(sample, found, retired=True).request.workload.steps
        expected = {
            row.instance: format_duration_range(row.interval.low_ms * steps / 1000, row.interval.high_ms * steps / 1000)
            if row.interval
            else "–"
            for row in found.predictions
        }
        shown = column(app, "Range")
        assert shown == {name: expected[name] for name in shown} and shown[sample.anchor] == "–"


def test_how_sure_the_answer_is_is_said(open_app, core, samples):
    sample = samples[FIRST]
    said = sentences(open_app())
    for line in answer_sentences(core.advise(sample, core.predict(sample))):
        assert line in said
    # The two cheapest GPUs of this sample have intervals that overlap.
    assert any("too close to call which is cheaper" in line for line in said)
    first_words = sureness_explained().splitlines()[0]
    assert first_words in said


def test_likeness_is_said_in_words_with_its_error(open_app, core, samples):
    for name in (FIRST, VGG):
        likeness = core.predict(samples[name]).likeness
        (line,) = [line for line in sentences(open_app(sample=name)) if line.startswith("This profile is ")]
        assert likeness.words in line and f"a mean error of {likeness.error_percent:.0f} %" in line


def test_the_documented_method_has_no_intervals(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app(retired="True")
    app.selectbox(key="method").set_value("profet").run()
    found = core.predict(sample, method="profet")
    assert found.interval_level is None
    assert_says(app, core.advise(sample, found, retired=True))
    assert not any(line.startswith("This profile is ") for line in sentences(app))
    assert link(app) == {"method": "profet"}
    again = open_app(method="profet", retired="True")
    assert again.selectbox(key="method").value == "profet"
    assert answer(again) == answer(app)


def test_the_documented_method_has_no_certainty(open_app):
    app = everything(open_app(method="profet", deadline_h="5"))
    chances = column(app, "In time")
    assert {chances[name] for name in ("g3s.xlarge", "p2.xlarge", "p3.2xlarge")} == {"–"}


def test_the_method_survives_page_switches(open_app):
    app = open_app(method="profet")
    before = answer(app)
    for page in ("sizes", "about", "profiles", "answer"):
        go(app, page)
        assert not app.exception
    assert answer(app) == before
    assert app.selectbox(key="method").value == "profet"


def test_tf32_off_slows_the_newer_gpus_and_is_in_the_link(open_app, core, samples):
    sample = samples[FIRST]
    app = open_app(tf32="False")
    advice = core.advise(sample, core.predict(sample, tf32=False))
    assert_says(app, advice)
    assert app.toggle(key="tf32").value is False
    app.toggle(key="tf32").set_value(True).run()
    assert_says(app, core.advise(sample, core.predict(sample)))
    assert "tf32" not in app.query_params


def test_what_nobody_profiled_never_looks_measured(open_app, core, samples):
    app = everything(open_app(gpu_count="1,2,4,8"))
    told, sure = column(app, "Rests on"), column(app, "How sure")
    assert len(told) > 150
    for row in core.predict(samples[FIRST]).predictions:
        assert told[row.instance] == row.basis.words
        assert not row.basis.is_rough or sure[row.instance] in ("fair", "rough")
    assert (sure["g4dn.xlarge"], sure["p3.2xlarge"]) == ("good", "good")
    assert column(app, "GPU")["p4d.24xlarge"] == "A100 (1 of 8), AWS"


def test_whether_it_fits_is_told_of_every_plan(open_app, samples):
    app = everything(open_app(sample=VGG))
    titles = list(result_rows(app)[0])
    assert "Memory" in titles
    assert all(text.startswith(("fits", "does not fit", "can't tell")) for text in column(app, "Memory").values())


def test_what_does_not_fit_is_left_out_and_said(open_app):
    app = open_app(sample=VGG, batch="256", pixels="256", retired="True")
    assert has_results(app)
    (left_out,) = [line for line in lines(app.caption) if line.startswith("Left out: ")]
    assert (
        "g3s.xlarge, " in left_out
        and ": does not fit in memory" in left_out
        and "g3s.xlarge" not in column(app, "Time")
    )
