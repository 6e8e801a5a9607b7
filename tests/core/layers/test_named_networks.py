"""Networks by name: what their libraries say of them, how people type them, and what any image size does."""

from __future__ import annotations

import csv
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from profet_core.errors import InputError
from profet_core.layers.networks import (
    LIBRARIES,
    counts_of,
    measured_networks,
    named_network,
    named_networks,
    network_name,
    other_definitions,
    shared_name,
)

#: What people type -> the unique name here, and parameters as the library's documentation has them.
TYPED = {
    # torchvision
    "resnet50": ("resnet50", 25_557_032),
    "ResNet-50": ("resnet50", 25_557_032),
    "torchvision.models.resnet50": ("resnet50", 25_557_032),
    "ResNet-50 v1.5": ("resnet50", 25_557_032),
    "AlexNet": ("alexnet", 61_100_840),
    "VGG16-BN": ("vgg16_bn", 138_365_992),
    "regnet_y_16gf": ("regnet_y_16gf", 83_590_140),
    "RegNetY-1.6GF": ("regnet_y_1_6gf", 11_202_430),
    "regnet_y_1_6gf": ("regnet_y_1_6gf", 11_202_430),
    "resnext50_32x4d": ("resnext50_32x4d", 25_028_904),
    "ResNeXt-101 64x4d": ("resnext101_64x4d", 83_455_272),
    "Wide ResNet-50-2": ("wide_resnet50_2", 68_883_240),
    "DenseNet-161": ("densenet161", 28_681_000),
    "EfficientNet-B4": ("efficientnet_b4", 19_341_616),
    "EfficientNetV2-S": ("efficientnet_v2_s", 21_458_488),
    "ConvNeXt-T": ("convnext_tiny", 28_589_128),
    "MNASNet-1.0": ("mnasnet1_0", 4_383_312),
    "ShuffleNetV2-x1.0": ("shufflenet_v2_x1_0", 2_278_604),
    "SqueezeNet 1.1": ("squeezenet1_1", 1_235_496),
    "MobileNetV3-Large": ("mobilenet_v3_large", 5_483_032),
    "SSD300": ("ssd300_vgg16", 35_641_826),
    "RetinaNet": ("retinanet_resnet50_fpn", 34_068_119),
    "Faster R-CNN": ("fasterrcnn_resnet50_fpn", 41_808_406),
    "DeepLabV3": ("deeplabv3_resnet50", 39_638_869),
    "U-Net": ("unet", 31_031_810),
    "models.resnet50": ("resnet50", 25_557_032),
    "microsoft/resnet-50": ("resnet50", 25_557_032),
    "ResNet50_Weights.IMAGENET1K_V2": ("resnet50", 25_557_032),
    "ResNeXt-50 (32x4d)": ("resnext50_32x4d", 25_028_904),
    "WRN-50-2": ("wide_resnet50_2", 68_883_240),
    "facebook/convnext-tiny-224": ("convnext_tiny", 28_589_128),
    "google/mobilenet_v2_1.0_224": ("mobilenet_v2", 3_504_872),
    "efficientnet v2 m": ("efficientnet_v2_m", 54_139_356),
    "Inception v1": ("googlenet", 13_004_888),
    "inception v3": ("inception_v3", 27_161_264),
    "SqueezeNet": ("squeezenet1_0", 1_248_424),
    # timm
    "GhostNet": ("ghostnet_100", 5_182_508),
    "Res2Net-50": ("res2net50_26w_4s", 25_699_120),
    "ResNeSt-50": ("resnest50d", 27_483_240),
    "tf_efficientnet_b0_ns": ("tf_efficientnet_b0", 5_288_548),
    "CoAtNet-0": ("coatnet_0_224", 25_036_820),
    "timm/convnext_tiny.fb_in1k": ("timm/convnext_tiny", 28_589_128),
    "hf_hub:timm/convnext_tiny.fb_in1k": ("timm/convnext_tiny", 28_589_128),
    "models.resnet18(pretrained=True)": ("resnet18", 11_689_512),
    "timm.convnext_tiny": ("timm/convnext_tiny", 28_589_128),
    "tf_efficientnet_b0": ("tf_efficientnet_b0", 5_288_548),
    "tf_efficientnet_b0.ns_jft_in1k": ("tf_efficientnet_b0", 5_288_548),
    "seresnet50": ("seresnet50", 28_088_024),
    "SE-ResNet-50": ("seresnet50", 28_088_024),
    "mobilenetv2_100": ("mobilenetv2_100", 3_504_872),
    "regnety_016": ("regnety_016", 11_202_430),
    "regnety_160": ("regnety_160", 83_590_140),
    "inception_v4": ("inception_v4", 42_679_816),
    "xception41": ("xception41", 26_969_560),
    "nfnet_f0": ("nfnet_f0", 71_489_272),
    # Keras, with what has no gradient
    "keras.applications.ResNet50": ("keras/ResNet50", 25_636_712),
    "tf.keras.applications.resnet50.ResNet50": ("keras/ResNet50", 25_636_712),
    "ResNet50V2": ("ResNet50V2", 25_613_800),
    "keras/EfficientNetB0": ("keras/EfficientNetB0", 5_330_571),
    "Xception": ("Xception", 22_910_480),
    "NASNetMobile": ("NASNetMobile", 5_326_716),
    "MobileNet v1": ("MobileNet", 4_253_864),
    "NASNet-A mobile": ("NASNetMobile", 5_326_716),
    # PROFET
    "PROFET AlexNet": ("PROFET AlexNet", 838_025_352),
    "PROFET ResNet50": ("PROFET ResNet50", 25_621_352),
}
#: Some rows of the measurements' table; the lab's tests have all of them.
MEASURED = {
    ("PROFET LeNet5", 32): (10, 62_006, 1_185_600, 0, 117_840, 8_494, 2, 0, 2, 8),
    ("PROFET AlexNet", 224): (1000, 838_025_352, 56_471_126_016, 0, 1_643_970_560, 41_011_128, 5, 8, 4, 34),
    ("PROFET ResNet50", 256): (1000, 25_621_352, 10_072_621_056, 0, 4_096_000, 45_224_936, 53, 49, 2, 172),
    ("PROFET MobileNetV2", 64): (100, 2_386_084, 45_514_752, 3_382_272, 256_000, 1_796_180, 52, 52, 1, 156),
    ("PROFET InceptionResNetV2", 128): (100, 54_490_436, 3_247_021_760, 0, 307_200, 10_662_068, 244, 204, 6, 782),
}


@pytest.mark.parametrize("typed", TYPED)
def test_a_name_is_the_network_that_people_mean(typed):
    name, parameters = TYPED[typed]
    assert (network_name(typed), counts_of(typed).parameters) == (name, parameters)


def test_about_a_thousand_networks_of_four_libraries_share_or_tell_apart_their_names():
    names = named_networks()
    assert len(names) == len(set(names)) > 900
    assert {named_network(name).library for name in names} == set(LIBRARIES)
    assert all(network_name(name) == name for name in names)
    assert other_definitions("resnet50") == ["keras/ResNet50", "PROFET ResNet50"]
    assert other_definitions("PROFET LeNet5") == []
    shared = [shared_name(name) for name in named_networks()]
    assert all(shared_name(name) == name for name in shared)
    assert {shared_name(name) for name in ("resnet50", "timm/resnet50")} == {"resnet50"}
    assert {shared_name(name) for name in ("regnet_y_16gf", "regnety_160")} == {"regnet_y_16gf"}
    # Normalized otherwise, or the measurements' own.
    own = ["resnet50_gn", "nf_resnet50", "PROFET ResNet50"]
    assert [shared_name(name) for name in own] == own


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("regnet_y_17gf", "regnet_y_16gf"),
        ("resnet55", "resnet50"),
        ("vgg", "vgg11"),
        ("DeepLabV3+", "deeplabv3_resnet50"),
        ("yolov5s", ""),
        ("Mask R-CNN", ""),
        ("x" * 9_999, ""),
    ],
)
def test_an_unknown_name_gets_near_ones_and_the_way_of_a_file(typed, near):
    with pytest.raises(InputError, match=r"give an ONNX or \.keras file") as error:
        network_name(typed)
    assert near in str(error.value) and ("did you mean" in str(error.value)) == bool(near)


@pytest.mark.parametrize(
    "typed", ["BERT", "bert-base-uncased", "gpt2", "LSTM", "openai/clip-base", "DETR", "segformer-b0"]
)
def test_names_of_other_networks_are_refused_as_their_files_are(typed):
    with pytest.raises(InputError, match=r"is not a CNN: .*, and the models know only CNNs"):
        network_name(typed)


def in_library(library: str, name: str) -> int:
    """Parameters of a network that is built by its library; those of Keras with what has no gradient."""
    if library == "keras":
        applications: Any = import_module("keras.applications")
        return int(getattr(applications, name)(weights=None).count_params())
    torch: Any = import_module("torch")
    if library == "timm":
        model = import_module("timm").create_model(name, pretrained=False)
    else:
        with torch.device("cpu" if name.startswith("regnet") else "meta"):
            model = import_module("torchvision.models").get_model(name, weights=None)
    return sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("library", ["torchvision", "timm", "keras"])
def test_parameters_are_those_of_the_library(library):
    """As `library_parameters.csv` has them, and, where the library is installed, as it builds each fourth."""
    rows = csv.DictReader(Path(__file__).with_name("library_parameters.csv").read_text().splitlines())
    known = {row["network"]: int(row["parameters"]) for row in rows if row["library"] == library}
    assert len(known) == 20 and known == {name: counts_of(f"{library}/{name}").parameters for name in known}
    if find_spec(library) is not None:
        assert all(known[name] == in_library(library, name) for name in [*known][::4])


@pytest.mark.parametrize("name", ["vit_base_patch16_224", "swin_tiny_patch4_window7_224", "mixer_b16_224"])
def test_transformers_and_mixers_are_known_and_not_convolutional(name):
    assert not counts_of(name).is_convolutional and network_name(name) not in named_networks()


@pytest.mark.parametrize("name", ["coatnet_0_rw_224", "mobilevit_s"])
def test_hybrids_have_attention(name):
    assert counts_of(name).is_convolutional and counts_of(name).has_attention
    assert not counts_of("convnext_tiny").has_attention


@pytest.mark.parametrize(("name", "pixels"), MEASURED)
def test_the_measured_networks_are_counted_as_the_measurements_count_them(name, pixels):
    counts = counts_of(name, pixels)
    assert MEASURED[name, pixels] == (
        counts.classes,
        counts.parameters,
        counts.flops.convolution,
        counts.flops.depthwise,
        counts.flops.dense,
        counts.elements.all,
        counts.layers.convolutions,
        counts.layers.normalizations,
        counts.layers.pools,
        counts.layers.all,
    )
    assert len(measured_networks()) == 15


def test_other_sizes_grow_as_the_counts_do_and_classes_change_the_last_layer_alone():
    half, own, double = (counts_of("resnet50", pixels) for pixels in (112, 224, 448))
    assert half.parameters == own.parameters == double.parameters
    # 112, 224 and 448 pixels are divided by 32 without rest, so that convolutions grow with the number of pixels.
    assert half.flops.convolution == pytest.approx(own.flops.convolution / 4, rel=0.01)
    assert double.flops.convolution == pytest.approx(own.flops.convolution * 4, rel=0.01)
    assert own.flops.dense == double.flops.dense == 2 * 2_048 * 1_000
    # VGG's dense layers grow with the image in the measurements.
    vgg = [counts_of("PROFET VGG16", pixels, 10).dense_parameters for pixels in (128, 160, 224)]
    assert vgg == sorted(vgg) and len(set(vgg)) == 3
    own, other = counts_of("resnet50"), counts_of("resnet50", classes=10)
    assert own.parameters - other.parameters == 990 * 2_049
    assert other.flops.dense == 2 * 2_048 * 10 and other.flops.convolution == own.flops.convolution
    assert [counts_of("PROFET VGG11", pixels).classes for pixels in (32, 64, 223, 224)] == [10, 100, 100, 1000]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("resnet50", 0), "0 pixels"),
        (("resnet50", 4_097), "4,097"),
        (("resnet50", 224, 0), "0 classes"),
        (("unet", 572, 3), "classes can't be changed"),
        (("PROFET InceptionV3", 64), "too small"),
    ],
)
def test_what_cannot_be_counted_is_one_line(arguments, said):
    with pytest.raises(InputError, match=said) as error:
        counts_of(*arguments)
    assert "\n" not in str(error.value)
