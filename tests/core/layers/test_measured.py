"""Step times as people write them, and the estimates that they correct."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from profet_core import InputError
from profet_core.errors import Code
from profet_core.latency import Basis
from profet_core.layers.estimate import estimate, measured_step
from profet_core.layers.measured import MeasuredTime, measured_times, step_ms
from profet_core.layers.networks import counts_of
from profet_core.layers.steps import NetworkStep
from tests.codes import codes
from tests.made.step_times import by_name

#: At batch 64, with 6,400 images an epoch.
TYPED = {
    "46": 46.0,
    "46 ms": 46.0,
    "46msec/step": 46.0,
    "0.046 s": 46.0,
    "46,000 us per step": 46.0,
    "20it/s": 50.0,
    "20.0 steps/s": 50.0,
    "1.5s/it": 1_500.0,
    "0.31 sec/batch": 310.0,
    "1,280 images/s": 50.0,
    "1280img/s": 50.0,
    "2ms/sample": 128.0,
    "2min/epoch": 1_200.0,
    "2 minutes per epoch": 1_200.0,
    "1:30/epoch": 900.0,
    "1h 20m per epoch": 48_000.0,
    "epoch took 2 min": 1_200.0,
    "my epoch takes 2 minutes": 1_200.0,
    "1h 20min for an epoch": 48_000.0,
    "0.23 s a step": 230.0,
    "an epoch: 1:30": 900.0,
    "time per step 0.23 s": 230.0,
    "100 steps in 23 s": 230.0,
    "0,231 s/it": 231.0,
    "1,280,000 images in 1000 s": 50.0,
    "391/391 [==============================] - 57s 146ms/step - loss: 1.23 - accuracy: 0.55": 146.0,
    "391/391 ━━━━━━━━━━━━━━━━━━━━ 57s 146ms/step": 146.0,
    "391/391 - 57s - loss: 1.23 - 57s/epoch - 146ms/step": 146.0,
    "98%|█████████▊| 382/391 [00:52<00:01, 20.0it/s, loss=0.3]": 50.0,
    "Epoch 3: 100%|██| 391/391 [08:32<00:00,  1.31s/it, v_num=2]": 1_310.0,
}
BAD = ("", "fast", "0ms", "-3ms", "46 parsecs", "14 min", "46ms 50ms", "1e400 ms", "0:00/epoch", "1.390,5img/s")
BAD += (
    "step 100",
    "iter 100: 20ms",
    "epoch 3",
    "0 steps in 2 s",
    "0%|  | 0/391 [00:00<?, ?it/s]",
    "391/391 [====]",
    "1.2.3ms",
    "x" * 1_000,
)


@pytest.mark.parametrize("text", TYPED)
def test_a_time_is_read_as_people_write_it(text):
    assert step_ms(text, 64, images=6_400) == pytest.approx(TYPED[text], rel=1e-12)


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_time_is_refused_in_one_line(text):
    with pytest.raises(InputError) as refused:
        step_ms(text, 64, images=6_400)
    assert refused.value.fields == ("measured",) and str(refused.value).isprintable()


def test_a_text_names_its_gpu_and_batch_and_an_epoch_needs_its_images():
    times = (MeasuredTime("RTX 4090", 64, 46.0), MeasuredTime("T4", 32, 200.0))
    assert measured_times(["RTX 4090=46ms", "T4@32 = 5it/s"], 64) == times
    assert measured_times({"RTX 4090": "46ms", "T4@32": "5it/s"}, 64) == times
    for text in ("46ms", "=46ms", "RTX 4090=", "RTX 4090@x=46ms", "RTX 4090@0=46ms", "RTX 4090=14min/epoch"):
        with pytest.raises(InputError):
            measured_times([text], 64)


TARGETS = ("GeForce RTX 4090", "GeForce RTX 3090", "L40S", "H100-SXM5-80GB", "g4dn.xlarge")


@pytest.fixture(scope="module")
def ask(models, catalog):
    def asked(*times, batch_size=64, name="resnet50", pixels=None, **more):
        step = NetworkStep(counts_of(name, pixels), batch_size, name, **more)
        measured = [measured_step(models, catalog, MeasuredTime(*one)) for one in times]
        answer = estimate(models, catalog, step, TARGETS, measured)
        return answer, by_name(answer.gpus) | by_name(answer.rows)

    return asked


def test_the_measured_gpu_keeps_its_number_and_others_move_with_it_their_generation_most(ask):
    _, alone = ask()
    answer, steps = ask(("RTX 4090", 64, 1.3 * alone["GeForce RTX 4090"].latency_ms))
    own = steps.pop("GeForce RTX 4090")
    assert (own.latency_ms, own.basis) == (1.3 * alone["GeForce RTX 4090"].latency_ms, Basis.GIVEN)
    ratios = {name: step.latency_ms / alone[name].latency_ms for name, step in steps.items()}
    assert 1.2 < ratios["L40S"] < 1.3 and all(
        1.05 < ratio < ratios["L40S"] for name, ratio in ratios.items() if name != "L40S"
    )
    assert all(step.basis is Basis.SCALED and step.log_sd < alone[name].log_sd for name, step in steps.items())
    assert codes(answer)[0] is Code.USUAL
    # Two numbers say more than one.
    _, both = ask(
        ("RTX 4090", 64, 1.3 * alone["GeForce RTX 4090"].latency_ms), ("L40S", 64, 1.3 * alone["L40S"].latency_ms)
    )
    assert both["H100-SXM5-80GB"].log_sd < steps["H100-SXM5-80GB"].log_sd
    assert both["H100-SXM5-80GB"].latency_ms > steps["H100-SXM5-80GB"].latency_ms


def test_another_batch_size_on_the_gpu_follows_its_measured_step_closely(ask):
    _, small = ask(batch_size=32)
    _, large = ask()
    _, steps = ask(("RTX 3090", 32, 1.3 * small["GeForce RTX 3090"].latency_ms))
    step = steps["GeForce RTX 3090"]
    assert step.basis is Basis.SCALED and 0.03 <= step.log_sd < 0.5 * large["GeForce RTX 3090"].log_sd
    assert step.latency_ms == pytest.approx(1.3 * large["GeForce RTX 3090"].latency_ms, rel=0.02)


@pytest.mark.parametrize("times", [1 / 80, 0.8, 1.5, 80.0])
@pytest.mark.parametrize("name", ["resnet50", "inception_v3"])
def test_no_step_gets_faster_as_it_grows_from_a_measured_one(models, catalog, ask, name, times):
    gpu, counts = "GeForce RTX 3090", counts_of(name)
    time = MeasuredTime(gpu, 64, times * ask(name=name)[1][gpu].latency_ms)
    measured = [replace(measured_step(models, catalog, time), network=counts)]
    batches = [NetworkStep(counts, size, name) for size in (12, 16, 17, 63, 64, 65, 256)]
    images = [NetworkStep(counts_of(name, size), 64, name) for size in (96, 160, counts.pixels, counts.pixels + 1, 320)]
    for steps in (batches, images):
        curve = [estimate(models, catalog, step, TARGETS, measured) for step in steps]
        for rows in zip(*((*answer.rows, *answer.gpus) for answer in curve), strict=True):
            assert (np.diff(np.log([row.latency_ms for row in rows])) >= -1e-12).all(), rows[0].instance


def test_what_launches_explain_says_little_of_the_gpu(ask):
    _, alone = ask(batch_size=256)
    answer, steps = ask(("RTX 4090", 2, 80.0), batch_size=256)
    assert Code.LAUNCHES_MEASURED in codes(answer)
    for name, step in steps.items():
        assert step.latency_ms == pytest.approx(alone[name].latency_ms, rel=0.1)
    answer, _ = ask(("RTX 4090", 64, 60.0))
    assert Code.LAUNCHES_MEASURED not in codes(answer)


def note_of(estimated):
    return estimated.warnings[0]


@pytest.mark.parametrize(
    ("times", "more", "code", "words"),
    [
        (1.0, {"precision": "amp"}, Code.SLOWER, ("FP32 instead of AMP",)),
        (5.0, {}, Code.SLOWER, ("data loading",)),
        (0.6, {}, Code.FASTER, ("AMP (",)),
        (300.0, {}, Code.SLOWER, ("Check the unit",)),
        (5.0, {"name": "resnet18", "pixels": 32}, Code.SLOWER, ("Check the unit",)),
    ],
)
def test_an_unusual_time_names_what_would_explain_it(ask, times, more, code, words):
    plain = {name: value for name, value in more.items() if name != "precision"}
    usual_ms = ask(**plain)[1]["GeForce RTX 3090"].latency_ms
    note = note_of(ask(("RTX 3090", 64, times * usual_ms), **more)[0])
    assert note.code is code and all(word in note.values["causes"] for word in words)
    assert note.values["times"] > 1.3
