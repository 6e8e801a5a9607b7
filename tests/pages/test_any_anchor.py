"""A profile of any GPU: recognised by its name, answered, and never shown as if models had learned from that GPU."""

from __future__ import annotations

import pytest

from profet_core import predict, read_profile
from profet_core.artifacts.samples import Sample
from profet_core.prediction.anchors import anchor_names
from profet_core.training.sizes import KnownStep, steps_at
from profet_core.units import format_ms
from profet_lab.measurements.tables import DataError, data_folder
from tests.pages.conftest import (
    answer,
    as_version_2,
    column,
    compared,
    everything,
    go,
    has_results,
    inside,
    lines,
    link,
    notices,
    own,
    result_rows,
    type_in,
    upload,
)

VGG = "vgg16-224px-b16-g3s"
A100, RTX = "A100-SXM4-80GB", "GeForce RTX 2080 Ti"
#: GPUs that nobody profiled, as frameworks name them, and by their data sheet; no offer has the second one.
FOREIGN = {"NVIDIA A100-SXM4-80GB": A100, "NVIDIA GeForce RTX 2080 Ti": RTX}
foreign = pytest.mark.parametrize(("named", "gpu"), FOREIGN.items(), ids=FOREIGN.values())


def as_torch(sample: Sample, **meta: object) -> bytes:
    """A sample's operations as a PyTorch profile."""
    known = {"batch_size": sample.batch_size, "pixels": sample.pixels, "framework": "PyTorch 2.9", "precision": "fp32"}
    return as_version_2(dict(sample.profile.operations), **{**known, **meta})


def opened(open_app, data: bytes, **query: str):
    return upload(open_app(**query), ("net.json", data))


def anchor(app):
    return app.selectbox(key="anchor")


@foreign
def test_a_profile_of_any_gpu_is_recognised_and_says_what_it_rests_on(open_app, models, catalog, samples, named, gpu):
    data = as_torch(samples[VGG], gpu=named)
    app = everything(opened(open_app, data))
    assert (anchor(app).value, list(app.error), list(app.exception)) == (gpu, [], [])
    assert any(f"recorded on {gpu}" in line for line in lines(app.caption))
    assert [line for line in notices(app) if f"Nobody profiled {gpu} for the models" in line]
    expected = {row.instance: row for row in predict(models, catalog, read_profile(data), gpu).predictions}
    told, sure, step = (column(app, title) for title in ("Rests on", "How sure", "Step"))
    assert "g4dn.xlarge" in step and gpu not in step
    for name in step:
        assert step[name] == format_ms(expected[name].latency_ms)
        assert told[name] == expected[name].basis.words
        assert sure[name] in ("fair", "rough"), "nothing is as sure as from a profiled GPU"
    assert expected["g4dn.xlarge"].basis == expected["g4dn.12xlarge"].basis == "carried-back"


def test_the_anchors_own_latency_is_used(open_app, models, catalog, samples):
    data = as_torch(samples[VGG], gpu="NVIDIA GeForce RTX 2080 Ti")
    app = everything(opened(open_app, data))
    without = column(app, "Step")
    latency_ms = 1.3 * samples[VGG].latency_ms
    app = type_in(app, "latency", latency_ms)
    expected = predict(models, catalog, read_profile(data), RTX, latency_ms=latency_ms).latencies_ms
    step = column(app, "Step")
    assert step == {name: format_ms(expected[name]) for name in step} and step != without
    assert any(f"step latency {format_ms(latency_ms)}" in line for line in lines(app.caption))


def test_the_measured_instances_come_first_then_every_gpu_by_a_name_people_know(open_app, models):
    app = open_app()
    labels = anchor(app).options
    assert [label.split(" ")[0] for label in labels[:4]] == list(models.instances)
    assert len(labels) == len(anchor_names(models)) > 25
    assert {"NVIDIA A100 80 GB (SXM)", "NVIDIA H100 94 GB (NVL)", "NVIDIA Tesla P100 16 GB (PCIe)"} <= set(labels)
    assert {"NVIDIA GeForce RTX 4090", "NVIDIA L4"} <= set(labels) and len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("g3s.xlarge", "g3s.xlarge"),
        (A100, A100),
        ("NVIDIA GeForce RTX 2080 Ti", RTX),
        ("g5.xlarge", "A10G"),
        ("p3.8xlarge", "p3.2xlarge"),
        ("nonsense", "g4dn.xlarge"),
    ],
)
def test_a_link_names_an_anchor_however_it_is_written(open_app, given, meant):
    app = open_app(anchor=given)
    assert (anchor(app).value, list(app.exception)) == (meant, [])
    assert link(app).get("anchor") == (None if meant == "g4dn.xlarge" else meant)


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "a laptop's GPU"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "a part of a GPU"),
        ("AMD Instinct MI300X", "no data sheet is known"),
    ],
)
def test_a_gpu_that_nothing_can_start_from_is_one_line_everywhere(open_app, samples, named, says):
    app = opened(open_app, as_torch(samples[VGG], gpu=named))
    for page in ("answer", "sizes", "answer"):
        (line,) = lines(app.error)
        assert says in line and named in line and not has_results(app) and not app.exception
        app = go(app, page)
    app = go(app, "profiles")
    assert any(says in line for line in lines(app.error)) and not app.exception


@foreign
def test_another_size_follows_the_growth_of_the_gpu_it_is_carried_to(open_app, models, catalog, samples, named, gpu):
    sample = samples[VGG]
    data = as_torch(sample, gpu=named)
    profile = read_profile(data)
    app = everything(opened(open_app, data, batch="64"))
    known = [KnownStep(profile, predict(models, catalog, profile, gpu), sample.batch_size, sample.pixels)]
    expected = steps_at(models, known, batch_size=64).latencies_ms
    step = column(app, "Step")
    assert step == {name: format_ms(expected[name]) for name in step} and len(step) > 6
    assert all(latency_ms > known[0].prediction.latencies_ms[name] for name, latency_ms in expected.items())
    told = column(app, "Rests on")
    assert told["g4dn.xlarge"] == "predicted from a profile of a GPU that nobody profiled for the models"
    app = go(app, "sizes")
    assert not app.error and not app.exception and len(result_rows(app)) > 6


def test_profiles_of_several_gpus_stand_side_by_side(open_app, models, catalog, samples):
    app = open_app()
    files = [(f"{gpu}.json", as_torch(samples[VGG], gpu=gpu)) for gpu in (*FOREIGN, "Tesla T4", "AMD Instinct MI300X")]
    app = go(upload(app, *files), "profiles")
    assert not app.exception
    assert [f"{name}.json" in lines(app.error)[0] for name in ("Tesla T4", "AMD Instinct MI300X")] == [False, True]
    shown = compared(app)
    assert {name: row["Recorded on"] for name, row in shown.items()} == {
        **{f"{named}.json": gpu for named, gpu in FOREIGN.items()},
        "Tesla T4.json": "g4dn.xlarge",
    }
    app = inside(app)
    assert not app.exception


def test_a_method_that_starts_from_four_instances_only_says_so(open_app, samples):
    app = opened(open_app, as_torch(samples[VGG], gpu="Tesla P100-PCIE-16GB"), method="profet")
    (line,) = lines(app.error)
    assert "starts from" in line and "take the default method" in line and not app.exception
    app = go(app, "profiles")
    assert any("take the default method" in line for line in lines(app.error)) and not app.exception


def test_an_anchor_may_be_chosen_where_the_profile_tells_none(open_app, models, catalog, samples):
    data = as_torch(samples[VGG])
    app = everything(opened(open_app, data))
    app = anchor(app).set_value(RTX).run()
    expected = predict(models, catalog, read_profile(data), RTX).latencies_ms
    step = column(app, "Step")
    assert step == {name: format_ms(expected[name]) for name in step}
    app = go(go(app, "profiles"), "answer")
    assert anchor(app).value == RTX and list(own(app)) == ["net.json"] and answer(app)


@pytest.mark.data
def test_a_real_trace_of_a_gpu_that_nobody_rents_out(open_app, models, catalog):
    name = "resnet18-30steps-rtx2080ti.json.gz"
    try:
        data = (data_folder() / "real_profiles" / "pytorch" / name).read_bytes()
    except (DataError, FileNotFoundError):
        pytest.skip(f"no {name} among the measurements")
    app = upload(open_app(profiled_batch="128", profiled_pixels="224"), (name, data))
    app = everything(app)
    assert (anchor(app).value, list(app.error), list(app.exception)) == (RTX, [], [])
    expected = predict(models, catalog, read_profile(data), RTX).latencies_ms
    step = column(app, "Step")
    assert step == {instance: format_ms(expected[instance]) for instance in step} and RTX not in step
    app = go(app, "sizes")
    assert not app.error and not app.exception and has_results(app)
