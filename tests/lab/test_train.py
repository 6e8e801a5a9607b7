"""Training writes a folder that serving loads, and leaves the old one alone until the new one is complete."""

import numpy as np
import pytest

from profet_core import ArtifactError, InputError, load_models
from profet_lab import train as training
from profet_lab.train import train

pytestmark = pytest.mark.training


@pytest.fixture
def five_sizes(small, monkeypatch):
    """The made-up set has no full size axis: scalers are fitted elsewhere."""
    rows = [
        {"instance": name, "axis": axis, "coefficients": [-1 / 15, 1 / 240, 0.0]}
        for name in small.instances
        for axis in ["batch"]
    ]
    monkeypatch.setattr(training, "_scaler_rows", lambda measurements: rows)
    return small


def test_a_trained_folder_loads_and_answers_as_its_members_do(five_sizes, tmp_path):
    manifest = train(five_sizes, tmp_path / "models", epochs=2, quiet=True)
    models = load_models(tmp_path / "models")
    models.verify()
    assert models.instances == ("slow", "fast")
    assert manifest["training_data"]["architectures"] == ["A", "B", "C"]
    latency_ms = np.array([[10.0], [40.0]], np.float32)
    said = models.run_member("slow", "fast", "line", {"latency_ms": latency_ms})
    np.testing.assert_allclose(said, [5.0, 20.0], rtol=1e-4)


def test_one_anchor_alone_can_be_trained(five_sizes, tmp_path):
    manifest = train(five_sizes, tmp_path / "models", anchors=["slow"], epochs=1, quiet=True)
    assert {row["anchor"] for row in manifest["members"]} == {"slow"}


def test_an_unknown_anchor_is_refused_before_anything_is_written(five_sizes, tmp_path):
    with pytest.raises(InputError, match="Unknown instance 'p9'"):
        train(five_sizes, tmp_path / "models", anchors=["p9"], quiet=True)
    assert not (tmp_path / "models").exists()


def test_an_interrupted_training_leaves_the_old_models(five_sizes, tmp_path, monkeypatch):
    out = tmp_path / "models"
    before = train(five_sizes, out, epochs=1, quiet=True)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "dense_to_onnx", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(five_sizes, out, epochs=1, quiet=True)
    assert load_models(out).manifest["checksum"] == before["checksum"]
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


def test_a_new_training_removes_members_of_the_old_one(five_sizes, tmp_path):
    out = tmp_path / "models"
    train(five_sizes, out, epochs=1, quiet=True)
    train(five_sizes, out, anchors=["slow"], epochs=1, quiet=True)
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "slow"]
    with pytest.raises(ArtifactError, match="no member"):
        load_models(out).run_member("fast", "slow", "line", {})
