"""A plan that is opened: its price, its step, what its numbers rest on, its memory, and how it stands to another."""

from __future__ import annotations

import pytest

from profet_core.advice.comparison import compare
from profet_core.advice.comparison_words import basis_caveats, comparison_sentences
from profet_core.advice.headline import plan_summary
from profet_core.catalog import load_gpus
from profet_core.memory.fit import fits_by_instance
from profet_core.units import format_ms, listed_price
from tests.pages.conftest import clean, column, everything, lines, link, sentences, type_in, upload
from tests.pages.expected import FIRST
from ui.memory import fit_sentence
from ui.phrases import rule_phrase

VGG = "vgg16-224px-b16-g3s"


def opened(app) -> str:
    """Which plan is open: the line over what is said of it."""
    (line,) = lines(app.subheader)
    return clean(line)


def fact(app, name: str) -> str:
    """What is said of one thing of the opened plan."""
    (found,) = [line for line in sentences(app) if line.startswith(f"{name}: ")]
    return found.removeprefix(f"{name}: ")


def plans_of(core, sample, **choices):
    return {plan.label: plan for plan in core.advise(sample, core.predict(sample), retired=True, **choices).plans}


def test_nothing_is_open_until_a_row_is_chosen(open_app):
    assert not open_app().subheader


@pytest.mark.parametrize("name", ["g4dn.xlarge", "p3.2xlarge", "g5.xlarge", "p4d.24xlarge"])
def test_an_opened_plan_says_what_its_numbers_are(open_app, core, samples, name):
    plan = plans_of(core, samples[FIRST], keep=[name])[name]
    app = open_app(retired="True", answer_open=name)
    assert opened(app) == plan_summary(plan)
    assert fact(app, "Price").startswith(f"{listed_price(plan.offer.usd_per_hour)} an hour")
    assert ("retired" in fact(app, "Price")) == (plan.offer.status == "retired")
    images = f"{64_000 / plan.latency_ms:,.0f} images a second"
    assert fact(app, "Step") == f"{format_ms(plan.latency_ms)} at batch size 64, {images}"
    note = f": {plan.latency_note}" if plan.latency_note else ""
    assert fact(app, "Rests on") == f"{plan.basis.words}{note}"
    assert any(line.startswith("Keep in mind: ") for line in sentences(app)) == bool(plan.note)
    assert link(app) == {"answer_open": name}


def test_a_link_to_a_plan_that_is_left_out_opens_none(open_app):
    for name in ("p2.xlarge", "<b>", "x" * 119):
        app = open_app(answer_open=name)
        assert not app.subheader and not app.error and not app.exception


@pytest.mark.parametrize("at", [{}, {"batch": 200}, {"pixels": 256}, {"batch": 256, "pixels": 224}])
def test_its_memory_is_that_of_the_table_at_any_size(open_app, core, samples, at):
    sample, name = samples[FIRST], "g4dn.xlarge"
    app = open_app(answer_open=name, **{key: str(size) for key, size in at.items()})
    size = {"batch_size": at.get("batch", 64), "pixels": at.get("pixels", 128)}
    expected = fits_by_instance(
        core.models.memory, core.catalog, load_gpus(), sample.profile, sample.anchor, [name], **size
    )[name]
    if name in column(app, "Time"):
        assert fact(app, "Memory") == fit_sentence(expected)
        assert column(everything(app), "Memory")[name].split(",")[0] == expected.verdict
    else:
        assert any(f"{name}: does not fit in memory" in line for line in lines(app.caption))


def test_members_and_how_they_were_joined(open_app, core, models, samples):
    sample = samples[FIRST]
    app = open_app(retired="True", answer_open="p2.xlarge")
    for latency_ms, rule in (
        (sample.latency_ms, models.method("default").with_latency),
        (None, models.method("default").without_latency),
    ):
        if latency_ms is None:
            type_in(app, "latency", None)
        found = core.predict(sample, latency_ms=latency_ms).predictions
        members = next(row.members for row in found if row.instance == "p2.xlarge")
        (said,) = [line for line in sentences(app) if line.startswith("Members")]
        assert rule_phrase(rule) in said
        assert said.endswith(", ".join(f"{name} {format_ms(value)}" for name, value in members.items()))


# --- what is known of a sample --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False])
def test_a_sample_s_truth_stands_beside_models_that_never_saw_it(open_app, samples, given):
    for sample in samples.values():
        told = sample.left_out_ms if given else sample.left_out_without_latency_ms
        for name, measured_ms in sample.measured_ms.items():
            app = open_app(
                sample=sample.name, retired="True", answer_open=name, **({} if given else {"latency": "none"})
            )
            if name not in column(app, "Time"):
                continue
            off = f"{100 * (told[name] / measured_ms - 1):+.1f} %"
            (line,) = [line for line in sentences(app) if line.startswith("Measured there: ")]
            assert line == (
                f"Measured there: {format_ms(measured_ms)} a step; models that never saw {sample.model} say "
                f"{format_ms(told[name])} ({off})"
            )


def test_what_a_visitor_has_changed_has_no_known_truth(open_app, samples):
    def told(app) -> bool:
        return any(line.startswith("Measured there") for line in sentences(app))

    view = {"retired": "True", "answer_open": "p3.2xlarge"}
    assert told(open_app(**view))
    for changed in ({"latency": "210"}, {"anchor": "p2.xlarge"}, {"method": "profet"}):
        assert not told(open_app(**view, **changed))
    assert not told(upload(open_app(**view), ("net.json", samples[FIRST].data)))


# --- against another ------------------------------------------------------------------------------------------------


def test_it_is_set_against_another_plan(open_app, core, samples):
    plans = plans_of(core, samples[FIRST])
    app = open_app(retired="True", answer_open="p3.2xlarge")
    for other in ("g4dn.xlarge", "p2.xlarge"):
        app.selectbox(key="against").set_value(other).run()
        pair = (plans["p3.2xlarge"], plans[other])
        beside = set(basis_caveats(pair))
        for line in comparison_sentences(compare(*pair)):
            assert (line[:1].upper() + line[1:] in [said[:1].upper() + said[1:] for said in sentences(app)]) == (
                line not in beside
            )
    assert link(app) == {"answer_open": "p3.2xlarge", "against": "p2.xlarge"}
    again = open_app(retired="True", **link(app))
    assert again.selectbox(key="against").value == "p2.xlarge" and sentences(again) == sentences(app)


def test_it_is_set_against_the_answer_until_another_is_chosen(open_app, core, samples):
    advice = core.advise(samples[FIRST], core.predict(samples[FIRST]))
    app = open_app(answer_open="p5.4xlarge")
    assert app.selectbox(key="against").options[0] == "1V100.6V (V100, Verda)"
    assert advice.answer.label == "verda/1V100.6V"
    app = open_app(answer_open=advice.answer.label)
    assert app.selectbox(key="against").options[0].split(" (")[0] == advice.cheapest.rival.plan.title


@pytest.mark.parametrize("other", ["p2.xlarge", "<b>", "p5.4xlarge"])
def test_what_it_can_t_be_set_against_counts_as_not_chosen(open_app, other):
    app = open_app(answer_open="p5.4xlarge", against=other)
    assert not app.error and not app.exception
    assert link(app) == {"answer_open": "p5.4xlarge"}
