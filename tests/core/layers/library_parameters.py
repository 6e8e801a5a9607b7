"""Parameters of networks as the libraries themselves count them.

    python tests/core/layers/library_parameters.py torchvision timm keras

writes them beside this file, where these libraries are installed; rows of others are kept.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_suffix(".csv")
NAMES = {
    "torchvision": [
        "alexnet",
        "convnext_small",
        "densenet169",
        "efficientnet_b3",
        "efficientnet_v2_m",
        "googlenet",
        "inception_v3",
        "mnasnet0_75",
        "mobilenet_v2",
        "mobilenet_v3_small",
        "regnet_x_800mf",
        "regnet_y_8gf",
        "resnet34",
        "resnet152",
        "resnext101_32x8d",
        "shufflenet_v2_x1_5",
        "squeezenet1_0",
        "vgg11_bn",
        "vgg19",
        "wide_resnet101_2",
    ],
    "timm": [
        "cspdarknet53",
        "darknet53",
        "dla60",
        "dm_nfnet_f0",
        "dpn92",
        "efficientnetv2_rw_s",
        "ghostnet_100",
        "hrnet_w32",
        "inception_v4",
        "mobilenetv4_conv_small",
        "nf_resnet50",
        "regnety_032",
        "repvgg_b0",
        "res2net50_26w_4s",
        "resnest50d",
        "resnet50d",
        "rexnet_100",
        "seresnext50_32x4d",
        "tf_efficientnet_lite0",
        "xception65",
    ],
    "keras": [
        "ConvNeXtTiny",
        "DenseNet121",
        "DenseNet169",
        "DenseNet201",
        "EfficientNetB0",
        "EfficientNetB1",
        "EfficientNetB2",
        "EfficientNetB3",
        "EfficientNetV2B0",
        "EfficientNetV2B1",
        "InceptionV3",
        "MobileNet",
        "MobileNetV2",
        "MobileNetV3Large",
        "MobileNetV3Small",
        "NASNetMobile",
        "ResNet50",
        "ResNet50V2",
        "VGG16",
        "Xception",
    ],
}


def recorded() -> dict[tuple[str, str], int]:
    """(library, network) -> parameters in the file."""
    with RECORDED.open(encoding="utf-8", newline="") as file:
        return {(row["library"], row["network"]): int(row["parameters"]) for row in csv.DictReader(file)}


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


def main(libraries: Sequence[str]) -> None:
    """Count, and write the file."""
    rows = {key: value for key, value in (recorded() if RECORDED.exists() else {}).items() if key[0] not in libraries}
    rows |= {(library, name): in_library(library, name) for library in libraries for name in NAMES[library]}
    with RECORDED.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["library", "network", "parameters"])
        table.writerows([*key, value] for key, value in sorted(rows.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
