"""A GPU of a visitor's own: in their session alone, in the answer at once, and refused in one line."""

from __future__ import annotations

import pytest
import streamlit as st

from profet_core import predict
from profet_core.answers.questions import Knowledge
from profet_core.catalog import load_gpus
from profet_core.catalog.own_gpus import own_gpu_of
from profet_core.units import format_ms
from tests.pages.conftest import as_version_2, column, go, lines, link, open_prices, open_sections, type_in, upload
from tests.pages.expected import FIRST

#: As a plan is called whose market is not on-demand.
MINE = "rtx-4080 own"
SHEET = {"own-gpu:fp32": 48.7, "own-gpu:tf32": 97.5, "own-gpu:memory": 16.0, "own-gpu:bandwidth": 717.0}


def fill(app, name: str = "RTX 4080", **typed: object):
    app.text_input(key="own-gpu:name").set_value(name).run()
    app.selectbox(key="own-gpu:like").set_value("L40S").run()
    for key, value in SHEET.items():
        type_in(app, key, value)
    for key, value in typed.items():
        type_in(app, f"own-gpu:{key}", value)
    return app


def throughput(app, images_per_s: float = 480.0, batch_size: int = 128):
    app.segmented_control(key="own-gpu:known").set_value("throughput").run()
    type_in(app, "own-gpu:images", images_per_s)
    return type_in(app, "own-gpu:batch", batch_size)


def put(app):
    return app.button(key="own-gpu:put").click().run()


def steps(app) -> dict[str, str]:
    app.segmented_control(key="per").set_value("step").run()
    return column(app, "Time")


def test_a_gpu_and_its_throughput_are_a_row_of_the_answer_at_once(open_app, core, samples):
    other, app = open_app(), open_prices(open_app())
    before = column(app, "Instance")
    put(throughput(fill(app, usd=0.2)))
    assert not app.error and not app.exception
    cells = {
        "gpu": "RTX 4080",
        "like": "L40S",
        "fp32_tflops": "48.7",
        "tf32_tensor_dense_tflops": "97.5",
        "memory_gib": "16",
        "bandwidth_gb_per_s": "717",
        "images_per_s": "480",
        "network": "ResNet50",
        "batch_size": "128",
        "precision": "tf32",
    }
    known = Knowledge(core.models, core.catalog, load_gpus()).with_own_gpus([own_gpu_of(cells, load_gpus())])
    sample = samples[FIRST]
    expected = predict(
        known.models, known.catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms
    ).latencies_ms
    assert steps(app)[MINE] == format_ms(expected["rtx-4080"])
    assert column(app, "$ an hour")[MINE] == "$0.20"
    assert MINE in column(app, "Instance") and MINE not in before
    assert "rtx-4080" in app.get("plotly_chart")[0].proto.spec
    assert not any("rtx" in name or "rtx" in value.lower() for name, value in link(app).items()), "not in the link"
    for session in (other.run(), open_app()):
        assert MINE not in column(session, "Instance")


def test_this_profile_s_step_comes_back_in_the_answer(open_app):
    app = put(fill(open_prices(open_app()), **{"step-ms": 55.0, "tdp": 320.0}))
    assert not app.error and not app.exception
    assert steps(app)[MINE] == "55.0 ms"
    assert column(app, "$ an hour")[MINE] == "$0.064", "its electricity"
    assert any("a step of 55.0 ms that you measured" in line for line in lines(app.markdown))
    go(app, "sizes")
    assert not app.error and not app.exception and "rtx-4080" in column(app, "Instance")


def test_it_is_changed_removed_and_had_as_instances_of_other_prices(open_app):
    app = put(throughput(fill(open_prices(open_app()))))
    slow = steps(app)[MINE]
    app.button(key="own-gpu:edit").click().run()
    assert app.text_input(key="own-gpu:name").value == "RTX 4080"
    type_in(app, "own-gpu:images", 900.0)
    put(app)
    assert float(column(app, "Time")[MINE].split()[0]) < float(slow.split()[0])
    assert [row.name for row in app.session_state["own:gpus"]] == ["RTX 4080"]
    app.text_input(key="offer:name").set_value("desk.x2").run()
    app.selectbox(key="offer:gpu").set_value("RTX 4080").run()
    type_in(app, "offer:usd", 0.5)
    app.button(key="offer:put").click().run()
    assert column(app, "Time")["desk.x2"] == column(app, "Time")[MINE] and not app.error
    app.button(key="own-gpu:remove").click().run()
    assert not app.exception and app.session_state["own:gpus"] == ()
    assert not {MINE, "desk.x2"} & set(column(app, "Instance")), "a GPU nobody knows has a price only"


def test_what_an_hour_costs_is_the_gpu_s_own_alone(open_app):
    app = open_prices(open_app())
    app.text_input(key="offer:name").set_value("rtx-4080").run()
    app.selectbox(key="offer:gpu").set_value("L4").run()
    type_in(app, "offer:usd", 0.5)
    app.button(key="offer:put").click().run()
    app.selectbox(key="offers:priced").set_value("rtx-4080").run()
    type_in(app, "price_rtx-4080", 9.0)
    assert column(app, "$ an hour")["rtx-4080 own price"] == "$9.00"
    app.button(key="own-instances:remove").click().run()
    app = put(throughput(fill(app, usd=0.2)))
    assert not app.error and not app.exception
    assert column(app, "$ an hour")[MINE] == "$0.20" and "price_rtx-4080" not in link(app)
    assert not any("rtx-4080" in option for option in app.selectbox(key="offers:priced").options)


def test_instances_on_a_gpu_that_was_removed_are_said_to_be_left_out(open_app):
    app = put(throughput(fill(open_prices(open_app()))))
    app.text_input(key="offer:name").set_value("desk.x2").run()
    app.selectbox(key="offer:gpu").set_value("RTX 4080").run()
    type_in(app, "offer:usd", 0.5)
    app.button(key="offer:put").click().run()
    assert "desk.x2" in column(app, "Instance") and not left_out(app)
    app.button(key="own-gpu:remove").click().run()
    assert not app.exception and left_out(app) == ["Left out: desk.x2: no data sheet of its RTX 4080."]


def left_out(app) -> list[str]:
    return [line for line in lines(app.caption) if line.startswith("Left out: ")]


@pytest.mark.parametrize(
    ("name", "typed", "says"),
    [
        ("", {"step-ms": 50.0}, "Give the GPU a name."),
        ("T4", {"step-ms": 50.0}, "T4 is in the catalogue as Tesla T4: choose that one, or take another name."),
        ("RTX 4080", {}, "Give the step's latency, or choose what else is known."),
        ("RTX 4080", {"step-ms": 0.1}, "RTX 4080: the host alone needs"),
        ("g5.xlarge", {"step-ms": 50.0}, "There is an instance g5.xlarge already: give g5.xlarge another name."),
    ],
)
def test_what_can_t_be_is_one_line_and_nothing_typed_is_lost(open_app, name, typed, says):
    app = put(fill(open_prices(open_app()), name, **typed))
    (line,) = lines(app.error)
    assert line.startswith(says) and not app.exception
    assert "own:gpus" not in app.session_state or app.session_state["own:gpus"] == ()
    assert app.text_input(key="own-gpu:name").value == name
    assert app.session_state["own-gpu:memory"] == 16.0


def test_an_impossible_throughput_is_one_line(open_app):
    app = put(throughput(fill(open_prices(open_app())), 70_000))
    assert lines(app.error)[0].startswith("RTX 4080: 70,000 images a second of ResNet50 can't be")


def test_no_page_of_another_visitor_s_shows_it(open_app):
    """About keeps its reports for all visitors: one who has a GPU of their own may be the first to ask."""
    st.cache_resource.clear()
    app = put(fill(open_prices(open_app()), **{"step-ms": 55.0}))
    app.session_state["part"] = "unprofiled"
    app = open_sections(go(app, "about"), "accuracy", "prices")
    assert not app.exception and not app.error and "RTX 4080" in shown(app)
    other = open_app("about", open="accuracy,prices", part="unprofiled")
    assert not other.exception and not other.error
    assert len(other.table) == len(app.table) and "RTX 4080" not in shown(other)
    app.session_state["compare_samples"] = [FIRST]
    assert not go(app, "profiles").exception and not app.error and "rtx-4080" in shown(app)


def shown(app) -> str:
    return " ".join(str(part.value) for part in (*app.table, *app.markdown, *app.caption)) + str(
        [chart.proto.spec for chart in app.get("plotly_chart")]
    )


def test_files_go_in_and_out(open_app):
    app = open_prices(open_app())
    header, *_ = own_csv().splitlines()
    row = "my card,GeForce RTX 3090,,,12,,,400,ResNet50,224,64,tf32,,,0.1,2026-11-01,ours"
    give(app, f"{header}\n{row}\n".encode())
    assert not app.error and "my-card own" in column(app, "Instance")
    give(app, b"gpu,like\nx,L4\n")
    assert lines(app.error) == ["Own GPUs: row x has no column 'fp32_tflops'."]
    assert [one.name for one in app.session_state["own:gpus"]] == ["my card"]
    give(app, b"\xff\xfe")
    assert lines(app.error) == ["The file is no UTF-8 text: save the table as CSV in UTF-8."]


@pytest.mark.parametrize("name", ["rtx-4080", "RTX-4080"])
def test_a_file_of_instances_takes_no_name_of_an_own_gpu(open_app, name):
    app = put(throughput(fill(open_prices(open_app()), usd=0.2)))
    header = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"
    give(app, f"{header}\n{name},L4,,,,0.7,any,linux,on-demand,,2026-11-21,me\n".encode(), "own-instances")
    assert lines(app.error) == [f"{name} is the instance of a GPU of your own: give this row another name."]
    assert "own:instances" not in app.session_state and column(app, "$ an hour")[MINE] == "$0.20"


def give(app, data: bytes, field: str = "own-gpus"):
    uploader = next(item for item in app.file_uploader if item.key.startswith(f"{field}:file:"))
    return uploader.set_value(("gpus.csv", data, "text/csv")).run()


def own_csv() -> str:
    """The template, as whoever has none of their own gets it."""
    from ui.state.own_gpus import own_gpus_csv

    return own_gpus_csv()


def test_a_gpu_of_ones_own_can_be_the_anchor_until_it_is_removed(open_app, samples):
    name = "NVIDIA GeForce RTX 4080 Laptop GPU"
    operations = dict(samples[FIRST].profile.operations)
    data = ("net.json", as_version_2(operations, gpu=name, batch_size=64, pixels=128))
    (line,) = lines(upload(open_app(), data).error)
    assert "a laptop's GPU" in line and "add it as a GPU of your own, by that name" in line
    app = put(throughput(fill(open_prices(open_app()), name)))
    app.segmented_control(key="source").set_value("upload").run()
    # The list of prices has an uploader too.
    uploader = next(item for item in app.file_uploader if item.key.startswith(":file:"))
    uploader.set_value([(*data, "application/json")]).run()
    assert (app.selectbox(key="anchor").value, list(app.error), list(app.exception)) == (name, [], [])
    assert name in app.selectbox(key="anchor").options, "as it is called"
    assert any(f"recorded on {name}" in line for line in lines(app.caption))
    open_prices(app)
    app.button(key="own-gpu:remove").click().run()
    assert app.selectbox(key="anchor").value == "g3s.xlarge" and not app.exception
    assert "a laptop's GPU" in lines(app.error)[0]


def test_an_anchor_that_is_called_otherwise_stays_the_anchor(open_app, samples):
    app = put(throughput(fill(open_prices(open_app()))))
    app.segmented_control(key="source").set_value("upload").run()
    uploader = next(item for item in app.file_uploader if item.key.startswith(":file:"))
    data = as_version_2(dict(samples[FIRST].profile.operations), batch_size=64, pixels=128)
    uploader.set_value([("net.json", data, "application/json")]).run()
    app.selectbox(key="anchor").set_value("RTX 4080").run()
    before = {name: step for name, step in steps(app).items() if name != MINE}
    assert len(before) > 3
    open_prices(app)
    app.button(key="own-gpu:edit").click().run()
    app.text_input(key="own-gpu:name").set_value("desk card").run()
    put(app)
    assert (app.selectbox(key="anchor").value, list(app.error), list(app.exception)) == ("desk card", [], [])
    after = steps(app)
    assert {name: after[name] for name in before} == before
    (held,) = app.session_state["own:profiles"].values()
    assert held.anchor == "desk card"
