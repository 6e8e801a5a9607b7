"""How steps grow is learned from pairs of sizes, and never from the architecture that is judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from profet_core.latency import quantile
from profet_core.sizes.growth import SIGNS, carry_distances, growth_model
from profet_lab.classes.bank import class_bank
from profet_lab.measurements.tables import DataError
from profet_lab.scalers.growth import (
    GrowthRows,
    fit_error,
    fit_growth,
    growth_content,
    growth_rows,
    held_out_growth,
    predicted_growth,
)


def made_rows(number: int = 900) -> GrowthRows:
    """Steps of which a part that the first sign tells grows with the work, in proportion to images and area."""
    random = np.random.default_rng(1)
    signs = random.normal(size=(number, len(SIGNS)))
    log_batch, log_area = np.log(2.0) * random.integers(-4, 5, number), np.log(4.0) * random.integers(-3, 4, number)
    share = 1 / (1 + np.exp(-0.5 - 1.5 * signs[:, 0]))
    growth = np.log(1 - share + share * np.exp(log_batch + log_area))
    table = pd.DataFrame({"model": random.choice(list("ABCDE"), number), "instance": random.choice(["a", "b"], number)})
    return GrowthRows(signs, log_batch, log_area, growth, table)


def test_a_made_up_law_is_found_again():
    rows = made_rows()
    grown, _ = predicted_growth(fit_growth(rows), rows)
    assert np.abs(grown - rows.log_growth).mean() < 0.05 * np.abs(rows.log_growth).mean()


def test_of_an_architecture_held_out_no_row_counts():
    rows = made_rows(300)
    spoilt = replace(rows, log_growth=np.where(rows.models == "B", 9.0, rows.log_growth))
    laws, spoilt_laws = dict(held_out_growth(rows)), dict(held_out_growth(spoilt))
    assert np.array_equal(laws["B"].share, spoilt_laws["B"].share)
    assert not np.array_equal(laws["A"].share, spoilt_laws["A"].share)


def test_the_interval_covers_nine_of_ten_and_widens_with_the_distance():
    rows = made_rows(4_000)
    away = carry_distances(rows.log_batch, rows.log_area)
    errors = np.abs(np.random.default_rng(2).normal(size=4_000))
    errors = errors * np.hypot(0.1 * away[:2].sum(axis=0), 0.2 * away[2:].sum(axis=0))
    shares = np.full(4_000, 0.7)
    columns = {"model": rows.models, "log_batch": rows.log_batch, "log_area": rows.log_area}
    found = fit_error(pd.DataFrame({**columns, "error": errors, "share": shares}))
    covered = errors <= quantile() * found.log_sd(shares, rows.log_batch, rows.log_area)
    for along in (rows.log_area == 0, rows.log_batch == 0, (rows.log_area != 0) & (rows.log_batch != 0)):
        judged = along & (errors > 0)
        assert covered[judged].mean() == pytest.approx(0.9, abs=0.04)
    near, far = (found.log_sd(np.array([0.7]), np.array([step]), np.array([0.0]))[0] for step in (0.7, 1.4))
    assert far > 1.5 * near > 0
    assert found.log_sd(np.array([0.7]), np.array([0.0]), np.array([0.0]))[0] == 0


def test_pairs_are_of_one_network_and_of_different_sizes(classed):
    rows = growth_rows(classed, class_bank(classed), "slow")
    assert len(rows.log_growth) == 4 * 6 * 5, "each size of a network to each other one, on the instance with latencies"
    table = rows.table
    assert (rows.log_batch == np.log(table["other_batch"] / table["batch_size"])).all()
    doubled = (rows.log_batch == np.log(2)) & (rows.log_area == 0)
    assert rows.log_growth[doubled] == pytest.approx(np.log(2), abs=0.15), "these steps grow with their images"


def test_the_file_is_what_serving_reads_and_too_few_networks_are_refused(classed, small):
    content = growth_content(classed)
    model = growth_model(content)
    assert set(model.laws) == {"slow", "fast"} and model.checksum == content["checksum"]
    assert min(*model.error.of_size, *model.error.of_still) >= 0

    few = replace(small, workloads=small.workloads.assign(model="A"))
    with pytest.raises(DataError, match="at least 3 networks"):
        growth_content(few)


def test_the_report_has_every_distance(classed):
    from profet_lab.validation.growth import growth_report

    both = replace(
        classed,
        all_latencies=pd.concat(
            [
                classed.workloads.assign(instance=name, batch_latency_ms=values, epoch_latency_s=1.0)
                for name, values in classed.latency_ms.items()
            ]
        ),
    )
    keys = ["model", "pixels", "batch_size"]
    predicted = both.workloads.groupby(keys).size().index.to_frame(index=False)
    truth = both.workloads.assign(ms=both.latency_ms["fast"]).groupby(keys)["ms"].median().to_numpy()
    predicted = predicted.assign(anchor="slow", target="fast", predicted_ms=1.3 * truth, log_half_width=0.5)
    report = growth_report(both, class_bank(both), predicted)
    assert [(row["axis"], row["knots"]) for row in report["carried"]] == [
        *(("batch", knots) for knots in (1, 2, None)),
        *(("pixels", knots) for knots in (1, None)),
        ("both", None),
    ]
    chain = next(row for row in report["chain"] if row["axis"] == "batch" and row["knots"] == 1)
    assert chain["n"] == 4 * 2 * 4 and 20 < chain["mape"] < 45, "nearly what the prediction itself errs by"
    assert chain["coverage_90"] > 90
