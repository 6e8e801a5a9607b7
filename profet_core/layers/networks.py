"""Networks known by name, at any image size: those of torchvision, timm, keras.applications, and PROFET's own."""

from __future__ import annotations

import csv
import difflib
import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from profet_core.errors import InputError, not_a_cnn
from profet_core.layers.network import VALUE_NAMES, Counts, Elements, Flops

#: Image sizes of a network by name.
MIN_PIXELS, MAX_PIXELS = 1, 4096
MAX_CLASSES = 1_000_000
#: Where networks are defined; of two networks with one name, that of the first library is meant.
LIBRARIES = ("torchvision", "timm", "keras", "profet")
#: Counted by `python -m profet_lab.networks`; `data/networks.csv`, compressed.
PACKED = Path(__file__).with_name("networks.csv.gz")
COLUMNS = ("library", "network", "own_size", *VALUE_NAMES)
#: Before the measurements' names of their networks.
PROFET = "PROFET "
_PREFIXES = re.compile(
    r"^(?:hf[-_]hub:)?(?:(tf\.)?(keras)[./]applications[./](?:\w+\.(?=\w))?|(torchvision\.)?models\.(?:\w+\.(?=\w))?"
    r"|(torchvision|timm|keras|profet)[./ ])",
    re.IGNORECASE,
)
#: What follows a network's name in those of trained weights: a class of torchvision's, a data set, an image size.
_WEIGHTS = re.compile(
    r"(?i)(_weights(\.\w+)?|[-_ ](ns|ap|aa|in1k|in2[12]k|22k|1k|imagenet|pretrained|224|256|288|320|384|448|512))$"
)
#: What people call a network -> its name here.
_ALIASES = {
    "alexnet2014": "alexnet",
    "convnext": "convnext_tiny",
    "convnextt": "convnext_tiny",
    "convnexts": "convnext_small",
    "convnextb": "convnext_base",
    "convnextl": "convnext_large",
    "efficientnet": "efficientnet_b0",
    "fasterrcnn": "fasterrcnn_resnet50_fpn",
    "fcn": "fcn_resnet50",
    "deeplabv3": "deeplabv3_resnet50",
    "ghostnet": "ghostnet_100",
    "inception1": "googlenet",
    "inceptionv1": "googlenet",
    "inception4": "inception_v4",
    "inception3": "inception_v3",
    "mnasnet": "mnasnet1_0",
    "mobilenetv1": "MobileNet",
    "mobilenetv2~1~0": "mobilenet_v2",
    "mobilenetv3": "mobilenet_v3_large",
    "nasnetamobile": "NASNetMobile",
    "nasnetalarge": "nasnetalarge",
    "res2net50": "res2net50_26w_4s",
    "resnest50": "resnest50d",
    "resnest101": "resnest101e",
    "retinanet": "retinanet_resnet50_fpn",
    "resnext50": "resnext50_32x4d",
    "resnext101": "resnext101_32x8d",
    "shufflenetv2": "shufflenet_v2_x1_0",
    "squeezenet": "squeezenet1_0",
    "ssd": "ssd300_vgg16",
    "ssd300": "ssd300_vgg16",
    "wideresnet50": "wide_resnet50_2",
    "wideresnet101": "wide_resnet101_2",
    "wrn50~2": "wide_resnet50_2",
    "wrn101~2": "wide_resnet101_2",
}
#: Of names that aren't in the table: what no CNN is called.
_NO_CNN = re.compile(
    r"(?i)\b(bert|roberta|distilbert|gpt|llama|mistral|qwen|gemma|t5|whisper|wav2vec2?|lstm|gru|rnn|transformer|vit|"
    r"swin(v2)?|deit|beit|eva(02)?|detr|segformer|mask2?former|dino(v[23])?|clip|siglip|mixer|sam)(?![a-z])"
)
#: Names that a refusal offers, and how alike they have to be.
_MAX_OFFERED, _MIN_SIMILARITY = 3, 0.8
_OR_A_FILE = "give an ONNX or .keras file"


@dataclass(frozen=True, slots=True)
class NamedNetwork:
    """A network by name.

    Attributes
    ----------
    name : unique; the library's name where no library before it has one that reads the same.
    library : one of `LIBRARIES`.
    library_name : there.
    native_pixels : the image size that it is made for.
    sizes : pixels -> counts, in ascending order.
    """

    name: str
    library: str
    library_name: str
    native_pixels: int
    sizes: Mapping[int, Counts]

    @property
    def counts(self) -> Counts:
        """At its own size."""
        return self.sizes[self.native_pixels]


def named_networks() -> list[str]:
    """Names of all convolutional networks: torchvision's first, PROFET's last."""
    return [one.name for one in _table().values() if one.counts.is_convolutional]


def measured_networks() -> list[str]:
    """Names of the networks that were measured on GPUs of ours."""
    return [one.name for one in _table().values() if one.library == "profet"]


def measured_counts(model: str, pixels: int) -> Counts:
    """Counts of a network of the measurements, by the measurements' name and at one of their sizes."""
    return _table()[PROFET + model].sizes[pixels]


def network_name(text: str) -> str:
    """The unique name of the network that is meant, spelled as in papers, Python, or a library.

    Case, spaces and punctuation don't matter, but for those between two numbers: 16 is not 1.6.

    >>> network_name("ResNeXt-50 32x4d"), network_name("timm/convnext_tiny.fb_in1k"), network_name("PROFET AlexNet")
    ('resnext50_32x4d', 'timm/convnext_tiny', 'PROFET AlexNet')
    """
    typed = text.strip()[:100]
    found = next((name for reading in _readings(typed) if (name := _lookup(reading)) is not None), None)
    if found is not None:
        return found
    if match := _NO_CNN.search(typed.replace("_", "-")):
        raise InputError(
            not_a_cnn(f"{text[:60]!a} is not a CNN", f"{match[1]} is a transformer, a mixer or recurrent", "Give a CNN")
        )
    keys, key = _keys(), _key(typed)
    close = difflib.get_close_matches(key, keys, n=2 * _MAX_OFFERED, cutoff=_MIN_SIMILARITY)
    family = [each for each in keys if key.isalpha() and each.startswith(key)]
    near = list(dict.fromkeys(keys[each] for each in (*family, *close)))[:_MAX_OFFERED]
    offered = f"did you mean {', '.join(near)}? Or {_OR_A_FILE}" if near else _OR_A_FILE
    raise InputError(f"unknown network {text[:60]!a}: {offered}.")


def named_network(text: str) -> NamedNetwork:
    """The network that is meant; errors as `network_name`."""
    return _table()[network_name(text)]


def other_definitions(name: str) -> list[str]:
    """Names of networks with the same name in other libraries that have other parameters."""
    own = _table()[name]
    key = _key(own.library_name)
    return [
        one.name
        for one in _table().values()
        if one.name != name and _key(one.library_name) == key and one.counts.parameters != own.counts.parameters
    ]


def shared_name(name: str) -> str:
    """One name for a network that several libraries define alike: of the first library that has it.

    Alike are those with the same parameters, and nearly the same FLOPs and normalizations; of a library's own variants
    the one with the shortest name.

    >>> shared_name("regnety_160"), shared_name("timm/resnet50"), shared_name("resnet50_gn"), shared_name("my own")
    ('regnet_y_16gf', 'resnet50', 'resnet50_gn', 'my own')
    """
    return _shared().get(name, name)


#: Parts of a file's name, and how many of them one network's name has at most.
_WORDS, _MAX_WORDS = re.compile(r"[^\W_]+"), 4
#: Shorter names are also those of other things.
_MIN_LETTERS = 4


def network_in_file_name(file_name: str) -> str | None:
    """The network that a file's name states, as its library spells it; None if it states none, or two.

    >>> network_in_file_name("vgg16-224px-b16-g3s.json"), network_in_file_name("EfficientNet-B0_bs32.json")
    ('vgg16', 'efficientnet_b0')
    >>> network_in_file_name("resnet50-or-vgg16.json"), network_in_file_name("trace.json")
    (None, None)
    """
    words, keys, found = _WORDS.findall(file_name[:200]), _keys(), set()
    at = 0
    while at < len(words):
        for end in range(min(at + _MAX_WORDS, len(words)), at, -1):
            key = _key(" ".join(words[at:end]))
            if len(key) >= _MIN_LETTERS and key in keys:
                found.add(keys[key])
                at = end - 1
                break
        at += 1
    return found.pop() if len(found) == 1 else None


def as_in_tensorflow(text: str) -> str:
    """The network that a name without a library means in TensorFlow: a measured one, Keras's, or any.

    >>> as_in_tensorflow("vgg-16"), as_in_tensorflow("DenseNet121"), as_in_tensorflow("torchvision.models.vgg16")
    ('PROFET VGG16', 'keras/DenseNet121', 'vgg16')
    """
    name, is_of_library = network_name(text), _PREFIXES.match(text.strip())
    return name if is_of_library else _in_tensorflow().get(_key(_table()[name].library_name), name)


@cache
def _in_tensorflow() -> Mapping[str, str]:
    """What is typed for a network of TensorFlow's without its library -> its unique name; measured ones count first."""
    some = [one for one in _table().values() if one.library in ("keras", "profet")]
    return MappingProxyType({_key(one.library_name): one.name for one in sorted(some, key=lambda one: one.library)})


def native_pixels(name: str) -> int:
    """The image size that a network is made for."""
    return named_network(name).native_pixels


def counts_of(name: str, pixels: int | None = None, classes: int | None = None) -> Counts:
    """What a named network takes for one image of `pixels` x `pixels`.

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
    pixels = network.native_pixels if pixels is None else pixels
    if not MIN_PIXELS <= pixels <= MAX_PIXELS:
        raise InputError(f"Images of {pixels:,} pixels are not supported: use {MIN_PIXELS} to {MAX_PIXELS:,}.")
    if classes is not None and not 1 <= classes <= MAX_CLASSES:
        raise InputError(f"{classes:,} classes are not supported: use 1 to {MAX_CLASSES:,}.")
    if classes is not None and not network.counts.features:
        raise InputError(f"{network.name} ends in no dense layer: its classes can't be changed.")
    smallest = min(network.sizes)
    if network.library == "profet" and pixels < smallest:
        raise InputError(f"{network.name} can't be built for images of {pixels} pixels: they are too small.")
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
    """Counts at a size that was not counted, linear in the number of pixels."""
    known = sorted(sizes, key=lambda size: abs(size - pixels))
    first = sizes[known[0]]
    if len(known) == 1:
        share = (pixels / first.pixels) ** 2
        flops, elements = ([round(value * share) for value in values] for values in (first.flops, first.elements))
        return replace(first, pixels=pixels, flops=Flops(*flops), elements=Elements(*elements))
    # The two sizes around it; beyond all, the nearest two.
    above, below = (
        min(
            (size for size in sizes if sign * size > sign * pixels),
            key=lambda size: abs(size - pixels),
            default=known[1],
        )
        for sign in (1, -1)
    )
    one, other = (sizes[size] for size in sorted({above, below} if above != below else {known[0], known[1]}))
    share = (pixels**2 - one.pixels**2) / (other.pixels**2 - one.pixels**2)
    grown = []
    for start, end in zip(one.values, other.values, strict=True):
        value = start + share * (end - start)
        # Far below the smallest size a line may fall below zero.
        grown.append(max(round(value), round(min(start, end) * (pixels / one.pixels) ** 2) if value < 0 else 0))
    return replace(Counts.from_values(grown), pixels=pixels)


@cache
def _table() -> Mapping[str, NamedNetwork]:
    """Unique name -> network, read once."""
    text = gzip.decompress(PACKED.read_bytes()).decode()
    sizes: dict[tuple[str, str], dict[int, Counts]] = {}
    own: dict[tuple[str, str], int] = {}
    for row in csv.reader(text.splitlines()[1:]):
        library, name, is_native, *numbers = row
        counts = Counts.from_values([int(float(number)) if "e" in number else int(number) for number in numbers])
        sizes.setdefault((library, name), {})[counts.pixels] = counts
        if is_native == "1":
            own[library, name] = counts.pixels
    found: dict[str, NamedNetwork] = {}
    keys: set[str] = set()
    for (library, name), by_size in sizes.items():
        key = _key(name)
        unique = f"{library}/{name}" if key in keys else name
        unique = PROFET + name if library == "profet" else unique
        keys.add(key)
        ordered = MappingProxyType(dict(sorted(by_size.items())))
        found[unique] = NamedNetwork(unique, library, name, own[library, name], ordered)
    return MappingProxyType(found)


#: How much counts of one network differ between libraries, in parts of them.
_ALIKE = 0.05


@cache
def _shared() -> Mapping[str, str]:
    """Unique name -> the one that stands for it and its like in other libraries."""
    order = sorted(_table().values(), key=lambda one: (LIBRARIES.index(one.library), len(one.library_name)))
    groups: dict[int, list[dict[str, NamedNetwork]]] = {}
    for network in order:
        if network.library == "profet":
            continue
        alike = groups.setdefault(network.counts.trainable_parameters, [])
        for by_library in alike:
            one = next(iter(by_library.values()))
            counts = one.counts, counts_of(network.name, one.native_pixels)
            # FLOPs and values of normalizations, at one size.
            pairs = zip(*((each.flops.all, each.elements.normalization) for each in counts), strict=True)
            is_alike = all(abs(first - second) <= _ALIKE * first for first, second in pairs)
            if network.library not in by_library and is_alike:
                by_library[network.library] = network
                break
        else:
            alike.append({network.library: network})
    return MappingProxyType(
        {
            network.name: next(iter(by_library.values())).name
            for alike in groups.values()
            for by_library in alike
            for network in by_library.values()
        }
    )


@cache
def _keys() -> Mapping[str, str]:
    """What is typed for a network without its library -> its unique name; the first library counts."""
    found: dict[str, str] = {}
    for name, network in _table().items():
        found.setdefault(_key(network.library_name), name)
    return MappingProxyType({**_ALIASES, **found})


def _readings(typed: str) -> Iterator[str]:
    """A name as it is typed, without what hubs and weights add (owner, data set, image size), and with a size."""
    yield typed
    # A call as in code: resnet18(pretrained=True).
    typed = typed.partition("(")[0].rstrip()
    owner, _, bare = typed.rpartition("/")
    if owner and owner.lower() not in LIBRARIES:
        typed = bare
    yield typed
    while (shorter := _WEIGHTS.sub("", typed)) != typed:
        yield (typed := shorter)
    yield f"{typed}_224"


def _lookup(typed: str) -> str | None:
    """The unique name that a text means, or None."""
    table, keys = _table(), _keys()
    if typed in table:
        return typed
    prefix = _PREFIXES.match(typed)
    library = "" if prefix is None else next(filter(None, reversed(prefix.groups())), "").lower().rstrip(".")
    bare = typed[prefix.end() :] if prefix else typed
    if bare.lower().startswith("timm/"):
        library, bare = "timm", bare[len("timm/") :]
    # timm's names of weights: a network, a point, how it was trained.
    candidates = [bare, bare.rpartition(".")[0]] if "." in bare and not re.search(r"\.\d", bare) else [bare]
    # ResNet v1.5 is torchvision's and timm's, whose stride is in the 3 x 3 convolution.
    if version := re.fullmatch(r"(?i)(resnet[ _-]?\d+)[ _-]*v1\.5", bare):
        candidates.append(version[1])
    for candidate in candidates:
        key = _key(candidate)
        if library:
            of_library = (
                one.name for one in table.values() if one.library == library and _key(one.library_name) == key
            )
            if (found := next(of_library, None)) is not None:
                return found
        elif key in keys:
            return keys[key]
    return None


def _key(text: str) -> str:
    """What two spellings of one name have in common: no case, and no marks but between two numbers."""
    text = re.sub(r"(?<=\d)[\s_./()-]+(?=\d)", "~", text.lower())
    return re.sub(r"[\s_./()-]+", "", text)
