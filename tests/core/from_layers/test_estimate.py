"""What is answered without a profile: every offer, by its split, and never the wrong way round."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from profet_core import InputError
from profet_core.catalog import load_gpus
from profet_core.catalog.own_gpus import OwnGpu, with_offers_of
from profet_core.from_layers.estimate import FRAMEWORK_LOG_SD, counted_fit, counted_need, estimate
from profet_core.from_layers.model import DEFAULT, METHODS, Regime, load_estimate, measured_network, regime_of
from profet_core.latency import Basis, quantile
from profet_core.layers.networks import counts_of
from profet_core.memory.fit import Verdict
from profet_core.messages import Code
from profet_core.transfer.own_gpu import with_own_gpus
from tests.codes import codes

MEASURED = ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
#: A measured GPU, one that another source ran, one with published speeds, one with its specs alone.
VARIED = ("p3.2xlarge", "g5.xlarge", "lambda/gpu_1x_a100", "verda/1B200.30V")


def latencies(found) -> dict[str, float]:
    return {row.instance: row.latency_ms for row in found.rows}


@pytest.fixture(scope="module")
def ask(models, catalog):
    def asked(network, batch_size=32, **more):
        return estimate(models, catalog, network, batch_size=batch_size, **{"targets": VARIED, **more})

    return asked


def test_every_offer_whose_gpu_has_a_data_sheet_is_answered(models, catalog, ask):
    found = ask(counts_of("ResNet50", 224), targets=None)
    assert {row.instance for row in found.rows} >= set(MEASURED)
    assert {catalog[row.instance].gpu for row in found.rows} == {offer.gpu for offer in catalog.values()}
    assert all(row.interval.low_ms < row.latency_ms < row.interval.high_ms for row in found.rows)
    assert all(set(row.members) == set(METHODS) for row in found.rows)
    assert set(found.fits) == {row.instance for row in found.rows} == set(found.regimes)


def test_a_measured_step_is_found_again(ask):
    # Medians of the measurements (PROFET): ResNet50, 224 pixels, batch 32.
    measured = {"g3s.xlarge": 482.7, "g4dn.xlarge": 287.8, "p2.xlarge": 844.4, "p3.2xlarge": 104.2}
    found = ask(counts_of("ResNet50", 224), targets=MEASURED)
    for row in found.rows:
        assert row.latency_ms == pytest.approx(measured[row.instance], rel=0.08)
        assert row.interval.low_ms < measured[row.instance] < row.interval.high_ms
        assert (row.basis, found.regimes[row.instance]) == (Basis.MEASURED, Regime.INTERPOLATION)


@pytest.mark.parametrize("method", [DEFAULT, *METHODS])
@pytest.mark.parametrize("name", ["LeNet5", "MobileNetV2", "ConvNeXt-Tiny"])
def test_asking_for_more_is_never_faster(ask, name, method):
    network = counts_of(name, 128)
    steps = [latencies(ask(network, batch, method=method)) for batch in (1, 2, 3, 16, 33, 128, 1024)]
    for less, more in pairwise(steps):
        assert all(more[one] >= less[one] for one in less)
    base = latencies(ask(network, method=method))
    for field in ("convolution_flops", "depthwise_flops", "dense_flops", "activation_elements"):
        for factor in (1.01, 2, 10):
            grown = replace(network, **{field: getattr(network, field) * factor})
            asked = latencies(ask(grown, method=method))
            assert all(asked[one] >= base[one] * (1 - 1e-12) for one in base), (field, factor)


@pytest.mark.parametrize("name", ["ResNet18", "ConvNeXt-Tiny"])
def test_larger_images_are_never_faster(ask, name):
    # As many classes at every size: a smaller last layer would be another network.
    steps = [latencies(ask(counts_of(name, pixels, 100))) for pixels in (96, 128, 224, 384)]
    for less, more in pairwise(steps):
        assert all(more[one] >= less[one] for one in less)


@pytest.mark.parametrize("name", ["LeNet5", "MobileNetV2"])
def test_more_bandwidth_or_arithmetic_is_never_slower(models, catalog, name):
    transfer, base = models.transfer, load_gpus()["B200"]
    own = [
        OwnGpu(
            replace(base, name=f"My card {place:02}", bandwidth_gb_per_s=bandwidth, fp32_tflops=peak),
            like=base.name,
            point=None,
            usd_per_hour=1.0,
            as_of="2026",
            source="made up",
        )
        for place, (bandwidth, peak) in enumerate([(b, p) for p in (4, 20, 100) for b in (100, 300, 1000, 4000, 16000)])
    ]
    changed = with_own_gpus(transfer, own)
    speeds = [_on(models.with_transfer(changed), catalog, one, name) for one in own]
    by_peak = np.array(speeds).reshape(3, 5)
    assert (np.diff(by_peak, axis=1) <= 1e-9).all() and (np.diff(by_peak, axis=0) <= 1e-9).all()
    assert by_peak[0, 0] > by_peak[-1, -1]


def _on(models, catalog, own, name):
    offers = with_offers_of(catalog, [own])
    found = estimate(models, offers, counts_of(name, 128), batch_size=64, targets=[own.instance])
    return found.rows[0].latency_ms


def test_regimes_say_what_was_not_measured():
    known, other = counts_of("VGG16", 224), counts_of("VGG16", 224, 17)
    assert measured_network(known) == measured_network(other) == "VGG16"
    assert measured_network(replace(known, layers=23)) is None
    asked = {
        Regime.INTERPOLATION: (known, "", 256, True),
        Regime.LARGER_BATCH: (known, "", 257, True),
        Regime.UNSEEN_GPU: (known, "", 32, False),
        Regime.DEEPER: (counts_of("ResNet-152 v1.5", 224), "ResNet-152 v1.5", 32, True),
        Regime.UNSEEN_NETWORK: (counts_of("DenseNet-121", 224), "DenseNet-121", 32, True),
        Regime.UNSEEN_BOTH: (counts_of("DenseNet-121", 224), "DenseNet-121", 32, False),
    }
    for regime, (network, name, batch_size, measured) in asked.items():
        assert regime_of(network, name, batch_size, gpu_measured=measured) is regime
    # A size beyond what was measured is no interpolation.
    large = counts_of("VGG16", 512)
    assert regime_of(large, "VGG16", 32, gpu_measured=True) is Regime.UNSEEN_NETWORK


def test_intervals_are_as_wide_as_the_regime_and_the_doubt_about_the_gpu(models, ask):
    model = load_estimate(models.folder)
    framework = quantile() * FRAMEWORK_LOG_SD
    rules = {regime: math.hypot(widths[model.default], framework) for regime, widths in model.log_half_widths.items()}
    found = ask(counts_of("DenseNet-121", 224), targets=None)
    widths = {row.instance: row.interval.log_half_width for row in found.rows}
    assert widths["p3.2xlarge"] == pytest.approx(rules[Regime.UNSEEN_NETWORK])
    # A published speed is doubted less than specs.
    assert rules[Regime.UNSEEN_BOTH] < widths["lambda/gpu_1x_a100"] < widths["verda/1B200.30V"]
    # Beyond the largest measured batch everything is less sure.
    larger = ask(counts_of("DenseNet-121", 224), 512, targets=["p3.2xlarge"]).rows[0]
    assert larger.interval.log_half_width > widths["p3.2xlarge"]
    # Sizes beyond the measurements are said: the batch's and the image's.
    sizes = ((128, 64), (512, 64), (512, 8))
    found = [codes(ask(counts_of("ResNet18", pixels), batch_size)) for pixels, batch_size in sizes]
    assert found == [[], [Code.UNMEASURED_PIXELS], [Code.UNMEASURED_BATCH, Code.UNMEASURED_PIXELS]]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"batch_size": 0}, "batch size"),
        ({"batch_size": 65_537}, "65,536"),
        ({"targets": ["nowhere"]}, "Unknown instance"),
        ({"method": "magic"}, "law, log-linear, xgboost, lightgbm"),
        ({"optimizer": "lion"}, "sgd, momentum, adam"),
    ],
)
def test_what_cannot_be_answered_is_one_line(ask, asked, said):
    with pytest.raises(InputError, match=said) as error:
        ask(counts_of("LeNet5", 32), **asked)
    assert "\n" not in str(error.value)


def test_memory_by_hand(models):
    law, network = models.memory.law, counts_of("VGG16", 224)
    need = counted_need(models.memory, network, 16, state_copies=2)
    gib = 4 / 2**30
    held = law.fixed_gib + law.per_parameter * network.parameters * gib + 2 * network.trainable_parameters * gib
    outputs = network.activation_elements - network.other_elements
    grows = 16 * (law.per_convolution * outputs + law.per_other * network.other_elements) * gib
    assert (need.held_gib, need.activation_gib) == (pytest.approx(held), pytest.approx(grows))


def test_what_ran_on_8_gib_fits_and_what_did_not_does_not(models):
    # PROFET's g3s.xlarge: VGG16 at 256 pixels ran at batch 64 and not at 128; ResNet50 at 128 pixels ran at 256.
    assert counted_fit(models.memory, counts_of("ResNet50", 128), 256, 8.0).verdict is not Verdict.DOES_NOT_FIT
    assert counted_fit(models.memory, counts_of("VGG16", 256), 16, 8.0).verdict is Verdict.FITS
    assert counted_fit(models.memory, counts_of("VGG16", 256), 256, 8.0).verdict is Verdict.DOES_NOT_FIT
    fit = counted_fit(models.memory, counts_of("ResNet18", 224), 32, 8.0)
    at_most = counted_fit(models.memory, counts_of("ResNet18", 224), fit.largest_batch, 8.0)
    beyond = counted_fit(models.memory, counts_of("ResNet18", 224), fit.largest_batch + 1, 8.0)
    assert (at_most.verdict, beyond.verdict) == (Verdict.FITS, Verdict.CANT_TELL)
