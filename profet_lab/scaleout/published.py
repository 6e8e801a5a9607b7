"""Networks and machines of the published multi-GPU speeds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from profet_core.catalog.interconnects import PCIE_GB_PER_S, Interconnect, Link

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


_SHEET = "NVIDIA's data sheet"


def _of(
    link: Link, gb_per_s: float, generation: int, *, gpus: int = 8, root: int = 2, source: str = _SHEET
) -> Interconnect:
    return Interconnect(gpus, link, gb_per_s, generation, root, 10.0, source)


#: Published GPU -> its machine. GeForce cards and TITANs reach one another through host memory, whose bandwidth does
#: not rise with PCIe 4 (two RTX 3080 share gradients at the rate of two RTX 2080 Ti). Folders whose name says NVLink
#: are as slow as those without (2080 Ti, RTX 8000): they count as PCIe.
RIGS: Mapping[str, Interconnect] = MappingProxyType(
    {
        "A100-PCIE-40GB": _of(Link.PCIE, PCIE_GB_PER_S[4], 4),
        "A100-SXM4-40GB": _of(Link.NVSWITCH, 300.0, 4),
        "A100-SXM4-80GB": _of(Link.NVSWITCH, 300.0, 4),
        "Tesla V100-SXM2-16GB": _of(Link.NVLINK, 150.0, 3),
        "Tesla V100-SXM2-32GB": _of(Link.NVLINK, 150.0, 3),
        "Tesla V100-SXM3-32GB": _of(Link.NVSWITCH, 150.0, 3, gpus=16),
        "GeForce RTX 2080 Ti": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "GeForce RTX 3070": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "GeForce RTX 3080": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "GeForce RTX 3090": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 4),
        "TITAN RTX": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "TITAN Xp": _of(Link.PCIE_HOST, PCIE_GB_PER_S[3], 3),
        "Quadro RTX 6000": _of(Link.PCIE, PCIE_GB_PER_S[3], 3),
        "Quadro RTX 8000": _of(Link.PCIE, PCIE_GB_PER_S[3], 3),
        "RTX A6000": _of(Link.PCIE, PCIE_GB_PER_S[4], 4),
    }
)
#: Platform of the benchmarks of 2017 -> its nodes. A K80 board is two GPUs; eight of them hang on two root ports.
PLATFORMS_2017: Mapping[str, Interconnect] = MappingProxyType(
    {
        "DGX-1": _of(Link.NVLINK, 80.0, 3),
        "GCE n1-standard-32-k80x8": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4),
        "EC2 p2.8xlarge": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4),
        "EC2 p2.8xlarge distributed": _of(Link.PCIE, PCIE_GB_PER_S[3], 3, root=4, source="AWS's instance types"),
    }
)
