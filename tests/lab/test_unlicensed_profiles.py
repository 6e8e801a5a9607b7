"""Profiles whose owner states no license: read beside the checkout, never shipped."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest

from profet_lab.real_profiles import real_report

FILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "real_profiles" / "tensorflow_one_step.json"
pytestmark = pytest.mark.skipif(
    not FILE.is_file(), reason="tensorflow_one_step.json states no license and is not shipped"
)

T4, V100, P100 = "Tesla T4", "Tesla V100-SXM2-16GB", "Tesla P100-PCIE-16GB"
#: GPU and step latency (ms) of each record of the file, as its author measured them (mholmeslinder/semi-supervised-cv).
STEPS = ((T4, 151.8), (T4, 151.8), (V100, 79.6), (V100, 76.0), (V100, 75.1), (P100, 98.4), (P100, 105.9))


@pytest.fixture(scope="module")
def report(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unlicensed")
    truths = {gpu: median(ms for recorded_on, ms in STEPS if recorded_on == gpu) for gpu, _ in STEPS}
    entries = []
    for number, (record, (gpu, ms)) in enumerate(zip(json.loads(FILE.read_bytes()), STEPS, strict=True)):
        meta = {key: record[key] for key in ("gpu", "framework", "precision", "steps") if key in record}
        (folder / f"{number}.json").write_text(json.dumps({"operations": record["operations_us"], "meta": meta}))
        elsewhere = {name: {"latency_ms": ms, "source": "file"} for name, ms in truths.items() if name != gpu}
        entry = {"file": f"{number}.json", "framework": "TensorFlow 2.4", "kind": "AlexNet", "steps": 1}
        entries.append({**entry, "gpu": gpu, "step_ms": ms, "elsewhere": elsewhere})
    (folder / "index.json").write_text(json.dumps({"profiles": entries}))
    return real_report(models, folder)


def test_its_steps_are_predicted_on_the_other_gpus_as_close_as_accuracy_says(report):
    truths = {check["target_gpu"]: round(check["truth_ms"], 1) for check in report["profiles"]}
    assert truths == {"T4": 151.8, "V100": 76.0, "P100": 102.2}
    anchors = {check["profile"]: check["anchor_gpu"] for check in report["profiles"]}
    assert sorted(anchors.values()) == ["P100", "P100", "T4", "T4", "V100", "V100", "V100"]
    mean = report["mean"]
    assert mean["n"] == 5
    assert (round(mean["mape_with_latency"], 1), round(mean["mape_without_latency"], 1)) == (9.1, 8.5)
    assert all(row["left_out"] < 0.1 for row in report["read"]), "percent of the GPU's time"
