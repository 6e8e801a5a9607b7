"""A network's name, from a user, a profile or a file's name, joins its counts with the members on profiled GPUs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from profet_core import InputError, predict, predict_many, read_profile
from profet_core.errors import Code
from profet_core.layers.by_name import network_of
from profet_core.layers.networks import network_in_file_name
from profet_core.prediction.counts import COUNTS, WEIGHTS, CountsWeight
from tests.codes import codes


@pytest.fixture(scope="module")
def sample(samples):
    return samples["vgg16-224px-b16-g3s"]


def unnamed(profile, **meta):
    return replace(profile.with_file_name(""), meta=replace(profile.meta, network=None, **meta))


def measured(prediction):
    return {row.instance: row for row in prediction.predictions if len(row.members) > 1}


@pytest.mark.parametrize(
    "file_name, network",
    [
        ("VGG16_bs32_224.json", "vgg16"),
        ("resnet-50-b32.json", "resnet50"),
        ("MobileNetV2 batch 64.csv", "mobilenet_v2"),
        ("inception_v3-p3.2xlarge.json", "inception_v3"),
        ("densenet121_train_step_v100.json", "densenet121"),
        ("wide_resnet50_2 a100.pt.trace.json.gz", "wide_resnet50_2"),
        ("timm-convnext_tiny-224.json", "timm/convnext_tiny"),
        ("MNIST_CNN.json", "PROFET MNIST_CNN"),
        ("unet-512.zip", "unet"),
        *(
            (name, None)
            for name in ("my_model.json", "resnet.json", "ssd.json", "bert-base.json", "vgg16 alexnet.json")
        ),
        ("xplane.pb", None),
    ],
)
def test_a_file_s_name_states_one_network_or_none(file_name, network):
    assert network_in_file_name(file_name) == network


def test_who_says_it_first_counts_and_a_name_means_its_framework_s_network(sample):
    profile, in_torch = sample.profile, replace(sample.profile.meta, framework="PyTorch 2.1")
    assert network_of(profile) == "PROFET VGG16"
    assert network_of(unnamed(profile).with_file_name("alexnet.json")) == "PROFET AlexNet"
    assert network_of(replace(profile, meta=in_torch)) == "vgg16"
    assert network_of(profile, "timm/vgg16") == "timm/vgg16"
    assert network_of(profile, "DenseNet 121") == "keras/DenseNet121"
    assert network_of(profile, "138M") == "PROFET VGG16", "parameters of a scale-out, no name"
    assert network_of(profile, "none") is None and network_of(unnamed(profile)) is None
    assert network_of(unnamed(profile).with_file_name("trace.json")) is None
    with pytest.raises(InputError, match=r"Did you mean vgg16\? Correct or remove network"):
        network_of(profile, "vg16")


def test_the_file_s_name_reaches_the_prediction(models, catalog, sample):
    document = json.loads(sample.data)
    del document["meta"]["network"]
    data = json.dumps(document).encode()
    named = predict(models, catalog, read_profile(data, "vgg16-run.json"), sample.anchor)
    other = predict(models, catalog, read_profile(data, "run.json"), sample.anchor)
    assert named.latencies_ms == predict(models, catalog, sample.profile, sample.anchor).latencies_ms
    alone = predict(models, catalog, sample.profile, sample.anchor, network="none")
    assert other.latencies_ms == alone.latencies_ms != named.latencies_ms


@pytest.mark.parametrize("without_latency", [False, True])
def test_counts_join_the_members_by_their_spread_and_narrow_the_interval(models, catalog, sample, without_latency):
    asked = (models, catalog, sample.profile, sample.anchor)
    joined = predict(*asked, without_latency=without_latency)
    alone = predict(*asked, without_latency=without_latency, network="none")
    weight, before = WEIGHTS[not without_latency], measured(alone)
    assert measured(joined).keys() == before.keys() and len(before) == 3
    for name, row in measured(joined).items():
        members = [ms for member, ms in row.members.items() if member != COUNTS]
        assert row.members.keys() - before[name].members.keys() == {COUNTS}
        variance = np.log(members).std() ** 2 + weight.members_log_sd**2
        share = variance / (variance + weight.counts_log_sd**2)
        logs = (1 - share) * math.log(before[name].latency_ms) + share * math.log(row.members[COUNTS])
        assert row.latency_ms == pytest.approx(math.exp(logs))
        assert row.log_sd == pytest.approx(weight.width * before[name].log_sd)
    # GPUs without models follow from these; the anchor is as measured.
    assert joined.latencies_ms["g5.xlarge"] != alone.latencies_ms["g5.xlarge"]
    assert joined.latencies_ms.get(sample.anchor) == alone.latencies_ms.get(sample.anchor)


def test_of_counts_alone_or_members_alone_is_the_limit():
    assert CountsWeight(1e-9, 1.0, 1.0, 1.0).joined(50.0, 0.0, 80.0) == pytest.approx(50.0)
    assert CountsWeight(1.0, 1e-9, 1.0, 1.0).joined(50.0, 0.0, 80.0) == pytest.approx(80.0)
    assert CountsWeight(0.1, 0.1, 1.0, 1.0).joined(40.0, 0.0, 90.0) == pytest.approx(60.0)


@pytest.mark.parametrize(
    "network, meta, is_told",
    [
        ("resnet50", {}, True),
        ("alexnet", {"parameters": None}, True),
        ("VGG16", {"batch_size": None}, True),
        ("VGG16", {"pixels": None}, True),
        ("PROFET InceptionV3", {"pixels": 32, "parameters": None}, True),
        (None, {"batch_size": None}, False),
    ],
)
def test_a_name_that_cannot_be_right_or_lacks_sizes_is_not_used(models, catalog, sample, network, meta, is_told):
    profile = sample.profile.with_meta(**meta)
    by_name, alone = (predict(models, catalog, profile, sample.anchor, network=name) for name in (network, "none"))
    assert by_name.latencies_ms == alone.latencies_ms
    assert (Code.NETWORK_UNUSED in codes(by_name)) == is_told


def test_other_anchors_and_the_documented_method_are_as_they_were(models, catalog, sample):
    for anchor, method in (("A10", "default"), (sample.anchor, "profet")):
        profile = sample.profile.with_meta(gpu=None)
        asked = {"method": method, "trust_latency": True}
        by_name, alone = (predict(models, catalog, profile, anchor, network=name, **asked) for name in (None, "none"))
        assert by_name.latencies_ms == alone.latencies_ms


def test_of_many_each_has_its_own_network(models, catalog, samples):
    some = [one for one in samples.values() if one.anchor == "g4dn.xlarge" and one.latency_ms]
    profiles = [one.profile if number % 2 else unnamed(one.profile) for number, one in enumerate(some)]
    latencies_ms = [one.latency_ms for one in some]
    many = predict_many(models, catalog, profiles, "g4dn.xlarge", latencies_ms=latencies_ms)
    for profile, latency_ms, together in zip(profiles, latencies_ms, many, strict=True):
        alone = predict(models, catalog, profile, "g4dn.xlarge", latency_ms=latency_ms)
        assert together.latencies_ms == pytest.approx(alone.latencies_ms, rel=1e-6)
        assert [set(row.members) for row in together.predictions] == [set(row.members) for row in alone.predictions]
