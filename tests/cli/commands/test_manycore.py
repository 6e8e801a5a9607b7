"""`profet manycore`: both models over threads, and one line for everything that is wrong."""

from __future__ import annotations

import pytest

from profet_core.manycore.published import PUBLISHED_PREDICTIONS_MIN


@pytest.mark.parametrize("name", PUBLISHED_PREDICTIONS_MIN)
def test_the_published_predictions_are_in_the_text(run, name):
    status, out, err = run("manycore", name)
    assert (status, err.count("\n")) == (0, 1) and err.startswith("warning: Above 240 threads")
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


def test_a_training_and_times_of_ones_own(document):
    """Half the epochs of the small network: the same preparation, but for 350 operations of the epochs."""
    whole, half = (
        document("manycore", "small", "--threads", "60", "--epochs", epochs)["rows"][0] for epochs in (70, 35)
    )
    assert half["model_b"]["images_s"] == pytest.approx(whole["model_b"]["images_s"] / 2)
    assert half["model_b"]["preparation_s"] == whole["model_b"]["preparation_s"] == 12.56
    untested = document("manycore", "small", "--threads", 1, "--images", 1000, "--test-images", 0, "--epochs", 1)
    assert untested["rows"][0]["model_b"]["images_s"] == pytest.approx(1_000 * (2 * 1.45e-3 + 5.3e-3))
    plain, measured = (
        document("manycore", "medium", "--threads", "60", *times)["rows"][0]
        for times in ((), ("--forward-ms", "2", "--backward-ms", "5"))
    )
    assert measured["model_a"] == plain["model_a"]
    # (7 + 2) 60,000 + 2 x 10,000 ms an epoch.
    assert measured["model_b"]["images_s"] == pytest.approx(70 * 560 / 60)


def test_a_network_by_name_is_scaled_by_its_flops(document):
    """ResNet50 is far beyond the large network, whose speed-up it has; LeNet5 is not."""
    resnet = document("manycore", "resnet50", "--threads", "60")
    assert (resnet["network"], resnet["forward_flops"]) == ("ResNet50", pytest.approx(7.716e9, rel=1e-3))
    assert resnet["backward_operations"] / resnet["forward_operations"] == pytest.approx(73_178 / 5_349)
    assert any("170 times the FLOPs" in line for line in resnet["warnings"])
    smaller = document("manycore", "ResNet50", "--pixels", "112", "--threads", "60")
    assert smaller["forward_flops"] < resnet["forward_flops"] / 3
    by_flops = document("manycore", "--flops", resnet["forward_flops"], "--threads", "60")
    assert by_flops["rows"] == resnet["rows"]
    lenet = document("manycore", "LeNet5", "--pixels", "32", "--threads", "60")
    assert lenet["warnings"] == [] and 524_000 < lenet["backward_operations"] < 6_119_000


def test_a_file_s_flops_are_counted(document, tmp_path):
    """Twice 26 x 26 x 5 outputs x 16 multiply-adds, and 3380 x 10."""
    path = tmp_path / "mine.csv"
    path.write_text("kind,channels,kernel,pixels\ninput,1,,29\nconvolution,5,4,\nflatten,,,\ndense,10,,\n")
    found = document("manycore", path, "--threads", "60")
    assert found["forward_flops"] == 2 * (26 * 26 * 5 * 16 + 3_380 * 10)
    assert found["rows"] == document("manycore", "--flops", found["forward_flops"], "--threads", "60")["rows"]


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "mine.keras: "), (b"kind,channels,pixels\ninput,3,8\nflatten,,\n", "must be from 1000")],
)
def test_a_file_that_can_t_be_read_is_one_line(refused, tmp_path, content, says):
    path = tmp_path / "mine.keras"
    path.write_bytes(content)
    assert says in refused("manycore", path)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Name a network"),
        (("small", "--flops", "1e6"), "Name a network"),
        (("--flops", "1e6", "--pixels", "32"), "remove --pixels"),
        (("small", "--pixels", "32"), "has 29 pixels"),
        (("--flops", "nan"), "not nan"),
        (("--flops", "many"), "--flops: invalid float value"),
        (("small", "--threads", "1,3841"), "from 1 to 3840"),
        (("small", "--threads", "\n9" * 5_000), "from 1 to 3840"),
        (("small", "--threads", ","), "at least one number of threads"),
        (("small", "--images", "0"), "at least 1, not 0"),
        (("small", "--test-images", "-1"), "at least 0"),
        (("small", "--epochs", "0"), "epochs"),
        (("small", "--forward-ms", "1"), "both --forward-ms and --backward-ms"),
        (("small", "--forward-ms", "1", "--backward-ms", "inf"), "backward time per image"),
        (("\x1b[31mResNet\n",), "unknown network"),
        (("R" * 5_000 + ".keras",), "File name too long"),
        (("ResNet50", "--pixels", "0"), "0 pixels"),
    ],
)
def test_manycore_refuses_in_one_line(refused, arguments, says):
    assert says in refused("manycore", *arguments)
