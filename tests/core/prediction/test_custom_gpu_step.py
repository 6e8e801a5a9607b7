"""A step that was measured on a GPU of your own tells its speed: it comes back, and others follow."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from profet_core.answers.context import Context
from profet_core.answers.predict import speed_of_step
from profet_core.catalog import load_gpus
from profet_core.catalog.custom_gpus import custom_gpu_from
from profet_core.errors import InputError
from profet_core.prediction.predict import predict
from tests.core.layers.test_custom_gpu import RTX_4080, rows_of

RTX = custom_gpu_from(RTX_4080, load_gpus())


def asked(models, catalog, sample, measured_ms: float, **more):
    prediction = predict(models, catalog, sample.profile, sample.anchor, latency_ms=sample.latency_ms)
    return speed_of_step(Context(models, catalog, load_gpus()), prediction, RTX, measured_ms, **more)


@pytest.mark.parametrize(("measured_ms", "tf32"), [(55.0, True), (200.0, True), (90.0, False)])
def test_the_measured_step_is_what_is_predicted_in_its_precision(models, catalog, samples, measured_ms, tf32):
    resnet = samples["resnet50-128px-b64-g4dn"]
    point = asked(models, catalog, resnet, measured_ms, tf32=tf32)
    assert point.precision == ("tf32" if tf32 else "fp32")
    known = Context(models, catalog, load_gpus()).with_custom_gpus([replace(RTX, point=point, source="measured")])
    row = rows_of(known, resnet, precision="as profiled" if tf32 else "fp32")["rtx-4080"]
    assert row.latency_ms == pytest.approx(measured_ms, rel=1e-3)
    assert row.interval.low_ms < measured_ms < row.interval.high_ms and "measured" in row.note


def test_a_faster_step_makes_every_other_network_faster(models, catalog, samples):
    latencies_ms = []
    for measured_ms in (60.0, 120.0):
        point = asked(models, catalog, samples["resnet50-128px-b64-g4dn"], measured_ms)
        known = Context(models, catalog, load_gpus()).with_custom_gpus([replace(RTX, point=point)])
        latencies_ms.append(rows_of(known, samples["vgg16-224px-b16-g3s"])["rtx-4080"].latency_ms)
    assert latencies_ms[1] > 1.7 * latencies_ms[0]


@pytest.mark.parametrize(
    ("name", "measured_ms", "says"),
    [
        ("resnet50-128px-b64-g4dn", 0.4, "RTX 4080: CPU launch overhead alone takes"),
        ("resnet50-128px-b64-g4dn", 90_000.0, "RTX 4080: 90,000 ms per step is not plausible: its specs allow"),
        ("resnet50-128px-b64-g4dn", 0.0, "A step's latency must be a number above 0"),
    ],
)
def test_what_no_speed_gives_is_one_line(models, catalog, samples, name, measured_ms, says):
    with pytest.raises(InputError) as error:
        asked(models, catalog, samples[name], measured_ms)
    assert str(error.value).startswith(says) and "\n" not in str(error.value)
