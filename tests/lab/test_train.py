"""Training writes a folder that serving loads, and leaves the old one alone until the new one is complete."""

import shutil

import numpy as np
import pytest

from profet_core import ArtifactError, InputError, load_models
from tests.made.uncompiled import without_compiling


@pytest.fixture(scope="module")
def five_sizes(classed):
    """The made-up set has no full size axis: scalers are fitted elsewhere."""
    rows = [{"instance": name, "axis": "batch", "coefficients": [-1 / 15, 1 / 240, 0.0]} for name in classed.instances]
    from profet_lab import train as training

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_scaler_rows", lambda measurements: rows)
        patch.setattr(training, "learned_scalers", lambda measurements: {})
        without_compiling(patch)
        yield classed


def train(measurements, out, **how):
    from profet_lab import train as training

    return training.train(measurements, out, quiet=True, **how)


@pytest.fixture(scope="module")
def trained(five_sizes, tmp_path_factory):
    """A folder trained in as few steps as can be: what it says is not the point."""
    out = tmp_path_factory.mktemp("trained") / "models"
    train(five_sizes, out, epochs=2, steps=1)
    return out


@pytest.fixture
def copied(trained, tmp_path):
    """A copy to train over."""
    return shutil.copytree(trained, tmp_path / "models")


def test_a_trained_folder_loads_and_answers_as_its_members_do(trained, classed):
    models = load_models(trained)
    models.verify()
    assert models.instances == ("slow", "fast")
    assert models.manifest["training_data"]["architectures"] == ["A", "B", "C", "D"]
    latency_ms = np.array([[10.0], [40.0]], np.float32)
    predicted_ms = models.run_members("slow", ["fast"], "line", {"latency_ms": latency_ms})[0]
    np.testing.assert_allclose(predicted_ms, [5.0, 20.0], rtol=1e-4)
    assert models.method("default").kind == "classes"
    assert len(models.reference("slow")) == len(classed.workloads) / 2
    for known in (True, False):
        assert models.interval_scale(known).quantile["slow"]["fast"] > 0
        for member in models.method("default").rule(known).members:
            for sizes in (True, False):
                assert models.stack("slow", member, latency_known=known, sizes_known=sizes).targets == ("fast",)


def test_an_unknown_anchor_is_refused_before_anything_is_written(five_sizes, tmp_path):
    with pytest.raises(InputError, match="Unknown instance 'p9'"):
        train(five_sizes, tmp_path / "models", anchors=["p9"])
    assert not (tmp_path / "models").exists()


def test_a_new_training_of_one_anchor_removes_members_of_the_old_one(five_sizes, copied):
    manifest = train(five_sizes, copied, anchors=["slow"], epochs=1, steps=1)
    assert {row["anchor"] for row in (*manifest["members"], *manifest["stacks"])} == {"slow"}
    assert sorted(path.name for path in copied.iterdir()) == ["manifest.json", "slow"]
    with pytest.raises(ArtifactError, match="no member"):
        load_models(copied).run_members("fast", ["slow"], "line", {})
