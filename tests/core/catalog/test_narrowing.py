"""Offers are narrowed by cloud, region, market, GPU, count and memory, and an empty answer says what to widen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.advice.plans import Confidence
from profet_core.catalog import load_shipped
from profet_core.catalog.collection import CONFIDENCE_WORDS, Narrowing, NoOffersError, narrowed, narrowed_catalog
from profet_core.errors import InputError


@pytest.fixture(scope="module")
def shipped():
    return load_shipped()


def names(shipped, **asked) -> set[str]:
    return {offer.name for offer in narrowed(shipped.all_offers, Narrowing(**asked))}


def test_nothing_asked_for_is_everything(shipped):
    assert narrowed(shipped.all_offers, Narrowing()) == list(shipped.all_offers)
    assert narrowed_catalog(shipped, Narrowing()) == (shipped, frozenset(shipped))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"provider": (" Verda",), "gpu": ("V100",)}, {"verda/1V100.6V"}),
        (
            {"provider": ("lambda", "nebius"), "gpu": ("L40S", "a10"), "gpu_count": (1,)},
            {"lambda/gpu_1x_a10", "nebius/gpu-l40s-a_1gpu-8vcpu-32gb"},
        ),
        ({"region": "US, NA", "gpu": ("H200",), "gpu_count": (4,)}, {"vast/4x-H200"}),
        ({"min_memory_gib": 180, "gpu_count": (1,), "market": "spot"}, {"verda/1B200.30V"}),
    ],
)
def test_what_is_asked_for_is_what_is_kept(shipped, asked, found):
    assert names(shipped, **asked) == found


def test_a_market_keeps_its_offers_and_one_s_own_hardware_counts_in_each(shipped):
    box = replace(shipped["g4dn.xlarge"], name="my.box", market="own", region="home", provider="own", own=True)
    every = [*shipped.all_offers, box]
    spot = narrowed(every, Narrowing(market="spot", region="us-east-1"))
    assert {offer.market for offer in spot} == {"spot", "own"}
    assert narrowed(every, Narrowing(provider=("own",))) == [box]

    for asked in ({"region": "us-east-9"}, {"market": "reserved"}):
        with pytest.raises(NoOffersError, match=r"^No offer has (region|market) .*: choose one of"):
            narrowed(every, Narrowing(**asked))
    assert narrowed(every, Narrowing(region="Home")) == [box]


def test_the_memory_and_form_that_a_gpus_name_tells_count(shipped):
    for asked, found in (
        ("A100", {"A100-SXM4-40GB", "A100-PCIE-40GB", "A100-SXM4-80GB", "A100-PCIE-80GB"}),
        ("A100 80GB", {"A100-SXM4-80GB", "A100-PCIE-80GB"}),
        ("A100 PCIe", {"A100-PCIE-40GB", "A100-PCIE-80GB"}),
    ):
        assert {offer.gpu for offer in narrowed(shipped.all_offers, Narrowing(gpu=(asked,)))} == found


def test_a_narrowed_catalog_has_the_wanted_price_and_all_that_predictions_rest_on(shipped):
    found, wanted = narrowed_catalog(shipped, Narrowing(provider=("gcp",), market="spot"))
    assert set(found) == set(shipped)
    assert {found[name].market for name in wanted} == {"spot"}
    assert {found[name].provider for name in wanted} == {"gcp"}
    assert found["g4dn.xlarge"] == shipped["g4dn.xlarge"]
    assert list(found) == list(shipped)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            {"provider": ("azure",), "gpu": ("H200",)},
            "No offer matches all of cloud azure, GPU H200: "
            "relax cloud azure (17 offers without it) or GPU H200 (33 offers without it).",
        ),
        ({"provider": ("nimbus",)}, "No offer has cloud nimbus: choose one of aws; azure; gcp; lambda; nebius; runpod"),
        ({"gpu": ("RTX 4080",)}, "No offer has GPU RTX 4080: choose one of A10; A100-PCIE-40GB; "),
        ({"gpu_count": (3,)}, "No offer has 3 GPUs: there are 1, 2, 4, 8."),
        ({"min_memory_gib": 500}, "No offer has 500 GiB per GPU: the largest have 180 GiB."),
        (
            {"provider": ("verda",), "gpu": ("T4",), "region": "eastus"},
            "No offer matches all of cloud verda, region eastus, GPU T4: relax cloud verda (4 offers without it).",
        ),
    ],
)
def test_an_empty_answer_says_in_one_line_what_to_widen(shipped, asked, says):
    with pytest.raises(NoOffersError) as caught:
        narrowed(shipped.all_offers, Narrowing(**asked))
    assert str(caught.value).startswith(says) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"market": "black"}, "Unknown market 'black': choose one of on-demand, spot"),
        ({"confidence": "certain"}, "Unknown confidence 'certain': choose one of rough, fair, good."),
        ({"gpu_count": (0,)}, "The number of GPUs must be a whole number of at least 1, not 0."),
        ({"min_memory_gib": -1}, "The GPU memory must be a number above 0, not -1."),
    ],
)
def test_what_makes_no_sense_is_refused(asked, says):
    with pytest.raises(InputError) as caught:
        Narrowing(**asked)
    assert str(caught.value).startswith(says)


def test_the_words_of_confidence_are_the_steps_of_the_advice():
    assert [(step.word, int(step)) for step in Confidence] == [
        (word, Narrowing(confidence=word).least_confidence) for word in CONFIDENCE_WORDS
    ]
