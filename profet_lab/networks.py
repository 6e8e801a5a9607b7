"""Count the networks of libraries and of PROFET into `data/networks.csv`.

    python -m profet_lab.networks torchvision timm keras ultralytics smp profet

A library's rows are counted from its own definitions, without weights: PyTorch's on the meta device, Keras' from the
model's JSON. Rows of networks that aren't counted anew are kept: of libraries that aren't named, so that each can be
counted where it is installed, and of transformers, which their libraries build for one image size.
`profet_core/layers/networks.csv.gz` is the same table, a line a network.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from profet_core.layers.network import VALUE_NAMES, Counts, Kind, Layer, count
from profet_core.layers.networks import COLUMNS, DETECTION_PIXELS, LIBRARIES, PACKED
from profet_core.layers.rules import convolution_kind
from profet_core.shipped import write_shipped

TABLE = Path("data") / "networks.csv"
#: Other sizes that are counted, relative to the network's own: between them counts are linear in the number of pixels.
_OTHER_SIZES = (0.5, 1.5)
#: Sizes are multiples of this.
_STEP = 32
#: A batch of one image has no variance to normalize by.
_BATCH = 2
#: Numbers from here on are written with six digits, but parameters.
_EXACT = 10**6
#: A network's name, the sizes to count it at, its own one first, what counts it, and its checkpoints (`COLUMNS`).
Named = tuple[str, Sequence[int], Callable[[int], Counts], str]


def main(libraries: Sequence[str]) -> int:
    """Count some libraries and write the tables."""
    if not libraries or not set(libraries) <= set(LIBRARIES):
        print(f"Name libraries: {', '.join(LIBRARIES)}.", file=sys.stderr)
        return 2
    rows = [row for library in libraries for network in _LIBRARIES[library]() for row in _rows(library, *network)]
    counted = {(row["library"], row["network"]) for row in rows}
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows += [row for row in csv.DictReader(file) if (row["library"], row["network"]) not in counted]
    rows.sort(key=lambda row: (LIBRARIES.index(row["library"]), row["network"].lower(), int(row["pixels"])))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    lines = [_packed(list(sizes)) for _, sizes in groupby(rows, itemgetter("library", "network"))]
    # No time and no file name: the same table gives the same bytes.
    write_shipped(PACKED, gzip.compress("\n".join(lines).encode(), mtime=0))
    print(f"{len(lines):,} networks, {len(rows):,} rows.")
    return 0


def _packed(sizes: Sequence[Mapping[str, Any]]) -> str:
    """Return a network's line of `PACKED`, its own size first."""
    own, *others = sorted(sizes, key=lambda row: not int(row["default_size"]))
    counts = ";".join(",".join(row[name] for name in VALUE_NAMES) for row in (own, *others))
    return ",".join((own["library"], own["network"], own["size_step"], own["checkpoints"], counts))


def _rows(
    library: str, name: str, sizes: Sequence[int], counted: Callable[[int], Counts], checkpoints: str
) -> Iterator[dict[str, Any]]:
    """Rows of a network at its own and other sizes; those that don't run are skipped, with the reason."""
    for pixels in sizes:
        try:
            counts = counted(pixels)
        except Exception as error:
            reason = str(error).splitlines()[0][:120] if str(error) else repr(error)
            print(f"{library} {name} at {pixels} skipped: {reason}")
            if pixels == sizes[0]:
                return
            continue
        if not counts.is_convolutional:
            print(f"{library} {name} is not convolutional: its rows are kept")
            return
        values = {key: round(value) for key, value in zip(VALUE_NAMES, counts.values, strict=True)}
        exact = {key for key in values if library == "profet" or "parameters" in key}
        numbers = {key: str(value) if key in exact else _shown(value) for key, value in values.items()}
        is_own = pixels == sizes[0]
        first = {"default_size": int(is_own), "checkpoints": checkpoints if is_own else "", "size_step": "1"}
        yield {"library": library, "network": name, **first, **numbers}


def _shown(value: int) -> str:
    digits = len(str(value)) - 6
    return f"{round(value, -digits) // 10**digits}e{digits}" if value >= _EXACT else str(value)


def _sizes(own: int) -> list[int]:
    others = [max(round(own * share / _STEP), 1) * _STEP for share in _OTHER_SIZES]
    return [own, *(size for size in others if size != own)]


# --- PyTorch ----------------------------------------------------------------------------------------------------------


def _of_torch(
    name: str,
    build: Callable[[], Any],
    own: int,
    run: Callable[[Any, Any], Any] | None = None,
    checkpoints: Mapping[str, int] = MappingProxyType({}),
) -> Named:
    @cache
    def model() -> Any:
        import torch

        try:
            with torch.device("meta"):
                built = build().train()
        except RuntimeError:
            # It computes with values of tensors, as RegNet does its widths.
            built = build().to("meta").train()
        for module in built.modules():
            # Some libraries' default, not others'; to all it is a setting of the training.
            if type(module).__name__ == "StochasticDepth":
                module.p = 0.0
        return built

    shown = (
        f"{checkpoint}@{pixels}" if pixels != own else checkpoint for checkpoint, pixels in sorted(checkpoints.items())
    )
    return name, _sizes(own), lambda pixels: _counted(model(), pixels, run), " ".join(shown)


def _counted(model: Any, pixels: int, run: Callable[[Any, Any], Any] | None) -> Counts:
    import torch

    layers: list[Layer] = []
    with torch.no_grad(), _recorder(layers), torch.device("meta"):
        image = torch.zeros(_BATCH, 3, pixels, pixels)
        output = (run or (lambda model, image: model(image)))(model, image)
    output = output[0] if isinstance(output, tuple) else output
    layers = [replace(layer, flops=layer.flops // _BATCH) for layer in layers]
    counts = count([Layer(Kind.INPUT, (pixels, pixels, 3)), *layers], pixels)
    dense = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    # Of images, the channels are the classes.
    classes = output.shape[1] if isinstance(output, torch.Tensor) else len(getattr(model, "names", _DETECTED_CLASSES))
    is_dense = dense and dense[-1].out_features == classes and isinstance(output, torch.Tensor) and output.dim() == 2
    is_recurrent = any(isinstance(module, torch.nn.RNNBase) for module in model.modules())
    return replace(
        counts,
        # What mixes pixels by recurrence is no CNN.
        layers=counts.layers._replace(spatial=0) if is_recurrent else counts.layers,
        classes=classes,
        features=counts.features if is_dense else 0,
        parameters=sum(weights.numel() for weights in model.parameters()),
        trainable_parameters=sum(weights.numel() for weights in model.parameters() if weights.requires_grad),
        dense_parameters=sum(weights.numel() for module in dense for weights in module.parameters()),
    )


_NORMALIZATIONS = ("native_batch_norm", "_native_batch_norm", "native_layer_norm", "native_group_norm", "_batch_norm")
_POOLS = ("max_pool", "avg_pool", "_adaptive_avg_pool", "adaptive_", "mean", "amax")
_COPIES = ("cat", "stack", "clone", "_to_copy", "copy", "upsample", "constant_pad", "reflection_pad", "index", "roll")
_FUNCTIONS = re.compile(
    "relu|silu|gelu|hardswish|hardsigmoid|sigmoid|tanh|leaky_relu|elu|selu|celu|mish|hardtanh|softplus|prelu|softmax|"
    "_prelu_kernel|_softmax|_safe_softmax|clamp|clamp_min|native_dropout|exp|sqrt|rsqrt|pow|abs|neg|log|bernoulli|reciprocal|erf"
)
_SUMS = ("add", "mul", "sub", "div", "rsub", "maximum", "minimum", "addcmul", "where", "lerp", "sum", "var", "norm")


def _recorder(layers: list[Layer]) -> Any:
    """Return a mode in which each operator of PyTorch adds a layer."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            operator = function.__name__.partition(".")[0]
            output = function(*args, **(kwargs or {}))
            layer = _layer(operator.rstrip("_"), args, output)
            if layer is not None:
                layers.append(layer)
            return output

    return Recorder()


def _layer(operator: str, args: Sequence[Any], output: Any) -> Layer | None:
    """Return an operator as a layer, with the batch's FLOPs; None for views and what moves no values of the batch."""
    first = output[0] if isinstance(output, tuple | list) else output
    shape = tuple(getattr(first, "shape", ()))
    # Concatenations take a list.
    flat = [value for arg in args for value in (arg if isinstance(arg, list | tuple) else [arg])]
    inputs = [value for value in flat if hasattr(value, "shape")]
    flops, taken, channels = 0, 0, (0, 0)
    kind: Kind | None = None
    if operator == "convolution":
        weight, is_transposed, groups = args[1].shape, args[6], args[8]
        of = args[0] if is_transposed else first
        kind = convolution_kind(weight[2:], args[0].shape[1], groups)
        flops = 2 * math.prod(of.shape) * math.prod(weight[1:])
        taken, channels = math.prod(args[0].shape) // _BATCH, (args[0].shape[1] // groups, shape[1] // groups)
    elif operator in ("addmm", "mm", "linear"):
        kind, flops = Kind.DENSE, 2 * math.prod(shape) * args[-2 if operator == "addmm" else 0].shape[-1]
        taken = math.prod(args[-2 if operator == "addmm" else 0].shape) // _BATCH
    elif operator in ("bmm", "baddbmm"):
        kind, flops = Kind.PRODUCT, 2 * math.prod(shape) * inputs[-2].shape[-1]
    elif "scaled_dot_product" in operator:
        # Queries with keys, and what they weigh: two products.
        kind, flops = Kind.PRODUCT, 4 * math.prod(shape) * args[1].shape[-2]
    elif operator.startswith(_NORMALIZATIONS):
        # Weights that are standardized at every step are one "image".
        kind = None if args[0].shape[0] < _BATCH else Kind.NORMALIZATION
    elif any(operator.startswith(name) for name in _POOLS):
        kind = Kind.POOLING
    elif _FUNCTIONS.fullmatch(operator):
        kind = Kind.SOFTMAX if operator.endswith("softmax") else Kind.ACTIVATION
    elif operator in _SUMS:
        kind = Kind.ELEMENTWISE if len(inputs) > 1 else Kind.ACTIVATION
    elif operator.startswith(_COPIES):
        kind = Kind.SHAPING
    if kind is None or not inputs or not shape:
        return None
    values = math.prod(shape)
    # Weights that are made at every step (standardized, from several), and numbers, are no values of images.
    if values < _BATCH or values % _BATCH:
        return None
    return Layer(kind, (values // _BATCH,), flops=int(flops), input_elements=taken, channels=channels)


#: What a U-Net has in each stage.
_UNET_CHANNELS = (64, 128, 256, 512, 1024)


def _unet(is_padded: bool) -> Any:
    """Return a U-Net of color images and two classes, padded and normalized; or that of the paper of 2015."""
    import torch
    from torch import nn

    def block(channels: int, filters: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for width in (channels, filters):
            layers.append(nn.Conv2d(width, filters, 3, padding=int(is_padded), bias=not is_padded))
            if is_padded:
                layers.append(nn.BatchNorm2d(filters))
            layers.append(nn.ReLU())
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList(
                block(before, after) for before, after in zip((3, *_UNET_CHANNELS), _UNET_CHANNELS, strict=False)
            )
            pairs = [*zip(reversed(_UNET_CHANNELS), _UNET_CHANNELS[-2::-1], strict=False)]
            self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, 2) for wide, narrow in pairs)
            self.joined = nn.ModuleList(block(wide, narrow) for wide, narrow in pairs)
            self.head = nn.Conv2d(_UNET_CHANNELS[0], 2, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            kept = []
            for number, stage in enumerate(self.down):
                x = stage(nn.functional.max_pool2d(x, 2) if number else x)
                kept.append(x)
            for up, joined, side in zip(self.up, self.joined, reversed(kept[:-1]), strict=True):
                x = up(x)
                edge = (side.shape[-1] - x.shape[-1]) // 2
                cropped = side[:, :, edge : edge + x.shape[-2], edge : edge + x.shape[-1]]
                x = joined(torch.cat([cropped, x], 1))
            return self.head(x)

    return UNet()


#: Of COCO, with the background.
_DETECTED_CLASSES = range(91)
#: Regions that Faster R-CNN classifies per image in training; of how many Mask R-CNN computes a mask: those
#: of objects, a quarter at most, about half of that in published logs.
_REGIONS, _OBJECTS = 512, 64
#: Sizes of detectors that are made for other images than COCO's at full size.
_DETECTOR_PIXELS = {
    "ssd300_vgg16": 300,
    "ssdlite320_mobilenet_v3_large": 320,
    "fasterrcnn_mobilenet_v3_large_320_fpn": 400,
}


def _detected(model: Any, image: Any) -> None:
    """Run the networks of a detector, without what chooses and compares boxes."""
    import torch

    features = model.backbone(image)
    maps = [features] if isinstance(features, torch.Tensor) else list(features.values())
    if hasattr(model, "roi_heads"):
        heads, channels = model.roi_heads, maps[0].shape[1]
        model.rpn.head(maps)
        heads.box_predictor(heads.box_head(torch.zeros(_BATCH * _REGIONS, channels, 7, 7)))
        if heads.mask_head is not None:
            heads.mask_predictor(heads.mask_head(torch.zeros(_BATCH * _OBJECTS, channels, 14, 14)))
    elif hasattr(model, "head"):
        model.head(maps)


def _torchvision() -> Iterator[Named]:
    zoo: Any = import_module("torchvision.models")
    resnet: Any = import_module("torchvision.models.resnet")
    yield _of_torch("unet", partial(_unet, True), 256)
    yield _of_torch("unet_2015", partial(_unet, False), 572)
    resnext152 = partial(resnet.ResNet, resnet.Bottleneck, [3, 8, 36, 3], groups=32, width_per_group=4)
    yield _of_torch("resnext152_32x4d", resnext152, _DEFAULT_PIXELS)
    for name in zoo.list_models(module=zoo):
        sizes = {weights.name: weights.transforms().crop_size[0] for weights in zoo.get_model_weights(name)}
        settings = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        build = partial(zoo.get_model, name, weights=None, **settings)
        own = next(iter(sizes.values()), _DEFAULT_PIXELS)
        yield _of_torch(name, build, own, checkpoints={f".{ending}": pixels for ending, pixels in sizes.items()})
    for name in zoo.list_models(module=zoo.segmentation):
        build = partial(zoo.get_model, name, weights=None, weights_backbone=None)
        weights = {f".{entry.name}": 520 for entry in zoo.get_model_weights(name)}
        yield _of_torch(name, build, 520, lambda model, image: model(image)["out"], weights)
    for name in zoo.list_models(module=zoo.detection):
        if name.startswith("keypointrcnn"):
            # What its largest part computes depends on how many people are in an image.
            continue
        build = partial(zoo.get_model, name, weights=None, weights_backbone=None)
        own = _DETECTOR_PIXELS.get(name, DETECTION_PIXELS)
        yield _of_torch(
            name, build, own, _detected, {f".{weights.name}": own for weights in zoo.get_model_weights(name)}
        )


def _timm() -> Iterator[Named]:
    timm: Any = import_module("timm")
    registry: Any = import_module("timm.models._registry")

    def pixels_of(name: str) -> int:
        settings = timm.models.get_pretrained_cfg(name)
        return int(settings.input_size[-1]) if settings is not None else _DEFAULT_PIXELS

    tags: dict[str, dict[str, int]] = {}
    for full in timm.list_pretrained():
        name, dot, tag = full.partition(".")
        tags.setdefault(name, {})[dot + tag] = pixels_of(full)
    for old, new in _renamed(registry._deprecated_models).items():
        name, dot, tag = new.partition(".")
        if not tag or dot + tag in tags[name]:
            tags.setdefault(name, {})[old] = pixels_of(new)
    for name in timm.list_models():
        build = partial(timm.create_model, name, pretrained=False)
        yield _of_torch(name, build, pixels_of(name), checkpoints=tags.get(name, {}))


def _renamed(names: Mapping[str, str | None]) -> dict[str, str]:
    """Old name -> the one it has now; without those that are several networks under one name."""
    news = [*names.values()]
    return {old: new for old, new in names.items() if new and news.count(new) == 1}


#: Scales of Ultralytics' networks, and what they are trained for.
_SCALES, _YOLO_TASKS = ("n", "s", "m", "l", "x"), {"": "Detection", "-seg": "Segmentation", "-cls": "Classification"}


def _ultralytics() -> Iterator[Named]:
    tasks: Any = import_module("ultralytics.nn.tasks")
    folder = Path(tasks.__file__).parents[1] / "cfg" / "models"
    files = {file.stem: file for file in sorted(folder.glob("v*/*.yaml")) + sorted(folder.glob("[12]*/*.yaml"))}
    for stem, file in files.items():
        base, dash, task = stem.partition("-")
        is_scaled = base in ("yolov5", "yolov6", "yolov8", "yolo11", "yolo12", "yolo26")
        for scale in _SCALES if is_scaled else ("",):
            task_class = _YOLO_TASKS.get(dash + task if base != "yolov3" else "")
            if task_class is None:
                break
            name = stem.replace(base, base + scale)
            settings = tasks.yaml_model_load(file.with_name(name + ".yaml"))
            build = partial(getattr(tasks, f"{task_class}Model"), settings, verbose=False)
            own = _DEFAULT_PIXELS if task == "cls" else 640
            # Not the networks that were first published by these names: Ultralytics adds a letter, too.
            added = "u" if base in ("yolov3", "yolov5") else ""
            yield _of_torch(name + added, build, own, _yolo)
            if base == "yolov5":
                yield _of_torch(name, partial(_with_anchors, build), own, _yolo)


def _yolo(model: Any, image: Any) -> Any:
    output = model(image)
    return output if hasattr(output, "shape") else None


def _with_anchors(build: Callable[[], Any]) -> Any:
    """YOLOv5 as it was published: for each of three anchors a box, whether there is one, and classes."""
    from torch import nn

    class Head(nn.Module):
        def __init__(self, head: Any, classes: int) -> None:
            super().__init__()
            self.f, self.i = head.f, head.i
            widths = [branch[0].conv.in_channels for branch in head.cv2]
            self.convolutions = nn.ModuleList(nn.Conv2d(width, 3 * (5 + classes), 1) for width in widths)

        def forward(self, maps: Sequence[Any]) -> list[Any]:
            return [convolution(features) for convolution, features in zip(self.convolutions, maps, strict=True)]

    model = build()
    model.model[-1] = Head(model.model[-1], len(model.names))
    return model


#: What segmentation_models_pytorch builds: its class, and the size of its images.
_SEGMENTED = {"unet": ("Unet", 256), "unetplusplus": ("UnetPlusPlus", 256), "deeplabv3plus": ("DeepLabV3Plus", 512)}
_ENCODERS = ("resnet18", "resnet34", "resnet50", "resnet101", "mobilenet_v2", "efficientnet-b0")


def _smp() -> Iterator[Named]:
    smp: Any = import_module("segmentation_models_pytorch")
    for name, (built, own) in _SEGMENTED.items():
        for encoder in _ENCODERS:
            build = partial(getattr(smp, built), encoder, encoder_weights=None)
            yield _of_torch(f"{name}_{encoder.replace('-', '_')}", build, own)


# --- Keras and PROFET -------------------------------------------------------------------------------------------------


#: Own size of a network that is made for none.
_DEFAULT_PIXELS = 224


def _keras() -> Iterator[Named]:
    from keras import applications, backend

    from profet_core.layers.reading import read_network

    def counted(text: bytes, pixels: int) -> Counts:
        return read_network(text, pixels=pixels).counts

    for name in sorted(dir(applications)):
        build = getattr(applications, name)
        if not name[0].isupper() or not callable(build):
            continue
        model = build(weights=None)
        own, text = int(model.input_shape[1] or _DEFAULT_PIXELS), model.to_json().encode()
        parameters = counted(text, own).parameters
        if parameters != model.count_params():
            raise ValueError(f"{name} has {model.count_params():,} parameters, not {parameters:,}")
        yield name, _sizes(own), partial(counted, text), ""
        backend.clear_session()


#: Networks of small images: their own size.
_SMALL = {"CIFAR10_CNN": 32, "LeNet5": 32, "MNIST_CNN": 28, "ResNetSmall": 32}


def _profet() -> Iterator[Named]:
    from profet_collect.in_keras import build
    from profet_collect.networks import MEASURED, MEASURED_PIXELS, classes_at
    from profet_core.layers.reading import read_network

    def counted(name: str, pixels: int) -> Counts:
        return read_network(build(name, pixels, classes_at(pixels), ends="softmax").to_json().encode()).counts

    for name in MEASURED:
        own = _SMALL.get(name, _DEFAULT_PIXELS)
        others = {*MEASURED_PIXELS, *_SMALL.values()} - {own}
        yield name, [own, *sorted(others)], partial(counted, name), ""


_LIBRARIES = {
    "torchvision": _torchvision,
    "timm": _timm,
    "keras": _keras,
    "ultralytics": _ultralytics,
    "smp": _smp,
    "profet": _profet,
}

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
