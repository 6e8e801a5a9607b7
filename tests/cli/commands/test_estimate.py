"""`profet estimate` and `scale`: latency from a network's layers, and at a size between two."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.core.layers.test_keras import archive, layer, sequential

TARGETS = ("--targets", "g4dn.xlarge,p3.2xlarge")


def keras_file(path):
    """What `model.save` writes of two convolutions and a dense layer: a zip with the model's description."""
    convolutions = [
        layer("Conv2D", name, filters=filters, kernel_size=[3, 3], strides=[stride] * 2, padding="same")
        for name, filters, stride in (("a", 8, 1), ("b", 16, 2))
    ]
    image = layer("InputLayer", "in", batch_shape=[None, 64, 64, 3])
    model = sequential(image, *convolutions, layer("Flatten", "f"), layer("Dense", "d", units=10))
    path.write_bytes(archive(("config.json", json.dumps(model).encode()), ("model.weights.h5", b"")))
    return path


def test_the_document_is_as_documented(document, run):
    asked = ("estimate", "resnet50", "--pixels", 224, "--batch", 32, *TARGETS, "--images", 50_000)
    answer = document(*asked)
    assert [row["instance"] for row in answer["estimates"]] == ["g4dn.xlarge", "p3.2xlarge"]
    row = answer["estimates"][0]
    assert row["low_ms"] < row["latency_ms"] < row["high_ms"] and row["by_method"] == {"rates": row["latency_ms"]}
    # 50,000 images are 1,563 steps of 32.
    assert row["epoch_s"] == pytest.approx(1_563 * row["latency_ms"] / 1_000)
    assert row["epoch_usd"] == pytest.approx(row["epoch_s"] / 3_600 * row["usd_per_hour"])
    assert answer["counts"]["parameters"] == 25_557_032
    status, out, err = run(*asked)
    assert status == 0 and "keras/ResNet50" in err
    assert "resnet50, 224 pixels, batch 32, no profile" in out and "$/epoch" in out


def test_epochs_print_totals_a_gpu_needs_no_offer_and_a_name_from_a_hub_is_no_path(document, run):
    asked = ("estimate", "resnet50", "--batch", 32, "--images", 50_000, "--epochs", 90)
    _, out, _ = run(*asked, *TARGETS)
    assert "time/90 epochs" in out and "$/90 epochs" in out
    answer = document("estimate", "resnet50", "--batch", 32, "--targets", "TITAN Xp")
    assert answer["estimates"] == [] and [row["gpu"] for row in answer["gpus"]] == ["TITAN Xp"]
    assert answer["gpus"][0]["low_ms"] < answer["gpus"][0]["latency_ms"] < answer["gpus"][0]["high_ms"]
    assert answer["memory"]["TITAN Xp"]["verdict"] == "fits" and answer["memory"]["TITAN Xp"]["largest_batch"] > 32
    _, out, _ = run("estimate", "resnet50", "--batch", 1024, "--targets", "RTX 2080 Ti", "--precision", "bf16")
    assert "GeForce RTX 2080 Ti: " in out and " per step (" in out and "memory: does not fit, max" in out
    assert "BF16 at FP32 speed" in out and "instance" not in out
    answer = document("estimate", "timm/convnext_tiny.fb_in1k", "--batch", 8, *TARGETS)
    assert answer["network"] == "timm/convnext_tiny"


def test_targets_are_instances_or_gpus_with_their_offers_or_alone_as_for_predict(document, refused, repository):
    trace = repository / "sample_traces" / "resnet50-224px-b64-g4dn.json"
    commands = {
        "estimates": ("estimate", "resnet50", "--batch", 64),
        "predictions": ("predict", trace, "--anchor", "g4dn.xlarge"),
    }
    named, alone = {}, {}
    for key, command in commands.items():
        answer = document(*command, "--targets", "A100,TITAN Xp,p3.2xlarge")
        named[key] = {row["gpu"] for row in answer[key]} - {"Tesla T4"}
        (alone[key],) = answer["gpus"]
        assert set(alone[key]) == {"gpu", "latency_ms", "low_ms", "high_ms", "basis", "note"}
        assert alone[key]["low_ms"] < alone[key]["latency_ms"] < alone[key]["high_ms"]
        assert answer["memory"]["TITAN Xp"]["verdict"] == "fits"
        # A GPU's row changes no other one.
        assert answer[key] == document(*command, "--targets", "A100,p3.2xlarge")[key]
        assert answer["gpus"] == document(*command, "--targets", "TITAN Xp")["gpus"]
        for target in ("RTX 3090", "TITAN Xp", "p3.2xlarge"):
            assert refused(*command, "--targets", target, "--provider", "gcp").startswith(
                f"Not among the selected offers: {target}."
            )
        among = document(*command, "--targets", "A100", "--provider", "gcp")[key]
        assert {row["provider"] for row in among} - {"aws"} == {"gcp"} and among[-1]["gpu"].startswith("A100")
        assert "nonsense" in refused(*command, "--targets", "nonsense")
    a100s = {f"A100-{form}-{memory}GB" for form in ("SXM4", "PCIE") for memory in (40, 80)}
    assert named["estimates"] == named["predictions"] == a100s | {"Tesla V100-SXM2-16GB"}
    assert alone["estimates"]["gpu"] == alone["predictions"]["gpu"] == "TITAN Xp"
    assert "TITAN Xp" in refused(*commands["predictions"], "--targets", "TITAN Xp", "--method", "profet")


def test_a_profile_is_shown_beside_and_their_disagreement_told(document, run, repository):
    trace = repository / "sample_traces" / "vgg16-224px-b16-g3s.json"
    asked = ("estimate", "PROFET VGG16", "--batch", 16, *TARGETS, "--profile", trace, "--anchor", "g3s.xlarge")
    answer = document(*asked)
    stated = {row["instance"]: row for row in answer["profile"]["disagreements"]}
    row = stated["p3.2xlarge"]
    assert row["ratio"] == pytest.approx(row["estimated_ms"] / row["profiled_ms"]) and row["overlap"] in (True, False)
    assert set(stated) == {"g4dn.xlarge", "p3.2xlarge"}
    _, out, _ = run(*asked)
    assert "by profile" in out and "The estimate and the profile differ by" in out
    _, _, err = run(*asked[:2], "--batch", 32, *asked[4:])
    assert "recorded at batch size 16 and the estimate is for 32" in err


def test_a_keras_file_is_answered_in_a_process_without_tensorflow(tmp_path, repository):
    file = keras_file(tmp_path / "mine.keras")
    code = (
        "import sys\n"
        "from profet_cli.main import main\n"
        f"status = main(['estimate', {str(file)!r}, '--batch', '32', '--format', 'json'])\n"
        "loaded = [name for name in ('tensorflow', 'keras', 'sklearn', 'xgboost', 'lightgbm', 'scipy', 'pandas')\n"
        "          if name in sys.modules]\n"
        "sys.exit(f'{status} {loaded}' if status or loaded else 0)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    content = json.loads(ended.stdout)
    # 3 x 3 x 3 x 8 + 8, 3 x 3 x 8 x 16 + 16, 32 x 32 x 16 x 10 + 10.
    assert content["counts"]["parameters"] == 224 + 1_168 + 163_850
    assert len(content["estimates"]) > 100 and content["network"] == "mine.keras"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("NoNet", "--batch", 8), "Unknown network"),
        (("missing.keras", "--batch", 8), "not found"),
        (("folder/missing.pt", "--batch", 8), "not found"),
        (("N" * 5_000 + ".keras", "--batch", 8), "not found"),
        (("google/mobilenet_v9_1.0_224", "--batch", 8), "Unknown network"),
        (("SSD300 (ResNet-50)", "--batch", 8), "ssd300_vgg16"),
        (("ResNet50", "--batch", 8, "--targets", "nowhere"), "nowhere"),
        (("ResNet50", "--batch", 8, "--training-code", "magic"), "magic"),
        (("sequencer2d_s", "--batch", 8), "the models know only CNNs and vision transformers"),
        (("vit_b_16", "--batch", 8, "--pixels", 250), "use 240 or 256 pixels"),
        (("ResNet50", "--batch", 8, "--anchor", "g3s.xlarge"), "--anchor needs"),
        (("ResNet50", "--batch", 8, "--validation-images", 5), "needs --images"),
    ],
)
def test_what_cannot_be_answered_is_one_line(refused, arguments, message):
    assert message in refused("estimate", *arguments)


ENDS = ("--min-ms", 10, "--max-ms", 100)


def test_scales_json_is_as_the_contract_has_it_and_exact_at_both_ends(document, run):
    answer = document("scale", "--instance", "p3.2xlarge", "--axis", "batch", *ENDS, "--at", 128)
    assert (answer["instance"], answer["axis"], answer["at"]) == ("p3.2xlarge", "batch", 128)
    assert 10 < answer["latency_ms"] < 100
    for axis, at, latency_ms in (("batch", 16, 10), ("batch", 256, 100), ("pixels", 32, 10), ("pixels", 256, 100)):
        answer = document("scale", "--instance", "p2.xlarge", "--axis", axis, *ENDS, "--at", at)
        assert answer["latency_ms"] == latency_ms
    status, out, err = run("scale", "--instance", "p2.xlarge", "--axis", "batch", *ENDS, "--at", 16)
    assert (status, out.count("\n"), err) == (0, 1, "") and "10.0 ms" in out


@pytest.mark.parametrize("axis", ["batch", "pixels"])
def test_scale_takes_a_method_and_what_else_is_known(document, samples, axis):
    largest = next(
        item.path for item in samples.values() if (item.batch_size if axis == "batch" else item.pixels) == 256
    )
    command = ("scale", "--instance", "p2.xlarge", "--axis", axis, *ENDS, "--at", 128)
    of_pixels = [("--fixed-classes",)] if axis == "pixels" else []
    for more in ((), ("--other-size", 64), ("--largest", largest), *of_pixels):
        assert 10 < document(*command, *more)["latency_ms"] < 100


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"--instance": "g9"}, "No scaler for 'g9'"),
        ({"--axis": "depth"}, "--axis must be one of"),
        ({"--other-size": "0"}, "--other-size must be"),
        ({"--largest": "nowhere.json"}, "nowhere.json can't be read"),
        ({"--min-ms": "100"}, "must be above the latency at batch 16"),
        ({"--max-ms": "inf"}, "--max-ms must be"),
        ({"--at": "257"}, "between 16 and 256, not 257"),
        *(
            ({"--method": "profet", **unused}, f"can't use {next(iter(unused))}")
            for unused in (
                {"--known-at": "64", "--known-ms": "30"},
                {"--other-size": "64"},
                {"--largest": "sample_traces/lenet5-32px-b16-g3s.json"},
            )
        ),
        ({"--at": "9" * 5000}, "--at must be"),
    ],
)
def test_scale_refuses_in_one_line(refused, arguments, says):
    given = {"--instance": "p2.xlarge", "--axis": "batch", "--min-ms": "10", "--max-ms": "100", "--at": "64"}
    assert says in refused("scale", *(text for pair in {**given, **arguments}.items() for text in pair))
