"""One visitor's session: each field with its type, its default and what it may be; links have those they can."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Generic, TypeVar, overload

import streamlit as st
from msgspec import Struct, field

from profet_core import InputError
from profet_core.answers.context import MAX_NETWORK_LETTERS
from profet_core.catalog import Instance
from profet_core.catalog.collection import CONFIDENCE_LABELS, MARKET_CHOICES
from profet_core.catalog.custom_gpus import CustomGpu
from profet_core.catalog.gpus import AMP, AS_PROFILED, BF16, CODES, FP32, TF32
from profet_core.catalog.instance import SPOT
from profet_core.catalog.interconnects import NAMED_NETWORKS
from profet_core.layers.estimate import OPTIMIZERS
from profet_core.layers.measured import step_ms
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS, sized_name
from profet_core.prediction.scaler import AXIS_RANGE, LARGEST_PIXELS
from profet_core.prediction.targets import anchor_named
from profet_core.questions import (
    COST_FIELDS,
    USUAL_CHECKPOINT_MINUTES,
    USUAL_RESTART_MINUTES,
    AdviseQuestion,
    ScaleoutQuestion,
    fields_of,
)
from profet_core.training.advise import ORIGINAL, Preset, Sort
from profet_core.training.cost import INTERRUPTION_BANDS, JPEG_IMAGES_PER_S_PER_VCPU, MAX_EPOCHS, MAX_IMAGES
from profet_core.training.many_core import PUBLISHED
from profet_core.training.memory import MAX_BATCH
from profet_core.training.scaling_model import Strategy
from profet_core.training.several_gpus import CHECKED_ON, MAX_GPUS
from profet_profiles.limits import MAX_STEPS
from profet_profiles.units import LARGEST_NUMBER, SMALLEST_NUMBER, as_typed
from ui.resources import Held, Resources
from ui.words import ON_PREDICT, sentence

#: Of a step that was profiled.
_SIZES = (1, MAX_IMAGES)
#: One process for all GPUs needs the number of weight tensors, which no field has.
STRATEGIES = (Strategy.RING, Strategy.TREE, Strategy.PS_CPU, Strategy.PS_GPU)
DEFAULT_METHOD = "default"
#: What the opened plan is set against: the one next to it.
USUAL_PLAN = "usual"
#: Has a profile in a link; every other parameter is a setting. The text that stands for "left empty on purpose".
PARAMETER, EMPTY = "profile", "none"
#: Names the fetched price lists in a link.
PRICES = "prices"

T = TypeVar("T")
Options = Callable[[Resources], Collection[str]]


class Field(Struct, Generic[T], eq=False):
    """A field of the session; range and help are its question's where that has it.

    Attributes
    ----------
    default : its value until another is given, or what makes it of the resources and the key.
    read : a link's text and the resources -> value, ValueError if the text makes no sense; None: as for its kind.
    options, bounds : value -> how it reads, for one of a few; smallest and largest number.
    follows_profile : its default is what the shown profile says.
    tip : help, as the question has it.
    """

    default: T | Callable[[Resources, str], T]
    read: Callable[[str, Resources], Any] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    follows_profile: bool = False
    key: str = ""
    tip: str = ""
    is_asked: bool = False
    in_links: bool = True

    def __set_name__(self, owner: type[Part], name: str) -> None:
        self.key = name
        if self.is_asked:
            declared = fields_of(owner.question)[name]
            self.tip = f"{sentence(declared.help.partition(' (default')[0])}."
            if not declared.is_flag and self.bounds is None:
                self.bounds = (SMALLEST_NUMBER, LARGEST_NUMBER) if declared.is_mapping else declared.bounds

    @overload
    def __get__(self, part: None, owner: type) -> Field[T]: ...

    @overload
    def __get__(self, part: Part, owner: type) -> T: ...

    def __get__(self, part: Part | None, owner: type) -> Field[T] | T:
        return self if part is None else st.session_state.get(part.key(self.key), self.default)

    def __set__(self, part: Part, value: T) -> None:
        st.session_state[part.key(self.key)] = value

    @property
    def each(self) -> bool:
        """Whether it has a number for each of some instances; a link has each as `key_INSTANCE`."""
        return isinstance(self.default, Mapping)

    def default_in(self, resources: Resources, key: str) -> T:
        """Its default beside these models and samples."""
        return self.default(resources, key) if callable(self.default) else copy(self.default)

    def parse(self, text: str, resources: Resources) -> Any:
        """Read a link's text; ValueError if it makes no sense."""
        if self.default is None and text == EMPTY:
            return None
        if self.read is not None:
            return self.read(text, resources)
        if isinstance(self.default, bool):
            return _checked(text, ("True", "False")) == "True"
        if self.bounds is None:
            return _checked(text, self.options)
        smallest, largest = self.bounds
        value = type(smallest)(text)
        if not smallest <= value <= largest:
            raise ValueError(text)
        return value


class Part:
    """Fields of the session that belong together; their keys begin with `prefix`."""

    #: What declares those that are asked.
    question: ClassVar[type[Struct]] = AdviseQuestion

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def key(self, name: str) -> str:
        """Return a field's key: of its widget, in the session and in links."""
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def fields(self) -> dict[str, Field[Any]]:
        """Key -> field."""
        return {self.key(name): field for name, field in vars(type(self)).items() if isinstance(field, Field)}


def asked(default: T, bounds: tuple[float, float] | None = None) -> Field[T]:
    """Declare a flag, a number or a number for each instance, with help and range from the part's question."""
    return Field(default, bounds=bounds, is_asked=True)


def number(default: T, smallest: float = SMALLEST_NUMBER, largest: float = LARGEST_NUMBER) -> Field[T]:
    """Declare a whole number where the bounds are whole, else any; it may be empty where the `default` is."""
    return Field(default, bounds=(smallest, largest))


def unlinked(default: T) -> Field[T]:
    """Declare a field that is in no link."""
    return Field(default, in_links=False)


def one_of(options: Mapping[str, str] | Iterable[str], default: str | None = None) -> Field[str]:
    """One of a few, the first until another is chosen; `options` may map each to how it reads."""
    labels = dict(options) if isinstance(options, Mapping) else {str(option): str(option) for option in options}
    return Field(next(iter(labels)) if default is None else default, options=labels)


def _one_known(options: Options) -> Field[str | None]:
    """One that the resources have; empty until it is chosen."""
    return Field(None, lambda text, resources: _checked(text, options(resources)))


def _some(options: Options, default: Callable[[Resources, str], list[str]] | None = None) -> Field[list[str]]:
    """Declare some of what the resources have, joined by commas in links; none until others are chosen."""

    def read(text: str, resources: Resources) -> list[str]:
        known = options(resources)
        return list(dict.fromkeys(_checked(part, known) for part in text.split(",") if part))

    return Field(default or [], read)


def _checked(text: str, options: Collection[str]) -> str:
    if text not in options:
        raise ValueError(text)
    return text


def _network(text: str, _: Resources) -> str:
    """Read a network's name or its number of parameters, as it is typed; which there are, the page says."""
    if len(text) > MAX_NETWORK_LETTERS or not text.isprintable():
        raise ValueError(text[:MAX_NETWORK_LETTERS])
    return text


def _network_name(text: str, resources: Resources) -> str:
    """Read a network as it is called here; one that isn't known, or has another size by this name, as typed."""
    try:
        return sized_name(text)
    except InputError:
        return _network(text, resources)


def _latency(text: str, _: Resources) -> str:
    """Read a measured time as it is typed, if it is one."""
    step_ms(text, 1, 1)
    return text


def _sample(resources: Resources, key: str) -> str:
    """Return the first; of the second profile the first at the largest batch size."""
    largest = AXIS_RANGE["batch"][1]
    sizes = {name: held.profile.meta.batch_size for name, held in resources.samples.items()}
    second = (name for name, size in sizes.items() if size == largest and key != "sample")
    return next(second, next(iter(resources.samples)))


def _other_samples(resources: Resources, _: str) -> list[str]:
    """One of each of two networks beside the first sample's, at its image size."""
    samples = {name: held.sample for name, held in resources.samples.items() if held.sample is not None}
    first = next(iter(samples.values()))
    by_model = {sample.model: name for name, sample in reversed(samples.items()) if sample.pixels == first.pixels}
    return [name for model, name in reversed(by_model.items()) if model != first.model][:2]


def method_options(resources: Resources) -> tuple[str, ...]:
    """Methods that can be chosen: the default one by that name, then all others."""
    models = resources.models
    return (DEFAULT_METHOD, *(name for name in models.methods if name != models.default_method))


def latency_text(latency_ms: float | None) -> str | None:
    """Return a latency as its field shows it."""
    return None if latency_ms is None else f"{as_typed(latency_ms)} ms"


class Slot(Part):
    """A place that holds one profile, with its latency.

    `shown` is the profile, `chosen` the key of the visitor's own one, `pasted` a text that was read if `pasted_done`,
    and `trusted` a latency in doubt to use as typed.
    """

    #: "name": a network by name or file, without a profile; not of the second one.
    source = one_of({"sample": "Sample", "upload": "Upload", "paste": "Paste", "name": "Name"})
    sample: Field[str] = Field(_sample, lambda text, resources: _checked(text, resources.samples))
    steps: Field[int | None] = Field(None, bounds=(1, MAX_STEPS), follows_profile=True)
    #: As typed, such as "122.4 ms", "5.2 it/s", "14 min/epoch" or a progress line.
    latency: Field[str | None] = Field(None, _latency, follows_profile=True)
    shown: Field[Held | None] = unlinked(None)
    chosen: Field[str | None] = unlinked(None)
    pasted: Field[str] = unlinked("")
    pasted_done: Field[bool] = unlinked(False)
    trusted: Field[tuple[object, ...]] = unlinked(())

    @property
    def typed_ms(self) -> float | None:
        """Its latency, milliseconds; None if the field is empty; InputError if it is none."""
        if not self.latency:
            return None
        batch_size = self.shown.profile.meta.batch_size if self.shown else None
        training = session.training
        return step_ms(self.latency, batch_size, training.images, training.validation_images)

    @property
    def usable_ms(self) -> float | None:
        """As `typed_ms`; None also for what is no latency."""
        try:
            return self.typed_ms
        except InputError:
            return None

    @property
    def sizes(self) -> dict[str, Field[int | None]]:
        """Field of `Held` -> the session's: the sizes that the profile was recorded at, where its file has none."""
        if self.prefix:
            return {"batch_size": NetworkFields.second_batch, "pixels": NetworkFields.second_pixels}
        return {"batch_size": NetworkFields.profiled_batch, "pixels": NetworkFields.profiled_pixels}


class NetworkFields(Part):
    """The profile's own sizes where it doesn't say them, a second profile, and how all is predicted."""

    #: However it is written: an offer stands for its GPU.
    anchor: Field[str | None] = Field(
        None,
        lambda text, known: _checked(anchor_named(known.models, known.catalog, text) or "", known.anchors),
        follows_profile=True,
    )
    profiled_batch: Field[int | None] = asked(None, _SIZES)
    profiled_pixels: Field[int | None] = asked(None, _SIZES)
    second = Field(False)
    second_batch: Field[int | None] = asked(None, _SIZES)
    second_pixels: Field[int | None] = asked(None, _SIZES)
    #: Step latencies of the network that the visitor measured, milliseconds.
    measured: Field[Mapping[str, float]] = asked({})
    measured_at = one_of({"same": "Profile's size", "other": "Second size"})
    method: Field[str] = Field(DEFAULT_METHOD, lambda text, resources: _checked(text, method_options(resources)))
    precision = one_of(
        {AS_PROFILED: "As profiled", FP32: "FP32", TF32: "TF32", AMP: "AMP (mixed FP16)", BF16: "AMP (mixed BF16)"}
    )
    checkpointing = asked(False)
    training_code = one_of(
        dict(zip((AS_PROFILED, *CODES), ("As profiled", "Plain", "Channels-last", "Tuned"), strict=True))
    )


class Training(Part):
    """Images, epochs, sizes and limits; whether all GPUs of a node train, and what they share."""

    images = asked(1_281_167)
    validation_images = asked(0)
    epochs = asked(90)
    at_batch: Field[int | None] = asked(None, AXIS_RANGE["batch"])
    at_pixels: Field[int | None] = asked(None, (AXIS_RANGE["pixels"][0], LARGEST_PIXELS))
    runs = asked(1)
    at_once = asked(False)
    #: How its images are loaded; `images_per_s_per_vcpu`: how many of them one vCPU prepares per second.
    loading = one_of({"off": "Not counted", "overhead": "6–9% overhead", "vcpus": "By vCPUs"})
    images_per_s_per_vcpu = asked(float(JPEG_IMAGES_PER_S_PER_VCPU))
    interruptions = one_of(
        {"off": "Not counted", **{band: f"{band} a month" for band in INTERRUPTION_BANDS}, "day": "Per day"}
    )
    per_day = number(0.1)
    checkpoint_minutes = asked(USUAL_CHECKPOINT_MINUTES)
    restart_minutes = asked(USUAL_RESTART_MINUTES)
    #: What it may take, and with what probability in percent.
    deadline_hours: Field[float | None] = asked(None)
    budget_usd: Field[float | None] = asked(None)
    certainty = number(90, 50, 99)
    whole_nodes = asked(False)
    #: Its name or its number of parameters.
    network: Field[str | None] = Field(None, _network)

    @property
    def more(self) -> dict[str, Any]:
        """Runs and data loading as fields of a question for any offers."""
        rate = self.images_per_s_per_vcpu if self.loading == "vcpus" else None
        loading = {"with_loading": self.loading == "overhead", "images_per_s_per_vcpu": rate}
        return {"runs": self.runs, "at_once": self.at_once and self.runs > 1, **loading}

    @property
    def extras(self) -> dict[str, Any]:
        """Costs beside the steps as fields of a question; interruptions where spot machines are chosen."""
        rate = f"{self.per_day:g}" if self.interruptions == "day" else self.interruptions
        declared = fields_of(AdviseQuestion)
        # One that needs another counts beside it.
        needed = {name: (name, *declared[name].needs) for name in COST_FIELDS}
        names = [name for name in COST_FIELDS if None not in [getattr(self, other) for other in needed[name]]]
        spot: dict[str, Any] = {}
        if rate != "off" and session.offers.market == SPOT:
            spot = {"market": SPOT, "interruptions": rate}
            names += ["checkpoint_minutes", "restart_minutes"]
        return {name: getattr(self, name) for name in names} | spot


# Costs beside the steps, which bars leave out.
for _name in COST_FIELDS:
    setattr(Training, _name, _field := asked(None))
    _field.__set_name__(Training, _name)


class Offers(Part):
    """Which offers, and at which prices, US dollars an hour."""

    price: Field[Mapping[str, float]] = asked({})
    provider = _some(lambda resources: resources.catalog.filter_options()["provider"])
    gpu = _some(lambda resources: resources.catalog.filter_options()["gpu"])
    gpu_count = _some(lambda resources: resources.catalog.filter_options()["gpu_count"])
    min_memory_gib: Field[float | None] = asked(None)
    confidence = one_of({level: sentence(words) for level, words in CONFIDENCE_LABELS.items()})
    market = one_of({market: sentence(market) for market in MARKET_CHOICES})
    region = _one_known(lambda resources: resources.catalog.filter_options()["region"])
    spot_discount: Field[int | None] = number(None, 1, 99)
    include_retired = asked(False)
    preset = one_of(
        {Preset.ORIGINAL: "PROFET's 4", Preset.AWS: "AWS", Preset.GPUS: "One per GPU", Preset.ALL: "All"}, Preset.GPUS
    )


class PredictView(Part):
    """What Predict shows."""

    per = one_of({"step": "Step", "epoch": "Epoch", "training": "Training"}, "training")
    chart = one_of({"bars": "Bars", "scatter": "Scatter", "table": "Table"})
    sort = one_of({Sort.COST: "Cost", Sort.LATENCY: "Time", Sort.NAME: "Name"})
    against: Field[str] = Field(USUAL_PLAN, lambda text, _: text)


class SizesView(Part):
    """What Sizes shows, and the GPUs that charts show."""

    axis = one_of({"batch": "Batch size", "pixels": "Image size"})
    scale = one_of({"log": "Log", "linear": "Linear"})
    drawn = _some(lambda resources: {offer.gpu for offer in resources.catalog.all_offers if "," not in offer.gpu})
    shows = one_of({"latency": "Latency", "images": "Images/s", "time": "Time", "cost": "Cost"})
    each_at = one_of(("size", "largest"))


class ScalerView(Part):
    """Latencies at both ends of an axis, milliseconds, empty: as predicted; and the size between them."""

    scaler_axis = one_of({"batch": "Batch size", "pixels": "Image size"})
    scaler_instance = one_of(ORIGINAL, ORIGINAL[-1])
    scaler_method = one_of({"default": "Default", "profet": "PROFET's polynomial"})
    scaler_min_batch: Field[float | None] = number(None)
    scaler_max_batch: Field[float | None] = number(None)
    scaler_min_pixels: Field[float | None] = number(None)
    scaler_max_pixels: Field[float | None] = number(None)
    scaler_at_batch = number(128, *AXIS_RANGE["batch"])
    scaler_at_pixels = number(128, *AXIS_RANGE["pixels"])


class NetworkFile(Part):
    """A network without a profile, and its step."""

    net_from = one_of({"name": "By name", "file": "File"})
    net = Field("resnet50", _network_name)
    net_pixels: Field[int | None] = number(None, MIN_PIXELS, MAX_PIXELS)
    net_batch = number(32, 1, MAX_BATCH)
    net_optimizer = one_of(dict(zip(OPTIMIZERS, ("SGD", "Momentum", "Adam"), strict=True)))
    net_frozen = Field(False)


class ScaleOut(Part):
    """How GPUs share a training."""

    question = ScaleoutQuestion

    one_gpu = one_of({"predicted": "Predicted", "typed": "Measured"})
    gradients = one_of({"fp32": "FP32", "fp16": "FP16"})
    #: With what one was checked on, where that is little.
    strategy = one_of(
        {one: sentence(one.words) + f" ({CHECKED_ON.get(one)})" * (one in CHECKED_ON) for one in STRATEGIES}
    )
    #: Gb/s between machines.
    machine_network = one_of(
        {"own": "As each offer says", **{f"{gbit:g}": say for gbit, say in NAMED_NETWORKS.items()}}
    )
    batch_kept = one_of({"each": "Per-GPU batch", "all": "Global batch"})
    global_batch: Field[int | None] = asked(None, (2, MAX_IMAGES))
    total_gpus: Field[int | None] = asked(None, (2, MAX_GPUS))
    out_shows = one_of({"speed_up": "Speed-up", "step": "Latency", "time": "Time", "cost": "Cost"})
    #: Whether the chart has all strategies.
    exchanges = Field(False)
    #: A measured step on one GPU.
    step_ms: Field[float | None] = asked(None)
    one_gpu_batch = number(64, 1, MAX_IMAGES)
    one_gpu_on = _one_known(lambda resources: {offer.gpu for offer in resources.catalog.values()})


class CompareView(Part):
    """What Compare lists and shows: `inspect` is a sample's name; `inspect_custom`, an upload, is in no link."""

    view = one_of({"compare": "Side by side", "inside": "Inside one profile"})
    compare_samples: Field[list[str]] = _some(lambda resources: resources.samples, _other_samples)
    #: By name.
    compare_networks: Field[list[str]] = Field(
        [], lambda text, known: [_network_name(one, known) for one in text.split(",") if one]
    )
    compare_by = one_of({"latency": "Latency", "images": "Images/s", "cost": "Cost per 1,000 steps"})
    inspect = _one_known(lambda resources: (ON_PREDICT, *resources.samples))
    inspect_custom: Field[str | None] = unlinked(None)


class Texts(Part):
    """The section of About."""

    open = one_of(
        {
            "record": "Record a profile",
            "own_gpu": "Custom GPU",
            "method": "Method and limits",
            "files": "File formats and privacy",
            "prices": "Instances and prices",
            "precisions": "GPUs and precisions",
            "credits": "Credits and license",
        },
        "method",
    )


class ManyCore(Part):
    """The network on many-core CPUs, and its training."""

    manycore_from = one_of({"published": "Published", "flops": "Custom"})
    manycore_network = one_of(tuple(PUBLISHED), "large")
    manycore_flops = number(1e9)
    manycore_images: Field[int | None] = number(None, 1, MAX_IMAGES)
    manycore_test_images: Field[int | None] = number(None, 0, MAX_IMAGES)
    manycore_epochs: Field[int | None] = number(None, 1, MAX_EPOCHS)


class Table(Part):
    """What is chosen of a result table: columns (empty: the usual ones), order (empty: as rows come), the open row.

    What a table doesn't have, it ignores.
    """

    columns: Field[list[str]] = Field([], lambda text, _: list(filter(None, text.split(","))))
    sort: Field[str] = Field("", lambda text, _: text)
    open: Field[str] = Field("", lambda text, _: text)

    def choose(self, row_key: str = "") -> None:
        """Open a row, or none."""
        self.open = row_key


class Custom(Part):
    """The visitor's profiles, instances and GPUs, in no link; `share_profile` puts their profile into it.

    `aside`: latencies typed for another GPU than the one chosen now: what they are of -> that GPU, and their fields.

    `link_prices` : the fetched price lists that the link was made with.

    `link_given` is what the link gave that no profile has replaced yet; None before it is read. `link_missing`:
    the page opened without the upload that its address asks for.
    """

    profiles: Field[Mapping[str, Held]] = unlinked({})
    instances: Field[tuple[Instance, ...]] = unlinked(())
    gpus: Field[tuple[CustomGpu, ...]] = unlinked(())
    share_profile: Field[bool] = unlinked(False)
    link_given: Field[frozenset[str] | None] = unlinked(None)
    link_page: Field[str] = unlinked("")
    link_missing: Field[bool] = unlinked(False)
    link_prices: Field[str] = unlinked("")
    chosen_anchor: Field[str | None] = unlinked(None)
    aside: Field[Mapping[str, tuple[str, Mapping[str, Any]]]] = unlinked({})

    @property
    def given(self) -> frozenset[str]:
        """Settings that the link gave and no profile has replaced yet."""
        return self.link_given or frozenset()


class Session:
    """All that one visitor's session holds."""

    #: The profile that every page is about, and one of another size of the same network from the same anchor.
    profile, second = slots = Slot(), Slot("second")
    network, training, offers, custom = NetworkFields(), Training(), Offers(), Custom("custom")
    predict, sizes, scaler = PredictView(), SizesView(), ScalerView()
    compare, scale_out = CompareView(), ScaleOut()
    file, texts, manycore = NetworkFile(), Texts(), ManyCore()
    predict_table, sizes_table = Table("predict"), Table("sizes")
    scale_out_table, compare_table = Table("scale_out"), Table("compare")

    @property
    def prediction_inputs(self) -> tuple[Part, ...]:
        """What predictions depend on."""
        by_name = (self.file,) if self.profile.source == "name" else ()
        return (self.profile, self.network, *by_name, *((self.second,) if self.network.second else ()))


session = Session()
#: Key -> field: all that links have.
LINKED = {
    key: one
    for part in vars(Session).values()
    if isinstance(part, Part)
    for key, one in part.fields.items()
    if one.in_links
}
#: Parameters of links of 1.1 -> what they are called since: as the question's fields.
RENAMED = {
    "batch": "at_batch",
    "pixels": "at_pixels",
    "vcpu_rate": "images_per_s_per_vcpu",
    "deadline_h": "deadline_hours",
    "retired": "include_retired",
    "one_gpu_ms": "step_ms",
    "batch_of_all": "global_batch",
    "gpus": "total_gpus",
}
