"""Networks known by name, at any image size: those of `LIBRARIES`, and PROFET's own."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from profet_core.errors import InputError, no_vision
from profet_core.layers.network import VALUE_NAMES, Counts, Elements, Flops, check_patches, with_attention
from profet_core.shipped import shipped_bytes

#: Image sizes of a network by name.
MIN_PIXELS, MAX_PIXELS = 1, 4096
MAX_CLASSES = 1_000_000
#: Where networks are defined; of two networks with one name, that of the first library is meant.
LIBRARIES = ("torchvision", "timm", "keras", "ultralytics", "smp", "profet")
#: `data/networks.csv` in a line a network, compressed: library, network, size step, checkpoints, and the counts at its
#: own size; those at others after semicolons. Written by `python -m profet_lab.networks`.
PACKED = "layers/networks.csv.gz"
#: Of `data/networks.csv`. `checkpoints`: those with another size than the network's own with it, as in
#: ".fb_in22k_ft_in1k_384@384".
COLUMNS = ("library", "network", "default_size", "checkpoints", "size_step", *VALUE_NAMES)
#: What detectors train at unless asked otherwise: about COCO's 800 x 1,066 to 1,333.
DETECTION_PIXELS = 1_000
#: Before the measurements' names of their networks.
PROFET = "PROFET "
_PREFIXES = re.compile(
    r"(?i)^(?:hf[-_]hub:)?(?:(?:tf\.)?(keras)[./]applications[./](?:\w+\.(?=\w))?"
    r"|(torchvision(?=\.models\.))?\.?models\.(?:\w+\.(?=\w))?|("
    + "|".join(LIBRARIES)
    + r")[./ ]|nvidia_|pp(?=lcnet|hgnet))"
)
# Patterns that are texts are compiled when one is first searched for: most names are the table's.
#: Arguments in code that leave the network as it is.
_CALL = (
    r"(?i)\((?:\s*(?:(?:pretrained|progress)\s*=\s*\w+"
    r"|weights\s*=\s*[\"']?(?:\w+_weights\.)?(?:none|default|imagenet|imagenet1k_v[12])[\"']?)\s*,?)*\s*\)$"
)
#: A call that makes a network by the name in its first argument.
_CREATED = re.compile(
    r"(?i)^(?:[\w.]*?(timm)\.|[\w.]*\b)?(?:create_model|get_model|from_pretrained|YOLO)"
    r"\(\s*(?:model_name\s*=\s*|name\s*=\s*)?[\"']([\w./-]+)[\"']\s*,?(.*\))$"
)
#: What follows a network's name in those of files, configurations and trained weights, and leaves its layers as they
#: are: a file's ending, a data set, what says how it is trained (8xb32-coslr, 1x).
_SUFFIXES = (
    r"(?i)(?:\.(?:pth?|ya?ml|py)|[-_ .](?:imagenet(?:[-_]?(?:1k|2[12]k))?|(?:in)?(?:1|12|21|22)k|coco(?:2017)?|voc"
    r"|ade20k|22kto1k(?:-ft)?|[pf]t22k|1-layer|hf"
    r"|cityscapes|pretrained|default|3rdparty|(?:s|w|sw)sl|\d+xb\d+(?:-[a-z0-9]+)*)|(?<=fpn)[-_ ][1-6]x)$"
)
#: An image size at the end of a name: 384, @384, 384px, 512x1024.
_SIZE = (
    r"(?i)(?:[-_.@](?P<bare>\d{2,4})|[-_ .@]+(?P<both>\d{2,4}x\d{2,4})"
    r"|(?: at )?(?:@|[-_ .]?(?=\d+ ?px))(?P<marked>\d+))(?: ?px)?$"
)
#: Sizes without a mark are multiples of this, or some network's own: mobilenetv2-110 is no size, nor "resnet50 64".
_USUAL_STEP = 32
#: Networks of sizes that have names, and of several widths.
_SIZED = "convnext(?:v2)?|edgenext|inceptionnext|mambaout|mobilenetv4(?:conv|hybrid)|nextvit|rdnet"
_WIDE = "mobilenetv[123]|mobilenetv3(?:large|small)|mobilevitv2|ghostnet(?:v2)?|lcnet|(?:se)?mnasnet|rexnet"
#: What people call a network, as a pattern of its key (`_key`) -> a name that is in the table.
_ALIASES = {
    "alexnet2014": "alexnet",
    "bit(50|101)": r"resnetv2_\1x1_bitm",
    "bitmr(50|101|152)x(\\d)": r"resnetv2_\1x\2_bitm",
    "convnext": "convnext_tiny",
    "deeplabv3(plus)?": r"deeplabv3\1_resnet50",
    "(deeplabv3|fcn)(?:r|resnet)(50|101)(?:d8)?": r"\1_resnet\2",
    "deeplabv3plus(?:r|resnet)(50|101)": r"deeplabv3plus_resnet\1",
    "deeplabv3plusmobilenet(?:v2)?": "deeplabv3plus_mobilenet_v2",
    "efficientnet": "efficientnet_b0",
    "(faster|mask)rcnn": r"\1rcnn_resnet50_fpn",
    "((?:faster|mask)rcnn|fcos|retinanet)r50fpn": r"\1_resnet50_fpn",
    "(fcos|retinanet)(?:(?:r|resnet)50)?": r"\1_resnet50_fpn",
    "fcn": "fcn_resnet50",
    "ghostnet": "ghostnet_100",
    "hrnet(?:v2)?w(\\d+)c?": r"hrnet_w\1",
    "inception(?:v?1)": "googlenet",
    "inception(?:v?([34]))": r"inception_v\1",
    "lenet": "PROFET LeNet5",
    "(?:mlp)?mixer(?:b16)?": "mixer_b16_224",
    "mnasnet": "mnasnet1_0",
    "mobilenet(?:v1)?(?:x?~?1~0)?": "MobileNet",
    "(mobilenetv2|mobilenetv3(?:large|small))x?~?1~0": r"\1",
    "mobilenetv3": "mobilenet_v3_large",
    "mobilevit(x*)small": r"mobilevit_\1s",
    "nasnetamobile": "NASNetMobile",
    "regnet([xy])(\\d+)~0gf": r"regnet_\1_\2gf",
    "regnet([xy])(\\d)(?:~0)?gf": r"regnet\1_0\g<2>0",
    "regnet([xy])(\\d)~(\\d)gf": r"regnet\1_0\2\3",
    "regnet([xy])(\\d\\d+)(?:~0)?gf": r"regnet\1_\g<2>0",
    "regnet([xy])(\\d)00mf": r"regnet\1_00\2",
    "res2net(50|101)": r"res2net\1_26w_4s",
    "res2net(50|101)w(\\d+)s(\\d)": r"res2net\1_\2w_\3s",
    "resnest(50)": "resnest50d",
    "resnest(101|200|269)": r"resnest\1e",
    # ResNet v1.5 is torchvision's and timm's, whose stride is in the 3 x 3 convolution.
    "(resnet\\d+)(?:v1~5|v1b)": r"\1",
    "resnet(?:v1~?(\\d+)|(\\d+)v1)": r"keras/ResNet\1\2",
    "resnetv2~?(\\d+)": r"ResNet\1V2",
    "resnet(\\d+)v1([cds])": r"resnet\1\2",
    "resnetv1([cd])(\\d+)": r"resnet\2\1",
    "resn(et|ext)(\\d+)vd(.*)": r"resn\1\2d\3",
    "resnetvd(\\d+)": r"resnet\1d",
    "resnext50": "resnext50_32x4d",
    "resnext101": "resnext101_32x8d",
    "seresnext(50|101)": r"seresnext\1_32x4d",
    "resnext152": "resnext152_32x4d",
    "s([ek])net(50)": r"s\1resnet\2",
    "shufflenetv2(?:~1x)?": "shufflenet_v2_x1_0",
    "squeezenet": "squeezenet1_0",
    "ssd300": "ssd300_vgg16",
    "unet(plusplus)?(resnet\\d+|efficientnetb0|mobilenetv2)": r"unet\1_\2",
    "(resnet\\d+|efficientnetb0|mobilenetv2)unet(plusplus)?": r"unet\2_\1",
    "w(?:ide)?r(?:es)?n(?:et)?(50|101)(?:~2)?x?": r"wide_resnet\1_2",
    rf"({_SIZED})t": r"\1_tiny",
    rf"({_SIZED})s": r"\1_small",
    rf"({_SIZED})m": r"\1_medium",
    rf"({_SIZED})b": r"\1_base",
    rf"({_SIZED})(x*)l": r"\1_\2large",
    # Widths, in hundredths in timm.
    rf"({_WIDE})x?~?(\d)~(\d)": r"\1_\2\g<3>0",
    rf"({_WIDE})x?~?(\d)~(\d\d)": r"\1_\2\3",
    **{
        pattern: name
        for size, letter in (("tiny", "ti?"), ("small", "s"), ("base", "b"), ("large", "l"), ("giant", "g"))
        for pattern, name in (
            (f"(?:mae)?vit(?:mae)?(?:{size}|{letter})(?:p(?:atch)?16)?", f"vit_{size}_patch16_224"),
            (f"vit(?:{size}|{letter})(?:p(?:atch)?)?(32)", f"vit_{size}_patch32_224"),
            (f"(?:dinov2)?vit(?:{size}|{letter})14(?:dinov2)?|dinov2(?:{size}|{letter})", f"vit_{size}_patch14_dinov2"),
            (f"(deit3?)(?:{size}|{letter})(?:p(?:atch)?16)?", rf"\1_{size}_patch16_224"),
            (f"(beit(?:v2)?)(?:{size}|{letter})", rf"\1_{size}_patch16_224"),
            (f"eva02(?:{size}|{letter})", f"eva02_{size}_patch14_224"),
            (f"swin{size}", f"swin_{size}_patch4_window7_224"),
            (f"swinv2{size}", f"swinv2_{size}_window8_256"),
            (rf"swinv2{size}patch4window(\d+)~256", rf"swinv2_{size}_window\1_256"),
            (rf"swinv2{size}patch4window(\d+)to(\d+)~192to256", rf"swinv2_{size}_window\1to\2_192to256"),
            (rf"dinovit{letter}(8|16)", rf"vit_{size}_patch\1_224"),
            (f"dinov2withregisters{size}", f"vit_{size}_patch14_reg4_dinov2"),
            (f"dinov3vit{letter}16(?:pretrain)?(?:lvd1689m)?", f"vit_{size}_patch16_dinov3"),
        )
    },
    "dinov2": "vit_base_patch14_dinov2",
    "vit(?:huge|h)(?:14)?": "vit_huge_patch14_224",
    # Hugging Face's classes, as their configurations are by default.
    **{
        f"{name}(?:for(?:masked)?imageclassification(?:withteacher)?|backbone|model|config)": meant
        for name, meant in {
            "vit": "vit_base_patch16_224",
            "vitmae": "vit_base_patch16_224",
            "deit": "deit_base_distilled_patch16_224",
            "beit": "beit_base_patch16_224",
            "swin": "swin_tiny_patch4_window7_224",
            "swinv2": "swinv2_tiny_window8_256",
            "dinov2": "vit_base_patch14_dinov2",
            "dinov2withregisters": "vit_base_patch14_reg4_dinov2",
            "convnext": "convnext_tiny",
            "convnextv2": "convnextv2_tiny",
            "resnet": "resnet50",
            "mobilevit": "mobilevit_s",
            "mobilenetv2": "mobilenet_v2",
            "poolformer": "poolformer_s12",
        }.items()
    },
    "yolov?~?(11|12|26)~?(.*)": r"yolo\1\2",
    "yolov?~?(\\d+)~?(.*)": r"yolov\1\2",
    "yolov?~?(\\d+)(n|s|m|l|x)(?:ano|mall|edium|arge|large)": r"yolov\1\2",
    "yolov?~?(11|12|26)(n|s|m|l|x)(?:ano|mall|edium|arge|large)": r"yolo\1\2",
}
#: Of names that aren't in the table: what no network is called that can be estimated.
_NO_VISION = (
    r"(?i)\b(?:bert|roberta|distilbert|gpt|llama|mistral|qwen|gemma|t5|whisper|wav2vec2?|lstm|gru|rnn|transformer|"
    r"clip|siglip|(?P<uncounted>(?:rt)?detr|segformer|mask2?former|sam|cvt|dpt|mit-b\d|yolos))(?![a-z])"
)
#: Networks of the table that are recurrent, whose small products no rate describes, or that read more than images.
_REFUSED = re.compile("sequencer|tnt_|qwen|gemma|deepseek|sam2_|hieradet|naflex")
#: Names that a refusal offers, and how alike they have to be.
_MAX_OFFERED, _MIN_SIMILARITY = 3, 0.8


class NamedNetwork(Struct, frozen=True, dict=True):
    """A network by name.

    Attributes
    ----------
    name : unique; the library's name where no library before it has one that reads the same.
    library : one of `LIBRARIES`.
    library_name, key : there, as it writes it and as `_key` has it.
    native_pixels : the image size that it, or the checkpoint that is named, is made for.
    size_step : image sizes are multiples of it: of a transformer, the side of a patch.
    weights : its trained weights and old names, as they end or are called, those of another size with it.
    rows : its counts, its own size first.
    """

    name: str
    library: str
    library_name: str
    key: str
    native_pixels: int
    size_step: int
    weights: str
    rows: str

    @property
    def is_refused(self) -> bool:
        """Whether its steps can't be estimated: recurrent, transformers in transformers, towers of language models."""
        return bool(_REFUSED.match(self.library_name)) and not self.counts.is_convolutional

    @cached_property
    def sizes(self) -> Mapping[int, Counts]:
        """Pixels -> counts, in ascending order; read when a network is asked for, as there are many."""
        rows = (row.split(",") for row in self.rows.split(";"))
        counted = (Counts.from_values([int(float(number)) for number in row]) for row in rows)
        return MappingProxyType({counts.pixels: counts for counts in sorted(counted, key=lambda counts: counts.pixels)})

    @property
    def checkpoints(self) -> Mapping[str, int]:
        """Its trained weights and old names -> image size."""
        parts = (checkpoint.partition("@") for checkpoint in self.weights.split())
        return {name: int(pixels or self.native_pixels) for name, _, pixels in parts}

    @property
    def counts(self) -> Counts:
        """At its own size."""
        return self.sizes.get(self.native_pixels) or _grown(self.sizes, self.native_pixels)


def named_networks() -> list[str]:
    """Names of all networks that can be estimated: torchvision's first, PROFET's last."""
    return [network.name for network in _table().values() if not network.is_refused]


def measured_networks() -> list[str]:
    """Names of the networks that were measured on GPUs of ours."""
    return [network.name for network in _table().values() if network.library == "profet"]


def measured_counts(model: str, pixels: int) -> Counts:
    """Return counts of a network of the measurements, by the measurements' name and at one of their sizes."""
    return _table()[PROFET + model].sizes[pixels]


def network_name(text: str) -> str:
    """Return the unique name of the network that is meant; InputError if it is unknown, or can't be estimated.

    >>> network_name("ResNeXt-50 32x4d"), network_name("timm/convnext_tiny.fb_in1k"), network_name("PROFET AlexNet")
    ('resnext50_32x4d', 'timm/convnext_tiny', 'PROFET AlexNet')
    """
    network = named_network(text)
    if network.is_refused:
        raise _no_vision_name(text)
    return network.name


def sized_name(text: str) -> str:
    """Return the unique name of the network that is meant, or the text, if it names a checkpoint of another image size.

    >>> sized_name("ResNet-50"), sized_name("timm/convnext_base.fb_in22k_ft_in1k_384")
    ('resnet50', 'timm/convnext_base.fb_in22k_ft_in1k_384')
    """
    name = network_name(text)
    return name if native_pixels(name) == native_pixels(text) else text


def named_network(text: str) -> NamedNetwork:
    """Return the network that is meant, spelled as in papers, Python, a library, a hub, or a configuration.

    Its own size is that of the checkpoint, or the one in the name. Case, spaces and punctuation don't matter, but for
    those between two numbers: 16 is not 1.6. Text that isn't understood is never dropped.

    Raises
    ------
    InputError : unknown, with what was perhaps meant.

    >>> named_network("RegNet_Y_16GF_Weights.IMAGENET1K_SWAG_E2E_V1").native_pixels
    384
    """
    if (network := _table().get(text)) is not None:
        return network
    typed = _typed(text)
    if meant := _find(typed):
        name, pixels = meant
        network = _table()[name]
        return network if pixels in (None, network.native_pixels) else replace(network, native_pixels=pixels)
    if refused := re.search(_NO_VISION, typed.replace("_", "-")):
        if refused["uncounted"]:
            raise InputError(f"{text[:60]!a} is none of the networks that were counted. Give its ONNX or .keras file.")
        raise _no_vision_name(text)
    near = near_names(text)
    offered = f"Did you mean {', '.join(near)}? Or give" if near else "Give"
    raise InputError(f"Unknown network {text[:60]!a}. {offered} its ONNX or .keras file.")


def near_names(text: str) -> tuple[str, ...]:
    """Names of networks that were perhaps meant: the text's start, what starts with the text, and what is alike."""
    import difflib

    typed = _typed(text)
    *_, (bare, _), _, _ = _readings(typed)
    key = _key(_PREFIXES.sub("", bare))
    ends = [match.start() for match in re.finditer(r"[^\w.]|_", typed)]
    start = next((meant[0] for end in reversed(ends) if (meant := _find(typed[:end])) is not None), None)
    by_key = {listed: _table()[name] for (library, listed), name in _names().items() if not library}
    by_key = {listed: network for listed, network in by_key.items() if not network.is_refused}

    def begun(part: str) -> list[NamedNetwork]:
        longer = [network for listed, network in by_key.items() if len(part) > 1 and listed.startswith(part)]
        return sorted(longer, key=lambda it: (_RANKS.index(it.library), len(it.name), it.counts.parameters))

    alike = [
        by_key[listed] for listed in difflib.get_close_matches(key, by_key, n=2 * _MAX_OFFERED, cutoff=_MIN_SIMILARITY)
    ]
    near = [*begun(key), *alike] or begun(key.rstrip("0123456789~"))
    return tuple(dict.fromkeys(filter(None, (start, *(network.name for network in near)))))[:_MAX_OFFERED]


def _no_vision_name(text: str) -> InputError:
    what = f"{text[:60]!a} can't be estimated"
    return InputError(no_vision(what, "it is recurrent, or reads more than images", "Give one"))


def other_definitions(name: str) -> tuple[str, ...]:
    """Names of networks with the same name in other libraries that have other parameters."""
    own = _table()[name]
    same = _by_library_name()[own.key]
    return tuple(network.name for network in same if network.counts.parameters != own.counts.parameters)


@cache
def _by_library_name() -> Mapping[str, Sequence[NamedNetwork]]:
    networks: dict[str, list[NamedNetwork]] = {}
    for network in _table().values():
        networks.setdefault(network.key, []).append(network)
    return MappingProxyType(networks)


def shared_name(name: str) -> str:
    """One name for a network that several libraries define alike: of the first library that has it.

    Alike are those with the same parameters, and nearly the same FLOPs and normalizations; of a library's own variants
    the one with the shortest name.

    >>> shared_name("regnety_160"), shared_name("timm/resnet50"), shared_name("resnet50_gn"), shared_name("my own")
    ('regnet_y_16gf', 'resnet50', 'resnet50_gn', 'my own')
    """
    network = _table().get(name)
    if network is None or network.library == "profet":
        return name
    return _shared(_trainable_parameters(network))[name]


#: Parts of a file's name, and how many of them one network's name has at most.
_WORDS, _MAX_WORDS = re.compile(r"[^\W_]+"), 4
#: Shorter names are also those of other things.
_MIN_LETTERS = 4


def network_in_file_name(file_name: str) -> str | None:
    """Return the network that a file's name states, as its library spells it; None if it states none, or two.

    >>> network_in_file_name("vgg16-224px-b16-g3s.json"), network_in_file_name("EfficientNet-B0_bs32.json")
    ('vgg16', 'efficientnet_b0')
    >>> network_in_file_name("resnet50-or-vgg16.json"), network_in_file_name("trace.json")
    (None, None)
    """
    words, names = _WORDS.findall(file_name[:200]), set()
    at = 0
    while at < len(words):
        for end in range(min(at + _MAX_WORDS, len(words)), at, -1):
            is_long = len("".join(words[at:end])) >= _MIN_LETTERS
            if is_long and (name := _look_up(" ".join(words[at:end]), None)) is not None:
                names.add(name[0])
                at = end - 1
                break
        at += 1
    return names.pop() if len(names) == 1 else None


def as_in_tensorflow(text: str) -> str:
    """Return the network that a name without a library means in TensorFlow: a measured one, Keras's, or any.

    >>> as_in_tensorflow("vgg-16"), as_in_tensorflow("DenseNet121"), as_in_tensorflow("torchvision.models.vgg16")
    ('PROFET VGG16', 'keras/DenseNet121', 'vgg16')
    """
    name, is_of_library = network_name(text), _PREFIXES.match(text.strip())
    return name if is_of_library else _in_tensorflow().get(_table()[name].key, name)


@cache
def _in_tensorflow() -> Mapping[str, str]:
    """Map names of TensorFlow's networks without their library to unique names; measured ones count first."""
    networks = [network for network in _table().values() if network.library in ("keras", "profet")]
    return MappingProxyType({network.key: network.name for network in sorted(networks, key=lambda it: it.library)})


def native_pixels(name: str) -> int:
    """Return the image size that a network is made for."""
    return named_network(name).native_pixels


def counts_of(name: str, pixels: int | None = None, classes: int | None = None) -> Counts:
    """Return what a named network takes for one image of `pixels` x `pixels`.

    Between and beyond the sizes that were counted, each count grows with the number of pixels, as it does between the
    nearest two.

    Parameters
    ----------
    pixels : `MIN_PIXELS` to `MAX_PIXELS`; None for the network's own size.
    classes : width of the last layer; None for its own.

    Raises
    ------
    InputError : an unknown name, an unsupported size, or classes of a network that ends in no dense layer.

    >>> counts_of("resnet50").parameters
    25557032
    """
    network = named_network(name)
    return _counts_of(network.name, network.native_pixels if pixels is None else pixels, classes)


@lru_cache(maxsize=2_000)
def _counts_of(name: str, pixels: int, classes: int | None) -> Counts:
    """As `counts_of`, of a unique name: what was typed is not kept."""
    network = _table()[name]
    if not MIN_PIXELS <= pixels <= MAX_PIXELS:
        raise InputError(f"Images of {pixels:,} pixels are not supported: use {MIN_PIXELS} to {MAX_PIXELS:,}.")
    check_patches(network.name, network.size_step, pixels)
    if classes is not None and not 1 <= classes <= MAX_CLASSES:
        raise InputError(f"{classes:,} classes are not supported: use 1 to {MAX_CLASSES:,}.")
    if classes is not None and not network.counts.features:
        raise InputError(f"{network.name} ends in no dense layer: its classes can't be changed.")
    smallest = min(network.sizes)
    if network.library == "profet" and pixels < smallest:
        raise InputError(f"Images of {pixels} pixels are too small for {network.name}: use {smallest} or more.")
    if classes is None:
        # The measurements' go with the image size: those of the largest size that is not above it.
        below = max([size for size in network.sizes if size <= pixels], default=smallest)
        classes = (network.sizes[below] if network.library == "profet" else network.counts).classes
    sizes = {size: _with_classes(counts, classes) for size, counts in network.sizes.items()}
    return sizes[pixels] if pixels in sizes else _grown(sizes, pixels)


def _with_classes(counts: Counts, classes: int) -> Counts:
    if not counts.features or classes == counts.classes:
        return counts
    units = classes - counts.classes
    weights = units * (counts.features + 1)
    return replace(
        counts,
        classes=classes,
        parameters=counts.parameters + weights,
        trainable_parameters=counts.trainable_parameters + weights,
        dense_parameters=counts.dense_parameters + weights,
        flops=counts.flops._replace(dense=counts.flops.dense + 2 * counts.features * units),
        elements=counts.elements._replace(all=counts.elements.all + units),
    )


def _grown(sizes: Mapping[int, Counts], pixels: int) -> Counts:
    """Return counts at a size that was not counted, linear in the number of pixels."""
    nearest = sorted(sizes, key=lambda size: abs(size - pixels))
    first = sizes[nearest[0]]
    if len(nearest) == 1:
        share = (pixels / first.pixels) ** 2
        flops, elements = ([round(value * share) for value in values] for values in (first.flops, first.elements))
        return replace(first, pixels=pixels, flops=Flops(*flops), elements=Elements(*elements))
    # The two sizes around it; beyond all, the nearest two.
    above, below = (
        min(
            (size for size in sizes if sign * size > sign * pixels),
            key=lambda size: abs(size - pixels),
            default=nearest[1],
        )
        for sign in (1, -1)
    )
    smaller, larger = (sizes[size] for size in sorted({above, below} if above != below else {nearest[0], nearest[1]}))
    share = (pixels**2 - smaller.pixels**2) / (larger.pixels**2 - smaller.pixels**2)
    grown = []
    for start, end in zip(smaller.values, larger.values, strict=True):
        value = start + share * (end - start)
        # Far below the smallest size a line may fall below zero.
        grown.append(max(round(value), round(min(start, end) * (pixels / smaller.pixels) ** 2) if value < 0 else 0))
    counts = replace(Counts.from_values(grown), pixels=pixels)
    pairs = (smaller.flops.product, larger.flops.product), (smaller.elements.score, larger.elements.score)
    log_side = math.log(larger.pixels / smaller.pixels)
    if not min(map(min, pairs)) or math.log(pairs[0][1] / pairs[0][0]) < _ATTENDS_WHOLE * log_side:
        return counts
    # Attention over the whole image grows with the square of its tokens.
    products, scores = (start * (end / start) ** (math.log(pixels / smaller.pixels) / log_side) for start, end in pairs)
    return with_attention(counts, products - counts.flops.product, scores - counts.elements.score)


#: Power of the image's side by which attention's products grow at least where it is over the whole image: 4, over
#: windows 2.
_ATTENDS_WHOLE = 3.0


@cache
def _table() -> Mapping[str, NamedNetwork]:
    """Return unique name -> network, read once."""
    lines = [line.split(",", 4) for line in gzip.decompress(shipped_bytes(PACKED)).decode().splitlines()]
    networks: dict[str, NamedNetwork] = {}
    seen: set[str] = set()
    for (library, name, step, weights, rows), key in zip(lines, _keys(line[1] for line in lines), strict=True):
        unique = f"{library}/{name}" if key in seen else name
        unique = PROFET + name if library == "profet" else unique
        seen.add(key)
        pixels = int(rows[: rows.index(",")])
        networks[unique] = NamedNetwork(unique, library, name, key, pixels, int(step), weights, rows)
    return MappingProxyType(networks)


#: How much counts of one network differ between libraries, in parts of them.
_ALIKE = 0.05


def _trainable_parameters(network: NamedNetwork) -> int:
    return int(float(network.rows.split(",", 4)[3]))


@cache
def _by_parameters() -> Mapping[int, Sequence[NamedNetwork]]:
    """Trainable parameters -> networks, those of measurements left out."""
    networks: dict[int, list[NamedNetwork]] = {}
    for network in _table().values():
        if network.library != "profet":
            networks.setdefault(_trainable_parameters(network), []).append(network)
    return MappingProxyType(networks)


@cache
def _shared(parameters: int) -> Mapping[str, str]:
    """Map unique names to the one that stands for it and its like in other libraries, of these parameters."""
    alike: list[dict[str, NamedNetwork]] = []
    networks = _by_parameters()[parameters]
    for network in sorted(networks, key=lambda it: (LIBRARIES.index(it.library), len(it.library_name))):
        for by_library in alike:
            like = next(iter(by_library.values()))
            counts = like.counts, counts_of(network.name, like.native_pixels)
            # FLOPs and values of normalizations, at one size.
            pairs = zip(*((of.flops.all, of.elements.normalization) for of in counts), strict=True)
            is_alike = all(abs(first - second) <= _ALIKE * first for first, second in pairs)
            if network.library not in by_library and is_alike:
                by_library[network.library] = network
                break
        else:
            alike.append({network.library: network})
    return MappingProxyType(
        {network.name: next(iter(by_library.values())).name for by_library in alike for network in by_library.values()}
    )


#: Of networks with one name in several libraries, and of those offered, the first library's comes first.
_RANKS = ("torchvision", "keras", *(name for name in LIBRARIES if name not in ("torchvision", "keras")))


def _by_rank() -> list[NamedNetwork]:
    return sorted(_table().values(), key=lambda network: _RANKS.index(network.library))


@cache
def _names() -> Mapping[tuple[str, str], str]:
    """(Library or "", key of a name there) -> unique name; the first counts."""
    names: dict[tuple[str, str], str] = {}
    for network in _by_rank():
        names.setdefault(("", network.key), network.name)
        names.setdefault((network.library, network.key), network.name)
    return MappingProxyType(names)


@cache
def _checkpoints() -> Mapping[tuple[str, str], tuple[str, int]]:
    """(Library or "", key of a checkpoint) -> its network's unique name, and its size; the first counts."""
    checkpoints: dict[tuple[str, str], tuple[str, int]] = {}
    rows = [(network, *row) for network in _by_rank() for row in network.checkpoints.items()]
    names = (network.library_name + name if name.startswith(".") else name for network, name, _ in rows)
    for (network, _, pixels), key in zip(rows, _keys(names), strict=True):
        for library in ("", network.library):
            checkpoints.setdefault((library, key), (network.name, pixels))
    return MappingProxyType(checkpoints)


def _typed(text: str) -> str:
    """As typed on any keyboard."""
    typed = re.sub("[\u2010-\u2015]", "-", text.strip(" \t\r\n\"'`")[:100]).replace("\u00d7", "x")
    if created := _CREATED.match(typed):
        library, name, arguments = created.groups(default="")
        typed = f"{library and 'timm/'}{name}({arguments}"
    return re.sub(r"(?i)\b(?:vision|(swin))[ _-]?transformer(?![a-z])", lambda match: match[1] or "vit", typed)


def _find(typed: str) -> tuple[str, int | None] | None:
    """Return the unique name that a text means, and the image size if it says one."""
    return next((meant for reading in _readings(typed) if (meant := _look_up(*reading)) is not None), None)


def _readings(typed: str) -> Iterator[tuple[str, int | None]]:
    """Return a name as typed, then without what hubs, code and configurations add; and the size that is among it."""
    yield typed, None
    typed = re.sub(_CALL, "", typed).rstrip()
    owner, _, bare = typed.rpartition("/")
    library = owner.lower().rpartition("/")[2].rpartition(":")[2]
    typed = f"{library}/{bare}" if library in LIBRARIES else bare
    yield typed, None
    pixels: int | None = None
    while True:
        if suffix := re.search(_SUFFIXES, typed):
            typed = typed[: suffix.start()]
        elif (size := _size(typed)) is not None:
            typed, side = size
            pixels = pixels or side
        else:
            break
        yield typed, pixels
    # Some names in timm end in a size.
    for own in (224, 256):
        yield f"{typed}_{own}", pixels


def _size(typed: str) -> tuple[str, int] | None:
    """Split off the image size at a name's end: of images that aren't square, that of a square of as many pixels."""
    if (match := re.search(_SIZE, typed)) is None:
        return None
    sides = [int(side) for side in (match["bare"] or match["both"] or match["marked"]).lower().split("x")]
    pixels = round(math.prod(sides) ** (1 / len(sides)))
    is_usual = not match["bare"] or pixels % _USUAL_STEP == 0 or pixels in _native_sizes()
    return (typed[: match.start()], pixels) if is_usual and MIN_PIXELS <= pixels <= MAX_PIXELS else None


@cache
def _native_sizes() -> frozenset[int]:
    return frozenset(network.native_pixels for network in _table().values())


def _look_up(typed: str, pixels: int | None) -> tuple[str, int | None] | None:
    """Return the unique name that a text means, and its checkpoint's size, else `pixels`; None if it isn't known."""
    if typed in _table():
        return typed, pixels
    prefix = _PREFIXES.match(typed)
    library = "" if prefix is None else next(filter(None, prefix.groups()), "").lower()
    key = _key(re.sub("(?i)_weights$|_weights(?=[.])", "", typed[prefix.end() :] if prefix else typed))
    for candidate in _candidates(key):
        meant = library, _key(candidate)
        if meant in _names():
            return _names()[meant], pixels
        if meant in _checkpoints():
            name, own = _checkpoints()[meant]
            return name, pixels or own
        if candidate in _table() and not library:
            return candidate, pixels
    return None


def _candidates(key: str) -> Iterator[str]:
    yield key
    for pattern, meant in _ALIASES.items():
        if match := re.fullmatch(pattern, key):
            yield match.expand(meant)


def _key(text: str) -> str:
    """Return what two spellings of one name have in common: no case, and no marks but between two numbers."""
    return _MARKS.sub("", _MARKS_BETWEEN.sub("~", text.lower().replace("+", "plus")))


def _keys(texts: Iterable[str]) -> list[str]:
    """Return the keys of many texts: two searches in all."""
    return _key("\0".join(texts)).split("\0")


#: All, and those between two numbers.
_MARKS, _MARKS_BETWEEN = re.compile(r"[\s_./()-]+"), re.compile(r"(?<=\d)[\s_./()-]+(?=\d)")
