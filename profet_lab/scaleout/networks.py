"""Parameters and weight tensors of the networks with published multi-GPU speeds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: Network with 1,000 classes -> millions of parameters, and weight tensors as PyTorch counts them (None where no
#: measurement by one process needs them). Counts are torchvision's, else those of the network's paper or of
#: tf_cnn_benchmarks. What ships with no count (SSD, nnU-Net, UNet Industrial, EfficientDet) is excluded.
WEIGHTS: Mapping[str, tuple[float, int | None]] = MappingProxyType(
    {
        name: (millions, tensors)
        for name, millions, tensors in (
            ("AlexNet", 61.1, 16),
            ("EfficientNet-B0", 5.29, None),
            ("EfficientNet-B4", 19.34, None),
            ("InceptionV3", 23.85, None),
            ("InceptionV4", 42.68, None),
            ("MobileNetV2", 3.50, 158),
            ("ResNeXt101-32x4d", 44.18, None),
            ("ResNet101", 44.55, 314),
            ("ResNet152", 60.19, 467),
            ("ResNet18", 11.69, 62),
            ("ResNet34", 21.80, 110),
            ("ResNet50", 25.56, 161),
            ("SE-ResNeXt101-32x4d", 48.96, None),
            ("UNet Medical", 31.03, None),
            ("VGG11", 132.86, 22),
            ("VGG13", 133.05, 26),
            ("VGG16", 138.36, 32),
            ("VGG19", 143.67, 38),
            ("densenet121", 7.98, 364),
            ("densenet161", 28.68, 484),
            ("densenet169", 14.15, 508),
            ("densenet201", 20.01, 604),
            ("mnasnet0_5", 2.22, 158),
            ("mnasnet0_75", 3.17, 158),
            ("mnasnet1_0", 4.38, 158),
            ("mnasnet1_3", 6.28, 158),
            ("resnext101_32x8d", 88.79, 314),
            ("resnext50_32x4d", 25.03, 161),
            ("shufflenet_v2_x0_5", 1.37, 170),
            ("shufflenet_v2_x1_0", 2.28, 170),
            ("shufflenet_v2_x1_5", 3.50, 170),
            ("shufflenet_v2_x2_0", 7.39, 170),
            ("squeezenet1_0", 1.25, 52),
            ("squeezenet1_1", 1.24, 52),
            ("vgg11_bn", 132.87, 38),
            ("vgg13_bn", 133.05, 46),
            ("vgg16_bn", 138.37, 58),
            ("vgg19_bn", 143.68, 70),
            ("wide_resnet101_2", 126.89, 314),
            ("wide_resnet50_2", 68.88, 161),
        )
    }
)
