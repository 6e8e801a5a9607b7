"""Offers of a market, filtered by cloud, region, GPU, count and memory; their names and the age of their prices."""

from __future__ import annotations

from datetime import date

import pytest
from msgspec.structs import replace

from profet_core import Catalog, Instance
from profet_core.catalog import load_shipped
from profet_core.catalog.collection import (
    CONFIDENCE_WORDS,
    NoOffersError,
    OfferFilter,
    filtered_catalog,
    filtered_offers,
    is_guess,
    offers_in_market,
)
from profet_core.catalog.instance import (
    CUSTOM_PRICE,
    gpu_words,
    is_fresh,
    machine_words,
    offer_name,
    old_price_note,
    price_age_years,
    price_line,
    price_words,
)
from profet_core.errors import InputError
from profet_core.training.advise import ORIGINAL
from profet_core.training.plans import Confidence
from tests.made.step_times import offer

TODAY = date(2026, 11, 22)
SHIPPED = load_shipped()


def test_one_offer_of_each_market_and_custom_hardware_in_all():
    def at(market: str, region: str, usd_per_hour: float, name: str = "a") -> Instance:
        return offer(name, usd_per_hour, market=market, region=region)

    catalog = Catalog(
        [
            at("on-demand", "us-east-1", 1.0),
            at("on-demand", "elsewhere", 0.8),
            at("spot", "elsewhere", 0.3),
            at("spot", "cheap", 0.2),
            at("own", "home", 0.1, "b"),
        ]
    )

    def prices(market: str, **others: object) -> list[float]:
        return [row.usd_per_hour for row in offers_in_market(catalog, market, **others)]

    assert prices("on-demand") == [1.0, 0.1]
    assert prices("spot") == [0.2, 0.1]
    assert sorted(prices("any")) == [0.1, 0.2, 1.0]
    assert prices("spot", spot_discount=0.5) == [0.2, 0.1], "a known spot price needs no guess"
    assert prices("spot", custom_usd_per_hour={"a": 0.5}) == [0.5, 0.1]
    with pytest.raises(NoOffersError, match="spot"):
        offers_in_market(Catalog([at("on-demand", "us-east-1", 1.0)]), "spot")
    with pytest.raises(InputError, match="'black'"):
        offers_in_market(catalog, "black")


def test_a_discount_guesses_spot_offers_and_a_custom_price_stands_in_every_market(catalog):
    spot = {row.name: row for row in offers_in_market(catalog, "spot", spot_discount=0.6) if is_guess(row)}
    assert spot and all(row.market == "spot" for row in spot.values())
    name, row = next(iter(spot.items()))
    assert row.usd_per_hour == pytest.approx(0.4 * catalog[name].usd_per_hour)
    assert "60%" in row.source and not is_guess(catalog[name])
    both = offers_in_market(catalog, "any", spot_discount=0.6)
    assert {row.market for row in both if row.name == name} == {"on-demand", "spot"}
    for discount in (1.0, 0):
        with pytest.raises(InputError, match="spot discount"):
            offers_in_market(catalog, spot_discount=discount)
    for market in ("on-demand", "spot", "any"):
        rows = offers_in_market(catalog, market, custom_usd_per_hour={"g5.xlarge": 0.3})
        assert [(row.usd_per_hour, row.market) for row in rows if row.name == "g5.xlarge"] == [(0.3, "your price")]
    with pytest.raises(InputError, match="Unknown instance"):
        offers_in_market(catalog, custom_usd_per_hour={"g9.huge": 1})


def test_no_filter_keeps_everything_and_memory_and_form_in_a_name_count():
    assert filtered_offers(SHIPPED.all_offers, OfferFilter()) == list(SHIPPED.all_offers)
    assert filtered_catalog(SHIPPED, OfferFilter()) == (SHIPPED, frozenset(SHIPPED))
    for asked, gpus in (
        ("A100", {"A100-SXM4-40GB", "A100-PCIE-40GB", "A100-SXM4-80GB", "A100-PCIE-80GB"}),
        ("A100 80GB", {"A100-SXM4-80GB", "A100-PCIE-80GB"}),
        ("A100 PCIe", {"A100-PCIE-40GB", "A100-PCIE-80GB"}),
    ):
        assert {offer.gpu for offer in filtered_offers(SHIPPED.all_offers, OfferFilter(gpu=(asked,)))} == gpus


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"provider": (" Verda",), "gpu": ("V100",)}, {"verda/1V100.6V"}),
        (
            {"provider": ("lambda", "nebius"), "gpu": ("L40S", "a10"), "gpu_count": (1,)},
            {"lambda/gpu_1x_a10", "nebius/gpu-l40s-a_1gpu-8vcpu-32gb", "nebius/gpu-l40s-d_1gpu-16vcpu-96gb"},
        ),
        ({"region": "US, NA", "gpu": ("H200",), "gpu_count": (4,)}, {"vast/4x-H200"}),
        ({"min_memory_gib": 180, "gpu_count": (1,), "market": "spot"}, {"verda/1B200.30V", "verda/1B300.30V"}),
    ],
)
def test_what_is_requested_is_kept(asked, names):
    assert {offer.name for offer in filtered_offers(SHIPPED.all_offers, OfferFilter(**asked))} == names


def test_a_market_keeps_its_offers_and_custom_hardware_counts_in_each():
    box = replace(SHIPPED["g4dn.xlarge"], name="my.box", market="own", region="home", provider="own", custom=True)
    every = [*SHIPPED.all_offers, box]
    spot = filtered_offers(every, OfferFilter(market="spot", region="us-east-1"))
    assert {offer.market for offer in spot} == {"spot", "own"}
    assert filtered_offers(every, OfferFilter(provider=("own",))) == [box]
    for asked in ({"region": "us-east-9"}, {"market": "reserved"}):
        with pytest.raises(NoOffersError, match="choose one of"):
            filtered_offers(every, OfferFilter(**asked))
    assert filtered_offers(every, OfferFilter(region="Home")) == [box]


def test_a_filtered_catalog_has_the_wanted_price_and_confidence_the_advice_s_words():
    filtered, wanted = filtered_catalog(SHIPPED, OfferFilter(provider=("gcp",), market="spot"))
    assert list(filtered) == list(SHIPPED)
    assert {(filtered[name].market, filtered[name].provider) for name in wanted} == {("spot", "gcp")}
    assert filtered["g4dn.xlarge"] == SHIPPED["g4dn.xlarge"]
    assert [(step.word, int(step)) for step in Confidence] == [
        (word, OfferFilter(confidence=word).least_confidence) for word in CONFIDENCE_WORDS
    ]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"provider": ("azure",), "gpu": ("H200",)}, ("cloud azure (25 offers without", "GPU H200 (33 offers")),
        ({"provider": ("nimbus",)}, ("cloud nimbus", "choose one of nebius, aws, azure or 20 others.")),
        ({"gpu": ("RTX 4080",)}, ("GPU RTX 4080", "RTX A4500, RTX A4000, RTX A6000 or 35 others.")),
        ({"gpu_count": (5,)}, ("5 GPUs", "1, 2, 3, 4, 8, 9, 10.")),
        ({"min_memory_gib": 500}, ("500 GiB", "288 GiB.")),
        ({"provider": ("verda",), "gpu": ("T4",), "region": "eastus"}, ("cloud verda (4 offers without it).",)),
    ],
)
def test_an_empty_answer_says_in_one_line_what_to_widen(asked, says):
    with pytest.raises(NoOffersError) as caught:
        filtered_offers(SHIPPED.all_offers, OfferFilter(**asked))
    assert all(part in str(caught.value) for part in says) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"market": "black"}, "'black'"),
        ({"confidence": "certain"}, "'certain'"),
        ({"gpu_count": (0,)}, "not 0"),
        ({"min_memory_gib": -1}, "not -1"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, says):
    with pytest.raises(InputError, match=says):
        OfferFilter(**asked)


@pytest.mark.parametrize(
    ("name", "machine", "gpu"),
    [
        ("gcp/a2-highgpu-1g", "a2-highgpu-1g", "A100 40 GB SXM"),
        ("runpod/1x-RTX4090", "1x-RTX4090", "RTX 4090"),
        ("verda/1RTX6000ADA.10V", "1RTX6000ADA.10V", "RTX 6000 Ada"),
        ("p2.xlarge", "p2.xlarge", "K80"),
    ],
)
def test_an_offer_is_named_by_its_machine_and_its_gpu(name, machine, gpu):
    assert (machine_words(SHIPPED[name]), gpu_words(SHIPPED[name])) == (machine, gpu)


def test_an_offer_is_named_by_its_gpus_and_its_cloud():
    one, node = SHIPPED["gcp/a2-highgpu-1g"], SHIPPED["p4d.24xlarge"]
    assert offer_name(one) == "A100 40 GB SXM · GCP" and offer_name(one, joined=" at ") == "A100 40 GB SXM at GCP"
    assert offer_name(replace(one, market="spot")) == "A100 40 GB SXM · GCP spot"
    assert offer_name(replace(one, market=CUSTOM_PRICE)) == offer_name(one)
    assert offer_name(node) == "A100 40 GB SXM (1 of 8) · AWS" and offer_name(node, 8) == "8 × A100 40 GB SXM · AWS"
    assert offer_name(replace(one, provider="own", name="lab")) == "A100 40 GB SXM · lab"
    assert offer_name(replace(one, status="retired")) == "A100 40 GB SXM · GCP (retired)"


@pytest.mark.parametrize(
    ("as_of", "years"),
    [
        ("2026", 0),
        ("2025", 0),  # of 31 December at the latest
        ("2025-10", 1),
        ("2025-11-22", 1),
        ("2021", 4),
        ("2027-01-01", 0),
        ("", 0),
    ],
)
def test_the_age_is_what_a_price_is_at_least(as_of, years):
    assert price_age_years(as_of, TODAY) == years
    old = replace(SHIPPED["azure/Standard_NC4as_T4_v3"], as_of=as_of)
    assert bool(old_price_note(old, TODAY)) == (years > 0)


def test_each_price_has_its_month():
    four = [SHIPPED[name] for name in ORIGINAL]
    assert price_line(four) == (
        "Prices as of January 2026: T4 · AWS; December 2025: V100 SXM · AWS; December 2021: M60 · AWS, K80 · AWS."
    )
    many = [replace(four[1], name=f"n{n}", provider=f"p{n}", as_of="2026-06-30") for n in range(5)]
    assert price_line([*many, four[0]]) == "Prices as of June 2026; December 2021: M60 · AWS."
    assert (price_line(many[:1]), price_line([])) == ("Prices as of June 2026.", "")


@pytest.mark.parametrize(
    ("as_of", "words"),
    [
        ("2026-11-22", "$0.750"),
        ("2026-09-23", "$0.750"),  # 60 days
        ("2026-09-22", "$0.750 · Sep 2026"),
        ("2026-09", "$0.750"),  # of its last day at the latest
        ("2025", "$0.750 · 2025"),
        ("", "$0.750"),
    ],
)
def test_a_price_over_60_days_old_has_its_month_beside_it(as_of, words):
    offer = replace(SHIPPED["g3s.xlarge"], as_of=as_of)
    assert (price_words(offer, TODAY), is_fresh(as_of, TODAY)) == (words, words == "$0.750")
