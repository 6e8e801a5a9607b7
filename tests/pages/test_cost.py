"""Cost: what the page shows is what profet_core computes from Predict's or Scale's latencies."""

from __future__ import annotations

import json

from profet_core import CostRow, cost_table, predict, read_profile, scale
from profet_core.advice.frontier import frontier
from profet_core.scaling.context import scale_context
from profet_core.units import format_duration, format_significant, format_usd
from tests.pages.conftest import as_version_1, as_version_2, column, go, lines, type_in, upload
from ui.tables import format_range

FIRST = "resnet50-128px-b64-g4dn"


def first_latencies(models, catalog, samples):
    sample = samples[FIRST]
    return predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms).latencies_ms


def assert_shows(app, table):
    """Every figure of the page's table against profet_core's."""
    rows = {row.instance: row for row in table.rows}
    assert column(app, "An epoch") == {name: format_duration(row.epoch_s) for name, row in rows.items()}
    assert column(app, "$ an epoch") == {name: format_usd(row.epoch_usd) for name, row in rows.items()}
    epochs = f"{table.epochs:,} epochs"
    assert column(app, epochs) == {name: format_duration(row.total_s) for name, row in rows.items()}
    assert column(app, f"$ for {epochs}") == {name: format_usd(row.total_usd) for name, row in rows.items()}
    speed = {name: format_significant(row.images_per_s) for name, row in rows.items()}
    assert column(app, "Images per second") == speed


def test_the_first_screen_costs_the_first_sample(open_app, models, catalog, samples):
    app = open_app("cost")
    latencies = first_latencies(models, catalog, samples)
    assert_shows(
        app, cost_table(latencies, catalog, images=50_000, batch_size=64, epochs=10, anchor=samples[FIRST].anchor)
    )
    assert any("6% to 9% longer" in line for line in lines(app.caption))


def test_images_validation_and_epochs(open_app, models, catalog, samples):
    app = open_app("cost")
    type_in(app, "images", 1_281_167)
    type_in(app, "validation_images", 50_000)
    type_in(app, "epochs", 90)
    latencies = first_latencies(models, catalog, samples)
    assert_shows(
        app,
        cost_table(latencies, catalog, images=1_281_167, validation_images=50_000, batch_size=64, epochs=90),
    )


def test_a_small_job_keeps_its_digits(open_app, models, catalog, samples):
    app = open_app("cost", images="64", epochs="1")
    table = cost_table(first_latencies(models, catalog, samples), catalog, images=64, batch_size=64)
    assert_shows(app, table)
    assert all(float(text.strip("$")) > 0 for text in column(app, "$ an epoch").values())


def test_own_prices(open_app, models, catalog, samples):
    app = open_app("cost")
    type_in(app, "price_p3.2xlarge", 0.01)
    priced = catalog.with_prices({"p3.2xlarge": 0.01})
    assert_shows(
        app, cost_table(first_latencies(models, catalog, samples), priced, images=50_000, batch_size=64, epochs=10)
    )
    assert column(app, "Price from")["p3.2xlarge"] == "own price"
    assert "p3.2xlarge (retired). Hollow" in " ".join(lines(app.caption))


def test_a_price_of_zero_gets_one_line_and_nothing_else_is_lost(open_app, models, catalog, samples):
    app = open_app("cost")
    type_in(app, "price_p3.2xlarge", 0.0)
    (line,) = lines(app.error)
    assert line == "Give a number above 0."
    latencies_ms = first_latencies(models, catalog, samples)
    assert_shows(app, cost_table(latencies_ms, catalog, images=50_000, batch_size=64, epochs=10))


def test_another_batch_size_comes_from_scale_s_ends(open_app, models, catalog, samples):
    app = open_app("cost")
    app.segmented_control(key="batch_from").set_value("scaled").run()
    app.slider(key="batch").set_value(200).run()
    ends = [samples[f"resnet50-128px-b{size}-g4dn"] for size in (16, 256)]
    low, high = (
        predict(models, catalog, end.profile, end.anchor, latency_ms=end.latency_ms).latencies_ms for end in ends
    )
    context = scale_context("batch", ends[1].profile)
    latencies = {
        name: scale(models, models.profiled(name), "batch", low[name], high[name], 200, context=context).latency_ms
        for name in low
    }
    assert_shows(app, cost_table(latencies, catalog, images=50_000, batch_size=200, epochs=10))
    link = dict(app.query_params)
    assert link == {"batch_from": "scaled", "batch": "200"}
    assert column(open_app("cost", **link), "An epoch") == column(app, "An epoch")


def test_the_batch_size_is_fixed_where_scale_holds_another_network(open_app, models, catalog, samples):
    sample = samples["vgg16-224px-b16-g3s"]
    app = open_app("cost", sample=sample.name, batch_from="scaled")
    assert app.segmented_control(key="batch_from").value == "profiled"
    assert app.segmented_control(key="batch_from").disabled
    assert any("on Scale were recorded on g4dn.xlarge, this one on g3s.xlarge" in line for line in lines(app.caption))
    latencies = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms).latencies_ms
    assert_shows(app, cost_table(latencies, catalog, images=50_000, batch_size=16, epochs=10))


def test_typed_ends_allow_another_batch_size_for_their_instances(open_app, models, catalog):
    app = open_app("scale", ends="typed", **{"batch_min_ms_p2.xlarge": "100", "batch_max_ms_p2.xlarge": "900"})
    go(app, "cost")
    app.segmented_control(key="batch_from").set_value("scaled").run()
    latency_ms = scale(models, "p2.xlarge", "batch", 100, 900, 64).latency_ms
    assert_shows(app, cost_table({"p2.xlarge": latency_ms}, catalog, images=50_000, batch_size=64, epochs=10))


def test_a_profile_that_doesn_t_say_its_batch_size_is_asked_for_it(open_app, models, catalog, samples):
    data = as_version_1(samples[FIRST].profile.operations)
    app = upload(open_app(), ("old.json", data))
    go(app, "cost")
    assert lines(app.error) == ["The profile doesn't say its batch size: give the batch size it was recorded at."]
    assert not app.table
    type_in(app, "profiled_batch", 64)
    latencies = predict(models, catalog, read_profile(data), "g4dn.xlarge").latencies_ms
    assert_shows(app, cost_table(latencies, catalog, images=50_000, batch_size=64, epochs=10))
    assert "it has no row" in lines(app.info)[0]


def test_settings_and_upload_survive_page_switches(open_app, samples):
    data = as_version_2(dict(samples[FIRST].profile.operations), gpu="Tesla T4", batch_size=32)
    app = upload(open_app(), ("mine.json", data))
    go(app, "cost")
    type_in(app, "epochs", 33)
    before = column(app, "33 epochs")
    for page in ("about", "predict", "scale", "cost"):
        go(app, page)
    assert column(app, "33 epochs") == before
    assert any("batch size 32" in line for line in lines(app.caption))


def test_a_link_reopens_the_view(open_app):
    query = {"sample": "alexnet-64px-b128-p2", "images": "12345", "epochs": "7", "price_g4dn.xlarge": "0.4"}
    app = open_app("cost", **query)
    assert dict(app.query_params) == query
    assert column(app, "Price per hour")["g4dn.xlarge"] == "$0.40"
    assert {"g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge"} <= set(column(app, "7 epochs"))


def test_the_frontier_is_what_none_beats():
    def row(name: str, total_s: float, total_usd: float) -> CostRow:
        return CostRow(name, 1, 1, "available", 1, 1, 1, 1, 1, total_s, total_usd, None)

    rows = [row("slow", 9, 1), row("fast", 1, 9), row("middle", 5, 5), row("beaten", 6, 6), row("same", 5, 5)]
    assert [row.instance for row in frontier(rows)] == ["fast", "middle", "slow"]


def test_the_batch_size_is_fixed_while_scale_has_a_question(open_app):
    app = open_app("cost", batch_from="scaled", batch_max_latency="731524")
    assert app.segmented_control(key="batch_from").value == "profiled"
    assert any("answer it there" in line for line in lines(app.caption))


def test_the_batch_size_is_fixed_while_an_end_was_recorded_elsewhere(open_app):
    app = open_app("cost", batch_from="scaled", batch_min_sample="resnet50-128px-b64-g4dn")
    assert app.segmented_control(key="batch_from").value == "profiled"
    assert any("don't fit together" in line for line in lines(app.caption))


def test_the_interval_is_carried_into_time_and_cost(open_app, models, catalog, samples):
    app = open_app("cost")
    sample = samples[FIRST]
    predicted = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms).predictions
    ends = [
        cost_table(
            {row.instance: getattr(row.interval, end) for row in predicted if row.interval},
            catalog,
            images=50_000,
            batch_size=64,
            epochs=10,
        )
        for end in ("low_ms", "high_ms")
    ]
    pairs = {low.instance: (low, high) for low, high in zip(ends[0].rows, ends[1].rows, strict=True)}
    assert set(pairs) == {row.instance for row in predicted} - {sample.anchor}
    times, costs = column(app, "An epoch, between"), column(app, "$ an epoch, between")
    assert times.pop(sample.anchor) == costs.pop(sample.anchor) == "–"
    assert times == {
        name: format_range(format_duration(low.epoch_s), format_duration(high.epoch_s))
        for name, (low, high) in pairs.items()
    }
    assert costs == {
        name: format_range(format_usd(low.epoch_usd), format_usd(high.epoch_usd)) for name, (low, high) in pairs.items()
    }


def test_carried_latencies_and_the_documented_method_have_no_interval(open_app):
    for query in ({"batch_from": "scaled"}, {"method": "profet"}):
        app = open_app("cost", **query)
        assert "An epoch" in app.table[0].value and "An epoch, between" not in app.table[0].value


def test_the_method_of_the_link_computes_the_costs(open_app, models, catalog, samples):
    sample = samples[FIRST]
    app = open_app("cost", method="profet")
    found = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms, method="profet")
    assert_shows(app, cost_table(found.latencies_ms, catalog, images=50_000, batch_size=64, epochs=10))
    assert dict(app.query_params) == {"method": "profet"}


def test_what_nobody_profiled_never_looks_measured(open_app):
    app = open_app("cost")
    told = column(app, "Time is")
    assert told["g4dn.xlarge"] == "your measurement" and told["p3.2xlarge"] == "predicted"
    assert told["g5.xlarge"] == "derived, biased" and told["p4d.24xlarge"] == "rough estimate"
    assert column(app, "GPU")["p4d.24xlarge"] == "A100 (1 of 8)"
    charts = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    for chart in charts[:2]:
        labels, opacity = chart["data"][0]["y"], chart["data"][0]["marker"]["opacity"]
        assert {name for name, pale in zip(labels, opacity, strict=True) if pale < 1} == {
            name for name in labels if name.endswith("*")
        }
        assert {"g5.xlarge*", "p5.4xlarge*", "p3.2xlarge", "g4dn.xlarge"} <= set(labels)
    assert any("speed of one of its GPUs" in line and "g5" not in line for line in lines(app.caption))
    assert any("nobody profiled this GPU" in line for line in lines(app.caption))


def test_carried_estimates_stay_estimates(open_app):
    told = column(open_app("cost", batch_from="scaled", batch="200"), "Time is")
    assert told["g4dn.xlarge"] == "carried over" and told["p5.4xlarge"] == "rough estimate"
