"""Compare: profiles side by side on every offer, and what is inside one."""

from __future__ import annotations

import pytest

from pages.compare.profiles import PROFILE_COLORS, Candidate, _cut, compare, comparison_bars, with_answers
from profet_core import predict, read_profile
from profet_core.answers.predict import placements
from profet_core.offers import cost_usd
from profet_core.prediction.checks import diagnose
from profet_core.training.advise import ORIGINAL
from profet_core.training.cost import Workload
from profet_core.training.plans import costed
from profet_profiles.profet_json import write_profile
from profet_profiles.units import format_ms, format_usd
from tests.pages.conftest import (
    answer_field,
    as_version_1,
    column,
    compared,
    custom,
    drawn_bars,
    give,
    go,
    inside,
    lines,
    listing,
    look_at,
    result_rows,
    result_tables,
    rows,
    type_in,
    upload,
)
from tests.pages.expected import FIRST
from ui.resources import Held, load_resources

VGG, LENET, ALEXNET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s", "alexnet-64px-b128-p2"


def predicted_ms(models, catalog, profile, anchor, latency_ms=None) -> dict[str, float]:
    prediction = predict(models, catalog, profile, anchor, latency_ms=latency_ms, without_latency=latency_ms is None)
    return prediction.latencies_ms


def assert_shows(row, expected, words=format_ms):
    """Every cell is the value as read."""
    shown = {name: text for name, text in row.items() if text != "–"}
    assert len(shown) > 15
    assert shown == {name: words(expected[name]) for name in shown}


def test_it_starts_with_predict_s_profile_and_two_samples(open_app, models, catalog, samples):
    app = open_app("compare", compare_samples="../x,")
    assert not app.error and not app.exception and dict(app.query_params) == {}
    names = (FIRST, VGG, "mobilenetv2-224px-b32-p2")
    assert list(compared(app)) == [title(samples[name]) for name in names]
    for name in names:
        sample = samples[name]
        assert_shows(
            compared(app)[title(sample)],
            predicted_ms(models, catalog, sample.profile, sample.anchor, sample.latency_ms),
        )
    assert drawn_bars(app)["compare-bars"] and not app.expander[0].proto.expanded
    app.multiselect(key="compare_samples").unselect(VGG).run()
    assert list(compared(app)) == [title(samples[name]) for name in names if name != VGG]
    again = open_app("compare", **dict(app.query_params))
    assert compared(again) == compared(app)
    app = open_app("compare", compare_samples="")
    assert list(compared(app)) == [title(samples[FIRST])]


def title(sample) -> str:
    """The head of its column."""
    return _cut(load_resources().samples[sample.name].name, 48)


def test_offers_and_prices_are_those_of_predict(open_app, models, catalog, samples):
    query = {"preset": "all", "provider": "gcp", "compare_by": "cost", "price_gcp/a2-highgpu-1g": "0.25"}
    app = open_app("compare", **query)
    assert {label.partition("/")[0] for label in compared(app)[title(samples[FIRST])]} == {"gcp"}
    shown, steps = compared(app)[title(samples[FIRST])], open_app("compare", **{**query, "compare_by": "latency"})
    assert set(shown) == set(column(open_app(**query), "Cost")) - {"g4dn.xlarge"}
    custom = "gcp/a2-highgpu-1g your price"
    assert column(steps, "$/h")[custom] == "$0.250"
    sample = samples[FIRST]
    step_ms = predicted_ms(models, catalog, sample.profile, sample.anchor, sample.latency_ms)["gcp/a2-highgpu-1g"]
    assert shown[custom] == f"{format_usd(cost_usd(1000 * step_ms, 0.25))}"


def test_each_own_profile_with_its_own_anchor_and_latency_beside_a_sample(open_app, models, catalog, samples):
    app = open_app("compare", compare_samples=ALEXNET)
    give(app, (f"{VGG}.json", samples[VGG].data), (f"{LENET}.json", samples[LENET].data))
    shown = compared(app)
    assert list(shown) == [title(samples[FIRST]), f"{VGG}.json", f"{LENET}.json", title(samples[ALEXNET])]
    for row, name in zip(shown.values(), (FIRST, VGG, LENET, ALEXNET), strict=True):
        sample = samples[name]
        assert_shows(row, predicted_ms(models, catalog, sample.profile, sample.anchor, sample.latency_ms))
    app.segmented_control(key="compare_by").set_value("cost").run()
    sample = samples[VGG]
    expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    costs = {row.instance: row.cost_per_1000_steps_usd for row in expected.predictions}
    assert_shows(compared(app)[f"{VGG}.json"], costs, format_usd)


def test_where_it_was_recorded_is_asked_in_one_line_and_then_predicted(open_app, models, catalog, samples):
    app = open_app("compare", compare_samples="")
    files = [(f"{name}.json", as_version_1(samples[name].profile.operations)) for name in (VGG, LENET)]
    give(app, *files)
    (line,) = lines(app.info)
    assert f"{VGG}.json, {LENET}.json" in line and app.expander[0].proto.expanded
    assert list(compared(app)) == [title(samples[FIRST])]
    key = custom(app)[f"{VGG}.json"]
    look_at(app, f"{VGG}.json")
    app.selectbox(key=f"compare:anchor:{key}").set_value("g3s.xlarge").run()
    assert VGG not in lines(app.info)[0] and LENET in lines(app.info)[0]
    bare = read_profile(files[0][1])
    assert_shows(compared(app)[f"{VGG}.json"], predicted_ms(models, catalog, bare, "g3s.xlarge"))
    type_in(app, f"compare:latency:{key}", 330.0)
    assert_shows(compared(app)[f"{VGG}.json"], predicted_ms(models, catalog, bare, "g3s.xlarge", 330.0))
    # What is said here holds on Answer, and back.
    app.button(key="compare:use").click().run()
    assert (app.selectbox(key="anchor").value, app.session_state["latency"]) == ("g3s.xlarge", "330 ms")
    assert_as_on_predict(app, f"{VGG}.json")
    type_in(go(app, "predict"), "latency", None)
    assert go(app, "compare").session_state[f"compare:latency:{key}"] is None


def assert_as_on_predict(app, name: str):
    """The comparison has as many digits."""
    go(app, "predict")
    app.session_state["chart"], app.session_state["predict_columns"] = "table", ["latency_ms"]
    app.run()
    cells = column(app, "Step")
    row = compared(go(app, "compare"))[name]
    both = {instance: cell for instance, cell in cells.items() if instance in row}
    assert len(both) >= 9 and {instance: row[instance] for instance in both} == both


def test_a_latency_typed_for_one_anchor_is_not_used_for_another(open_app, samples):
    app = open_app("compare", compare_samples=ALEXNET)
    give(app, ("old.json", as_version_1(samples[VGG].profile.operations)))
    key = custom(app)["old.json"]
    anchor, latency = f"compare:anchor:{key}", f"compare:latency:{key}"
    app.selectbox(key=anchor).set_value("g3s.xlarge").run()
    app.number_input(key=latency).set_value(323.0).run()
    app.selectbox(key=anchor).set_value("p3.2xlarge").run()
    assert app.session_state["custom_profiles"][key].latency_ms is None
    assert "323 ms was for M60." in lines(app.caption)
    app.button(key=f"aside:{latency}").click().run()
    assert app.session_state["custom_profiles"][key].latency_ms == 323
    assert app.session_state["custom_profiles"][key].anchor == "p3.2xlarge"


def test_a_download_is_the_profile_as_it_was_told(samples):
    read = read_profile(as_version_1(samples[VGG].profile.operations))
    custom = Held("key", read, "net", "upload", "g3s.xlarge", 130.0, precision="fp32", steps=4)
    again = read_profile(write_profile(with_answers(custom)))
    assert again.operations == pytest.approx({name: us / 2 for name, us in samples[VGG].profile.operations.items()})
    assert (again.steps, again.meta.step_latency_ms, again.meta.precision) == (1, 130.0, "fp32")


def test_removing_and_renaming_here(open_app, samples):
    app = open_app("compare", compare_samples=ALEXNET)
    give(app, (f"{VGG}.json", samples[VGG].data), (f"{LENET}.json", samples[LENET].data))
    key = custom(look_at(app, f"{VGG}.json"))[f"{VGG}.json"]
    answer_field(app.text_input, f"compare:name:{key}").set_value("mine").run()
    assert list(compared(app))[1:] == ["mine", f"{LENET}.json", title(samples[ALEXNET])]
    app.button(key="compare:remove").click().run()
    assert list(compared(app))[1:] == [f"{LENET}.json", title(samples[ALEXNET])]
    give(app, (f"{VGG}.json", samples[VGG].data))
    app.button(key="compare:remove-all").click().run()
    assert list(compared(app))[1:] == [title(samples[ALEXNET])]
    assert not app.exception


def test_the_chart_has_a_color_a_profile_and_a_group_an_instance(catalog, samples):
    sample = samples[VGG]
    names = ["<b>bold</b>", *(f"a very, very, very, very long name of a profile at batch {at}.json" for at in (16, 64))]
    held = [Held(name, sample.profile, name, "upload", sample.anchor, sample.latency_ms) for name in names]
    compared = compare(load_resources(), [Candidate(one) for one in held])
    expected, offers = compared[0].prediction.latencies_ms, [catalog[name] for name in ORIGINAL]
    plans = []
    for one in compared:
        steps = one.prediction.predictions
        steps = steps.take([steps.numbers[name] for name in ORIGINAL], offers)
        plans.append(list(costed(Workload(1, 1), steps)))
    plans[1][0] = None
    rows = comparison_bars(compared, plans, "latency")
    colors = [row.bars[0].color for row in rows]
    assert colors[:5] == [PROFILE_COLORS[place] for place in (0, 2, 0, 1, 2)] and len(rows) == 11
    assert [bool(row.name) for row in rows[:5]] == [True, False, True, False, False], "a name an instance"
    values = [expected[offer.name] for offer in offers]
    assert [row.bars[0].value for row in rows if row.bars[0].color == PROFILE_COLORS[1]] == values[1:]
    assert all(bar.low < bar.value < bar.high for row in rows[2:] for bar in row.bars)
    costs = {one.instance: one.cost_per_1000_steps_usd for one in compared[0].prediction.predictions}
    expected = {"cost": [costs[offer.name] for offer in offers], "images": [1000 / value for value in values]}
    for metric, of_first in expected.items():
        shown = [row.bars[0] for row in comparison_bars(compared, plans, metric)]
        assert [bar.value for bar in shown if bar.color == PROFILE_COLORS[0]] == pytest.approx(of_first)


def test_networks_by_name_are_compared_in_one_order(open_app):
    query = {"source": "name", "net": "resnet50", "compare_samples": ""}
    app = open_app("compare", **query, compare_networks="ViT-B/16,resnet 50,no such net")
    assert [*compared(app)] == ["resnet50", "vit_b_16"] and len(app.error) == 1 and not app.exception
    assert app.query_params["compare_networks"] == "vit_b_16,resnet50,no such net"
    assert (app.query_params["source"], app.query_params.get("net", "resnet50")) == ("name", "resnet50")
    steps = [[float(cell.split()[0]) for cell in row.values()] for row in compared(app).values()]
    assert steps[0] == sorted(steps[0]) and all(vit > resnet for resnet, vit in zip(*steps, strict=True))
    (table,) = result_tables(app)
    (head,) = [one for one in table["columns"] if one["sorted"] == "ascending"]
    assert head["title"] == "resnet50"
    app.segmented_control(key="compare_by").set_value("images").run()
    speeds = [float(cell.replace(",", "")) for cell in compared(app)["resnet50"].values()]
    assert speeds == sorted(speeds, reverse=True)
    names = [row["name"] for row in drawn_bars(app)["compare-bars"] if row["name"]]
    rows = [row["Instance"] for row in result_rows(app)]
    assert names == [name for name in rows if name in names], "the chart has the table's order"
    app.radio(key="inspected").set_value("network:vit_b_16").run().button(key="compare:use").click().run()
    assert app.session_state["net"] == "vit_b_16" and app.session_state["source"] == "name"


def test_a_latency_that_predict_was_told_to_trust_counts_here(open_app, samples):
    app, head = open_app(sample=VGG, latency="5000", compare_samples=""), title(samples[VGG])
    go(app, "compare")
    assert any("doesn't fit this profile" in line for line in lines(app.markdown))
    doubted = compared(app)[head]
    go(app, "predict").button(key=":use-typed").click().run()
    assert_as_on_predict(app, head)
    assert compared(app)[head] != doubted and not any(
        "doesn't fit this profile" in line for line in lines(app.markdown)
    )


def facts(app) -> dict[str, str]:
    return {row[""]: row["Value"] for row in rows(app, 0)}


def test_every_sample_is_shown_with_what_holds_it_up(open_app, models, samples):
    for name in (LENET, VGG, ALEXNET):
        sample = samples[name]
        app = inside(open_app("compare", inspect=name))
        diagnosis = diagnose(sample.profile, sample.latency_ms)
        notes = lines(app.warning) + lines(app.info) + lines(app.success)
        assert notes == [diagnosis.sentence]
        assert facts(app)["Format"] == "PROFET JSON, version 2"
        assert facts(app)["Batch size"] == str(sample.batch_size)
        shown = app.dataframe[0].value
        assert list(shown["Operation"]) == [row.operation for row in placements(models, sample.profile)]
        assert not app.error and not app.exception
        assert dict(app.query_params) == {"view": "inside", "inspect": name}


def test_it_shows_what_predict_shows_until_another_one_is_chosen(open_app, samples):
    app = open_app(sample=VGG)
    assert listing(go(app, "compare")).value == VGG and dict(app.query_params) == {"sample": VGG}
    go(app, "predict")
    upload(app, ("mine.json", samples[LENET].data), ("other.json", samples[VGG].data))
    app.selectbox(key="chosen").set_value(next(iter(app.session_state["custom_profiles"]))).run()
    inside(go(app, "compare"))
    assert facts(app)["Pixels"] == "32"
    look_at(app, "other.json")
    assert facts(app)["Pixels"] == "224"
    go(app, "sizes")
    inside(go(app, "compare"))
    assert facts(app)["Pixels"] == "224" and dict(app.query_params) == {"view": "inside"}


def test_links_of_predict_lead_inside_what_it_shows(open_app, samples):
    app = open_app(sample=ALEXNET)
    go(app, "compare", **link_of(app, "Look inside the profile"))
    assert listing(app).value == ALEXNET and app.segmented_control(key="view").value == "inside"
    go(app, "predict")
    upload(app, ("cpu.json", b'{"Host_MatMul": 500.0, "Host_BiasAddGrad": 100.0, "Host_IDLE": 90000.0}'))
    go(app, "compare", **link_of(app, "Look inside the profile"))
    assert listing(app).value in custom(app).values()
    assert "no GPU time" in lines(app.warning)[0] and not app.exception
    app = open_app(source="upload")
    go(app, "about", **link_of(app, "How to record a profile"))
    assert app.segmented_control(key="open").value == "record"


def link_of(app, label: str) -> dict[str, str]:
    """What a link to another page asks for."""
    link = next(link.proto for link in app.get("page_link") if link.proto.label == label)
    return dict(part.split("=") for part in link.query_string.split("&"))


def test_an_upload_here_is_shown_here_and_joins_the_list(open_app, samples):
    app = open_app("compare", view="inside", inspect="<script>", compare_samples=VGG)
    assert listing(app).value == FIRST, "a senseless link is no choice"
    give(app, ("mine.json", samples[LENET].data))
    ((key, held),) = app.session_state["custom_profiles"].items()
    assert listing(app).value == key
    assert facts(inside(app))["Batch size"] == "16" and held.name == "mine.json"
    app.button(key="compare:remove").click().run()
    assert listing(app).value == FIRST
    app.multiselect(key="compare_samples").select(LENET).run()
    assert listing(app).value == LENET
    assert facts(app)["Pixels"] == "32" and not app.exception
    shown = {"view": "inside", "inspect": LENET, "compare_samples": f"{VGG},{LENET}"}
    assert dict(app.query_params) == shown
    app.multiselect(key="compare_samples").unselect(LENET).run()
    assert listing(app).value == VGG
    app.multiselect(key="compare_samples").unselect(VGG).run()
    assert listing(app).value == FIRST and dict(app.query_params) == {"view": "inside", "compare_samples": ""}
