"""A made-up report in the shape that `profet validate --transfer --card` writes, every number different."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, permutations

from profet_core.files import manifest_checksum

INSTANCES = ("g3s.xlarge", "g4dn.xlarge", "p2.xlarge", "p3.2xlarge")
CASES = ("with_latency", "without_latency")
DERIVED = ("A10G", "Tesla P100-PCIE-16GB")
#: By held-out GPU: far too few, too few, as many as promised, too many.
MISSED = {"g3s.xlarge": 0.5, "g4dn.xlarge": 4.25, "p2.xlarge": 10.5, "p3.2xlarge": 17.75}
RECORDED = ("recorded peak", "peaks at batch 16 and 64")
KNOWN = ("profile and its meta", "meta without times", "that it ran")

#: GPU and table.
TABLES = (
    ("A100-PCIE-40GB", "one, TensorFlow"),
    ("A100-PCIE-40GB", "other, PyTorch"),
    ("GeForce RTX 2080 Ti", "one, TensorFlow"),
    ("Tesla P100-PCIE-16GB", "other, PyTorch"),
)
WITH_POINT = ("A100-PCIE-40GB", "GeForce RTX 2080 Ti", "H200-SXM-141GB")


def made_transfer_report(transfer_checksum: str, memory_checksum: str) -> dict:
    """A report that belongs to the files of these checksums, signed."""
    numbers = (3.0 + 0.37 * number for number in count())
    directions = [
        {"anchor": a, "target": t, "n": next_whole(numbers), **_two_ways(numbers, CASES), "one_constant": next(numbers)}
        for a, t in permutations(INSTANCES, 2)
    ]
    # One constant beats the method in one direction alone.
    directions[0]["one_constant"] = 1.25
    for row in directions[1:]:
        row["one_constant"] = row["mape_without_latency"] + row["one_constant"]
    report = {
        "made": "2020-02-03",
        "transfer_checksum": transfer_checksum,
        "memory_checksum": memory_checksum,
        "seed": 5,
        "left_out_gpus": {
            "directions": directions,
            "mean": {**_two_ways(numbers, CASES), "one_constant": next(numbers)},
            "worst": {},
            "by_gpu": {
                name: {
                    **_two_ways(numbers, CASES),
                    "one_constant": next(numbers),
                    "missed_90_with_latency": MISSED[name],
                }
                for name in INSTANCES
            },
            "by_model": {name: next(numbers) for name in ("VGG16", "LeNet5")},
            "other_gpus": [
                {
                    "anchor": anchor,
                    "target": gpu,
                    "n": next_whole(numbers),
                    **_two_ways(numbers, CASES[:1]),
                    **({f"published_{k}": v for k, v in _figures(numbers, CASES[:1]).items()} if gpu == "A10G" else {}),
                }
                for gpu in DERIVED
                for anchor in INSTANCES
            ],
        },
        "left_out_anchors": {
            "directions": [
                {"anchor": a, "target": t, "n": next_whole(numbers), **_anchor_figures(numbers)}
                for a, t in permutations(INSTANCES, 2)
            ],
            "mean": _anchor_figures(numbers),
            "worst": {},
            "by_anchor": {name: _anchor_figures(numbers) for name in INSTANCES},
        },
        "published": {
            "tables": [_table(numbers, *row) for row in TABLES],
        },
        "derived": {
            "routes": {
                "by_model": {"VGG19": _route_ends(numbers)},
                **{name: _route(numbers) for name in ("raw", "corrected", "corrected_from_t4_alone")},
            },
            "gpus": {gpu: _derived(numbers) for gpu in DERIVED},
        },
        "memory": {
            "architectures": 13,
            "certain": 0.85,
            "profiled_batch": 24,
            "ran_elsewhere": {"pairs": 1234, "failures": 7},
            "arithmetic": _scores(numbers),
            "served": {name: _scores(numbers, likelier=name != KNOWN[-1]) for name in KNOWN},
            "recorded": {name: _scores(numbers) for name in RECORDED},
        },
    }
    return signed(report)


def signed(report: dict) -> dict:
    """The report with its own checksum."""
    return {**report, "checksum": manifest_checksum(report)}


def next_whole(numbers: Iterator[float]) -> int:
    """A whole number no other has."""
    return round(100 * next(numbers))


def _two_ways(numbers: Iterator[float], cases) -> dict[str, float]:
    sheet = {f"sheet_only_{name}": value for name, value in _figures(numbers, cases).items()}
    return {**_figures(numbers, cases), **sheet}


def _figures(numbers: Iterator[float], cases) -> dict[str, float]:
    names = ("bias", "mape", "mape_without_resnet50", "missed_90", "median_interval_pct")
    return {f"{name}_{case}": next(numbers) for case in cases for name in names}


def _anchor_figures(numbers: Iterator[float]) -> dict[str, float]:
    law = {f"mape_law_alone_{case}": next(numbers) for case in CASES}
    return {**_figures(numbers, CASES), **law}


def _table(numbers: Iterator[float], gpu: str, table: str) -> dict:
    found: dict = {"gpu": gpu, "table": table, "networks": ["ResNet18", "VGG16"]}
    found["n"] = next_whole(numbers)
    return found | {name: next(numbers) for name in ("bias", "mape", "worst", "missed_90", "median_interval_pct")}


def _route_ends(numbers: Iterator[float]) -> dict[str, float]:
    return {"T4 -> V100": next(numbers), "V100 -> T4": next(numbers)}


def _route(numbers: Iterator[float]) -> dict[str, float]:
    return {"n": next_whole(numbers), **_route_ends(numbers), "median_ratio_t4_to_v100": next(numbers) / 100}


def _derived(numbers: Iterator[float]) -> dict:
    served = []
    for anchor in INSTANCES:
        row = {"anchor": anchor, "n": next_whole(numbers)}
        for case in CASES:
            row |= {f"{name}_{case}": next(numbers) for name in ("mape", "missed_90", "median_interval_pct")}
        served.append(row)
    return {
        "n": next_whole(numbers),
        "median_ratio_to_t4": next(numbers) / 100,
        "law": next(numbers),
        "law_by_model": {"VGG16": next(numbers), "LeNet5": next(numbers)},
        "served": served,
        **{f"mean_{case}": next(numbers) for case in CASES},
    }


def _scores(numbers: Iterator[float], likelier: bool = True) -> dict:
    def share() -> float:
        return next(numbers) / 1000

    return {
        "cells": 2000,
        "did_not_run": 1000,
        "always_fits": share(),
        **{name: share() if likelier else None for name in ("accuracy", "recall", "false_fits")},
        "cant_tell": share(),
        "decided_accuracy": share(),
        "strict_accuracy": share(),
        "strict_recall": share(),
        "strict_false_fits": share() / 2,
        "false_does_not_fit": share() / 2,
    }
