"""Nodes of several GPUs beside machines with one, and how offers are named for people."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profet_core.catalog.collection import without_larger_nodes
from profet_core.catalog.naming import gpu_and_cloud, gpu_words, machine_words


def offer(catalog, name: str, gpu_count: int, gpu: str = "A100-SXM4-40GB", **changes):
    return replace(catalog["p4d.24xlarge"], name=name, gpu=gpu, gpu_count=gpu_count, **changes)


def names(offers) -> list[str]:
    return [one.name for one in offers]


def test_nodes_are_left_out_where_one_gpu_can_be_rented(catalog):
    offers = [offer(catalog, "eight", 8), offer(catalog, "one", 1), offer(catalog, "two", 2)]
    assert names(without_larger_nodes(offers)) == ["one"]


def test_of_a_gpu_in_nodes_only_the_smallest_stay_each_gpu_by_itself(catalog):
    offers = [
        offer(catalog, "eight", 8),
        offer(catalog, "four", 4),
        offer(catalog, "another four", 4),
        offer(catalog, "other form", 8, gpu="A100-SXM4-80GB"),
    ]
    assert names(without_larger_nodes(offers)) == ["four", "another four", "other form"]


def test_what_is_ones_own_stays(catalog):
    offers = [
        offer(catalog, "one", 1),
        offer(catalog, "own", 8, own=True),
        offer(catalog, "hardware", 4, provider="own"),
        offer(catalog, "priced", 8, market="own price"),
        offer(catalog, "eight", 8),
    ]
    assert names(without_larger_nodes(offers)) == ["one", "own", "hardware", "priced"]


@pytest.mark.parametrize(
    ("name", "machine", "said"),
    [
        ("gcp/a2-highgpu-1g", "a2-highgpu-1g", "A100 40 GB SXM, GCP"),
        ("runpod/1x-RTX4090", "1x-RTX4090", "RTX 4090, RunPod"),
        ("verda/1RTX6000ADA.10V", "1RTX6000ADA.10V", "RTX 6000 Ada, Verda"),
        ("p2.xlarge", "p2.xlarge", "K80, AWS"),
    ],
)
def test_an_offer_is_named_by_its_machine_its_gpu_and_its_cloud(catalog, name, machine, said):
    assert (machine_words(catalog[name]), gpu_and_cloud(catalog[name])) == (machine, said)


def test_ones_own_is_named_by_its_gpu_alone(catalog):
    own = replace(catalog["g6.xlarge"], name="my.l4", provider="own")
    assert (machine_words(own), gpu_words(own), gpu_and_cloud(own)) == ("my.l4", "L4", "L4")
