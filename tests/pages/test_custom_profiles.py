"""A visitor's profiles: uploaded, pasted, kept in the address, renamed and removed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import streamlit as st
from msgspec import Struct
from msgspec.structs import astuple
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile

from benchmarks.made_trace import write_pytorch_trace
from profet_core import read_profile
from profet_core.prediction.checks import counted, refusal, steps_note
from profet_core.prediction.models import Models
from tests.pages.conftest import (
    answer,
    answer_field,
    as_version_2,
    assert_shows,
    custom,
    give,
    go,
    has_results,
    inside,
    lines,
    notices,
    rows,
    type_in,
    upload,
)
from ui.custom import MAX_NAME_LETTERS, MAX_PROFILES, content_key

VGG, LENET, ALEXNET = "vgg16-224px-b16-g3s", "lenet5-32px-b16-g3s", "alexnet-64px-b128-p2"
FORMATS = sorted(
    path
    for path in (Path(__file__).resolve().parents[2] / "sample_traces" / "formats").iterdir()
    if path.suffix != ".md"
)


def sample_files(samples, *names: str) -> list[tuple[str, bytes]]:
    return [(f"{name}.json", samples[name].data) for name in names]


def chosen(app):
    return app.selectbox(key="chosen")


def choose(app, name: str):
    """Choose one of the list by its name."""
    box = chosen(app)
    return box.set_value(custom(app)[name]).run()


def shown(app) -> str:
    """Of which profile the numbers are."""
    (line,) = [line for line in lines(app.caption) if line.endswith("operation types.")]
    return line


def test_many_files_at_once_each_with_its_own_anchor_and_latency(open_app, core, samples):
    names = (VGG, LENET, ALEXNET)
    app = upload(open_app(), *sample_files(samples, *names))
    assert list(custom(app)) == [f"{name}.json" for name in names]
    assert f"{ALEXNET}.json" in shown(app)
    for name in names:
        choose(app, f"{name}.json")
        sample = samples[name]
        assert app.selectbox(key="anchor").value == sample.anchor
        assert app.session_state["latency"] == f"{sample.latency_ms} ms"
        assert_shows(app, core.advise(sample))


def test_a_duplicate_is_recognized_by_its_content(open_app, samples):
    app = upload(open_app(), *sample_files(samples, VGG, LENET))
    again = json.dumps(json.loads(samples[VGG].data), indent=7).encode()
    give(app, ("copy.json", again))
    assert list(custom(app)) == [f"{VGG}.json", f"{LENET}.json"]
    assert lines(app.info)[0] == f"copy.json holds the same profile as {VGG}.json, already on the list."
    assert f"{VGG}.json" in shown(app)


#: One of each reader; tests/profiles reads them all.
KINDS = ("profet-version-1.json", "pytorch_cpu.pt.trace.json.gz", "tensorflow-step.statistics.csv")
KINDS += ("tensorflow-3-steps.trace.json.gz", "tensorflow-step.xplane.pb")


@pytest.mark.parametrize("path", [path for path in FORMATS if path.name in KINDS], ids=lambda path: path.name)
def test_every_format_is_taken_and_its_warnings_are_shown(open_app, core, path):
    app = upload(open_app(), (path.name, path.read_bytes()))
    assert not app.exception
    read = read_profile(path.read_bytes(), path.name)
    ((key, held),) = app.session_state["custom_profiles"].items()
    assert (key, held.read) == (content_key(read), read)
    if refusal(read):
        assert (lines(app.error), has_results(app)) == ([refusal(read)], False)
    else:
        latency_ms = read.meta.step_latency_ms
        warnings = core.predict(read, anchor=app.selectbox(key="anchor").value, without_latency=False).warnings
        # How many steps it was read as stands beside the choice.
        beside = steps_note(counted(read, latency_ms))
        expected = [" ".join(line.split()) for line in warnings if line not in beside]
        assert set(expected) <= {*notices(app)}
        assert not app.error
    inside(go(app, "compare"))
    assert not app.error and not app.exception
    assert rows(app, 0)[0]["Value"] == read.source_format
    assert set(app.dataframe[0].value["Operation"]) == set(read.operations)


def cuda_trace(size_bytes: int) -> bytes:
    """A made-up PyTorch trace of a Tesla T4, of whole steps."""
    text = io.StringIO()
    write_pytorch_trace(text, size_bytes)
    return text.getvalue().encode()


def raw_bytes_in(value, seen=None) -> bool:
    """True if raw bytes or an uploaded file are anywhere below `value`."""
    seen = seen if seen is not None else set()
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, UploadedFile | bytes | bytearray | memoryview):
        return True
    if isinstance(value, Models):
        # The server's own, shared by all.
        return False
    if isinstance(value, dict):
        return any(raw_bytes_in(part, seen) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(raw_bytes_in(part, seen) for part in value)
    if isinstance(value, Struct) and any(raw_bytes_in(part, seen) for part in astuple(value)):
        return True
    return any(raw_bytes_in(part, seen) for part in getattr(value, "__dict__", {}).values())


def test_the_session_holds_totals_only_and_the_server_lets_files_go(open_app, monkeypatch):
    managers, added = [], MemoryUploadedFileManager.add_file
    monkeypatch.setattr(
        MemoryUploadedFileManager,
        "add_file",
        lambda self, *args, **kw: (managers.append(self), added(self, *args, **kw)),
    )
    secret = [path for path in FORMATS if "xplane" in path.name or "trace" in path.name]
    app = upload(open_app(), *[(path.name, path.read_bytes()) for path in secret], ("bad.json", b'{"secret_net": 1}'))
    state = dict(app.session_state.items())
    assert len(state["custom_profiles"]) >= 3
    assert not raw_bytes_in(state)
    assert "secret" not in repr({key: value for key, value in state.items() if not key.startswith("notes:")})
    assert raw_bytes_in({"a": [UploadedFile.__new__(UploadedFile)]})
    assert managers and all(not files for manager in managers for files in manager.file_storage.values())
    for page in ("predict", "compare"):
        other = open_app(page, source="upload")
        assert secret[0].name not in " ".join(lines((*other.caption, *other.markdown, *other.subheader)))
        assert "custom_profiles" not in other.session_state, "another visitor's"


def test_precision_and_compilation_are_asked_where_not_known_and_lead_to_the_warning(open_app, samples):
    operations = dict(samples[VGG].profile.operations)
    app = upload(
        open_app(profiled_batch="16"), ("net.json", as_version_2(operations, gpu="Tesla M60", framework="PyTorch 2.13"))
    )
    (key,) = custom(app).values()
    assert not any("FP32" in line for line in notices(app))
    answer_field(app.selectbox, f":precision:{key}").set_value("amp").run()
    assert any("is converted to FP32" in line for line in notices(app))
    answer_field(app.selectbox, f":compiled:{key}").set_value(True).run()
    assert any("This step was compiled" in line for line in notices(app))
    give(app, *sample_files(samples, LENET))
    assert not any("compiled" in line for line in notices(app))
    choose(app, "net.json")
    for page in ("sizes", "predict"):
        go(app, page)
        assert any("This step was compiled" in line for line in notices(app))
    assert answer_field(app.selectbox, f":precision:{key}").value == "amp"
    answer_field(app.selectbox, f":precision:{key}").set_value("fp32").run()
    assert not any("FP32" in line for line in notices(app))
    # Only what is not known is asked.
    for meta, asked in (
        ({"precision": "fp32"}, set()),
        ({"precision": "TF32", "framework": "PyTorch 2"}, {"compiled"}),
    ):
        give(app, ("half.json", as_version_2({"Device_Conv2D": 9e4, "Device_Relu": len(meta)}, **meta)))
        key = list(custom(app).values())[-1]
        keys = {str(box.key).rpartition(":")[0] for box in app.selectbox}
        assert {field for field in ("precision", "compiled") if f":{field}:{key}" in keys} == asked


def test_the_network_is_read_from_the_file_s_name_and_can_be_cleared_or_changed(open_app, core, samples):
    sample = samples["resnet50-224px-b64-g4dn"]
    document = json.loads(sample.data)
    del document["meta"]["network"]
    name, data = "resnet50-run.json", json.dumps(document).encode()
    app = open_app()

    def network_box():
        return next((box for box in app.selectbox if box.label == "Network (optional)"), None)

    assert network_box() is None, "a sample says its network"
    upload(app, (name, data))
    assert network_box().value == "resnet50"
    shown_ms = []
    for network in ("resnet50", None, "vgg16"):
        network_box().set_value(network).run()
        assert network_box().value == network
        asked = {"anchor": sample.anchor, "latency_ms": sample.latency_ms, "without_latency": False}
        wanted = core.advise(read_profile(data, name), network=network or "none", **asked)
        rows = {row.instance: row.latency_ms for row in wanted.training.step_times}
        last = app.session_state["predicted:last"][1]
        assert last.latencies_ms == pytest.approx({key: ms for key, ms in rows.items() if key in last.latencies_ms})
        shown_ms.append(last.latencies_ms["p2.xlarge"])
    assert shown_ms[0] != shown_ms[1] == shown_ms[2]
    assert any("vgg16" in line.lower() and "not used" in line for line in notices(app))


def test_whoever_clicks_on_ends_the_reading_and_is_told(open_app, monkeypatch):
    read = []

    def click(file, name, *, progress, waiting):
        read.append(name)
        if len(read) == 1:
            # What Streamlit does where a run meets the visitor's next click.
            st.rerun()
        return read_profile(file, name)

    monkeypatch.setattr("ui.uploads.read_guarded", click)
    data = b'{"Device_Conv2DBackpropInput": 1000.0}'
    app = upload(open_app(profiled_batch="16"), ("first.json", data), ("second.json", data.replace(b"1", b"3")))
    assert "second.json" in read
    assert "second.json" in custom(app)
    (line,) = lines(app.error)
    assert line.startswith("first.json was not read completely")


def test_the_list_is_bounded_and_bad_files_leave_a_line_each(open_app, samples):
    good = [
        (f"{number}.json", json.dumps({"Device_Conv2DBackpropInput": 1e3 + number}).encode())
        for number in range(MAX_PROFILES)
    ]
    bad = [("one.json", b"{"), ("two.bin", b"\x00\x01\x02")]
    app = upload(open_app(profiled_batch="16"), bad[0], *good, bad[1], ("more.json", b'{"Device_ReluGrad": 1}'))
    assert len(custom(app)) == MAX_PROFILES
    assert [line.split(" can't")[0] for line in lines(app.error)] == ["one.json", "two.bin", "more.json"]
    assert f"full ({MAX_PROFILES} profiles)" in lines(app.error)[-1]
    go(go(app, "about"), "predict")
    app.button(key=":remove-all").click().run()
    give(app, ("x" * 300 + ".json", samples[VGG].data), ("\u202e\n", samples[LENET].data))
    long, empty = custom(app)
    assert len(long) == MAX_NAME_LETTERS and empty == "unnamed" and not app.error


def test_whoever_waits_sees_the_place_in_line_and_how_far_it_is(open_app, monkeypatch):
    texts: list[tuple[float, str]] = []
    drawn, read_names = DeltaGenerator.progress, []

    def noted(self, value, text=None):
        texts.append((value, text))
        return drawn(self, value, text)

    def read(file, name, **stated):
        read_names.append(name)
        for place in (2, 1) if stated else ():
            stated["waiting"](place)
        if stated:
            stated["progress"](0.5)
        return read_profile(file, name)

    monkeypatch.setattr(DeltaGenerator, "progress", noted)
    app = upload(open_app(profiled_batch="16"), ("large.pt.trace.json", cuda_trace(3_000_000)))
    shares = [value for value, _ in texts]
    assert len(shares) > 5 and shares == sorted(shares) and shares[-1] == 1.0 and not app.error
    monkeypatch.setattr("ui.uploads.read_guarded", read)
    monkeypatch.setattr("ui.profile.read_guarded", read)
    texts.clear()
    app = upload(open_app(), ("net*.json", b'{"Device_Conv2D": 1000.0}'))
    assert [value for value, _ in texts] == [0.0, 0.0, 0.5] and "number 2 in the queue" in texts[0][1]
    assert all(r"net\*\.json" in text for _, text in texts)
    # A pasted text is read within limits too, joins the list, and leaves the field if it was good.
    app.segmented_control(key="source").set_value("paste").run()
    for text, left in (('{"Device_Conv2D": 2000.0}', ""), ("{", "{")):
        app.text_area(key="pasted").set_value(text).run()
        assert app.text_area(key="pasted").value == left
        assert "pasted text" in shown(app) and list(custom(app)) == ["net*.json", "pasted text"]
    assert read_names == ["net*.json", "pasted text", "pasted text"]
    assert any("pasted text: " in line for line in lines(app.error))


def carrying(open_app, samples):
    """The answer with an upload and a typed latency, and the address it has."""
    app = upload(open_app(anchor="g3s.xlarge"), ("net.json", samples[VGG].data))
    assert app.query_params["source"] == "upload" and "profile" not in app.query_params
    type_in(app, "latency", samples[VGG].latency_ms)
    app.toggle(key="custom_share_profile").set_value(True).run()
    assert not app.exception
    return app, dict(app.query_params)


def test_a_link_opens_the_same_answer_where_its_visitor_wants_the_profile_in_it(open_app, samples):
    app, query = carrying(open_app, samples)
    assert 500 < len(query["profile"]) < 1_200
    again = open_app(**query)
    assert not again.error and not again.warning and answer(again) == answer(app)
    assert again.toggle(key="custom_share_profile").value is True
    assert again.query_params["profile"] == query["profile"]
    for opened in (again, open_app("sizes", **query)):
        assert "from the link" in " ".join(lines(opened.caption)) and not opened.error
    app.toggle(key="custom_share_profile").set_value(False).run()
    assert "profile" not in app.query_params
    # A sample is never carried.
    again.segmented_control(key="source").set_value("sample").run()
    assert "profile" not in again.query_params and "source" not in again.query_params
    app = open_app(**{**query, "profile": query["profile"][:-20]})
    (line,) = lines(app.error)
    assert "truncated" in line and not app.exception and app.title


def test_a_link_to_an_upload_that_is_not_in_it_says_so(open_app):
    for page in ("predict", "sizes"):
        asked = {"source": "upload", "anchor": "p2.xlarge", "latency": "88"}
        (line,) = lines(open_app(page, **asked).info)
        assert "isn't in this link" in line


def test_a_sample_in_the_place_of_an_upload_leaves_the_latency_to_it(open_app):
    app = open_app(source="upload", anchor="p2.xlarge")
    assert (app.session_state["latency"], app.session_state["anchor"]) == (None, "p2.xlarge")
    assert "latency" not in app.query_params and "profiled on T4" in " ".join(lines(app.markdown))
    app.segmented_control(key="source").set_value("sample").run()
    assert app.session_state["latency"] == "552.844 ms" and "latency" not in app.query_params
