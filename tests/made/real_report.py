"""A made-up report on real profiles, as `profet validate --real --card` writes it, every number different."""

from __future__ import annotations

from dataclasses import replace

from profet_core.latency import Basis
from profet_lab.validation.real_report import PredictedLatency, RealCheck, RealReading, RealReport

T4_TO_V100 = RealCheck(
    profile="a.json, 0",
    anchor="g4dn.xlarge",
    anchor_gpu="T4",
    target="p3.2xlarge",
    target_gpu="V100",
    framework="TensorFlow 2.4",
    kind="LeNet, Adam",
    basis=Basis.MEASURED,
    trained_on=False,
    step_ms=151.5,
    truth_ms=80.0,
    truth="the same network there",
    with_latency=PredictedLatency(72.0, 60.0, 90.0),  # 10 % too short, inside
    without_latency=PredictedLatency(100.0, 90.0, 110.0),  # 25 % too long, missed
)
SECOND = replace(
    T4_TO_V100,
    profile="a.json, 1",
    with_latency=PredictedLatency(96.0, 85.0, 105.0),  # 20 % too long, missed
    without_latency=PredictedLatency(84.0, 70.0, 95.0),  # 5 % too long, inside
)
PYTORCH = replace(
    T4_TO_V100,
    profile="b.json.gz",
    framework="PyTorch 2.9",
    kind="ResNet-50",
    trained_on=True,
    anchor="p3.2xlarge",
    anchor_gpu="V100",
    target="g4dn.xlarge",
    target_gpu="T4",
    step_ms=121.5,
    truth_ms=200.0,
    truth="somebody's TensorFlow",
    with_latency=PredictedLatency(230.0, 190.0, 280.0),  # 15 % too long, inside
    without_latency=PredictedLatency(260.0, 210.0, 320.0),  # 30 % too long, missed
)
DERIVED = replace(
    T4_TO_V100,
    target="Tesla P100-PCIE-16GB",
    target_gpu="P100",
    basis=Basis.DERIVED,
    truth_ms=110.0,
    with_latency=PredictedLatency(55.0, 50.0, 60.0),  # half of it, missed
    without_latency=PredictedLatency(165.0, 100.0, 270.0),  # half too long, inside
)
READ = RealReading(
    profile="a.json, 0",
    gpu="Tesla T4",
    framework="TensorFlow 2.4",
    kind="LeNet, Adam",
    format="PROFET JSON, version 2",
    steps=1,
    steps_found=1,
    steps_basis="stated",
    left_out=0.37,
    here_ms=None,
    checks=2,
    source="somebody (MIT)",
    refusal="",
    note="",
)
READINGS = (
    READ,
    replace(READ, profile="a.json, 1", checks=1),
    replace(READ, profile="b.json.gz", framework="PyTorch 2.9", kind="ResNet-50", here_ms=104.5, checks=1),
    replace(READ, profile="c.pb", format="", steps=30, steps_found=2, checks=0, refusal="XLA joined it."),
)


def made_real_report(checksum: str) -> RealReport:
    """A report that belongs to the models of that checksum."""
    return RealReport(
        models_checksum=checksum,
        made="2021-03-04",
        checks=(T4_TO_V100, DERIVED, SECOND, PYTORCH),
        readings=READINGS,
    )
