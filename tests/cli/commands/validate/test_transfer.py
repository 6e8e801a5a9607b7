"""`profet validate --transfer` and `--memory`: what goes with them, and that tables hold the figures."""

from __future__ import annotations

import pytest

from profet_cli.commands.validate.memory import print_memory
from profet_cli.commands.validate.transfer import (
    PRINTERS,
    print_derived,
    print_left_out_anchors,
    print_left_out_gpus,
    print_published,
)
from tests.made.transfer_report import RECORDED, made_transfer_report

FIGURES = {
    "mape_with_latency": 10.84,
    "mape_without_latency": 11.26,
    "mape_without_resnet50_with_latency": 10.72,
    "bias_with_latency": -1.24,
    "missed_90_with_latency": 5.31,
    "median_interval_pct_with_latency": 38.94,
    "sheet_only_mape_with_latency": 35.71,
    "sheet_only_missed_90_with_latency": 6.62,
    "one_constant": 22.49,
}


def test_what_does_not_go_with_transfer_or_memory_is_one_line(refused):
    assert "remove --scaler" in refused("validate", "--transfer", "--scaler")
    # Parts in the order of their names; one of them is what is done.
    assert "--memory validates" in refused("validate", "--memory", "--scaler", "--transfer")


def test_each_direction_is_a_line_with_its_figures(capsys):
    direction = {"anchor": "g3s.xlarge", "target": "p3.2xlarge", "n": 2763, **FIGURES}
    other = {"anchor": "p2.xlarge", "target": "A10G", "n": 163, "mape_with_latency": 12.5}
    published = {
        "published_mape_with_latency": 13.37,
        "published_missed_90_with_latency": 0.6,
        "published_median_interval_pct_with_latency": 50.1,
    }
    print_left_out_gpus(
        {
            "directions": [direction],
            "mean": FIGURES,
            "worst": {key: value for key, value in FIGURES.items() if "mape" in key},
            "by_gpu": {"p3.2xlarge": FIGURES},
            "by_model": {"VGG16": 5.43},
            "other_gpus": [{**other, **published}],
        }
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    cells = ["10.8", "11.3", "10.7", "-1.2", "5.3", "38.9", "35.7", "6.6", "22.5"]
    assert ["g3s.xlarge", "p3.2xlarge", "2763", *cells] in lines
    assert ["all", "p3.2xlarge", *cells] in lines
    assert ["VGG16", "5.4"] in lines
    assert ["p2.xlarge", "A10G", "163", "12.5"] in lines
    assert ["p2.xlarge", "A10G", "163", "13.4", "0.6", "50.1"] in lines


@pytest.mark.training
def test_each_section_of_the_report_is_printed():
    from profet_lab.validation.transfer import SECTIONS

    assert set(PRINTERS) == set(SECTIONS)


def test_left_out_anchors_are_lines_with_their_figures(capsys):
    figures = {
        "mape_with_latency": 13.21,
        "mape_without_latency": 16.64,
        "mape_law_alone_with_latency": 14.19,
        "bias_with_latency": 2.46,
        "missed_90_with_latency": 6.72,
        "median_interval_pct_with_latency": 42.28,
    }
    print_left_out_anchors(
        {
            "directions": [{"anchor": "p2.xlarge", "target": "g4dn.xlarge", "n": 2763, **figures}],
            "mean": figures,
            "worst": {key: 21.74 for key in figures if key.startswith("mape")},
            "by_anchor": {"p2.xlarge": figures},
        }
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    cells = ["13.2", "16.6", "14.2", "2.5", "6.7", "42.3"]
    assert ["p2.xlarge", "g4dn.xlarge", "2763", *cells] in lines
    assert ["mean", *cells] in lines and ["p2.xlarge", "all", *cells] in lines
    assert ["worst", "21.7", "21.7", "21.7"] in lines


def test_published_tables_and_self_checks_are_lines_with_their_figures(capsys):
    published = made_transfer_report("", "")["published"]
    print_published(published)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for row in published["tables"]:
        figures = (row[name] for name in ("mape", "bias", "worst", "missed_90", "median_interval_pct"))
        held_back = "yes" if row["held_back"] else "no"
        name = row["table"].partition(",")[0]
        assert f"{row['gpu']} {name} {held_back} {row['n']} {' '.join(f'{one:.1f}' for one in figures)}" in lines
    for row in published["self_checks"]:
        names = ("own_point", "point_sd", "falls_batch", "falls_pixels", "below_unsaid")
        assert f"{row['gpu']} {' '.join(f'{row[name]:.1f}' for name in names)}" in lines


def test_recorded_peaks_are_rows_of_their_own(capsys):
    report = made_transfer_report("0", "0")["memory"]
    print_memory(report)
    lines = capsys.readouterr().out.splitlines()
    for known in RECORDED:
        (line,) = (line for line in lines if line.startswith(known))
        row = report["recorded"][known]
        for name in ("recall", "strict_recall", "strict_false_fits"):
            assert f"{100 * row[name]:.1f}%" in line


def test_routes_and_derived_gpus_are_lines_with_their_figures(capsys):
    served = {
        "anchor": "g4dn.xlarge",
        "n": 163,
        "mape_with_latency": 7.89,
        "mape_without_latency": 8.78,
        "missed_90_with_latency": 3.07,
        "median_interval_pct_with_latency": 34.84,
        "claims_pct_with_latency": 46.63,
        "claims_right_pct_with_latency": None,
    }
    route = {"n": 99, "T4 -> V100": 19.87, "V100 -> T4": 15.48, "median_ratio_t4_to_v100": 1.1385}
    print_derived(
        {
            "routes": {"raw": route, "by_model": {"VGG19": {"T4 -> V100": 5.9, "V100 -> T4": 6.3}}},
            "gpus": {"A10G": {"n": 179, "law": 7.45, "served": [served]}},
        }
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["raw", "99", "19.9", "15.5", "1.139"] in lines
    assert ["A10G", "T4", "and", "V100", "known", "179", "7.5"] in lines
    # No claim was made, so none can be right: the last cell stays empty.
    assert ["A10G", "g4dn.xlarge", "163", "7.9", "8.8", "3.1", "34.8", "46.6"] in lines
