"""`profet manycore`: both models over threads, and one line for everything that is wrong."""

from __future__ import annotations

import pytest

from profet_core.manycore.published import PUBLISHED_PREDICTIONS_MIN


@pytest.mark.parametrize("name", PUBLISHED_PREDICTIONS_MIN)
def test_the_published_predictions_are_in_the_text(run, name):
    status, out, err = run("manycore", name)
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("warning: Above 240 threads memory contention was extrapolated")
    shown = {cells[0]: cells[1] for line in out.splitlines() if (cells := line.split()) and cells[0][:1].isdigit()}
    published = PUBLISHED_PREDICTIONS_MIN[name]
    assert {f"{threads:,}": f"{minutes:.1f}" for threads, minutes in published.items()}.items() <= shown.items()
    assert list(shown) == ["1", "15", "30", "60", "120", "180", "240", "480", "960", "1,920", "3,840"]


def test_manycores_json(document):
    """Large on 244 threads: (a) 155.1 min, (b) 154.15 min."""
    found = document("manycore", "large", "--threads", "244")
    assert (found["network"], found["images"], found["test_images"], found["epochs"]) == ("large", 60_000, 10_000, 15)
    (row,) = found["rows"]
    assert (row["threads"], row["cpi"], row["extrapolated"]) == (244, 2, True)
    assert row["model_a"]["total_s"] / 60 == pytest.approx(155.1, abs=0.05)
    assert row["model_b"]["total_s"] / 60 == pytest.approx(154.15, abs=0.05)
    for model in (row["model_a"], row["model_b"]):
        assert model["preparation_s"] + model["images_s"] + model["contention_s"] == pytest.approx(model["total_s"])
    assert (row["model_a"]["speedup"], row["model_b"]["speedup"]) == pytest.approx((99.5, 115.1), abs=0.05)


def test_a_training_of_ones_own(document):
    """Half the epochs of the small network: the same preparation, but for 350 operations of the epochs."""
    whole, half = (
        document("manycore", "small", "--threads", "60", "--epochs", epochs)["rows"][0] for epochs in (70, 35)
    )
    assert half["model_b"]["images_s"] == pytest.approx(whole["model_b"]["images_s"] / 2)
    assert half["model_b"]["preparation_s"] == whole["model_b"]["preparation_s"] == 12.56
    untested = document(
        "manycore", "small", "--threads", "1", "--images", "1000", "--test-images", "0", "--epochs", "1"
    )
    assert untested["rows"][0]["model_b"]["images_s"] == pytest.approx(1_000 * (2 * 1.45e-3 + 5.3e-3))


def test_a_network_by_name_is_scaled_by_its_flops(document):
    """AlexNet and ResNet50 are far beyond the large network, whose speed-up they have; LeNet5 is not."""
    resnet = document("manycore", "resnet50", "--threads", "60")
    assert (resnet["network"], resnet["forward_flops"]) == ("ResNet50", pytest.approx(7.716e9, rel=1e-3))
    assert resnet["backward_operations"] / resnet["forward_operations"] == pytest.approx(73_178 / 5_349)
    assert any("170 times the FLOPs of the large network" in line for line in resnet["warnings"])
    smaller = document("manycore", "ResNet50", "--pixels", "112", "--threads", "60")
    assert smaller["forward_flops"] < resnet["forward_flops"] / 3
    by_flops = document("manycore", "--flops", resnet["forward_flops"], "--threads", "60")
    assert by_flops["rows"] == resnet["rows"]
    lenet = document("manycore", "LeNet5", "--pixels", "32", "--threads", "60")
    assert lenet["warnings"] == [] and 524_000 < lenet["backward_operations"] < 6_119_000


TABLE = "kind,channels,kernel,pixels\ninput,1,,29\nconvolution,5,4,\nflatten,,,\ndense,10,,\n"


def test_a_file_s_flops_are_counted(document, tmp_path):
    """Twice 26 x 26 x 5 outputs x 16 multiply-adds, and 3380 x 10."""
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    found = document("manycore", path, "--threads", "60")
    assert found["forward_flops"] == 2 * (26 * 26 * 5 * 16 + 3_380 * 10)
    assert found["rows"] == document("manycore", "--flops", found["forward_flops"], "--threads", "60")["rows"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "mine.keras: "),
        (b"PK\x03\x04", "mine.keras: "),
        (b"kind,channels\nexec,10\n", "mine.keras: "),
        (b"kind,channels,pixels\ninput,3,8\nflatten,,\n", "The FLOPs of an image must be a number from 1000"),
    ],
)
def test_a_file_that_can_t_be_read_is_one_line(refused, tmp_path, content, says):
    path = tmp_path / "mine.keras"
    path.write_bytes(content)
    assert says in refused("manycore", path)


def test_measured_times_change_model_b_alone(document):
    plain = document("manycore", "medium", "--threads", "60")["rows"][0]
    measured = document("manycore", "medium", "--threads", "60", "--forward-ms", "2", "--backward-ms", "5")["rows"][0]
    assert measured["model_a"] == plain["model_a"]
    # (7 + 2) 60,000 + 2 x 10,000 ms an epoch.
    assert measured["model_b"]["images_s"] == pytest.approx(70 * 560 / 60)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Name a network (small, medium, large, ResNet50, ...) or give its --flops."),
        (("small", "--flops", "1e6"), "Name a network"),
        (("--flops", "1e6", "--pixels", "32"), "leave --pixels out"),
        (("small", "--pixels", "32"), "The small network is of 29 pixels: leave --pixels out."),
        (("--flops", "nan"), "The FLOPs of an image must be a number from 1000 to 1e+16, not nan."),
        (("--flops=-1e6",), "The FLOPs of an image must be a number"),
        (("--flops", "many"), "argument --flops: invalid float value: 'many'"),
        (("small", "--threads", "0"), "argument --threads: '0' are no numbers from 1 to 3840, such as 1,60,240"),
        (("small", "--threads", "1,3841"), "argument --threads: '1,3841' are no numbers"),
        (("small", "--threads", "1;2"), "are no numbers from 1 to 3840"),
        (("small", "--threads", "1.5"), "are no numbers from 1 to 3840"),
        (("small", "--threads", "\n9" * 5_000), "are no numbers from 1 to 3840"),
        (("small", "--threads", ","), "Name at least one number of threads"),
        (("small", "--images", "0"), "The number of images must be a whole number of at least 1, not 0."),
        (("small", "--images", "9" * 4_000), "The number of images must be at most 1e+"),
        (("small", "--test-images", "-1"), "The number of test images must be a whole number of at least 0"),
        (("small", "--epochs", "0"), "The number of epochs must be a whole number of at least 1"),
        (("small", "--epochs", "9" * 5_000), "argument --epochs: invalid int value"),
        (("small", "--forward-ms", "1"), "Give both --forward-ms and --backward-ms"),
        (("small", "--forward-ms", "0", "--backward-ms", "1"), "The time of an image forward must be a number above 0"),
        (
            ("small", "--forward-ms", "1", "--backward-ms", "inf"),
            "The time of an image backward must be a number above",
        ),
        (("ResNet5000",), "'ResNet5000' is no network that is known by name"),
        (("\x1b[31mResNet\n",), "is no network that is known by name"),
        (("R" * 5_000,), "is no network that is known by name"),
        (("R" * 5_000 + ".keras",), "can't be read: File name too long"),
        (("nowhere.keras",), "nowhere.keras: it can't be read: No such file or directory."),
        (("ResNet50", "--pixels", "0"), "Images of 0 pixels can't be looked at"),
    ],
)
def test_manycore_refuses_in_one_line(refused, arguments, says):
    assert says in refused("manycore", *arguments)
