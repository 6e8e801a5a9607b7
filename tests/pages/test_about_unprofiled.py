"""About, the accuracy beyond the profiled GPUs: every figure is the report's; one of other files is one line."""

from __future__ import annotations

import json
import math
from functools import partial

import pytest

from pages.about.accuracy.figures import direction_dots
from pages.about.accuracy.percents import format_percent
from profet_core.accuracy.transfer_report import TRANSFER_REPORT_NAME
from profet_core.transfer.speed import known_speed
from tests.made.transfer_report import DERIVED, MISSED, made_transfer_report, signed
from tests.pages.conftest import clean, lines, rows

CASES = {"given": "with_latency", "not": "without_latency"}
GPU = {"g3s.xlarge": "M60", "g4dn.xlarge": "T4", "p2.xlarge": "K80", "p3.2xlarge": "V100"}
SHORT = {"A10G": "A10G", "Tesla P100-PCIE-16GB": "P100"}


@pytest.fixture(scope="module")
def made(models) -> dict:
    """Made-up figures that say they are of the loaded files."""
    return made_transfer_report(models.transfer.checksum, models.memory.checksum)


@pytest.fixture(scope="module")
def real(repository) -> dict:
    """The shipped report."""
    return json.loads((repository / "models" / TRANSFER_REPORT_NAME).read_bytes())


@pytest.fixture
def open_with(open_beside):
    """Open the accuracy beside a report; None takes it away."""
    return partial(open_beside, TRANSFER_REPORT_NAME, part="unprofiled")


@pytest.fixture(params=["made", "real"])
def report(request) -> dict:
    """Both reports, one after the other."""
    return request.getfixturevalue(request.param)


def text_of(app) -> str:
    return "\n".join(map(clean, lines(app.markdown))).replace("**", "")


def way(row: dict) -> str:
    return f"{GPU[row['anchor']]} → {GPU[row['target']]}"


@pytest.mark.parametrize("latency_is", CASES)
def test_words_lead_with_a_whole_gpu_left_out(open_with, report, latency_is):
    app = open_with(json.dumps(report), latency_is=latency_is)
    case, gpus = CASES[latency_is], report["left_out_gpus"]
    lead = next(line for line in text_of(app).splitlines() if line.startswith("Each of 4 profiled GPUs was left out"))
    worst = max(gpus["directions"], key=lambda row: row[f"mape_{case}"])
    assert f"The mean error was {format_percent(gpus['mean'][f'mape_{case}'])}" in lead
    assert f"in the worst direction, {way(worst)}, {format_percent(worst[f'mape_{case}'])}." in lead
    constant = max(gpus["directions"], key=lambda row: row["one_constant"])
    assert f"({way(constant)}: {format_percent(constant['one_constant'])})" in lead
    assert f"By the data sheet alone it was {format_percent(gpus['mean'][f'sheet_only_mape_{case}'])}" in lead
    beaten = [row for row in gpus["directions"] if row["one_constant"] < row[f"mape_{case}"]]
    text = text_of(app)
    assert f"In {len(beaten)} of 12 directions one plain constant did better" in text
    assert all(way(row) in text for row in beaten)
    assert not app.error and not app.exception


def test_what_no_measurement_checks_is_named_first(open_with, made, models):
    app = open_with(json.dumps(made))
    text = text_of(app)
    sentence = next(line for line in text.splitlines() if line.startswith("- No measurement checks"))
    named = sentence.removeprefix("- No measurement checks ").partition(" themselves")[0].split(", ")
    assert {"L40S", "L4", "H100", "H200"} <= set(named)
    # One board of A100 has a table that was held back; H200's own point is none.
    assert not {"A10G", "P100", "A100", *GPU.values()} & set(named)


def test_the_limits_leave_it_to_the_report_which_gpus_are_checked(open_app, models):
    app = open_app("about", open="method")
    (line,) = [line for line in text_of(app).splitlines() if "derived or transferred" in line]
    assert not [name for name in models.transfer.gpus if name in line]


def test_each_gpu_is_a_row_the_surest_first(open_with, made, models):
    """Every GPU with a data sheet: what its numbers rest on, how that was checked, and how far off it was."""
    app = open_with(json.dumps(made), latency_is="not")
    table = rows(app, 0)
    listed = {row["GPU"]: row for row in table}
    assert set(listed) == set(models.transfer.gpus) and len(table) == len(listed)
    assert [row["Rests on"] for row in table[:5]] == ["profiled"] * 4 + ["another source's runs"]
    target = made["left_out_gpus"]["by_gpu"]["g4dn.xlarge"]
    anchor = made["left_out_anchors"]["by_anchor"]["g4dn.xlarge"]
    errors = [format_percent(row["mape_without_latency"]) for row in (target, anchor)]
    leaning = [f"{row['bias_without_latency']:+.1f} %" for row in (target, anchor)]
    assert listed["Tesla T4"] == {
        "GPU": "Tesla T4",
        "Rests on": "profiled",
        "Checked by": "left out / left out as anchor",
        "Off by": " / ".join(errors),
        "Leaning": " / ".join(leaning),
        "Interval": f"from +{target['median_interval_pct_without_latency']:.0f} %",
    }
    source, (held_back,) = made["derived"]["gpus"]["Tesla P100-PCIE-16GB"], tables_of(made, "Tesla P100-PCIE-16GB")
    p100 = listed["Tesla P100-PCIE-16GB"]
    assert p100["Off by"] == f"{format_percent(source['mean_without_latency'])} / {format_percent(held_back['mape'])}"
    assert p100["Leaning"] == f"– / {held_back['bias']:+.1f} %"
    least = 100 * math.expm1(known_speed(models.transfer, models.transfer.gpus["H200-SXM-141GB"], True).log_half_width)
    assert listed["H200-SXM-141GB"]["Checked by"] == "own point alone"
    assert listed["H200-SXM-141GB"]["Interval"] == f"from +{least:.0f} %"
    assert (listed["L4"]["Rests on"], listed["L4"]["Checked by"], listed["L4"]["Off by"]) == (
        "its kernels",
        "nothing",
        "–",
    )


@pytest.mark.parametrize("latency_is", CASES)
def test_a_gpu_left_out_as_anchor_is_told_in_words_and_by_direction(open_with, report, latency_is):
    app = open_with(json.dumps(report), latency_is=latency_is)
    case, anchors = CASES[latency_is], report["left_out_anchors"]
    worst = max(anchors["directions"], key=lambda row: row[f"mape_{case}"])
    (said,) = (line for line in text_of(app).splitlines() if line.startswith("- A profile from a GPU nobody profiled"))
    assert f"predicts the others {format_percent(anchors['mean'][f'mape_{case}'])} off" in said
    assert f"{way(worst)}, {format_percent(worst[f'mape_{case}'])}" in said
    table = rows(app, 2)
    columns = {"Off by": "mape", "Missed": "missed_90", "Law alone": "mape_law_alone"}
    assert [tuple(row[name] for name in ("Left out", "To", *columns)) for row in table[:12]] == [
        (GPU[row["anchor"]], GPU[row["target"]], *(format_percent(row[f"{key}_{case}"]) for key in columns.values()))
        for row in anchors["directions"]
    ]
    assert table[-1]["Off by"] == format_percent(anchors["mean"][f"mape_{case}"])


def test_published_tables_are_rows_and_the_weakest_self_checks_a_sentence(open_with, report):
    app, published = open_with(json.dumps(report)), report["published"]
    assert [(row["GPU"], row["Held back"], row["Networks"], row["Off by"], row["Worst"]) for row in rows(app, 5)] == [
        (
            row["gpu"],
            "yes" if row["held_back"] else "no: without ResNet-50",
            str(len(row["networks"])),
            format_percent(row["mape"]),
            f"{row['worst']:+.1f} %",
        )
        for row in published["tables"]
    ]
    checks = published["self_checks"]
    point = max(abs(row["own_point"]) for row in checks)
    falls = max(max(row["falls_batch"], row["falls_pixels"]) for row in checks)
    below = max(row["below_unsaid"] for row in checks)
    (said,) = (line for line in text_of(app).splitlines() if line.startswith("- Published ResNet-50 speeds were met"))
    assert f"met within {format_percent(point)} (" in said
    assert f"at most {format_percent(falls)} of sizes (" in said and f"at most {format_percent(below)} (" in said


def tables_of(report: dict, gpu: str) -> list[dict]:
    return [row for row in report["published"]["tables"] if row["gpu"] == gpu]


def test_the_derived_gpu_s_bias_and_its_check_are_told(open_with, report):
    text = text_of(open_with(json.dumps(report)))
    routes, gpus = report["derived"]["routes"], report["derived"]["gpus"]
    sentence = next(line for line in text.splitlines() if line.startswith("- A10G and P100 come from another source"))
    for value in (
        routes["raw"]["T4 -> V100"],
        routes["raw"]["V100 -> T4"],
        routes["corrected"]["T4 -> V100"],
        routes["corrected"]["V100 -> T4"],
    ):
        assert format_percent(value) in sentence
    for gpu in DERIVED:
        assert f"{SHORT[gpu]} {format_percent(gpus[gpu]['mean_with_latency'])}" in sentence
    published: dict[str, list[float]] = {}
    for row in report["left_out_gpus"]["other_gpus"]:
        if "published_mape_with_latency" in row:
            published.setdefault(SHORT[row["target"]], []).append(row["published_mape_with_latency"])
    ends = [f"{gpu} was {format_percent(min(of))} to {format_percent(max(of))}" for gpu, of in published.items()]
    assert f"By published speed, {' and '.join(ends)} off another source's corrected times." in text


def test_intervals_are_called_too_wide_and_too_narrow(open_with, made):
    app = open_with(json.dumps(made))
    verdicts = ("too wide", "too wide", "as promised", "too narrow")
    said = {GPU[name]: (MISSED[name], verdict) for name, verdict in zip(MISSED, verdicts, strict=True)}
    sentence = next(line for line in text_of(app).splitlines() if line.startswith("- Intervals should miss 10 %"))
    for gpu, (value, verdict) in said.items():
        assert f"{gpu} {format_percent(value)} ({verdict})" in sentence
    found = {row["Left out"]: (row["Missed"], row["So it is"]) for row in rows(app, 3)}
    assert {gpu: found[gpu] for gpu in said} == {
        gpu: (format_percent(v), verdict) for gpu, (v, verdict) in said.items()
    }


@pytest.mark.parametrize("latency_is", CASES)
def test_each_direction_is_a_row_and_a_mark(open_with, report, latency_is):
    app = open_with(json.dumps(report), latency_is=latency_is)
    case, gpus = CASES[latency_is], report["left_out_gpus"]
    table = rows(app, 1)
    assert [
        tuple(row[name] for name in ("From", "Left out", "Off by", "Missed", "Sheet only", "One constant"))
        for row in table[:12]
    ] == [
        (
            GPU[row["anchor"]],
            GPU[row["target"]],
            *(
                format_percent(row[name])
                for name in (f"mape_{case}", f"missed_90_{case}", f"sheet_only_mape_{case}", "one_constant")
            ),
        )
        for row in gpus["directions"]
    ]
    assert table[-1]["Off by"] == format_percent(gpus["mean"][f"mape_{case}"])
    assert [row["Off by"] for row in rows(app, 3)] == [
        format_percent(row[f"mape_{case}"]) for row in gpus["by_gpu"].values()
    ]


def test_derived_gpus_beside_the_same_as_if_nobody_had_measured_them(open_with, report):
    table = rows(open_with(json.dumps(report), latency_is="not"), 4)
    as_if = {(row["anchor"], row["target"]): row for row in report["left_out_gpus"]["other_gpus"]}
    expected = []
    for gpu in DERIVED:
        for row in report["derived"]["gpus"][gpu]["served"]:
            other = as_if[row["anchor"], gpu]
            shown = (
                row["mape_without_latency"],
                other["mape_with_latency"],
                other.get("published_mape_with_latency"),
                row.get("claims_pct_with_latency"),
                row.get("claims_right_pct_with_latency"),
            )
            cells = ("–" if value is None else format_percent(value) for value in shown)
            expected.append((GPU[row["anchor"]], SHORT[gpu], *cells))
    names = ("From", "To", "Off by", "One step known", "By published speed", "Cheaper or dearer said", "Rightly")
    assert [tuple(row[name] for name in names) for row in table] == expected


def test_memory_is_told_beside_always_fits(open_beside, report):
    app = open_beside(TRANSFER_REPORT_NAME, json.dumps(report), part="memory")
    memory, text = report["memory"], text_of(app)
    scores = memory["served"]["profile and its meta"]
    wrongly = scores["strict_false_fits"] * scores["cells"] / scores["did_not_run"]

    def percent(share: float | None) -> str:
        return "–" if share is None else format_percent(100 * share)

    lead = next(line for line in text.splitlines() if line.startswith("Each of") and "at batch" in line)
    assert f"{memory['architectures']} networks" in lead and f"at batch {memory['profiled_batch']} " in lead
    assert f"{percent(scores['always_fits'])} did run" in lead and "GPUs of 8, 12, 16 GiB" in lead
    assert f"did not run it called {percent(scores['strict_recall'])} “does not fit”" in text
    assert f"{percent(1 - scores['strict_recall'] - wrongly)} “can't tell”; {percent(wrongly)} it wrongly" in text
    assert f"({percent(scores['strict_false_fits'])} of all answers)" in text
    assert f"couldn't tell in {percent(scores['cant_tell'])} of all answers" in text
    assert f"find {percent(scores['recall'])} of what did not run, with {percent(scores['false_fits'])} false" in text
    table = rows(app, 0)
    names = ("always_fits", "cant_tell", "decided_accuracy", "strict_recall", "strict_false_fits", "recall")
    columns = ("“Always fits” right", "Can't tell", "Else right", "Said not to fit", "False “fits”", "Forced: found")
    assert [tuple(row[column] for column in columns) for row in table] == [
        tuple(percent(row[name]) for name in names)
        for row in (memory["arithmetic"], *memory["recorded"].values(), *memory["served"].values())
    ]
    assert table[1]["Known"] == "Recorded peak"
    peak = memory["recorded"]["recorded peak"]
    assert f"recorded peak it calls {percent(peak['strict_recall'])} of what did not run" in text
    assert f"with {percent(peak['strict_false_fits'])} false “fits” of all answers: by peaks" in text


def test_the_report_s_day_and_files_are_named(open_with, made, models):
    said = lines(open_with(json.dumps(made)).caption)
    line = next(line for line in said if "TRANSFER_CARD.md" in line)
    assert made["made"] in line
    assert models.transfer.checksum[:12] in line and models.memory.checksum[:12] in line


def _other(report: dict, **changed: object) -> str:
    return json.dumps(signed({**{key: value for key, value in report.items() if key != "checksum"}, **changed}))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda report: None, "is missing"),
        (lambda report: "{", "is damaged"),
        (lambda report: json.dumps({**report, "made": "later"}), "is damaged"),
        (lambda report: _other(report, memory={}), "is damaged"),
        (lambda report: _other(report, published={}), "is damaged"),
        (lambda report: _other(report, derived={**report["derived"], "routes": {"by_model": {}}}), "is damaged"),
        (lambda report: _other(report, transfer_checksum="0" * 64), "belong to another transfer.json"),
        (lambda report: _other(report, memory_checksum="0" * 64), "belong to another memory.json"),
    ],
)
def test_a_report_that_can_t_be_shown_is_one_line(open_with, made, damage, said):
    app = open_with(damage(made))
    in_the_summary, error = lines(app.error)
    assert said in error and "profet validate --transfer --card" in error and "\n" not in error
    assert in_the_summary == error and len(app.metric) == 2
    assert not app.table and not app.exception


def test_models_that_miss_their_transfer_file_say_so(open_with, made, models_copy):
    path = models_copy / "transfer.json"
    content = path.read_bytes()
    path.unlink()
    try:
        (error,) = lines(open_with(json.dumps(made)).error)
    finally:
        path.write_bytes(content)
    assert "transfer.json is missing: get it again (git checkout models) or run `profet train`." in error


def test_the_chart_marks_each_way_with_the_worst_on_top():
    good, bad = {"a": 1.0, "b": 5.0, "c": 9.0}, {"a": 2.0, "b": 4.0, "c": 3.0}
    figure = direction_dots({"x": bad, "y": good})
    assert [trace.name for trace in figure.data] == ["a", "b", "c"]
    assert [list(trace.y) for trace in figure.data] == [["y", "x"]] * 3
    assert [list(trace.x) for trace in figure.data] == [[1.0, 2.0], [5.0, 4.0], [9.0, 3.0]]
    assert len({trace.marker.symbol for trace in figure.data}) == 3
