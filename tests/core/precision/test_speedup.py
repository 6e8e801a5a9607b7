"""How much faster AMP and TF32 are on a GPU."""

import math

import pytest

from profet_core.catalog.gpus import load_gpus
from profet_core.errors import ArtifactError
from profet_core.precision.model import load_precision, shares_within

SHARES = [0.0, 0.1, 0.3, 0.5, 0.64, 0.8, 0.95, 1.0]


def shares(compute: float) -> tuple[float, ...]:
    """Of classes in a ResNet with this share of convolutions."""
    return shares_within(compute, 0.002, 0.38, 0.0)


@pytest.fixture(scope="module")
def model():
    return load_precision()


@pytest.mark.parametrize("gpu", load_gpus().values(), ids=lambda gpu: gpu.name)
def test_a_speed_up_stays_within_what_the_hardware_allows(model, gpu):
    found = model.amp(gpu, "amp")
    for share in SHARES:
        for launches in (0.0, 0.3, 0.9, 1.0):
            speedup = math.exp(found.log_speedup(shares(share), launches))
            assert speedup >= 1 / 1.1 - 1e-9
            if gpu.fp16_tensor_dense_tflops is None:
                assert speedup <= 1
            else:
                peak = gpu.fp16_tensor_dense_tflops / gpu.fp32_tflops
                assert speedup <= 1 / (share / peak + (1 - share) / 2) + 1e-9
        if gpu.fp16_tensor_dense_tflops is not None and share >= 0.5:
            assert math.exp(found.log_speedup(shares(share))) > 1.2
    in_tf32 = model.tf32(gpu)
    assert all(in_tf32.log_speedup(shares(share)) >= 0 for share in SHARES)


def test_launches_gain_nothing(model):
    gpu = load_gpus()["Tesla T4"]
    speedups = [model.amp(gpu, "amp").log_speedup(shares(0.6), launches) for launches in (0.0, 0.2, 0.4, 0.7, 1.0)]
    assert speedups == sorted(speedups, reverse=True) and speedups[-1] <= 0


def test_bf16_needs_tensor_cores_that_have_it(model):
    gpus = load_gpus()
    for name, alike in {"A100-SXM4-40GB": True, "Tesla V100-SXM2-16GB": False, "Tesla T4": False}.items():
        same = model.amp(gpus[name], "bf16") == model.amp(gpus[name], "amp")
        assert same is alike
    assert model.amp(gpus["Tesla T4"], "bf16").log_speedup(shares(0.6)) == 0


@pytest.mark.parametrize(
    ("name", "published"),
    {
        # ResNet-50 over FP32 or TF32, from the plainest and the best tuned table.
        "Tesla V100-SXM2-16GB": (2.26, 3.27),
        "A100-SXM4-80GB": (1.48, 2.63),
        "GeForce RTX 2080 Ti": (1.92, 2.7),
    }.items(),
)
def test_resnet50_lies_between_plain_and_tuned_training(model, name, published):
    speedup = math.exp(model.amp(load_gpus()[name], "amp").log_speedup(shares(0.643)))
    assert published[0] <= speedup <= published[1]


def test_a_changed_file_is_refused(model, tmp_path, repository):
    text = (repository / "models" / "precision.json").read_text()
    (tmp_path / "precision.json").write_text(text.replace('"peak_power": 0.3', '"peak_power": 0.4'))
    with pytest.raises(ArtifactError):
        load_precision(tmp_path)
