"""Latencies on unprofiled GPUs, by the shipped coefficients and by what measured cells corrected."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest
from msgspec.structs import replace
from profet_core.transfer.step_model import step_parts
from profet_core.transfer.steps import AnchorSteps, other_host_log_sd

from profet_core.catalog.gpus import Gpu
from profet_core.ensemble.classes import load_operation_classes
from profet_core.ensemble.members import profile_batch
from profet_core.errors import ArtifactError, Code, Note
from profet_core.files import manifest_checksum
from profet_core.latency import Basis, Estimate, log_sd_of, quantile
from profet_core.offers import is_limited_by_host
from profet_core.transfer.model import (
    CALIBRATED_NAME,
    CONSTANT_LOG_SD,
    LINEAR_LOG_SD,
    LOCAL_LOG_SD,
    TRANSFER_NAME,
    CalibratedGpu,
    Correction,
    TransferModel,
    calibrated_content,
    covariance,
    evidence_of,
    load_transfer,
    target_of,
)
from profet_core.transfer.targets import Host, host_named
from profet_profiles import Profile
from tests.made.step_model import STEP_MODEL, made_parts
from tests.made.transfer_steps import estimate_gpus

#: 80 ms of convolution, 20 ms of batch norm, 4 ms of copy, 3 ms of gaps.
PROFILE = Profile(
    {
        "Device_Conv2D": 80_000.0,
        "Device_FusedBatchNormV3": 20_000.0,
        "Device__Recv": 4_000.0,
        "Device_IDLE": 3_000.0,
        "Device_MatMul": 10.0,
        "Host_IDLE": 165_000.0,
    }
)
MODERN = ("A10G", "L4", "L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB")
HOST = host_named("ice-lake")


def latencies(latency_ms: float, log_half_width: float = 0.0) -> Estimate:
    return Estimate(latency_ms=np.array([latency_ms]), log_sd=log_sd_of(np.array([log_half_width])))


KNOWN = {
    "g3s.xlarge": latencies(180.0, 0.11),
    "g4dn.xlarge": latencies(105.0, 0.12),
    "p2.xlarge": latencies(310.0, 0.13),
    "p3.2xlarge": latencies(36.0, 0.11),
}


@pytest.fixture(scope="module")
def shipped(repository) -> TransferModel:
    return load_transfer(repository / "models")


def recorded(anchor: str, latency_ms: float | None, *profiles: Profile) -> AnchorSteps:
    chosen = profiles or (PROFILE,)
    measured = None if latency_ms is None else np.full(len(chosen), latency_ms)
    inputs = profile_batch(chosen, anchor, measured).inputs
    return AnchorSteps(anchor, step_parts(load_operation_classes(), inputs), measured)


def estimates(
    shipped,
    names=MODERN,
    *,
    anchor="g4dn.xlarge",
    latency_ms: float | None = 105.0,
    known=KNOWN,
    tf32=True,
    hosts: tuple[Host, ...] = (HOST,),
) -> dict[tuple[Gpu, Host], Estimate]:
    others = {name: row for name, row in known.items() if name != anchor}
    pairs = [(shipped.gpus[name], host) for name in names for host in hosts]
    return estimate_gpus(shipped, recorded(anchor, latency_ms), others, pairs, tf32=tf32)


def by_name(found: dict[tuple[Gpu, Host], Estimate]) -> dict[str, Estimate]:
    return {gpu.name: row for (gpu, _), row in found.items()}


def latency(estimate) -> float:
    return estimate.latency_ms[0]


def width(estimate) -> float:
    return estimate.log_half_width[0]


@pytest.mark.parametrize("anchor", list(KNOWN))
@pytest.mark.parametrize("latency_known", [True, False])
def test_every_anchor_transfers_to_every_gpu_with_and_without_its_latency(shipped, anchor, latency_known):
    latency_ms = float(KNOWN[anchor].latency_ms[0]) if latency_known else None
    assert estimates(shipped, [], anchor=anchor) == {}
    found = by_name(estimates(shipped, anchor=anchor, latency_ms=latency_ms))
    assert list(found) == list(MODERN)
    assert {row.basis for row in found.values()} == {Basis.TRANSFERRED}
    assert all(0 < latency(row) < math.inf and 0 < width(row) < math.inf for row in found.values())
    assert all(Code.SPREAD in {note.code for note in row.notes} for row in found.values())
    assert {row.relative_to for row in found.values()} == {anchor}


def test_gpus_are_as_fast_as_their_points_less_sure_without_and_slower_in_fp32(shipped):
    found = by_name(estimates(shipped))
    order = [latency(found[name]) for name in ("L4", "L40S", "A100-SXM4-40GB", "H100-SXM5-80GB", "H200-SXM-141GB")]
    assert order == sorted(order, reverse=True)
    alone = by_name(estimates(shipped, ["AMD Instinct MI300X"]))
    assert width(alone["AMD Instinct MI300X"]) > width(found["A100-SXM4-40GB"])
    # One host bounds steps to about as much on every GPU.
    bounds = [row.launch_ms[0] for row in estimates(shipped, list(shipped.gpus)).values()]
    assert max(bounds) < 1.5 * min(bounds)
    tf32, fp32 = (by_name(estimates(shipped, tf32=allowed)) for allowed in (True, False))
    for name in ("A100-SXM4-40GB", "H100-SXM5-80GB", "L40S", "L4"):
        assert latency(fp32[name]) >= latency(tf32[name]), name
        assert fp32[name].notes[0].values["precision"] == "FP32"
    assert latency(fp32["A100-SXM4-40GB"]) > 1.2 * latency(tf32["A100-SXM4-40GB"]), "both were published"
    # Its TF32 peak is its FP32 peak.
    assert latency(fp32["A10G"]) == pytest.approx(latency(tf32["A10G"]), rel=0.01)


def test_a_host_counts_in_launches_copies_and_width_and_a_launch_bound_row_has_a_note(shipped):
    hosts = (host_named("haswell"), host_named("cascade-lake"), host_named("sapphire-rapids"))
    found = estimates(shipped, ["H100-SXM5-80GB"], hosts=hosts)
    latencies_ms = [latency(row) for row in found.values()]
    assert latencies_ms == sorted(latencies_ms, reverse=True) and len(set(latencies_ms)) == 3
    haswell, cascade, _ = found.values()
    # Launches and copies: their buses are equally fast.
    assert 1.1 < haswell.launch_ms[0] / cascade.launch_ms[0] <= 3.1 * 1.1 / (2.6 * 0.95)
    assert width(cascade) < width(haswell), "it was measured"
    idle = Profile(
        {**PROFILE.operations, "Device_Conv2D": 2_000.0, "Device_FusedBatchNormV3": 1_000.0, "Device_IDLE": 4e4}
    )
    steps = AnchorSteps("p3.2xlarge", recorded("p3.2xlarge", 21.0, idle).parts, np.array([21.0]))
    pair = (shipped.gpus["H100-SXM5-80GB"], HOST)
    (found,) = estimate_gpus(shipped, steps, {}, [pair], tf32=True).values()
    assert is_limited_by_host(found.free_ms, found.launch_ms).all()
    busy = by_name(estimates(shipped))["L40S"]
    assert not is_limited_by_host(busy.free_ms, busy.launch_ms).any()


def test_less_sure_latencies_and_anchors_give_wider_intervals(shipped):
    unsure = {name: replace(row, log_sd=row.log_sd + 0.25) for name, row in KNOWN.items()}
    sure = estimates(shipped)
    for pair, other in estimates(shipped, known=unsure).items():
        assert latency(other) == latency(sure[pair])
        assert width(other) > width(sure[pair])
    given, guessed = (by_name(estimates(shipped, latency_ms=known))["L40S"] for known in (105.0, None))
    assert quantile() * given.relative_log_sd[0] == pytest.approx(width(given))
    own = shipped.step.instances["g4dn.xlarge"].inferred_log_half_width
    assert quantile() * guessed.relative_log_sd[0] == pytest.approx(math.hypot(width(guessed), own))


def test_covariance_and_doubt_of_a_latency_in_another_host_by_hand():
    # Of 108 ms 8 are copy and start, more than the launches: 8 / 108 of the host's spread.
    steps = AnchorSteps("fast", made_parts(), np.array([108.0]))
    found = other_host_log_sd(STEP_MODEL, steps, np.array([108.0]), Host("same", 1.0, 1.0, 0.2))
    assert found[0] == pytest.approx(0.2 * 8 / 108, rel=1e-5)
    # Launches as long as the rest: half of the host's spread, and of the other half what its 2 ms to start are.
    bound = AnchorSteps("fast", made_parts(convolution=5.0, bandwidth=0.0, copy=0.0, idle=25.0), np.array([13.0]))
    found = other_host_log_sd(STEP_MODEL, bound, np.array([13.0]), Host("same", 1.0, 1.0, 0.2))
    assert found[0] == pytest.approx(0.2 * (0.5 + 0.5 * 2 / 13), rel=1e-2)
    one, other = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [1.0, 5.0]])
    near = LOCAL_LOG_SD**2 * np.array([1.0, math.exp(-(3.0**2) / (2 * 1.5**2))])
    expected = near + LINEAR_LOG_SD**2 * np.array([5.0, 11.0]) + CONSTANT_LOG_SD**2
    np.testing.assert_allclose(covariance(one, other), [expected])


#: Inputs of a correction: six of the step, and the four profiled instances.
INPUTS = 10
GPU = "H100-SXM5-80GB"


def constant(log_factor: float) -> Correction:
    """Multiplies nearly every step alike: its one cell is infinitely far, but for the constant and local parts."""
    at = np.zeros((1, INPUTS))
    # Standardized by a huge scale, every step lies at the cell.
    weight = log_factor / (LOCAL_LOG_SD**2 + CONSTANT_LOG_SD**2)
    return Correction(np.zeros(INPUTS), np.full(INPUTS, 1e9), at, np.array([weight]))


def calibrated(anchor="g4dn.xlarge", *, tf32=True, compute=1.0, bandwidth=0.9) -> CalibratedGpu:
    return CalibratedGpu(GPU, "my-h100", tf32, 20, 7, compute, bandwidth, 0.1, {anchor: constant(math.log(1.5))})


@pytest.fixture
def folder(repository, tmp_path):
    """Writes `transfer.json` as shipped and the calibration from cells."""

    def write(*gpus: CalibratedGpu, change=None):
        shutil.copy(repository / "models" / TRANSFER_NAME, tmp_path)
        content = {
            "schema_version": 2,
            "transfer_checksum": load_transfer(repository / "models").checksum,
            "gpus": [calibrated_content(gpu) for gpu in gpus],
            "fitted_on": {},
        }
        if change:
            change(content)
        (tmp_path / CALIBRATED_NAME).write_text(json.dumps({**content, "checksum": manifest_checksum(content)}))
        return tmp_path

    return write


def estimate(model: TransferModel, *, tf32=True) -> Estimate:
    (found,) = estimates(model, [GPU], tf32=tf32).values()
    return found


def test_what_is_written_is_read_and_other_files_are_refused(folder):
    found = load_transfer(folder(calibrated())).calibrated[GPU, True]
    assert (found.instance, found.cells, found.networks, found.compute) == ("my-h100", 20, 7, 1.0)
    np.testing.assert_array_equal(found.corrections["g4dn.xlarge"].weights, constant(math.log(1.5)).weights)
    with pytest.raises(ArtifactError, match=r"calibrated.json belongs to another transfer.json: run `profet train`"):
        load_transfer(folder(calibrated(), change=lambda content: content.update(transfer_checksum="other")))
    wrong = {"mean": [0.0], "weights": [1.0, 2.0], "scale": [0.0] * INPUTS, "cells": [[None] * INPUTS]}
    for key, value in wrong.items():

        def change(content, key=key, value=value):
            content["gpus"][0]["corrections"]["g4dn.xlarge"][key] = value

        with pytest.raises(ArtifactError, match=r"calibrated.json is damaged"):
            load_transfer(folder(calibrated(), change=change))


def test_a_measured_gpu_uses_its_own_speed_in_its_precision(folder, repository):
    plain = load_transfer(repository / "models")
    as_before = target_of(plain, plain.gpus[GPU], host_named("ice-lake"), True)[0]
    rates = {"compute": as_before.compute, "bandwidth": as_before.bandwidth}
    found = estimate(load_transfer(folder(calibrated(**rates))))
    other = estimate(load_transfer(folder(calibrated("p2.xlarge", **rates))))
    # The same speeds, but no correction from this anchor.
    assert found.latency_ms[0] == pytest.approx(1.5 * other.latency_ms[0], rel=1e-6)
    assert found.free_ms[0] == pytest.approx(1.5 * other.free_ms[0], rel=1e-6)
    assert found.basis is Basis.CALIBRATED
    assert found.notes[0] == Note(Code.MEASURED_STEPS, steps="20 measured steps of my-h100", networks=7)
    assert found.log_half_width[0] >= quantile() * 0.1
    assert estimate(plain).basis is Basis.TRANSFERRED
    plain, model = load_transfer(repository / "models"), load_transfer(folder(calibrated(tf32=True)))
    assert estimate(model, tf32=False).latency_ms == estimate(plain, tf32=False).latency_ms
    assert model.basis_of(model.gpus[GPU]) is Basis.CALIBRATED
    assert evidence_of(model, model.gpus[GPU], True).words == "20 measured steps of my-h100"
    assert evidence_of(model, model.gpus[GPU], False).words.startswith("published")
