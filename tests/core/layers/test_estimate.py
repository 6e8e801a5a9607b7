"""What is answered without a profile: every offer, near what was measured, and never the wrong way round."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from msgspec.structs import replace

from profet_core import InputError
from profet_core.catalog import load_gpus
from profet_core.catalog.custom_gpus import CustomGpu, with_offers_of
from profet_core.catalog.gpus import host_named
from profet_core.errors import Code
from profet_core.latency import Basis
from profet_core.layers.custom_gpu import with_custom_gpus
from profet_core.layers.estimate import counted_fit, counted_need, estimate
from profet_core.layers.networks import counts_of, named_network, named_networks, shared_name
from profet_core.layers.rates import (
    ELEMENTS,
    FLOPS,
    KINDS,
    PRODUCT_POWER,
    PRODUCTS,
    Case,
    MeasuredRatios,
    Mode,
    case_key,
    case_of,
    load_rates,
    log_cached,
    mode_of,
    work_of,
)
from profet_core.layers.steps import NetworkStep, Regime, measured_network
from profet_core.training.memory import Verdict
from tests.codes import codes
from tests.made.step_times import by_name, values_of

MEASURED = ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
#: A measured GPU, one that another source ran, one with published speeds, one with its specs alone.
VARIED = ("p3.2xlarge", "g5.xlarge", "lambda/gpu_1x_a100", "verda/1B200.30V")


def latencies(estimated) -> dict[str, float]:
    return {row.instance: row.latency_ms for row in estimated.rows}


@pytest.fixture(scope="module")
def ask(models, catalog):
    def asked(network, batch_size=32, **more):
        targets = more.pop("targets", VARIED)
        return estimate(models, catalog, NetworkStep(network, batch_size, **more), targets)

    return asked


def test_every_offer_whose_gpu_has_a_data_sheet_is_answered(models, catalog, ask):
    answer = ask(counts_of("resnet50"), targets=None)
    assert {row.instance for row in answer.rows} >= set(MEASURED)
    assert {catalog[row.instance].gpu for row in answer.rows} == {offer.gpu for offer in catalog.values()}
    assert all(row.interval.low_ms < row.latency_ms < row.interval.high_ms for row in answer.rows)
    assert set(answer.fits) == {row.instance for row in answer.rows} == set(answer.regimes)


def test_a_measured_step_is_found_again(ask):
    # Medians of the measurements (PROFET): ResNet50, 224 pixels, batch 32.
    measured = {"g3s.xlarge": 482.7, "g4dn.xlarge": 287.8, "p2.xlarge": 844.4, "p3.2xlarge": 104.2}
    answer = ask(counts_of("PROFET ResNet50"), targets=MEASURED)
    for row in answer.rows:
        assert row.latency_ms == pytest.approx(measured[row.instance], rel=0.08)
        assert row.interval.low_ms < measured[row.instance] < row.interval.high_ms
        assert (row.basis, answer.regimes[row.instance]) == (Basis.MEASURED, Regime.INTERPOLATION)


#: Published steps of networks that people train: GPU, precision, training code, batch -> milliseconds.
PUBLISHED = [
    ("convnext_tiny", 224, "GeForce RTX 3090", "amp", "plain", 256, 315),
    ("timm/convnext_tiny", 224, "GeForce RTX 3090", "amp", "plain", 256, 315),
    ("mobilenetv2_100", 224, "GeForce RTX 3090", "amp", "plain", 512, 279),
    ("efficientnet_b0", 224, "Tesla V100-SXM2-16GB", "fp32", "plain", 128, 195),
    ("efficientnet_b4", 380, "Tesla V100-SXM2-16GB", "fp32", "plain", 64, 771),
]


def test_one_network_of_several_libraries_has_nearly_one_answer(ask):
    groups: dict[str, list[str]] = {}
    for name in named_networks():
        groups.setdefault(shared_name(name), []).append(name)
    apart = []
    for names in groups.values():
        pixels = named_network(names[0]).native_pixels
        for gpu, precision in (("GeForce RTX 3090", "amp"), ("Tesla V100-SXM2-16GB", "fp32")):
            asked = {"targets": [gpu], "precision": precision}
            steps = [ask(counts_of(name, pixels), 64, name=name, **asked) for name in names if len(names) > 1]
            latencies_ms = [step.gpus[0].latency_ms if step.gpus else step.rows[0].latency_ms for step in steps]
            apart += [max(latencies_ms) / min(latencies_ms) - 1] if latencies_ms else []
    # Keras pads in layers of their own.
    assert np.median(apart) < 0.02 and np.quantile(apart, 0.9) < 0.1 and max(apart) < 0.15


@pytest.mark.parametrize(("name", "pixels", "gpu", "precision", "code", "batch", "measured_ms"), PUBLISHED)
def test_depthwise_networks_are_within_their_interval(ask, name, pixels, gpu, precision, code, batch, measured_ms):
    network = counts_of(name, pixels)
    answer = ask(network, batch, name=name, targets=[gpu], precision=precision, training_code=code)
    (step,) = answer.gpus
    interval = step.interval
    assert not answer.rows and step.latency_ms == pytest.approx(measured_ms, rel=0.2)
    assert interval.low_ms < measured_ms < interval.high_ms


def test_every_named_network_is_answered_alike_alone_and_among_others(ask):
    both = [ask(counts_of(name), 128, targets=["p3.2xlarge"]) for name in ("efficientnet_b0", "resnet50")]
    assert latencies(both[0])["p3.2xlarge"] < latencies(both[1])["p3.2xlarge"]
    alone = ask(counts_of("convnext_tiny"), 64, targets=["A100-SXM4-80GB"], precision="amp")
    among = ask(counts_of("convnext_tiny"), 64, targets=list(load_gpus()), precision="amp")
    assert values_of(alone.gpus[0]) == values_of(by_name(among.gpus)["A100-SXM4-80GB"])
    for name in named_networks()[::50]:
        assert latencies(ask(counts_of(name), 8, targets=["p3.2xlarge"]))["p3.2xlarge"] > 0


#: Pairs that were answered the wrong way round.
SIBLINGS = (
    ("A100-PCIE-40GB", "A30"),
    ("A100-SXM4-80GB", "A100-SXM4-40GB"),
    ("AMD Instinct MI300X", "AMD Instinct MI250X"),
    ("GeForce RTX 3090", "GeForce RTX 3080"),
    ("H200-SXM-141GB", "H100-SXM5-80GB"),
    ("TITAN Xp", "GeForce GTX 1080 Ti"),
)


def has_no_less(gpu, other) -> bool:
    """Whether a GPU's data sheet has no less of anything than that of another one of its generation."""
    mine, its = (
        (
            *(card.fp32_tflops, card.tf32_tensor_dense_tflops or 0, card.fp16_tensor_dense_tflops or 0),
            *(card.bandwidth_gb_per_s, card.l2_mb, card.tdp_w),
        )
        for card in (gpu, other)
    )
    return gpu.compute_capability == other.compute_capability and mine > its and (np.array(mine) >= its).all()


@pytest.mark.parametrize("name", ["vgg16", "alexnet", "mobilenet_v2"])
@pytest.mark.parametrize("precision", ["fp32", "tf32", "amp"])
@pytest.mark.parametrize("batch", [16, 256])
def test_later_generations_of_datacenter_gpus_are_faster(ask, name, precision, batch):
    names = ["A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB", "B200", "B300"]
    step = ask(counts_of(name, 224), batch, name=name, targets=names, precision=precision)
    times_ms = [by_name((*step.rows, *step.gpus))[gpu].latency_ms for gpu in names]
    assert times_ms == sorted(times_ms, reverse=True)


@pytest.mark.parametrize(
    "name",
    ["resnet50", "convnext_tiny", "efficientnet_b0", "vgg16", "mobilenet_v2", "densenet121", "PROFET VGG16", "unet"],
)
def test_of_one_generation_the_gpu_with_no_less_is_not_slower(ask, name):
    """Rates alone say so: no step puts answers into order."""
    gpus = load_gpus()
    pairs = [(one.name, two.name) for one, two in permutations(gpus.values(), 2) if has_no_less(one, two)]
    assert len(pairs) > 400 and {*SIBLINGS} <= {*pairs}
    for precision, code in (("fp32", "plain"), ("tf32", "plain"), ("amp", "plain"), ("amp", "channels-last")):
        for batch_size in (16, 256):
            options = {"targets": list(gpus), "precision": precision, "training_code": code}
            ms = ask(counts_of(name), batch_size, name=name, **options).gpus.latencies_ms
            wrong = [(one, two) for one, two in pairs if ms[one] > ms[two] * (1 + 1e-4)]
            assert not wrong, (precision, code, batch_size, wrong)


@pytest.mark.parametrize(
    "name", ["resnet50", "convnext_tiny", "efficientnet_b0", "vgg16", "densenet121", "mobilenet_v2"]
)
def test_a_faster_precision_is_never_slower_on_tensor_cores(ask, name):
    gpus = [gpu.name for gpu in load_gpus().values() if gpu.fp16_tensor_dense_tflops]
    for batch_size in (16, 256):
        asked = {"name": name, "targets": gpus}
        answers = [ask(counts_of(name), batch_size, precision=one, **asked) for one in ("fp32", "tf32", "amp")]
        for gpu in gpus:
            fp32, tf32, amp = (one.gpus.latencies_ms[gpu] for one in answers)
            assert fp32 >= tf32 * (1 - 1e-9) and tf32 >= amp * (1 - 1e-9), (gpu, batch_size)


@pytest.mark.parametrize("name", ["PROFET LeNet5", "mobilenet_v2", "convnext_tiny"])
def test_asking_for_more_is_never_faster(ask, name):
    network = counts_of(name, 128)
    network = replace(network, layers=network.layers._replace(all=1))
    steps = [latencies(ask(network, batch)) for batch in (1, 2, 3, 16, 33, 128, 1024)]
    for less, more in pairwise(steps):
        assert all(more[one] >= less[one] for one in less)
    base = latencies(ask(network))
    for field in ("convolution", "depthwise", "dense", "all", "parameters"):
        for factor in (1.01, 2, 10):
            if field == "parameters":
                grown = replace(network, parameters=round(network.parameters * factor))
            else:
                part = "elements" if field == "all" else "flops"
                values = getattr(network, part)
                grown = replace(network, **{part: values._replace(**{field: round(getattr(values, field) * factor)})})
            asked = latencies(ask(grown))
            assert all(asked[one] >= base[one] * (1 - 1e-12) for one in base), (field, factor)


@pytest.mark.parametrize("name", ["resnet18", "convnext_tiny"])
def test_larger_images_are_never_faster(ask, name):
    steps = [latencies(ask(counts_of(name, pixels))) for pixels in (96, 128, 224, 384)]
    for less, more in pairwise(steps):
        assert all(more[one] >= less[one] for one in less)


@pytest.mark.parametrize("name", ["PROFET LeNet5", "mobilenet_v2"])
def test_more_bandwidth_or_arithmetic_is_never_slower(models, catalog, name):
    base = load_gpus()["B200"]
    own = [
        CustomGpu(
            replace(base, name=f"My card {place:02}", bandwidth_gb_per_s=bandwidth, fp32_tflops=peak),
            like=base.name,
            point=None,
            usd_per_hour=1.0,
            as_of="2026",
            source="made up",
        )
        for place, (bandwidth, peak) in enumerate([(b, p) for p in (4, 20, 100) for b in (100, 300, 1000, 4000, 16000)])
    ]
    changed = with_custom_gpus(models, own)
    speeds = [_on(changed, catalog, gpu, name) for gpu in own]
    by_peak = np.array(speeds).reshape(3, 5)
    assert (np.diff(by_peak, axis=1) <= 1e-9).all() and (np.diff(by_peak, axis=0) <= 1e-9).all()
    assert by_peak[0, 0] > by_peak[-1, -1]


def _on(models, catalog, own, name):
    offers = with_offers_of(catalog, [own])
    answer = estimate(models, offers, NetworkStep(counts_of(name, 128), 64), [own.instance])
    return answer.rows[0].latency_ms


def test_regimes_say_what_was_not_measured_and_intervals_are_as_wide(ask):
    measured, other = counts_of("PROFET VGG16", 224), counts_of("densenet121", 224)
    assert measured_network(measured) == measured_network(counts_of("PROFET VGG16", 224, 17)) == "PROFET VGG16"
    assert measured_network(replace(measured, parameters=23)) is measured_network(other) is None
    asked = [(measured, 256), (measured, 257), (replace(other, parameters=1), 32)]
    answers = [ask(network, batch, targets=["p3.2xlarge", "verda/1B200.30V"]).regimes for network, batch in asked]
    assert [row["p3.2xlarge"] for row in answers] == [Regime.INTERPOLATION, Regime.LARGER_BATCH, Regime.UNSEEN_NETWORK]
    assert answers[0]["verda/1B200.30V"] is Regime.UNSEEN_GPU and answers[2]["verda/1B200.30V"] is Regime.UNSEEN_BOTH
    answer = ask(counts_of("densenet121"), 256, targets=["p3.2xlarge", "verda/1B200.30V", "A2"], precision="fp32")
    widths = {row.instance: row.interval.log_half_width for row in answer.rows}
    # One step was measured on B200, and none on A2.
    assert widths["p3.2xlarge"] < widths["verda/1B200.30V"] < by_name(answer.gpus)["A2"].interval.log_half_width
    # What was measured is surer than what was not.
    profiled = ask(counts_of("PROFET VGG16"), targets=["p3.2xlarge"]).rows[0]
    assert profiled.interval.log_half_width < widths["p3.2xlarge"]


def test_a_frozen_backbone_takes_less_and_channels_last_is_an_answer_of_its_own(ask):
    network = counts_of("resnet50")
    whole, frozen = (ask(network, 128, frozen_backbone=frozen) for frozen in (False, True))
    assert all(0.3 < frozen.rows[i].latency_ms / whole.rows[i].latency_ms < 0.6 for i in range(len(VARIED)))
    plain, last = (
        latencies(ask(network, 128, precision="amp", training_code=code))["lambda/gpu_1x_a100"]
        for code in ("plain", "channels-last")
    )
    assert last < plain < latencies(whole)["lambda/gpu_1x_a100"]


def test_networks_without_convolution_and_attention_are_refused_and_transformers_and_hybrids_get_a_warning(ask):
    counts = counts_of("lenet5")
    with pytest.raises(InputError, match="CNNs and vision transformers"):
        ask(replace(counts, flops=counts.flops._replace(convolution=0), layers=counts.layers._replace(spatial=0)))
    for name in ("vit_base_patch16_224", "mixer_b16_224"):
        assert codes(ask(counts_of(name))) == [Code.TRANSFORMER, Code.PRODUCTS_IN_FP32]
        assert codes(ask(counts_of(name), precision="amp")) == [Code.TRANSFORMER]
    assert codes(ask(counts_of("mobilevit_s"))) == [Code.HYBRID_NETWORK]
    assert codes(ask(counts_of("resnet50"), name="resnet50")) == [Code.OTHER_DEFINITIONS]
    assert codes(ask(counts_of("PROFET LeNet5"), name="PROFET LeNet5")) == []
    assert codes(ask(counts_of("PROFET MNIST_CNN"), name="PROFET MNIST_CNN")) == [Code.SMALL_IMAGES]
    detector = "fasterrcnn_resnet50_fpn"
    assert codes(ask(counts_of(detector), 2, name=detector)) == [Code.DETECTION_SIZE]
    assert codes(ask(counts_of(detector, 800), 2, name=detector)) == []


def test_batches_smaller_than_most_that_were_measured_have_a_wider_interval(ask):
    answers = {batch: ask(counts_of("resnet50"), batch, targets=["lambda/gpu_1x_a100"]) for batch in (3, 12)}
    intervals = {batch: answer.rows[0].interval for batch, answer in answers.items()}
    wide, usual = (intervals[batch].high_ms / intervals[batch].low_ms for batch in (3, 12))
    assert wide > 1.5 * usual
    assert codes(answers[3]) == [Code.SMALL_BATCH] and codes(answers[12]) == []


def test_images_smaller_than_any_that_was_measured_have_a_wider_interval(ask):
    steps = [ask(counts_of(name), 64, targets=["p3.2xlarge"]).rows[0] for name in ("PROFET MNIST_CNN", "PROFET LeNet5")]
    small, measured = (step.interval.high_ms / step.interval.low_ms for step in steps)
    assert small > 1.4 * measured
    # PROFET's LeNet-5 at 32 pixels, batch 64, on V100.
    assert steps[1].interval.low_ms < 2.96 < steps[1].interval.high_ms


def test_a_detector_at_the_size_it_is_trained_at_is_near_published_steps(ask):
    step = ask(counts_of("fasterrcnn_resnet50_fpn"), 2, name="fasterrcnn_resnet50_fpn", targets=["p3.2xlarge"]).rows[0]
    # Of two published runs at batch 2 a GPU, FP32.
    assert all(step.interval.low_ms < measured_ms < step.interval.high_ms for measured_ms in (210, 229))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"batch_size": 0}, "batch size"),
        ({"batch_size": 65_537}, "65,536"),
        ({"targets": ["nowhere"]}, "Unknown instance"),
        ({"training_code": "magic"}, "plain, channels-last"),
        ({"optimizer": "lion"}, "sgd, momentum, adam"),
    ],
)
def test_what_cannot_be_answered_is_one_line(ask, asked, message):
    with pytest.raises(InputError, match=message) as error:
        ask(counts_of("PROFET LeNet5", 32), **asked)
    assert "\n" not in str(error.value)


def test_memory_by_hand_and_on_what_ran(models):
    formula, network = models.memory.formula, counts_of("PROFET VGG16", 224)
    need = counted_need(models.memory, network, 16, state_copies=2)
    gib = 4 / 2**30
    held = formula.fixed_gib + formula.per_parameter * network.parameters * gib + 2 * network.trainable_parameters * gib
    outputs = network.elements.all - network.elements.other
    grows = 16 * (formula.per_convolution * outputs + formula.per_other * network.elements.other) * gib
    assert (need.held_gib, need.activation_gib) == (pytest.approx(held), pytest.approx(grows))

    # PROFET's g3s.xlarge: VGG16 at 256 pixels ran at batch 64 and not at 128; ResNet50 at 128 pixels ran at 256.
    def fit(name, pixels, batch):
        return counted_fit(models.memory, counted_need(models.memory, counts_of(name, pixels), batch), batch, 8.0)

    assert fit("PROFET ResNet50", 128, 256).verdict is not Verdict.DOES_NOT_FIT
    assert fit("PROFET VGG16", 256, 16).verdict is Verdict.FITS
    assert fit("PROFET VGG16", 256, 256).verdict is Verdict.DOES_NOT_FIT
    largest = fit("PROFET ResNet18", 224, 32).largest_batch
    verdicts = [fit("PROFET ResNet18", 224, batch).verdict for batch in (largest, largest + 1)]
    assert verdicts == [Verdict.FITS, Verdict.CANT_TELL]


def test_work_and_step_by_hand():
    # torchvision's AlexNet: one image of 224 pixels, two of them in a batch.
    network = counts_of("alexnet")
    work = dict(zip(KINDS, work_of(network, 2), strict=True))
    assert work["matrix product"] == pytest.approx(2 * 2 * (9_216 * 4_096 + 4_096 * 4_096 + 4_096 * 1_000) / 1e9)
    assert work["1 x 1 convolution"] == work["depthwise convolution"] == work["normalization"] == 0
    assert work["dense parameters"] + work["parameters"] == pytest.approx(61.100840)
    assert (work["images"], work["kernels"]) == (2 * 3 * 224**2 / 1e6, network.layers.operations)


def test_modes_are_the_precision_that_a_gpu_has_and_rates_follow_the_peaks(models):
    gpus = load_gpus()
    asked = [("Tesla K80", "amp"), ("Tesla V100-SXM2-16GB", "tf32"), ("A10G", "tf32"), ("A10G", "bf16")]
    modes = [mode_of(gpus[gpu], precision, "channels-last") for gpu, precision in asked]
    assert modes == [Mode.HALF_PLAIN_CORES, Mode.FP32, Mode.TF32, Mode.HALF_CHANNELS_LAST]
    assert mode_of(gpus["A10G"], "amp", "plain") is Mode.HALF
    cases = {case_of(counts_of(name)) for name in ("resnet50", "mobilenet_v2", "mobilevit_s", "vit_b_16")}
    assert cases == set(Case) and case_key(Case.ORDINARY, Mode.FP32, 15) != case_key(Case.ORDINARY, Mode.FP32, 16)
    model, gpu = load_rates(models.folder), replace(load_gpus()["A2"], name="mine")
    twice = replace(gpu, fp32_tflops=2 * gpu.fp32_tflops)
    costs = [model.costs_ms(one, Mode.FP32, model.average) for one in (gpu, twice)]
    ratio = costs[0] / costs[1]
    of_cnns = len(FLOPS) - len(PRODUCTS)
    # At the same power limit it keeps less of its clock.
    assert ratio[:of_cnns] == pytest.approx([2 ** (model.powers.compute - model.powers.watts)] * of_cnns)
    # Products of transformers are near the peak, and never above it.
    assert (ratio[of_cnns : len(FLOPS)] >= 2**PRODUCT_POWER - 1e-6).all() and (ratio[of_cnns:] <= 2 + 1e-6).all()
    assert ratio[len(FLOPS) :] == pytest.approx(1)
    assert 0.5 < model.powers.compute <= 1.1 and 0.5 < model.powers.bandwidth <= 1.1
    assert 0 < model.powers.tf32 + model.powers.compute < 1 and 0 < model.powers.watts < model.powers.compute


def test_a_cache_makes_small_tensors_faster_and_no_larger_batch_faster(models):
    model, host, network = load_rates(models.folder), host_named("", 8.9), counts_of("resnet50")
    gpu, batches = replace(load_gpus()["L4"], name="mine"), np.array([8, 64, 512])
    moves = [kind in ELEMENTS for kind in KINDS]
    usual, cached = (
        np.array([model.parts_ms(network, batch, (one, host), Mode.FP32)[0][moves] for batch in batches.tolist()])
        for one in (gpu, replace(gpu, l2_mb=4 * gpu.l2_mb))
    )
    # Of copied values there are none.
    gains = np.nanmin(usual / np.where(cached, cached, np.nan), axis=1)
    assert gains[0] > gains[1] > gains[2] > 1
    assert (np.diff(usual / batches[:, None], axis=0) >= 0).all()
    assert log_cached(np.array([16.0]), np.array([False]), np.array(8.0), np.array(4.0)) == np.log([2.0])


@pytest.mark.parametrize("network", ["resnet50", "vgg16", "densenet121"])
@pytest.mark.parametrize(
    "names",
    [
        ("A30", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB", "B200"),
        ("L4", "L40", "L40S", "GeForce RTX 5090"),
        ("Tesla T4", "Tesla V100-PCIE-32GB", "A100-PCIE-40GB", "H100-PCIE-80GB", "H200-NVL-141GB"),
    ],
)
def test_newer_and_larger_gpus_are_faster_on_tensor_cores(ask, names, network):
    for precision, batch_size in (("tf32", 16), ("tf32", 256), ("amp", 16), ("amp", 256)):
        steps = by_name(ask(counts_of(network), batch_size, targets=names, precision=precision).gpus)
        assert all(steps[one].latency_ms >= steps[other].latency_ms for one, other in pairwise(names))


@pytest.mark.parametrize(
    ("gpu", "network", "batch_size", "precision", "code", "convolutions_ms"),
    [
        ("AMD Instinct MI250X", "vgg16", 512, "amp", "channels-last", 536.19),
        ("AMD Instinct MI250X", "vgg16", 512, "amp", "tuned", 536.19),
        ("AMD Instinct MI300X", "resnet152", 256, "amp", "tuned", 110.645),
        ("AMD Instinct MI100", "resnet34", 32, "bf16", "plain", 24.193),
    ],
)
def test_amds_steps_take_more_than_their_convolutions_alone(
    ask, gpu, network, batch_size, precision, code, convolutions_ms
):
    options = {"targets": [gpu], "precision": precision, "training_code": code}
    (step,) = ask(counts_of(network), batch_size, name=network, **options).gpus
    assert step.latency_ms > 1.02 * convolutions_ms


def test_measured_steps_correct_the_same_network():
    known = MeasuredRatios(
        names={"a": (0, 1)},
        generations=np.array([7.0]),
        modes=np.array([Mode.FP32]),
        log_sizes=np.log([[64.0, 224.0]]) / np.log([4.0, 2.0]),
        log_ratios=np.array([0.2]),
        variances=(0.01, 0.02, 0.03, 0.04),
        measured_variances=(0.01, 0.02, 0.03, 0.04),
    )
    here, elsewhere = 7.0, 7.5
    asked = [(here, Mode.FP32), (here, Mode.HALF), (elsewhere, Mode.FP32)]
    log_ratios, shares = known.corrections("a", *zip(*asked, strict=True), 64, 224)
    # What is alike over that and the row's own part: 6 / 10 of 0.2; 1 - 6 / 10 of the variance is left. In another mode
    # 1 / 10, in another generation 3 / 10, at sizes far away 1 / 10.
    assert log_ratios == pytest.approx([0.12, 0.02, 0.06]) and shares[0] == pytest.approx(0.4)
    assert known.corrections("a", [here], [Mode.FP32], 65_536, 4_096)[0] == pytest.approx(0.02, rel=1e-3)
    assert known.corrections("b", [here], [Mode.FP32], 64, 224) == (0.0, 1.0)
