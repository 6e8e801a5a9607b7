"""A visitor's own profiles: many files at once, a named list, what is remembered of each, and that raw files go."""

from __future__ import annotations

import io
import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from benchmarks.made_trace import write_pytorch_trace
from profet_core import predict, read_profile
from profet_core.prediction.refusals import refusal
from profet_core.prediction.steps import counted, steps_note
from profet_core.units import format_ms
from tests.pages.conftest import (
    answer,
    as_version_1,
    as_version_2,
    column,
    everything,
    give,
    go,
    has_results,
    inside,
    lines,
    notices,
    own,
    rows,
    type_in,
    upload,
)
from tests.pages.expected import FIRST
from ui.state.own_profiles import MAX_NAME_LETTERS, MAX_PROFILES, content_key
from ui.state.uploads_held import DROPPED_TYPE
from ui.texts import plain

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
    return box.set_value(own(app)[name]).run()


def shown(app) -> str:
    """Of which profile the numbers are."""
    (line,) = [line for line in lines(app.caption) if line.startswith("Shown: ")]
    return line


def test_many_files_at_once_each_with_its_own_anchor_and_latency(open_app, models, catalog, samples):
    names = (VGG, LENET, ALEXNET)
    app = upload(everything(open_app()), *sample_files(samples, *names))
    assert list(own(app)) == [f"{name}.json" for name in names]
    assert f"your upload {ALEXNET}.json" in shown(app)
    for name in names:
        choose(app, f"{name}.json")
        sample = samples[name]
        assert app.selectbox(key="anchor").value == sample.anchor
        assert app.session_state["latency"] == sample.latency_ms
        expected = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms).latencies_ms
        shown_ms = column(app, "Step")
        assert shown_ms == {instance: format_ms(expected[instance]) for instance in shown_ms} and len(shown_ms) > 6
    assert not app.error


def test_bad_files_leave_a_line_each_and_lose_nothing(open_app, samples):
    (good, *rest) = sample_files(samples, VGG, LENET)
    app = upload(open_app(), ("one.json", b"{"), good, ("two.json", b""), *rest, ("three.bin", b"\x00\x01\x02"))
    assert [line.split(":")[0] for line in lines(app.error)] == ["one.json", "two.json", "three.bin"]
    assert list(own(app)) == [f"{VGG}.json", f"{LENET}.json"]
    assert f"your upload {LENET}.json" in shown(app)
    go(go(app, "about"), "answer")
    give(app, *sample_files(samples, ALEXNET))
    assert not app.error
    assert len(own(app)) == 3


def test_a_duplicate_is_recognised_by_its_content(open_app, samples):
    app = upload(open_app(), *sample_files(samples, VGG, LENET))
    again = json.dumps(json.loads(samples[VGG].data), indent=7).encode()
    give(app, ("copy.json", again))
    assert list(own(app)) == [f"{VGG}.json", f"{LENET}.json"]
    assert lines(app.info)[0] == f"copy.json holds the same profile as {VGG}.json: it is on the list once."
    assert f"your upload {VGG}.json" in shown(app)


def test_two_files_of_one_name_are_told_apart(open_app, samples):
    app = upload(open_app(), ("net.json", samples[VGG].data), ("net.json", samples[LENET].data))
    assert list(own(app)) == ["net.json", "net.json (2)"]


def test_rename_remove_and_remove_all(open_app, samples):
    app = upload(open_app(), *sample_files(samples, VGG, LENET, ALEXNET))
    key = own(app)[f"{ALEXNET}.json"]
    app.text_input(key=f":name:{key}").set_value("  my [net](x)\n ").run()
    assert "my [net](x)" in own(app) and "your upload my [net](x)" in shown(app)
    app.text_input(key=f":name:{key}").set_value(f"{VGG}.json").run()
    assert own(app)[f"{VGG}.json (2)"] == key
    app.button(key=":remove").click().run()
    assert key not in own(app).values()
    assert f"your upload {LENET}.json" in shown(app)
    app.button(key=":remove-all").click().run()
    assert own(app) == {}
    assert any("the page still shows the sample" in line for line in lines(app.caption))
    assert answer(app) == answer(open_app())
    assert not app.exception


def test_the_list_is_bounded(open_app):
    many = [
        (f"{number}.json", json.dumps({"Device_Conv2D": 1000.0 + number}).encode())
        for number in range(MAX_PROFILES + 2)
    ]
    app = upload(open_app(profiled_batch="16"), *many)
    assert len(own(app)) == MAX_PROFILES
    assert [line.split(":")[0] for line in lines(app.error)] == [f"{MAX_PROFILES}.json", f"{MAX_PROFILES + 1}.json"]
    assert all(f"holds {MAX_PROFILES} profiles" in line for line in lines(app.error))


def test_a_long_or_empty_name_is_made_fit(open_app, samples):
    app = upload(open_app(), ("x" * 300 + ".json", samples[VGG].data), ("\u202e\n", samples[LENET].data))
    long, empty = own(app)
    assert len(long) == MAX_NAME_LETTERS and empty == "unnamed"


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.name)
def test_every_format_is_taken_and_its_warning_comes_first(open_app, models, catalog, path):
    app = upload(open_app(), (path.name, path.read_bytes()))
    if any("batch size it was recorded at" in line for line in lines(app.error)):
        type_in(app, "profiled_batch", 16)
    assert not app.exception
    read = read_profile(path.read_bytes(), path.name)
    ((key, held),) = app.session_state["own:profiles"].items()
    assert (key, held.read) == (content_key(read), read)
    if refusal(read):
        assert (lines(app.error), has_results(app)) == ([refusal(read)], False)
    else:
        latency_ms = read.meta.step_latency_ms
        said = predict(models, catalog, read, app.selectbox(key="anchor").value, latency_ms=latency_ms).warnings
        # How many steps it was read as stands beside the choice.
        expected = [" ".join(line.split()) for line in said if line != steps_note(counted(read, latency_ms))]
        assert notices(app)[: len(expected)] == expected
        assert not app.error
    inside(go(app, "profiles"))
    assert not app.error and not app.exception
    assert rows(app, 0)[0]["In this profile"] == read.source_format
    assert set(app.dataframe[0].value["Operation"]) == set(read.operations)


def cuda_trace(size_bytes: int) -> bytes:
    """A made-up PyTorch trace of a Tesla T4, of whole steps."""
    text = io.StringIO()
    write_pytorch_trace(text, size_bytes)
    return text.getvalue().encode()


def test_a_profile_s_own_warning_is_the_first_in_a_comparison_too(open_app):
    data = cuda_trace(100_000)
    (own_warning, *_) = read_profile(data, "net.json").warnings
    app = upload(open_app(), ("net.json", data))
    go(app, "profiles")
    (said,) = [block for block in lines(app.markdown) if block.startswith("**net.json**")]
    assert said.splitlines()[1] == f"- {own_warning}"


def test_a_pytorch_trace_is_predicted_with_its_warning_first(open_app, models, catalog):
    data = cuda_trace(200_000)
    app = upload(open_app(anchor="p2.xlarge", profiled_batch="16"), ("resnet.pt.trace.json", data))
    assert app.selectbox(key="anchor").value == "g4dn.xlarge"
    read = read_profile(data, "resnet.pt.trace.json")
    assert read.steps > 1 and "PyTorch" in read.warnings[0]
    (key,) = own(app).values()
    answers = {}
    for field, said in (("precision", "tf32"), ("compiled", True)):
        box = next((box for box in app.selectbox if box.key == f":{field}:{key}"), None)
        if box is not None:
            box.set_value(said).run()
            answers[field] = said
    assert "compiled" in answers
    answered = replace(read, meta=replace(read.meta, **answers))
    latency_ms = read.meta.step_latency_ms
    expected = predict(models, catalog, answered, "g4dn.xlarge", latency_ms=latency_ms)
    beside_the_choice = steps_note(counted(read, latency_ms))
    said = [" ".join(line.split()) for line in expected.warnings if line != beside_the_choice]
    assert notices(app)[: len(said)] == said
    assert notices(app)[0] == read.warnings[0]
    assert notices(go(app, "sizes"))[0] == read.warnings[0] and not app.error
    assert notices(inside(go(app, "profiles")))[0] == read.warnings[0] and not app.error
    assert not app.exception


def test_a_large_file_shows_how_far_it_is(open_app, monkeypatch):
    shares = []
    shown = DeltaGenerator.progress

    def noted(self, value, *args, **named):
        shares.append(value)
        return shown(self, value, *args, **named)

    monkeypatch.setattr(DeltaGenerator, "progress", noted)
    upload(open_app(), ("small.json", b'{"Device_Conv2D": 1000.0}'))
    assert shares == []
    app = upload(open_app(profiled_batch="16"), ("large.pt.trace.json", cuda_trace(3_000_000)))
    assert not app.error
    assert len(shares) > 5 and shares[0] < 0.2 and shares[-1] == 1.0
    assert shares == sorted(shares)


def raw_bytes_in(value, seen=None) -> bool:
    """True if raw bytes or an uploaded file are anywhere below `value`."""
    seen = seen if seen is not None else set()
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, UploadedFile | bytes | bytearray | memoryview):
        return True
    if isinstance(value, dict):
        return any(raw_bytes_in(part, seen) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(raw_bytes_in(part, seen) for part in value)
    parts = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else vars_of(value)
    return any(raw_bytes_in(part, seen) for part in parts)


def vars_of(value) -> list:
    return list(getattr(value, "__dict__", {}).values())


def test_the_session_holds_totals_only(open_app, samples):
    secret = [path for path in FORMATS if "xplane" in path.name or "trace" in path.name]
    app = upload(open_app(), *[(path.name, path.read_bytes()) for path in secret], ("bad.json", b'{"secret_net": 1}'))
    state = dict(app.session_state.items())
    assert len(state["own:profiles"]) >= 3
    assert not raw_bytes_in(state)
    assert "secret" not in repr({key: value for key, value in state.items() if not key.startswith("notes:")})
    assert raw_bytes_in({"a": [UploadedFile.__new__(UploadedFile)]})


def test_raw_files_are_let_go_by_the_server_too(open_app, samples, monkeypatch):
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

    managers = []
    added = MemoryUploadedFileManager.add_file
    monkeypatch.setattr(
        MemoryUploadedFileManager,
        "add_file",
        lambda self, *args, **kw: (managers.append(self), added(self, *args, **kw)),
    )
    upload(open_app(), *sample_files(samples, VGG, LENET), ("bad.json", b"{"))
    assert managers
    assert all(not files for manager in managers for files in manager.file_storage.values())


def test_a_pasted_profile_joins_the_list_and_leaves_the_field(open_app, samples):
    app = upload(open_app(), *sample_files(samples, VGG))
    app.segmented_control(key="source").set_value("paste").run()
    app.text_area(key="pasted").set_value(samples[LENET].data.decode()).run()
    assert list(own(app)) == [f"{VGG}.json", "pasted text"]
    assert app.text_area(key="pasted").value == ""
    assert "your pasted text" in shown(app)
    app.text_area(key="pasted").set_value("{").run()
    assert len(app.error) == 1 and "your pasted text" in shown(app)
    assert app.text_area(key="pasted").value == "{"


def test_anchor_and_latency_are_remembered_of_each(open_app, samples):
    plain = {name: as_version_1(samples[name].profile.operations) for name in (VGG, LENET)}
    app = upload(open_app(), *plain.items())
    app.selectbox(key="anchor").set_value("p2.xlarge")
    type_in(app, "latency", 4.0)
    choose(app, VGG)
    assert app.session_state["latency"] is None
    app.selectbox(key="anchor").set_value("g3s.xlarge")
    app.selectbox(key="unit").set_value("s")
    type_in(app, "latency", 0.123)
    choose(app, LENET)
    assert (app.selectbox(key="anchor").value, app.session_state["latency"]) == ("p2.xlarge", 4.0)
    app.segmented_control(key="source").set_value("sample").run()
    go(app, "sizes")
    go(app, "answer")
    app.segmented_control(key="source").set_value("upload").run()
    choose(app, VGG)
    assert app.selectbox(key="anchor").value == "g3s.xlarge"
    assert app.session_state["latency"] == pytest.approx(123.0)
    assert app.selectbox(key="unit").value == "ms"


def test_the_second_profile_is_chosen_from_the_same_list(open_app, samples):
    names = (FIRST, "resnet50-128px-b256-g4dn")
    app = upload(open_app("sizes", second="True"), *sample_files(samples, *names))
    app.selectbox(key="chosen").set_value(own(app)[f"{names[0]}.json"]).run()
    app.segmented_control(key="second_source").set_value("upload").run()
    app.selectbox(key="second_chosen").set_value(own(app)[f"{names[1]}.json"]).run()
    app.slider(key="slider:batch").set_value(128).run()
    by_samples = open_app("sizes", second="True", second_sample=names[1], batch="128")
    assert answer(app) == answer(by_samples)
    go(app, "answer")
    assert app.selectbox(key="second_chosen").value == own(app)[f"{names[1]}.json"]
    assert answer(app) == answer(go(by_samples, "answer"))


def test_precision_and_compilation_are_asked_where_not_known_and_lead_to_the_warning(open_app, samples):
    operations = dict(samples[VGG].profile.operations)
    app = upload(
        open_app(profiled_batch="16"), ("net.json", as_version_2(operations, gpu="Tesla M60", framework="PyTorch 2.13"))
    )
    (key,) = own(app).values()
    assert not any("FP32" in line for line in notices(app))
    app.selectbox(key=f":precision:{key}").set_value("tf32").run()
    assert any("says tf32; the models were trained on FP32" in line for line in notices(app))
    app.selectbox(key=f":compiled:{key}").set_value(True).run()
    assert any("This step was compiled" in line for line in notices(app))
    give(app, *sample_files(samples, LENET))
    assert not any("compiled" in line for line in notices(app))
    choose(app, "net.json")
    for page in ("sizes", "answer"):
        go(app, page)
        assert any("This step was compiled" in line for line in notices(app))
    assert app.selectbox(key=f":precision:{key}").value == "tf32"
    app.selectbox(key=f":precision:{key}").set_value("fp32").run()
    assert not any("FP32" in line for line in notices(app))


@pytest.mark.parametrize(
    ("data", "asked"),
    [
        (json.dumps({"Device_Conv2D": 9e4}).encode(), set()),
        (as_version_2({"Device_Conv2D": 9e4}), {"precision", "compiled"}),
        (as_version_2({"Device_Conv2D": 9e4}, precision="fp32"), set()),
        (as_version_2({"Device_Conv2D": 9e4}, precision="fp32", framework="PyTorch 2.13"), {"compiled"}),
        (as_version_2({"Device_Conv2D": 9e4}, precision="TF32", compiled=True), set()),
    ],
    ids=["version 1", "nothing told", "precision told", "precision told by PyTorch", "both told"],
)
def test_only_what_is_not_known_is_asked(open_app, data, asked):
    app = upload(open_app(), ("net.json", data))
    (key,) = own(app).values()
    found = {field for field in ("precision", "compiled") if f":{field}:{key}" in {box.key for box in app.selectbox}}
    assert found == asked


def test_nothing_of_one_visitor_s_list_reaches_another(open_app, samples):
    mine = upload(open_app(), *sample_files(samples, VGG, LENET))
    go(mine, "profiles")
    for page in ("answer", "profiles"):
        other = open_app(page)
        text = " ".join(lines((*other.caption, *other.markdown, *other.subheader)))
        assert f"{VGG}.json" not in text
        assert "own:profiles" not in other.session_state


def test_the_size_limit_names_the_way_round_it(open_app):
    app = open_app(source="upload")
    said = " ".join(lines(app.markdown))
    assert "A file may have 30 MB; reduce larger ones with the same command" in said
    assert any(code.value == "profet convert TRACE -o profile.json" for code in app.code)


def test_whoever_waits_is_told_the_place_in_line(open_app, monkeypatch):
    texts = []
    shown = DeltaGenerator.progress

    def noted(self, value, text=None):
        texts.append((value, text))
        return shown(self, value, text)

    def read(file, name, *, progress, waiting):
        for place in (3, 2, 1):
            waiting(place)
        progress(0.5)
        return read_profile(file, name)

    monkeypatch.setattr(DeltaGenerator, "progress", noted)
    monkeypatch.setattr("ui.inputs.uploads.read_guarded", read)
    app = upload(open_app(), ("net*.json", b'{"Device_Conv2D": 1000.0}'))
    reading = r"Reading net\*\.json"
    assert texts == [
        (0.0, f"{reading}: 3rd in line"),
        (0.0, f"{reading}: 2nd in line"),
        (0.0, f"{reading}: 1st in line"),
        (0.5, reading),
    ]
    assert list(own(app)) == ["net*.json"]


def test_whoever_clicks_on_ends_the_reading_and_is_told(open_app, monkeypatch):
    read = []

    def click(file, name, *, progress, waiting):
        read.append(name)
        if len(read) == 1:
            # What Streamlit does where a run meets the visitor's next click.
            st.rerun()
        return read_profile(file, name)

    monkeypatch.setattr("ui.inputs.uploads.read_guarded", click)
    data = b'{"Device_Conv2D": 1000.0}'
    app = upload(open_app(profiled_batch="16"), ("first.json", data), ("second.json", data.replace(b"1", b"2")))
    assert "second.json" in read
    assert "second.json" in own(app)
    assert [error.value for error in app.error] == [
        plain("first.json was not read to its end, because you clicked on: give it again.")
    ]


def test_a_file_that_the_server_let_go_of_is_told(open_app):
    app = open_app()
    app.segmented_control(key="source").set_value("upload").run()
    uploader = next(item for item in app.file_uploader)
    app = uploader.set_value([("net.json", b"", DROPPED_TYPE)]).run()
    assert [error.value for error in app.error] == [
        plain("net.json: the server let go of it before it was read: give fewer or smaller files at a time.")
    ]


def test_a_pasted_text_is_read_within_limits_too(open_app, monkeypatch):
    names = []

    def read(data, name):
        names.append(name)
        return read_profile(data, name)

    monkeypatch.setattr("ui.inputs.profile.read_guarded", read)
    app = open_app()
    app.segmented_control(key="source").set_value("paste").run()
    app.text_area(key="pasted").set_value('{"Device_Conv2D": 1000.0}').run()
    assert names == ["pasted text"] and list(own(app)) == ["pasted text"]
