"""Published tables and self-checks of the shipped model of unprofiled GPUs come out as the shipped report has them."""

from __future__ import annotations

import pandas as pd

from profet_core.accuracy.reports import read_report
from profet_core.catalog import load_gpus
from profet_core.memory.model import load_memory
from profet_core.transfer.model import load_transfer
from profet_lab.classes.bank import class_bank
from profet_lab.measurements.tables import data_folder
from profet_lab.transfer.benchmark_points import load_published
from profet_lab.transfer.steps import all_steps, median_steps
from profet_lab.validation.published import published_report, self_checks


def test_the_shipped_figures_come_out_again(measurements, repository):
    models, folder, gpus = repository / "models", data_folder(), load_gpus()
    model = load_transfer(models)
    checksums = {"transfer": model.checksum, "memory": load_memory(models).checksum}
    shipped = read_report(models / "transfer_validation.json", "", **checksums)["published"]
    medians = median_steps(all_steps(class_bank(measurements), measurements.workloads))
    found = {
        "tables": published_report(model, load_published(folder), medians, folder, gpus),
        "self_checks": self_checks(model, medians, gpus),
    }
    for name, rows in found.items():
        expected = pd.DataFrame(shipped[name])
        pd.testing.assert_frame_equal(pd.DataFrame(rows)[list(expected)], expected, rtol=1e-3, atol=1e-6)
