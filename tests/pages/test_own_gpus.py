"""A GPU of a visitor's own: in their session alone, in the answer at once, and refused in one line."""

from __future__ import annotations

import pytest

from profet_core.catalog.own_gpus import own_gpu_of
from profet_core.units import format_ms
from tests.pages.conftest import (
    as_version_2,
    clean,
    column,
    go,
    lines,
    link,
    open_prices,
    open_sections,
    prices,
    upload,
)
from tests.pages.expected import FIRST, Core
from ui.state.own_catalog import own_gpus_csv

#: As a plan is called whose market is not on-demand.
MINE = "rtx-4080 own"
CARD = {
    "gpu": "RTX 4080",
    "like": "L40S",
    "fp32_tflops": 48.7,
    "tf32_tensor_dense_tflops": 97.5,
    "memory_gib": 16,
    "bandwidth_gb_per_s": 717,
}
FAST = {**CARD, "images_per_s": 480, "network": "ResNet50", "batch_size": 128, "precision": "tf32"}


def steps(app) -> dict[str, str]:
    app.segmented_control(key="per").set_value("step").run()
    return column(app, "Time")


def test_a_gpu_and_its_throughput_are_a_row_of_the_answer_at_once(open_app, core, samples, edit):
    other, app = open_app(), open_app()
    before = column(app, "Instance")
    edit(app, "own-gpus", FAST | {"usd_per_hour": 0.2})
    assert not app.error and not app.exception
    cells = {column: str(value) for column, value in FAST.items()}
    known = core.context.with_own_gpus([own_gpu_of(cells, core.context.gpus)])
    expected = Core(known.models, known.catalog).predict(samples[FIRST]).latencies_ms
    assert steps(app)[MINE] == format_ms(expected["rtx-4080"])
    assert column(app, "$/h")[MINE] == "$0.20"
    assert MINE in column(app, "Instance") and MINE not in before
    app.segmented_control(key="chart").set_value("bars").run()
    assert all("rtx-4080" in chart.proto.spec for chart in app.get("plotly_chart"))
    assert not any("rtx" in name or "rtx" in value.lower() for name, value in link(app).items()), "not in the link"
    for session in (other.run(), open_app()):
        assert MINE not in column(session, "Instance")


def test_this_profile_s_step_comes_back_in_the_answer_and_stays_known(open_app, edit):
    app = edit(open_app(), "own-gpus", CARD | {"step_ms": 55, "tdp_w": 320})
    assert not app.error and not app.exception
    assert steps(app)[MINE] == "55.0 ms"
    assert column(app, "$/h")[MINE] == "$0.06", "its electricity"
    edit(app, "own-gpus", changed={0: {"usd_per_hour": 2}})
    assert (steps(app)[MINE], column(app, "$/h")[MINE]) == ("55.0 ms", "$2.00")
    assert app.session_state["own_gpus"][0].source == "a step of 55.0 ms that you measured"
    go(app, "sizes")
    assert not app.error and not app.exception


def test_it_is_changed_removed_and_had_as_instances_of_other_prices(open_app, edit):
    app = edit(open_app(), "own-gpus", FAST)
    slow = steps(app)[MINE]
    edit(app, "own-gpus", changed={0: {"images_per_s": 900}})
    assert float(column(app, "Time")[MINE].split()[0]) < float(slow.split()[0])
    assert [row.name for row in app.session_state["own_gpus"]] == ["RTX 4080"]
    edit(app, "own-instances", {"instance": "desk.x2", "gpu": "RTX 4080", "usd_per_hour": 0.5})
    assert column(app, "Time")["desk.x2"] == column(app, "Time")[MINE] and not app.error
    edit(app, "own-gpus", removed=[0])
    assert not app.exception and app.session_state["own_gpus"] == ()
    assert not {MINE, "desk.x2"} & set(column(app, "Instance")), "a GPU nobody knows has a price only"
    app.segmented_control(key="chart").set_value("bars").run()
    assert all("desk.x2" in chart.proto.spec for chart in app.get("plotly_chart")), "and a row that says so"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"gpu": None, "like": "L4"}, "name"),
        ({"gpu": "T4"}, "Tesla T4"),
        ({"like": None}, "similar"),
        ({"step_ms": 0.1}, "launch overhead"),
        ({"step_ms": 50, **FAST}, "not both"),
        ({"gpu": "g5.xlarge"}, "g5.xlarge"),
    ],
)
def test_what_can_t_be_is_one_line_and_changes_nothing(open_app, edit, wrong, says):
    app = edit(open_app(), "own-gpus", CARD | wrong)
    (line,) = lines(app.error)
    assert says in line and not app.exception and "own_gpus" not in app.session_state


def test_files_go_in_and_out_and_no_instance_takes_the_name_of_an_own_gpu(open_app):
    app = open_prices(open_app())
    row = "my card,GeForce RTX 3090,,,12,,,400,ResNet50,224,64,tf32,,,0.1,2026-11-01,ours"
    give(app, f"{own_gpus_csv().splitlines()[0]}\n{row}\n".encode())
    assert not app.error and "my-card own" in column(app, "Instance")
    for data, says in ((b"gpu,like\nx,L4\n", "fp32_tflops"), (b"\xff\xfe", "UTF-8")):
        give(app, data)
        (line,) = lines(app.error)
        assert says in line and [one.name for one in app.session_state["own_gpus"]] == ["my card"]
    header = "instance,gpu,gpu_count,gpu_memory_gib,vcpus,usd_per_hour,region,os,market,status,as_of,source"
    give(app, f"{header}\nMY-card,L4,,,,0.7,any,linux,on-demand,,2026-11-21,me\n".encode(), "own-instances")
    assert any(line.startswith("MY-card is the instance of a custom GPU") for line in lines(app.error))
    assert "own_instances" not in app.session_state


def test_no_page_of_another_visitor_s_shows_it(open_app, edit):
    app = edit(open_app(), "own-gpus", CARD | {"step_ms": 55})
    app = open_sections(go(app, "about"), "prices")
    assert not app.exception and not app.error and "RTX 4080" in shown(app)
    other = open_app("about", open="prices")
    assert not other.exception and not other.error and "RTX 4080" not in shown(other)
    app.session_state["compare_samples"] = [FIRST]
    assert not go(app, "compare").exception and not app.error and "rtx-4080" in shown(app)


def shown(app) -> str:
    tables = " ".join(clean(table.value.to_csv()) for table in app.table)
    texts = " ".join(part.value for part in (*app.markdown, *app.caption))
    return tables + texts + str([chart.proto.spec for chart in app.get("plotly_chart")])


def give(app, data: bytes, field: str = "own-gpus"):
    uploader = next(item for item in prices(app).file_uploader if item.key.startswith(f"{field}:file:"))
    return uploader.set_value(("gpus.csv", data, "text/csv")).run()


def test_a_gpu_of_ones_own_can_be_the_anchor_until_it_is_removed(open_app, samples, edit):
    name = "NVIDIA GeForce RTX 3080 Laptop GPU"
    operations = dict(samples[FIRST].profile.operations)
    data = ("net.json", as_version_2(operations, gpu=name, batch_size=64, pixels=128))
    app = upload(open_app(), data)
    (line,) = lines(app.error)
    assert "laptop GPU" in line and "custom GPU" in line
    edit(app, "own-gpus", FAST | {"gpu": name})
    app.selectbox(key="anchor").set_value(name).run()
    assert not app.error and not app.exception
    labels = [label for label in app.selectbox(key="anchor").options if name in label]
    assert labels == [f"{name}, nvidia-geforce-rtx-3080-laptop-gpu"], "as it is called, and its instance"
    edit(app, "own-gpus", removed=[0])
    assert app.selectbox(key="anchor").value is None and not app.exception
    assert "a laptop GPU" in lines(app.error)[0]


def test_what_an_hour_costs_is_the_gpu_s_own_alone(open_app, edit):
    app = edit(open_app(), "own-instances", {"instance": "rtx-4080", "gpu": "L4", "usd_per_hour": 0.5})
    edit(app, "own-prices", {"instance": "rtx-4080", "usd": 9})
    assert column(app, "$/h")["rtx-4080 own price"] == "$9.00"
    edit(app, "own-instances", removed=[0])
    edit(app, "own-gpus", FAST | {"usd_per_hour": 0.2})
    assert not app.error and not app.exception
    assert column(app, "$/h")[MINE] == "$0.20" and "price_rtx-4080" not in link(app)


def test_an_anchor_that_is_called_otherwise_stays_the_anchor(open_app, samples, edit):
    app = edit(open_app(), "own-gpus", FAST)
    app.segmented_control(key="source").set_value("upload").run()
    uploader = next(item for item in app.file_uploader if item.key.startswith(":file:"))
    data = as_version_2(dict(samples[FIRST].profile.operations), batch_size=64, pixels=128)
    uploader.set_value([("net.json", data, "application/json")]).run()
    app.selectbox(key="anchor").set_value("RTX 4080").run()
    before = {name: step for name, step in steps(app).items() if name != MINE}
    assert len(before) > 3
    edit(app, "own-gpus", changed={0: {"gpu": "desk card"}})
    assert (app.selectbox(key="anchor").value, list(app.error), list(app.exception)) == ("desk card", [], [])
    after = steps(app)
    assert {name: after[name] for name in before} == before
    (held,) = app.session_state["own_profiles"].values()
    assert held.anchor == "desk card"
