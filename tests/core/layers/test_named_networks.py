"""Networks by name: what their libraries say of them, how people type them, and what any image size does."""

from __future__ import annotations

import csv
import gzip
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from profet_core.errors import InputError
from profet_core.layers.networks import (
    LIBRARIES,
    PACKED,
    counts_of,
    measured_networks,
    named_network,
    named_networks,
    network_name,
    other_definitions,
    shared_name,
)
from profet_core.layers.reading import read_network
from profet_core.shipped import shipped_bytes
from profet_lab.networks import TABLE, _packed, _rows

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
    "U-Net": ("unet", 31_037_698),
    "U-Net (2015)": ("unet_2015", 31_031_810),
    "maskrcnn_resnet50_fpn": ("maskrcnn_resnet50_fpn", 44_454_513),
    "RegNetY-8.0GF": ("regnet_y_8gf", 39_381_472),
    "ResNeXt-152": ("resnext152_32x4d", 59_951_400),
    "MobileNetV3_large_x1_0": ("mobilenet_v3_large", 5_483_032),
    "nvidia_efficientnet_b0": ("efficientnet_b0", 5_288_548),
    "resnet50_8xb32-fp16-dynamic_in1k": ("resnet50", 25_557_032),
    "mobilenet-v2_8xb32_in1k": ("mobilenet_v2", 3_504_872),
    "faster-rcnn_r50_fpn_1x_coco": ("fasterrcnn_resnet50_fpn", 41_808_406),
    "COCO-Detection/faster_rcnn_R_50_FPN_3x.yaml": ("fasterrcnn_resnet50_fpn", 41_808_406),
    "torchvision.models.detection.fcos_resnet50_fpn": ("fcos_resnet50_fpn", 32_322_720),
    "resnet18(weights=ResNet18_Weights.DEFAULT)": ("resnet18", 11_689_512),
    "ResNeXt\u201150 (32\u00d74d)": ("resnext50_32x4d", 25_028_904),
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
    "seresnext50": ("seresnext50_32x4d", 27_559_896),
    "SE-ResNeXt-50": ("seresnext50_32x4d", 27_559_896),
    "apple/mobilevit-small": ("mobilevit_s", 5_578_632),
    "RegNetX-200MF": ("regnetx_002", 2_684_792),
    "facebook/regnet-y-040": ("regnety_040", 20_646_656),
    "ResNet50_vd": ("resnet50d", 25_576_264),
    "resnetv1d50_8xb32_in1k": ("resnet50d", 25_576_264),
    "gluon_resnet50_v1d": ("resnet50d", 25_576_264),
    "google/mobilenet_v2_1.4_224": ("mobilenetv2_140", 6_108_776),
    "ConvNeXtV2-B": ("convnextv2_base", 88_717_800),
    "HRNetV2-W48": ("hrnet_w48", 77_469_864),
    "PPLCNet_x1_0": ("lcnet_100", 2_953_800),
    "BiT-M-R50x1": ("resnetv2_50x1_bit", 25_549_352),
    "https://huggingface.co/timm/resnet50.a1_in1k": ("timm/resnet50", 25_557_032),
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
    "InceptionResNetV2": ("keras/InceptionResNetV2", 55_873_736),
    "resnet_v1_50": ("keras/ResNet50", 25_636_712),
    # Ultralytics, segmentation_models_pytorch
    "YOLOv8n": ("yolov8n", 3_157_200),
    "yolov5s.pt": ("yolov5s", 7_235_389),
    "yolov5su": ("yolov5su", 9_153_152),
    "YOLO v12 nano": ("yolo12n", 2_602_288),
    "YOLOv11x": ("yolo11x", 56_966_176),
    "yolov9c": ("yolov9c", 25_590_912),
    "yolov10b": ("yolov10b", 20_574_384),
    "yolov8n-seg": ("yolov8n-seg", 3_409_968),
    "DeepLabV3+": ("deeplabv3plus_resnet50", 26_677_585),
    "UNet ResNet-34": ("unet_resnet34", 24_436_369),
    "ResNet34-UNet": ("unet_resnet34", 24_436_369),
    # Code, and transformers
    "timm.create_model('resnet50', pretrained=True)": ("timm/resnet50", 25_557_032),
    "torchvision.models.get_model(name='resnet18')": ("resnet18", 11_689_512),
    'YOLO("yolov8n.pt")': ("yolov8n", 3_157_200),
    "ViTModel.from_pretrained('google/vit-base-patch16-224')": ("vit_base_patch16_224", 86_567_656),
    "vision-transformer-base": ("vit_base_patch16_224", 86_567_656),
    "swin_transformer_tiny": ("swin_tiny_patch4_window7_224", 28_288_354),
    "dino v2": ("vit_base_patch14_dinov2", 86_579_712),
    "MLP-Mixer": ("mixer_b16_224", 59_880_472),
    # PROFET
    "LeNet": ("PROFET LeNet5", 62_006),
    "PROFET AlexNet": ("PROFET AlexNet", 838_025_352),
    "PROFET ResNet50": ("PROFET ResNet50", 25_621_352),
    # Classes and repositories of Hugging Face
    "ViTForImageClassification": ("vit_base_patch16_224", 86_567_656),
    "Swinv2Model": ("swinv2_tiny_window8_256", 28_347_154),
    "BeitForImageClassification": ("beit_base_patch16_224", 86_530_984),
    "Dinov2Config": ("vit_base_patch14_dinov2", 86_579_712),
    "ResNetForImageClassification": ("resnet50", 25_557_032),
    "microsoft/swinv2-tiny-patch4-window8-256": ("swinv2_tiny_window8_256", 28_347_154),
    "microsoft/swinv2-base-patch4-window12to16-192to256-22kto1k-ft": ("swinv2_base_window12to16_192to256", 87_918_816),
    "microsoft/beit-base-patch16-224-pt22k-ft22k": ("beit_base_patch16_224", 86_530_984),
    "facebook/dino-vits8": ("vit_small_patch8_224", 21_670_272),
    "facebook/dinov2-giant": ("vit_giant_patch14_dinov2", 1_136_479_232),
    "facebook/dinov2-base-imagenet1k-1-layer": ("vit_base_patch14_dinov2", 86_579_712),
    "facebook/hiera-tiny-224-in1k-hf": ("hiera_tiny_224", 27_910_216),
}
#: Some rows of the measurements' table; the lab's tests have all of them.
MEASURED = {
    ("PROFET LeNet5", None): (10, 62_006, 1_185_600, 0, 117_840, 8_494, 2, 0, 2, 8),
    ("PROFET AlexNet", 224): (1000, 838_025_352, 56_471_126_016, 0, 1_643_970_560, 41_011_128, 5, 8, 4, 34),
    ("PROFET ResNet50", 256): (1000, 25_621_352, 10_072_621_056, 0, 4_096_000, 45_224_936, 53, 49, 2, 172),
    ("PROFET MobileNetV2", 64): (100, 2_386_084, 45_514_752, 3_382_272, 256_000, 1_796_180, 52, 52, 1, 156),
    ("PROFET InceptionResNetV2", 128): (100, 54_490_436, 3_247_021_760, 0, 307_200, 10_662_068, 244, 204, 6, 782),
}


@pytest.mark.parametrize("typed", TYPED)
def test_a_name_is_the_network_that_people_mean(typed):
    name, parameters = TYPED[typed]
    assert (network_name(typed), counts_of(typed).parameters) == (name, parameters)


#: What people type -> the size of its images.
SIZES = {
    "resnet50": 224,
    "facebook/convnext-base-384-22k-1k": 384,
    "timm/convnext_base.fb_in22k_ft_in1k_384": 384,
    "convnext_base_384_in22ft1k": 384,
    "RegNet_Y_16GF_Weights.IMAGENET1K_SWAG_E2E_V1": 384,
    "RegNet_Y_16GF_Weights.IMAGENET1K_V2": 224,
    "resnetv2_50x1_bit.goog_in21k_ft_in1k": 448,
    "google/bit-50": 448,
    "timm/resnet50.a3_in1k": 160,
    "google/mobilenet_v2_0.35_96": 96,
    "efficientnetv2-s_8xb32_in1k-384px": 384,
    "deeplabv3_r50-d8_4xb2-40k_cityscapes-512x1024": 724,
    "resnet50@320": 320,
    "resnet50 at 300 px": 300,
    "yolov8n-1280": 1_280,
    "yolo11n": 640,
    "lenet5": 32,
    "mnist_cnn": 28,
    "cifar10_cnn": 32,
    "Faster R-CNN": 1_000,
    "Mask R-CNN": 1_000,
    "SSD300": 300,
    "unet": 256,
    "unet_2015": 572,
}


@pytest.mark.parametrize("typed", SIZES)
def test_a_network_has_its_own_size_that_of_its_checkpoint_or_the_one_in_its_name(typed):
    assert (named_network(typed).native_pixels, counts_of(typed).pixels) == (SIZES[typed], SIZES[typed])
    assert counts_of(typed, 192).pixels == 192


def test_every_checkpoint_of_a_library_is_found_at_its_size():
    networks = [named_network(name) for name in named_networks()]
    wrong, number = [], 0
    for network in networks:
        for ending, pixels in network.checkpoints.items():
            if ending.startswith("."):
                by_name = named_network(f"{network.library}/{network.library_name}{ending}")
                wrong += [ending] if (by_name.name, by_name.native_pixels) != (network.name, pixels) else []
                number += 1
    assert number > 700 and not wrong


def test_unet_is_the_padded_one_of_the_file():
    def convolutions(width: int, name: str) -> list[str]:
        one = [f",convolution,,{width},3,1,1,no,", ",batch normalization,,,,,,,"]
        return [*one, ",activation,,,,,,,", *one, f"{name},activation,,,,,,,"]

    widths = (64, 128, 256, 512)
    rows = ["layer,kind,from,channels,kernel,stride,padding,bias,pixels", "image,input,,3,,,,,256"]
    for width in widths:
        rows += [*convolutions(width, f"side{width}"), ",max pooling,,,2,2,,,"]
    rows += convolutions(1_024, "bottom")
    for width in reversed(widths):
        rows += [f"up{width},transposed convolution,,{width},2,2,,yes,", f",concatenate,side{width} up{width},,,,,,"]
        rows += convolutions(width, f"joined{width}")
    read = read_network("\n".join([*rows, ",convolution,,2,1,,,yes,"]).encode(), "unet.csv").counts
    unet = counts_of("unet")
    assert (read.trainable_parameters, read.layers) == (unet.trainable_parameters, unet.layers)
    assert read.flops.all == pytest.approx(unet.flops.all, rel=1e-4) == pytest.approx(96.3e9, rel=1e-3)


def test_about_a_thousand_networks_share_or_tell_apart_their_names():
    names = named_networks()
    assert len(names) == len(set(names)) > 900
    assert {named_network(name).library for name in names} == set(LIBRARIES)
    assert all(network_name(name) == name for name in names)
    assert other_definitions("resnet50") == ("keras/ResNet50", "PROFET ResNet50")
    assert other_definitions("PROFET LeNet5") == ()
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
        ("yolov8", "yolov8n"),
        ("yolov3", "yolov3u"),
        # Text that isn't understood is no other network's.
        ("SSD300 (ResNet-50)", "ssd300_vgg16"),
        ("SSD-512", "ssd300_vgg16"),
        ("ssd512_coco", "ssd300_vgg16"),
        ("resnet50 (10 channels)", "resnet50"),
        ("resnet50 2x", "resnet50"),
        ("resnet18(num_classes=10)", "resnet18"),
        ("resnet18_8xb16_cifar10", "resnet18"),
        ("someone/resnet50-finetuned-food101", "resnet50"),
        ("resnet50.foo", "resnet50"),
        ("faster_rcnn_R_50_C4_1x", "fasterrcnn_resnet50_fpn"),
        ("faster-rcnn_r101_fpn_2x_coco", "fasterrcnn_resnet50_fpn"),
        ("google/mobilenet_v1_0.75_192", "MobileNet"),
        ("mobilenetv3 100", "mobilenet_v3_large"),
        ("mobilenetv2-110", "mobilenet_v2"),
        ("resnet50 64", "resnet50"),
        ("nvidia_ssd", "ssd300_vgg16"),
        ("timm.create_model('resnet50', num_classes=10)", "timm/resnet50"),
        ("Vision Transformer", "vit_b_16"),
        ("facebook/detr-resnet-50", ""),
        ("segformer-b0", ""),
        ("x" * 9_999, ""),
    ],
)
def test_an_unknown_name_gets_near_ones_and_the_way_of_a_file(typed, near):
    with pytest.raises(InputError, match=r"(?i)give its ONNX or \.keras file") as error:
        network_name(typed)
    assert near in str(error.value) if near else "Did you mean" not in str(error.value)


@pytest.mark.parametrize(
    "typed", ["BERT", "gpt2", "LSTM", "openai/clip-base", "transformer", "sequencer2d_s", "timm/tnt_s_patch16_224"]
)
def test_names_of_other_networks_are_refused_as_their_files_are(typed):
    with pytest.raises(
        InputError, match=r"can't be estimated: .*, and the models know only CNNs and vision transformers"
    ):
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
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("library", ["torchvision", "timm", "keras"])
def test_parameters_are_those_of_the_library(library):
    """As `library_parameters.csv` has them, and, where the library is installed, as it builds each fourth."""
    rows = csv.DictReader(Path(__file__).with_name("library_parameters.csv").read_text().splitlines())
    listed = {row["network"]: int(row["parameters"]) for row in rows if row["library"] == library}
    assert len(listed) == 20 and listed == {name: counts_of(f"{library}/{name}").parameters for name in listed}
    if find_spec(library) is not None:
        assert all(listed[name] == in_library(library, name) for name in [*listed][::4])


def test_the_packed_table_is_that_of_the_counts_and_a_network_counted_anew_fits_into_it():
    with TABLE.open(encoding="utf-8", newline="") as file:
        networks = groupby(csv.DictReader(file), itemgetter("library", "network"))
        lines = [_packed(list(sizes)) for _, sizes in networks]
    assert gzip.decompress(shipped_bytes(PACKED)).decode().splitlines() == lines
    counted = _rows("torchvision", "alexnet", [224, 128], lambda pixels: counts_of("alexnet", pixels), ".IMAGENET1K_V1")
    own, other = _packed([*counted]).split(";")
    assert [own.split(",", 5)[:5], other.split(",")[0]] == [
        ["torchvision", "alexnet", "1", ".IMAGENET1K_V1", "224"],
        "128",
    ]


@pytest.mark.parametrize("name", ["vit_base_patch16_224", "swin_tiny_patch4_window7_224", "mixer_b16_224"])
def test_transformers_and_mixers_are_known_and_not_convolutional(name):
    assert not counts_of(name).is_convolutional and name in named_networks()


def test_attention_grows_with_the_square_of_the_tokens_and_in_windows_with_their_number():
    vit, larger = (counts_of("vit_base_patch16_224", pixels) for pixels in (224, 320))
    assert vit.elements.score == pytest.approx(12 * 12 * 197**2, rel=1e-5) and vit.parameters == 86_567_656
    assert larger.elements.score == pytest.approx(12 * 12 * 401**2, rel=1e-5)
    products = [counts_of("vit_base_patch16_224", pixels).flops.product for pixels in (224, 448)]
    assert products[1] / products[0] == pytest.approx((785 / 197) ** 2, rel=0.05)
    # Windows are padded to whole ones.
    swin, larger = (counts_of("swin_tiny_patch4_window7_224", pixels) for pixels in (224, 320))
    assert larger.flops.product == pytest.approx((320 / 224) ** 2 * swin.flops.product, rel=0.2)
    with pytest.raises(InputError, match="use 224 or 240 pixels instead of 230"):
        counts_of("vit_base_patch16_224", 230)


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
    # Exactly, at the size of MNIST's images.
    assert counts_of("PROFET MNIST_CNN", 28).parameters == 35_402
    own, other = counts_of("resnet50"), counts_of("resnet50", classes=10)
    assert own.parameters - other.parameters == 990 * 2_049
    assert other.flops.dense == 2 * 2_048 * 10 and other.flops.convolution == own.flops.convolution
    assert [counts_of("PROFET VGG11", pixels).classes for pixels in (32, 64, 223, 224)] == [10, 100, 100, 1000]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("resnet50", 0), "0 pixels"),
        (("resnet50", 4_097), "4,097"),
        (("resnet50", 224, 0), "0 classes"),
        (("unet", 572, 3), "classes can't be changed"),
        (("PROFET InceptionV3", 64), "too small"),
    ],
)
def test_what_cannot_be_counted_is_one_line(arguments, message):
    with pytest.raises(InputError, match=message) as error:
        counts_of(*arguments)
    assert "\n" not in str(error.value)
