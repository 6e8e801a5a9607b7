"""Memory fit: by hand on a made-up model, on what ran, and shipped coefficients on known networks."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from profet_core import InputError, Profile, ProfileMeta
from profet_core.answers.context import Context
from profet_core.answers.predict import answer_predict
from profet_core.catalog import load_gpus
from profet_core.ensemble.operations import state_copies, traffic_factor
from profet_core.questions import PredictQuestion
from profet_core.training.memory import (
    DeviceTimes,
    FitAnswer,
    ImageRelation,
    MeasuredNetwork,
    MemoryFormula,
    MemoryModel,
    PeakRelation,
    StepMemory,
    TrafficRelation,
    Verdict,
    device_times,
    fit_answer,
    gpu_memory_gib,
    load_memory,
    recorded_step,
)

GIB = 2**30

#: 0.5 GiB, three times the parameters, and activations that are known to a few per cent.
SURE = MemoryModel(
    formula=MemoryFormula(fixed_gib=0.5, per_parameter=3.0, per_convolution=1.0, per_other=0.5, log_scale=0.05),
    traffic=TrafficRelation({"activation": 0.1}, {"T4": math.log(2)}, 0.05, 0.25),
    images=ImageRelation(gib_per_megapixel=1.0, log_scale=0.6),
    certain=0.9,
    ran_probability=0.999,
    fitted_on={},
    peak=PeakRelation(
        fixed_gib=0.5,
        per_parameter=0.25,
        per_peak=1.0,
        log_scale=0.04,
        log_scale_a_doubling=0.02,
        unsplit_log_scale_a_doubling=0.15,
    ),
)
#: Half a GiB of parameters; recorded at batch 16.
META = ProfileMeta(batch_size=16, pixels=224, parameters=GIB // 8)


def seconds_moving(gib: float, bandwidth_gb_per_s: float = 320.0) -> DeviceTimes:
    """A T4's profile whose activations `SURE` sees as that many GiB."""
    us = gib / 2 / 0.1 * GIB / (bandwidth_gb_per_s * 1e3)
    return DeviceTimes({"activation": us}, "T4", bandwidth_gb_per_s)


def needed(answer) -> tuple[str, str]:
    """What an answer says is needed, of what the GPU has, and where that is from."""
    gib, source = answer.why.removeprefix("needs about ").removesuffix(")").split(" GiB, from ")
    return gib, source


def answered(model, meta, ran_gib, target_gib, times=None, state_copies=0.0, second=None, **asked):
    """The answer about one recorded step."""
    return fit_answer(model, StepMemory(meta, times, state_copies, second, ran_gib), target_gib, **asked)


def fits(model, catalog, profile, anchor, instances, second=None, ran_on=(), **size):
    """The answers about a profiled step on each instance."""
    gpus = load_gpus()
    step = recorded_step(profile, catalog, gpus, (anchor, *ran_on), second)
    return {name: fit_answer(model, step, gpu_memory_gib(catalog, gpus, name), **size) for name in instances}


def test_the_formula_adds_what_stays_and_grows_with_parameters_given_or_inferred():
    assert SURE.formula.held_gib(GIB / 4) == pytest.approx(0.5 + 3)
    assert SURE.formula.activation_gib(8, GIB / 32, GIB / 16) == pytest.approx(1 + 1)
    assert SURE.traffic.activation_gib(seconds_moving(2.0).class_us, "T4", 320.0) == pytest.approx(2.0)
    assert SURE.traffic.activation_gib(seconds_moving(2.0).class_us, "another", 320.0) == pytest.approx(1.0)
    assert SURE.traffic.parameters(1e6, 320.0) == pytest.approx(0.25 * 320e9 / 4)
    assert SURE.images.activation_gib(16, 1000) == pytest.approx(16.0)
    update_us = (GIB / 8) * 4 / (0.25 * 320e3)
    times = seconds_moving(4.0)
    stated = DeviceTimes({**times.class_us, "weight update": update_us}, "T4", 320.0)
    asked = {"batch_size": 48}
    without = answered(SURE, ProfileMeta(batch_size=16), 16, 12, times=stated, **asked)
    assert without.probability == pytest.approx(answered(SURE, META, 16, 12, times=times, **asked).probability)


def test_the_probability_is_logistic_in_the_log_of_what_is_left():
    # 0.5 + 1.5 GiB stay, 4 GiB at batch 16 become 8 at 32: 10 GiB are needed of 12, of which 10 can be activations.
    answer = answered(SURE, META, 16, 12, batch_size=32, times=seconds_moving(4.0))
    room = math.log(12 / 10) / math.hypot(0.05, 10 / 12 * 0.05)
    anchor = math.log(16 / 6) / math.hypot(0.05, 14 / 16 * 0.05)
    expected = (1 / (1 + math.exp(-room))) / (1 / (1 + math.exp(-anchor)))
    assert answer.probability == pytest.approx(expected)
    assert answer.verdict == Verdict.FITS
    assert needed(answer) == ("10 of 12", "the profile's times")
    # Room far from the need decides; near it there is no answer.
    asked = [(16, 32), (8, 32), (10, 32), (80, 256), (16, 256)]
    verdicts = [
        answered(SURE, META, 16, gib, batch_size=size, times=seconds_moving(4.0)).verdict for gib, size in asked
    ]
    assert [verdict.name for verdict in verdicts] == ["FITS", "DOES_NOT_FIT", "CANT_TELL", "FITS", "DOES_NOT_FIT"]


def test_the_largest_batch_is_the_last_that_fits():
    known = {"times": seconds_moving(4.0)}
    largest = answered(SURE, META, 16, 24, **known).largest_batch
    assert 64 < largest < 88
    assert answered(SURE, META, 16, 24, batch_size=largest, **known).verdict == Verdict.FITS
    assert answered(SURE, META, 16, 24, batch_size=largest + 1, **known).verdict != Verdict.FITS
    assert answered(SURE, META, 16, 24, batch_size=512, **known).largest_batch == largest
    # Activations of half the size leave room for about twice the images.
    lighter = answered(SURE, META, 16, 24, times=seconds_moving(2.0)).largest_batch
    assert lighter == pytest.approx(2 * largest, abs=2)


def test_a_larger_picture_counts_as_so_many_more():
    """Twice the side is four times the batch."""
    asked = {"times": seconds_moving(2.0)}
    for pixels, batch in ((448, 16), (112, 64), (224, 64)):
        grown = answered(SURE, META, 16, 12, batch_size=batch, pixels=pixels, **asked)
        same = answered(SURE, META, 16, 12, batch_size=round(batch * (pixels / 224) ** 2), **asked)
        assert (grown.verdict, grown.probability, grown.why) == (same.verdict, same.probability, same.why)
        assert grown.largest_batch == pytest.approx(same.largest_batch * (224 / pixels) ** 2, abs=1)
    unknown = answered(SURE, ProfileMeta(batch_size=16), 16, 12, batch_size=16, pixels=64, **asked)
    assert unknown.verdict is Verdict.CANT_TELL and "size it was recorded at" in unknown.why


def test_an_optimizer_is_known_by_its_operation():
    copies = {
        "ResourceApplyGradientDescent": 0,
        "ResourceApplyKerasMomentum": 1,
        "ResourceApplyAdagradV2": 1,
        "ResourceApplyAdam": 2,
        "ResourceSparseApplyAdadelta": 2,
        "ResourceApplyAdamWithAmsgrad": 3,
        "ApplyCenteredRMSProp": 3,
        "aten::_fused_adamw_": 2,
        "aten::_fused_sgd_": 0,
        "Relu": 0,
    }
    for operation, expected in copies.items():
        assert state_copies(Profile({f"Device_{operation}": 500.0, "Device_MatMul": 9e4})) == expected, operation
    assert state_copies(Profile({"Host_ResourceApplyAdam": 500.0})) == 0
    # Adam moves seven values of a parameter, SGD three: 700 us of one and 300 us of the other are as many parameters.
    mixed = Profile({"Device_ResourceApplyAdam": 700.0, "Device_ResourceApplyGradientDescent": 300.0})
    assert state_copies(mixed) == pytest.approx(1.0)
    assert [traffic_factor(copies) for copies in (0, 1, 2, 3)] == pytest.approx([1, 5 / 3, 7 / 3, 3])


def test_the_same_network_with_adam_has_as_many_parameters_and_holds_two_more_copies(catalog):
    update_us = (GIB / 8) * 4 / (0.25 * 320e3)
    activations = seconds_moving(4.0).class_us
    asked, recorded = {"batch_size": 32}, ProfileMeta(batch_size=16)
    sgd = DeviceTimes({**activations, "weight update": update_us}, "T4", 320.0)
    adam = DeviceTimes({**activations, "weight update": update_us * 7 / 3}, "T4", 320.0)
    # Half a GiB of parameters: 0.5 + 1.5 GiB stay with SGD, one more with Adam; 4 GiB at batch 16 become 8 at 32.
    assert needed(answered(SURE, recorded, 16, 12, times=sgd, **asked))[0] == "10 of 12"
    by_update = answered(SURE, recorded, 16, 12, times=adam, state_copies=2.0, **asked)
    assert needed(by_update)[0] == "11 of 12"
    known = answered(SURE, META, 16, 12, times=adam, state_copies=2.0, **asked)
    assert known.probability == pytest.approx(by_update.probability)
    # Of a recorded peak of 3.5 GiB two stay and 1.5 grow; context and workspace are 0.625.
    peak = ProfileMeta(batch_size=16, parameters=GIB // 8, peak_memory_mib=3.5 * 1024)
    assert needed(answered(SURE, peak, 16, 8, state_copies=2.0, **asked))[0] == "5.6 of 8"
    torch = Profile({"Device_Conv2D": 9e4, "Device_aten::_fused_adamw_": 700.0}, replace(peak, framework="PyTorch 2.9"))
    answers = fits(SURE, catalog, torch, "g4dn.xlarge", ["g3s.xlarge"], **asked)
    assert needed(answers["g3s.xlarge"]) == ("5.6 of 8", "the recorded peak (PyTorch")


def test_what_ran_fits_in_as_much_memory_and_tells_nothing_of_less():
    nothing = ProfileMeta()
    for target in (16, 24, 80):
        answer = answered(SURE, nothing, 16, target)
        assert (answer.verdict, answer.probability) == (Verdict.FITS, 0.999) and "16 GiB" in answer.why
    smaller = answered(SURE, ProfileMeta(batch_size=64), 16, 24, batch_size=32)
    assert (smaller.verdict, smaller.largest_batch) == (Verdict.FITS, 64)
    for answer in (
        answered(SURE, ProfileMeta(), 16, 8),
        answered(SURE, ProfileMeta(batch_size=64), 16, 16, batch_size=65),
        answered(SURE, ProfileMeta(), 16, 80, batch_size=1),
        answered(SURE, ProfileMeta(pixels=224), 16, 16, batch_size=32),
    ):
        assert (answer.verdict, answer.probability) == (Verdict.CANT_TELL, None)
        assert answer.why


def test_a_recorded_peak_is_scaled_with_the_batch_and_says_what_it_is_of():
    meta = ProfileMeta(batch_size=16, parameters=GIB // 8, peak_memory_mib=3.5 * 1024)
    # Context and workspace are 0.625 GiB; of the peak weights and gradients stay, one; 2.5 become 5 at batch 32.
    doubled = answered(SURE, meta, 16, 8, batch_size=32)
    assert (needed(doubled), doubled.verdict) == (("6.6 of 8", "the recorded peak"), Verdict.FITS)
    assert answered(SURE, meta, 16, 8, batch_size=64).verdict == Verdict.DOES_NOT_FIT
    assert answered(SURE, meta, 16, 2).verdict == Verdict.DOES_NOT_FIT
    unsplit = ProfileMeta(batch_size=16, peak_memory_mib=3.5 * 1024)
    assert answered(SURE, unsplit, 16, 8, batch_size=32).verdict == Verdict.CANT_TELL, "which part grows is not known"
    assert answered(SURE, unsplit, 16, 8).verdict == Verdict.FITS
    meta = ProfileMeta(
        framework="PyTorch 2.9.0", precision="bf16", batch_size=16, parameters=GIB // 8, peak_memory_mib=3.5 * 1024
    )
    # Half a precision's weights and gradients are half a GiB: three grow.
    stated = answered(SURE, meta, 16, 8, batch_size=32)
    assert needed(stated) == ("7.1 of 8", "the recorded peak (PyTorch, bf16")
    mixed = answered(SURE, replace(meta, precision="mixed bf16"), 16, 8, batch_size=32)
    assert needed(mixed) == ("6.6 of 8", "the recorded peak (PyTorch, mixed bf16")


def test_two_recorded_peaks_tell_what_grows():
    first = ProfileMeta(batch_size=16, pixels=224, peak_memory_mib=3.5 * 1024)
    second = ProfileMeta(batch_size=64, pixels=224, peak_memory_mib=9.5 * 1024)
    # Six GiB in 48 images: of the first peak two grow and 1.5 stay, whatever the parameters.
    stated = answered(SURE, first, 16, 8, second=second, batch_size=32)
    assert (needed(stated), stated.verdict) == (("6 of 8", "the recorded peaks"), Verdict.FITS)
    assert answered(SURE, first, 16, 8, batch_size=32).verdict == Verdict.CANT_TELL, "one alone doesn't"
    # A quarter of the images of twice the side is the same step: nothing is distinguished.
    same = ProfileMeta(batch_size=4, pixels=448, peak_memory_mib=9.5 * 1024)
    alone = answered(SURE, first, 16, 8, batch_size=32)
    assert answered(SURE, first, 16, 8, second=same, batch_size=32) == alone
    for other in ({"precision": "mixed fp16"}, {"framework": "PyTorch 2.9"}, {"parameters": 7}, {"pixels": None}):
        unlike = replace(second, **other)
        assert answered(SURE, first, 16, 8, second=unlike, batch_size=32) == alone, other
    first = ProfileMeta(batch_size=16, pixels=224, parameters=GIB // 8, peak_memory_mib=3.5 * 1024)
    second = replace(first, batch_size=64, peak_memory_mib=1024.0)
    grown = [answered(SURE, first, 16, 8, second=second, batch_size=size).probability for size in (16, 64, 1024, 65536)]
    assert grown == sorted(grown, reverse=True) and grown[-1] < 0.1


def test_batch_and_pixels_alone_give_a_wide_answer():
    # 16 x 224^2 pixels are 0.8 GiB by the typical network: three times that is nothing unusual.
    assert answered(SURE, META, 16, 4).verdict == Verdict.CANT_TELL
    assert answered(SURE, META, 16, 12).verdict == Verdict.FITS
    assert answered(SURE, META, 16, 1).verdict == Verdict.DOES_NOT_FIT
    # Half precision is not answered from single precision.
    for precision in ("mixed_float16", "bf16"):
        half = replace(META, precision=precision)
        assert answered(SURE, half, 16, 8, times=seconds_moving(1.0)).verdict == Verdict.CANT_TELL
        assert answered(SURE, half, 16, 24).verdict == Verdict.FITS
    for wrong in (0, 2.5, "many", math.nan):
        with pytest.raises(InputError):
            answered(SURE, META, 16, 8, batch_size=wrong)
    with pytest.raises(InputError, match="GPU memory"):
        answered(SURE, META, 16, 0)


@settings(max_examples=50)
@given(
    anchor=st.floats(1, 200),
    target=st.floats(1, 200),
    more=st.floats(1, 3),
    batch=st.integers(1, 2000),
    gib=st.floats(1e-6, 500),
    peak=st.none() | st.floats(1, 1e6),
)
def test_more_memory_or_a_smaller_batch_never_fits_less(anchor, target, more, batch, gib, peak):
    order = [Verdict.DOES_NOT_FIT, Verdict.CANT_TELL, Verdict.FITS]
    meta = ProfileMeta(batch_size=64, pixels=64, parameters=1_000_000, peak_memory_mib=peak)
    known = {"times": seconds_moving(gib)}
    answer = answered(SURE, meta, anchor, target, batch_size=batch, **known)
    roomier = answered(SURE, meta, anchor, target * more, batch_size=batch, **known)
    assert 0 <= answer.probability <= 0.999
    assert order.index(roomier.verdict) >= order.index(answer.verdict)
    assert roomier.probability >= answer.probability - 1e-3
    if batch > 1:
        smaller = answered(SURE, meta, anchor, target, batch_size=batch - 1, **known)
        assert order.index(smaller.verdict) >= order.index(answer.verdict)
        assert smaller.probability >= answer.probability - 1e-9


@pytest.fixture(scope="module")
def shipped(repository):
    return load_memory(repository / "models")


def test_vgg16_at_256_pixels_fits_where_it_did_and_shipped_measurements_where_the_samples_say(
    shipped, samples, models, catalog
):
    for gib, batch, room in ((8, 64, True), (8, 256, False), (12, 128, False), (16, 64, True), (16, 256, False)):
        # architectures.csv: parameters and outputs of convolutions and of other layers, one image.
        grows_gib = shipped.formula.activation_gib(batch, 20_089_157 - 2_031_616, 2_031_616)
        assert (shipped.formula.held_gib(169_814_824) + grows_gib < gib) == room
    for sample in samples.values():
        answers = fits(models.memory, catalog, sample.profile, sample.anchor, sample.measured_ms)
        for name, answer in answers.items():
            assert answer.verdict is Verdict.FITS and answer.largest_batch >= sample.batch_size, (sample.name, name)


def test_a_samples_profile_answers_for_every_instance(shipped, catalog, samples):
    sample = samples["resnet18-256px-b64-g4dn"]
    profile = Profile(sample.profile.operations, ProfileMeta(batch_size=64, pixels=256))
    wanted = ["g5.xlarge", "g3s.xlarge"]
    answers = fits(shipped, catalog, profile, sample.anchor, wanted, batch_size=64)
    assert answers["g5.xlarge"].verdict == Verdict.FITS
    assert answers["g5.xlarge"].largest_batch >= 64
    assert answers["g3s.xlarge"].verdict == Verdict.FITS, answers["g3s.xlarge"].why
    ahead = fits(shipped, catalog, profile, sample.anchor, catalog, batch_size=8192)
    assert ahead["g3s.xlarge"].verdict == Verdict.DOES_NOT_FIT
    assert set(ahead) == set(catalog)


def test_other_frameworks_and_cut_profiles_tell_nothing_by_their_times(catalog, samples):
    sample = samples["resnet18-256px-b64-g4dn"]
    gpus = load_gpus()
    times = device_times(sample.profile, catalog, gpus, sample.anchor)
    assert (times.gpu_model, times.bandwidth_gb_per_s) == ("T4", 320)
    assert times.class_us["convolution"] > 0
    assert state_copies(sample.profile) == 0
    operations = dict(sample.profile.operations)
    update = "Device_ResourceApplyGradientDescent"
    adam = Profile({**operations, "Device_ResourceApplyAdam": operations[update] * 7 / 3, update: 0.0})
    stated = device_times(adam, catalog, gpus, sample.anchor)
    assert state_copies(adam) == 2
    assert stated.class_us["weight update"] == pytest.approx(times.class_us["weight update"] * 7 / 3)
    torch = Profile(sample.profile.operations, ProfileMeta(framework="PyTorch 2.9"))
    assert device_times(torch, catalog, gpus, sample.anchor) is None
    cut = Profile({"Device_Conv2D": 5e5, "Device_FusedBatchNormV3": 2e5, "Host_IDLE": 1e6})
    assert device_times(cut, catalog, gpus, sample.anchor) is None


@pytest.mark.parametrize(("stated", "asked", "growth"), [(None, "amp", 0.5), ("amp", "fp32", 2.0), ("amp", "amp", 1.0)])
def test_activations_halve_in_amp(models, catalog, samples, stated, asked, growth):
    sample = samples["resnet50-224px-b64-g4dn"]
    meta = replace(sample.profile.meta, precision=stated, parameters=25_600_000, peak_memory_mib=6000.0)
    question = PredictQuestion(
        profile=replace(sample.profile, meta=meta),
        anchor=sample.anchor,
        latency_ms=sample.latency_ms,
        trust_latency=True,
    )
    context = Context(models, catalog, load_gpus())
    recorded = answer_predict(context, structs.replace(question, precision=stated or "fp32"))
    predicted = answer_predict(context, structs.replace(question, precision=asked))
    before, after = (answer.fits["g3s.xlarge"].largest_batch for answer in (recorded, predicted))
    assert after == pytest.approx(before / growth, rel=0.05)


MEASURED = structs.replace(
    SURE, measured=(MeasuredNetwork({224: GIB // 8, 128: GIB // 9}, {224: {8.0: 32, 16.0: 128}}),)
)
ON_TENSORFLOW = replace(META, framework="TensorFlow 2.5", precision="fp32")


def test_what_was_measured_at_a_size_fits_there():
    times = seconds_moving(6.0)
    for gib, batch in ((8.0, 32), (12.0, 32), (16.0, 128)):
        at, beyond = (
            answered(MEASURED, ON_TENSORFLOW, 16.0, gib, times=times, batch_size=size) for size in (batch, 2 * batch)
        )
        assert (at.verdict, at.largest_batch) == (Verdict.FITS, batch)
        assert beyond.verdict is not Verdict.FITS and beyond.largest_batch == batch
    # Another network, framework, precision or optimizer was not measured.
    for other in ({"parameters": 1e6}, {"framework": "PyTorch"}, {"precision": "amp"}, {"pixels": 128}):
        answer = answered(MEASURED, replace(ON_TENSORFLOW, **other), 16.0, 8.0, times=times, batch_size=32)
        assert answer.largest_batch != 32, other
    assert answered(MEASURED, ON_TENSORFLOW, 16.0, 8.0, times=times, state_copies=2.0).largest_batch != 32


def test_a_step_that_the_visitor_measured_fits_there(models, catalog):
    profile = Profile(
        {"Device_Conv2D": 9e4, "Device_Relu": 9e4}, meta=ProfileMeta(batch_size=192, pixels=224, parameters=25_000_000)
    )
    asked = (models.memory, catalog, profile, "g4dn.xlarge", ["g3s.xlarge"])
    assert fits(*asked)["g3s.xlarge"].verdict is not Verdict.FITS
    answer = fits(*asked, ran_on=["g3s.xlarge"])["g3s.xlarge"]
    assert (answer.verdict, answer.largest_batch >= 192) == (Verdict.FITS, True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (FitAnswer(Verdict.FITS, 0.99, 512, ""), "fits (up to batch 512)"),
        (FitAnswer(Verdict.CANT_TELL, 0.78, 109, ""), "may not fit in memory (78% likely to fit); batch 109 fits"),
        (FitAnswer(Verdict.CANT_TELL, None, None, ""), "may not fit in memory"),
        (FitAnswer(Verdict.DOES_NOT_FIT, 0.01, 48, ""), "doesn't fit (up to batch 48)"),
        (FitAnswer(Verdict.DOES_NOT_FIT, 0.01, None, ""), "doesn't fit in memory"),
    ],
)
def test_the_verdict_in_words(answer, words):
    assert answer.description == words
