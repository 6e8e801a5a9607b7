"""A GPU of which cells were measured: its corrected law, as it is read from `sharpened.json` and served."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest

from profet_core.errors import ArtifactError
from profet_core.files import manifest_checksum
from profet_core.latency import NORMAL_90, Basis
from profet_core.networks.batch import ProfileBatch
from profet_core.operations.classes import load_operation_classes
from profet_core.profiles import Profile
from profet_core.transfer.estimate import TransferEstimate, estimate_gpus
from profet_core.transfer.hosts import host_named
from profet_core.transfer.known import AnchorSteps, Latencies
from profet_core.transfer.model import SHARPENED_NAME, TRANSFER_NAME, TransferModel, load_transfer
from profet_core.transfer.parts import step_parts
from profet_core.transfer.sharpened import (
    CONSTANT_LOG_SD,
    LINEAR_LOG_SD,
    LOCAL_LOG_SD,
    Correction,
    SharpenedGpu,
    covariance,
    sharpened_content,
)
from profet_core.transfer.speed import evidence_of, target_of

#: Inputs of a correction: six of the step, and the four profiled instances.
INPUTS = 10
GPU = "H100-SXM5-80GB"
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


def constant(log_factor: float) -> Correction:
    """Multiplies nearly every step alike: its one cell is infinitely far, but for the constant and local parts."""
    at = np.zeros((1, INPUTS))
    # Standardised by a huge scale, every step lies at the cell.
    weight = log_factor / (LOCAL_LOG_SD**2 + CONSTANT_LOG_SD**2)
    return Correction(np.zeros(INPUTS), np.full(INPUTS, 1e9), at, np.array([weight]))


def sharpened(anchor="g4dn.xlarge", *, tf32=True, log_speed=1.0) -> SharpenedGpu:
    return SharpenedGpu(GPU, "my-h100", tf32, 20, 7, log_speed, 0.9, 0.1, {anchor: constant(math.log(1.5))})


@pytest.fixture
def folder(repository, tmp_path):
    """Writes `transfer.json` as shipped and what cells told beside it."""

    def write(*gpus: SharpenedGpu, change=None):
        shutil.copy(repository / "models" / TRANSFER_NAME, tmp_path)
        content = {
            "schema_version": 1,
            "transfer_checksum": load_transfer(repository / "models").checksum,
            "gpus": [sharpened_content(gpu) for gpu in gpus],
            "fitted_on": {},
        }
        if change:
            change(content)
        (tmp_path / SHARPENED_NAME).write_text(json.dumps({**content, "checksum": manifest_checksum(content)}))
        return tmp_path

    return write


def estimate(model: TransferModel, *, anchor="g4dn.xlarge", tf32=True) -> TransferEstimate:
    batch = ProfileBatch((PROFILE,), anchor, np.array([105.0]))
    recorded = AnchorSteps(anchor, step_parts(load_operation_classes(), batch.inputs), np.array([105.0]))
    others = {
        name: Latencies(np.array([ms]), np.array([0.0]))
        for name, ms in {"g3s.xlarge": 180.0, "g4dn.xlarge": 105.0, "p2.xlarge": 310.0, "p3.2xlarge": 36.0}.items()
        if name != anchor
    }
    placed = model.gpus[GPU], host_named("ice-lake")
    return estimate_gpus(model, recorded, others, [placed], tf32=tf32)[placed]


def test_covariance_by_hand():
    one, other = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [1.0, 5.0]])
    near = LOCAL_LOG_SD**2 * np.array([1.0, math.exp(-(3.0**2) / (2 * 1.5**2))])
    expected = near + LINEAR_LOG_SD**2 * np.array([5.0, 11.0]) + CONSTANT_LOG_SD**2
    np.testing.assert_allclose(covariance(one, other), [expected])


def test_what_is_written_is_read(folder):
    model = load_transfer(folder(sharpened()))
    found = model.sharpened[GPU, True]
    assert (found.instance, found.cells, found.networks, found.log_speed) == ("my-h100", 20, 7, 1.0)
    np.testing.assert_array_equal(found.corrections["g4dn.xlarge"].weights, constant(math.log(1.5)).weights)


def test_a_measured_gpu_is_told_by_its_own_speed_and_what_the_law_left(folder, repository):
    plain = load_transfer(repository / "models")
    as_before = target_of(plain, plain.gpus[GPU], host_named("ice-lake"), True)[0]
    found = estimate(load_transfer(folder(sharpened(log_speed=as_before.log_speed))))
    other = estimate(load_transfer(folder(sharpened("p2.xlarge", log_speed=as_before.log_speed))))
    # The same speeds, but no correction from this anchor.
    assert found.latencies.latency_ms[0] == pytest.approx(1.5 * other.latencies.latency_ms[0], rel=1e-6)
    assert found.free_ms[0] == pytest.approx(1.5 * other.free_ms[0], rel=1e-6)
    assert found.basis is Basis.SHARPENED
    assert found.note.startswith("20 measured steps of my-h100, 7 networks")
    assert found.latencies.log_half_width[0] >= NORMAL_90 * 0.1
    assert estimate(plain).basis is Basis.TRANSFERRED


def test_another_precision_is_as_it_was(folder, repository):
    plain, model = load_transfer(repository / "models"), load_transfer(folder(sharpened(tf32=True)))
    assert estimate(model, tf32=False).latencies.latency_ms == estimate(plain, tf32=False).latencies.latency_ms
    assert model.basis_of(model.gpus[GPU]) is Basis.SHARPENED
    assert evidence_of(model, model.gpus[GPU], True).words == "20 measured steps of my-h100"
    assert evidence_of(model, model.gpus[GPU], False).words == "its kernels"


def test_cells_of_another_transfer_are_refused(folder):
    with pytest.raises(ArtifactError, match=r"sharpened.json is of another transfer.json: run `profet train`"):
        load_transfer(folder(sharpened(), change=lambda content: content.update(transfer_checksum="other")))


@pytest.mark.parametrize(
    ("key", "value"),
    [("mean", [0.0]), ("weights", [1.0, 2.0]), ("scale", [0.0] * INPUTS), ("cells", [[None] * INPUTS])],
)
def test_a_correction_whose_arrays_are_wrong_is_damaged(folder, key, value):
    def change(content):
        content["gpus"][0]["corrections"]["g4dn.xlarge"][key] = value

    with pytest.raises(ArtifactError, match=r"sharpened.json is damaged"):
        load_transfer(folder(sharpened(), change=change))
