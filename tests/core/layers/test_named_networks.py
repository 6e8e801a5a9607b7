"""Networks by name: what is published of them, and what any image size does."""

from __future__ import annotations

import re

import pytest

from profet_core.errors import InputError
from profet_core.layers import counts_of, layers_of, measured_networks, named_networks, network_name

#: Parameters with a gradient at 1000 classes, as torchvision's and Keras' documentation have them; the last
#: three as imgclsmob's tables of models have them.
PUBLISHED = {
    "ConvNeXt-Tiny": 28_589_128,
    "ConvNeXt-Small": 50_223_688,
    "ConvNeXt-Base": 88_591_464,
    "ConvNeXt-Large": 197_767_336,
    "EfficientNet-B0": 5_288_548,
    "EfficientNet-B1": 7_794_184,
    "EfficientNet-B2": 9_109_994,
    "EfficientNet-B3": 12_233_232,
    "EfficientNet-B4": 19_341_616,
    "EfficientNet-B5": 30_389_784,
    "EfficientNet-B6": 43_040_704,
    "EfficientNet-B7": 66_347_960,
    "RegNetX-400MF": 5_495_976,
    "RegNetX-800MF": 7_259_656,
    "RegNetX-1.6GF": 9_190_136,
    "RegNetX-3.2GF": 15_296_552,
    "RegNetY-400MF": 4_344_144,
    "RegNetY-800MF": 6_432_512,
    "RegNetY-1.6GF": 11_202_430,
    "RegNetY-3.2GF": 19_436_338,
    "DenseNet-121": 7_978_856,
    "DenseNet-161": 28_681_000,
    "DenseNet-169": 14_149_480,
    "DenseNet-201": 20_013_928,
    "MobileNetV3-Large": 5_483_032,
    "MobileNetV3-Small": 2_542_856,
    "MNASNet-0.5": 2_218_512,
    "MNASNet-0.75": 3_170_208,
    "MNASNet-1.0": 4_383_312,
    "MNASNet-1.3": 6_282_256,
    "ShuffleNetV2-x0.5": 1_366_792,
    "ShuffleNetV2-x1.0": 2_278_604,
    "ShuffleNetV2-x1.5": 3_503_624,
    "ShuffleNetV2-x2.0": 7_393_996,
    "ResNeXt-50 32x4d": 25_028_904,
    "ResNeXt-101 32x8d": 88_791_336,
    "ResNeXt-101 64x4d": 83_455_272,
    "Wide ResNet-50-2": 68_883_240,
    "Wide ResNet-101-2": 126_886_696,
    "ResNet-18 v1.5": 11_689_512,
    "ResNet-34 v1.5": 21_797_672,
    "ResNet-50 v1.5": 25_557_032,
    "ResNet-101 v1.5": 44_549_160,
    "ResNet-152 v1.5": 60_192_808,
    "VGG11-BN": 132_868_840,
    "VGG13-BN": 133_053_736,
    "VGG16-BN": 138_365_992,
    "VGG19-BN": 143_678_248,
    "AlexNet (2014)": 61_100_840,
    "SqueezeNet 1.0": 1_248_424,
    "SqueezeNet 1.1": 1_235_496,
    "MobileNetV2": 3_504_872,
    "VGG16": 138_357_544,
    "ResNeXt-101 32x4d": 44_177_704,
    "InceptionV4": 42_679_816,
    "SE-ResNeXt-101 32x4d": 48_955_416,
}
#: With what has no gradient, as Keras' `count_params` has them.
KERAS = {
    "EfficientNet-B0": 5_330_571,
    "EfficientNet-B7": 66_658_687,
    "DenseNet-121": 8_062_504,
    "DenseNet-201": 20_242_984,
    "MobileNet": 4_253_864,
    "MobileNetV2": 3_538_984,
    "MobileNetV3-Large": 5_507_432,
    "Xception": 22_910_480,
    "InceptionV3": 23_851_784,
    "InceptionResNetV2": 55_873_736,
}
#: GFLOPs of one image of 224 pixels, a multiply-add as two; torchvision's documentation has half of them.
GFLOPS = {
    "ResNet-50 v1.5": 8.18,
    "ResNeXt-50 32x4d": 8.46,
    "DenseNet-121": 5.67,
    "RegNetY-400MF": 0.80,
    "VGG16-BN": 30.94,
}
#: Some rows of the measurements' table; the lab's tests have all of them.
MEASURED = {
    ("LeNet5", 32): (10, 62_006, 1_185_600, 0, 117_840, 8_494, 2, 0, 2, 8),
    ("AlexNet", 224): (1000, 838_025_352, 56_471_126_016, 0, 1_643_970_560, 41_011_128, 5, 8, 4, 34),
    ("ResNet50", 256): (1000, 25_621_352, 10_072_621_056, 0, 4_096_000, 45_224_936, 53, 49, 2, 172),
    ("MobileNetV2", 64): (100, 2_386_084, 45_514_752, 3_382_272, 256_000, 1_796_180, 52, 52, 1, 156),
    ("InceptionResNetV2", 128): (100, 54_490_436, 3_247_021_760, 0, 307_200, 10_662_068, 244, 204, 6, 782),
}


def test_parameters_and_operations_are_those_that_are_published():
    assert {name: counts_of(name, 224, 1000).trainable_parameters for name in PUBLISHED} == PUBLISHED
    assert {name: counts_of(name, 224, 1000).parameters for name in KERAS} == KERAS
    assert set(named_networks()[15:]) <= PUBLISHED.keys() | KERAS.keys()
    assert {name: counts_of(name, 224).flops / 1e9 for name in GFLOPS} == pytest.approx(GFLOPS, abs=0.006)


@pytest.mark.parametrize(("name", "pixels"), MEASURED)
def test_rows_of_the_measurements_are_reproduced(name, pixels):
    counts = counts_of(name, pixels)
    assert MEASURED[name, pixels] == (
        counts.classes,
        counts.parameters,
        counts.convolution_flops,
        counts.depthwise_flops,
        counts.dense_flops,
        counts.activation_elements,
        counts.convolutions,
        counts.normalizations,
        counts.pools,
        counts.layers,
    )


def test_the_measured_ones_come_first_and_every_one_can_be_built():
    assert len(measured_networks()) == 15
    assert named_networks()[:15] == measured_networks()
    for name in named_networks():
        counts = counts_of(name, 256)
        assert counts.classes == 1000 and counts.parameters > 0 and counts.activation_elements > counts.other_elements


def test_more_pixels_are_more_work_at_any_size():
    for name in named_networks():
        one, other = (counts_of(name, pixels, 10) for pixels in (75, 127))
        assert other.flops > one.flops and other.activation_elements > one.activation_elements
        assert other.parameters >= one.parameters and other.layers == one.layers


def test_classes_go_with_pixels_as_in_the_measurements_or_are_given():
    assert [counts_of("VGG11", pixels).classes for pixels in (32, 63, 64, 223, 224)] == [10, 10, 100, 100, 1000]
    assert counts_of("MobileNetV2", 32, 7).dense_flops == 2 * 1280 * 7


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("resnext50_32x4d", "ResNeXt-50 32x4d"),
        ("shufflenet_v2_x0_5", "ShuffleNetV2-x0.5"),
        ("regnet_y_1_6gf", "RegNetY-1.6GF"),
        ("SE-ResNeXt101-32x4d", "SE-ResNeXt-101 32x4d"),
        ("mnist cnn", "MNIST_CNN"),
        ("ResNet101", "ResNet-101 v1.5"),
    ],
)
def test_names_are_found_however_they_are_written(typed, name):
    assert network_name(typed) == name


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("ResNet51", 224), r"'ResNet51': did you mean ResNet50, ResNet18, ResNet-50 v1\.5\?"),
        (("ViT", 224), r"^unknown network 'ViT': see docs/NETWORKS\.md\.$"),
        (("x\n" * 999, 224), r"'x\\nx\\n"),
        (("InceptionV3", 74), "InceptionV3 can't be built for images of 74 pixels"),
        (("VGG16", 0), "Images of 0 pixels"),
        (("VGG16", 224, 10**9), "1,000,000,000 classes"),
    ],
)
def test_what_cannot_be_built_is_one_line(arguments, line):
    with pytest.raises(InputError, match=line) as error:
        layers_of(*arguments)
    assert "\n" not in str(error.value)


def test_the_document_has_all_names(repository):
    text = (repository / "docs" / "NETWORKS.md").read_text(encoding="utf-8")
    paragraph = next(each for each in text.split("\n\n") if each.startswith("All names;"))
    assert re.findall(r"`([^`]+)`", paragraph.replace("\n", " ")) == named_networks()
