"""`profet manycore`: both models over threads, and one line for everything that is wrong."""

from __future__ import annotations

import pytest

from profet_core.training.many_core import PUBLISHED_PREDICTIONS_MIN


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
    answer = document("manycore", "large", "--threads", "244")
    asked = {"network": "large", "images": 60_000, "test_images": 10_000, "epochs": 15}
    assert {name: answer[name] for name in asked} == asked
    (row,) = answer["rows"]
    assert (row["threads"], row["cpi"], row["extrapolated"]) == (244, 2, True)
    for model, minutes, speedup in (("model_a", 155.1, 99.5), ("model_b", 154.15, 115.1)):
        times = row[model]
        assert (times["total_s"] / 60, times["speedup"]) == pytest.approx((minutes, speedup), abs=0.05)
        assert times["preparation_s"] + times["images_s"] + times["contention_s"] == pytest.approx(times["total_s"])


@pytest.mark.parametrize(
    ("asked", "images_s"),
    [
        ("small --threads 1 --images 1000 --test-images 0 --epochs 1", 1_000 * (2 * 1.45e-3 + 5.3e-3)),
        # (7 + 2) 60,000 + 2 x 10,000 ms an epoch.
        ("medium --threads 60 --forward-ms 2 --backward-ms 5", 70 * 560 / 60),
    ],
)
def test_a_training_and_times_of_ones_own(document, asked, images_s):
    assert document("manycore", *asked.split())["rows"][0]["model_b"]["images_s"] == pytest.approx(images_s)


def test_networks_and_files_are_scaled_by_their_flops(document, tmp_path):
    """ResNet50 is far beyond the large network, whose speed-up it has; LeNet5 is not."""
    resnet = document("manycore", "resnet50", "--threads", "60")
    assert (resnet["network"], resnet["forward_flops"]) == ("resnet50", pytest.approx(8.178e9, rel=1e-3))
    assert resnet["backward_operations"] / resnet["forward_operations"] == pytest.approx(73_178 / 5_349)
    assert any("times the FLOPs" in line for line in resnet["warnings"])
    smaller = document("manycore", "ResNet50", "--pixels", "112", "--threads", "60")
    assert smaller["forward_flops"] < resnet["forward_flops"] / 3
    by_flops = document("manycore", "--flops", resnet["forward_flops"], "--threads", "60")
    assert by_flops["rows"] == resnet["rows"]
    lenet = document("manycore", "LeNet5", "--pixels", "32", "--threads", "60")
    assert lenet["warnings"] == [] and 524_000 < lenet["backward_operations"] < 6_119_000
    # Twice 26 x 26 x 5 outputs x 16 multiply-adds, and 3380 x 10.
    path = tmp_path / "mine.csv"
    path.write_text("kind,channels,kernel,pixels\ninput,1,,29\nconvolution,5,4,\nflatten,,,\ndense,10,,\n")
    answer = document("manycore", path, "--threads", "60")
    assert answer["forward_flops"] == 2 * (26 * 26 * 5 * 16 + 3_380 * 10)
    assert answer["rows"] == document("manycore", "--flops", answer["forward_flops"], "--threads", "60")["rows"]


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "mine.keras: "), (b"kind,channels,pixels\ninput,3,8\nflatten,,\n", "must be from 1000")]
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
        (("small", "--pixels", "32"), "remove --pixels"),
        (("--flops", "many"), "--flops: invalid float value"),
        (("small", "--threads", "\n9" * 5_000), "--threads: "),
        (("small", "--threads", "0,60"), "--threads: Give a number between 1 and 3,840."),
        (("small", "--threads", ","), "at least one number of threads"),
        (("small", "--images", "0"), "at least 1, not 0"),
        (("small", "--forward-ms", "1"), "both --forward-ms and --backward-ms"),
        (("small", "--forward-ms", "1", "--backward-ms", "inf"), "time per image"),
        (("\x1b[31mResNet\n",), "Unknown network"),
        (("R" * 5_000 + ".keras",), "not found"),
        (("ResNet50", "--pixels", "0"), "0 pixels"),
    ],
)
def test_manycore_refuses_in_one_line(refused, arguments, says):
    assert says in refused("manycore", *arguments)
