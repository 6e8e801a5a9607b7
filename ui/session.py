"""One visitor's session: each setting with its default and what it may be; links have those they can.

What a question asks for has its range, help and meaning from the question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, TypeVar, cast

import streamlit as st
from msgspec import Meta, Struct, ValidationError, convert

from profet_core import InputError
from profet_core.answers.context import MAX_NETWORK_LETTERS
from profet_core.catalog import Instance
from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_LABELS, MARKET_CHOICES
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
    USUAL_IMAGES,
    USUAL_RESTART_MINUTES,
    AdviseQuestion,
    ScaleoutQuestion,
    fields_of,
    names,
)
from profet_core.training.advise import ORIGINAL, Preset, Sort
from profet_core.training.cost import INTERRUPTION_BANDS, JPEG_IMAGES_PER_S_PER_VCPU, MAX_EPOCHS, MAX_IMAGES
from profet_core.training.many_core import PUBLISHED
from profet_core.training.memory import MAX_BATCH
from profet_core.training.scaling_model import Strategy
from profet_core.training.several_gpus import CHECKED_ON, MAX_GPUS
from profet_profiles.limits import MAX_STEPS
from profet_profiles.units import LARGEST_NUMBER, SMALLEST_NUMBER, as_typed, typed_count
from ui.resources import Held, Resources
from ui.words import ON_PREDICT, sentence

#: Of a step that was profiled; any number above 0.
_SIZES, ANY_NUMBER = (1, MAX_IMAGES), (SMALLEST_NUMBER, LARGEST_NUMBER)
#: One process for all GPUs needs the number of weight tensors, which no field has.
STRATEGIES = (Strategy.RING, Strategy.TREE, Strategy.PS_CPU, Strategy.PS_GPU)
#: With what one was checked on, where that is little.
STRATEGY_WORDS: Mapping[str, str] = {
    name: sentence(name.words) + f" ({CHECKED_ON.get(name)})" * (name in CHECKED_ON) for name in STRATEGIES
}
DEFAULT_METHOD = "default"
#: What the opened plan is set against: the one next to it.
USUAL_PLAN = "usual"
#: Has a profile in a link; every other parameter is a setting. The text that stands for "left empty on purpose".
PARAMETER, EMPTY = "profile", "none"
#: Names the fetched price lists in a link.
PRICES = "prices"

T = TypeVar("T")
Known = Callable[[Resources], Collection[str]]


class Setting(Struct, eq=False, kw_only=True):
    """A setting of the session; range and help of a number or a flag that a question asks for are from there.

    Attributes
    ----------
    default : its value until another is given, or what makes it of the resources and the key.
    kind : what the text of a link is converted to, with its range.
    options : value -> how it reads, for one of a few.
    among : what it may be of what the resources have.
    read : value of a link and the resources -> as it is kept; ValueError if it makes no sense.
    bounds : of a number, the smallest and the largest.
    label, tip : of its field.
    follows_profile : its default is what the shown profile says.
    is_share : percent here, a share in its question.
    """

    default: Any
    kind: Any = str
    options: Mapping[str, str] = MappingProxyType({})
    among: Known | None = None
    read: Callable[[Any, Resources], Any] | None = None
    bounds: tuple[float, float] | None = None
    label: str = ""
    tip: str = ""
    follows_profile: bool = False
    in_links: bool = True
    is_share: bool = False
    key: str = ""

    def __set_name__(self, owner: type[Part], name: str) -> None:
        self.key = name
        declared = fields_of(owner.question).get(name)
        if declared and not (declared.is_file or self.options or self.among or self.read):
            self.tip = f"{sentence(declared.help.partition(' (default')[0])}."
            self.label, self.is_share = self.label or declared.label, declared.unit == "SHARE"
            if self.is_share:
                low, high = declared.bounds
                self.bounds = max(1, round(100 * low)), round(100 * high) - 1
            elif self.bounds is None and not declared.is_flag:
                self.bounds = ANY_NUMBER if declared.is_mapping else declared.bounds
        self.label = self.label or sentence(name.replace("_", " "))
        if self.bounds is not None:
            low, high = self.bounds
            self.kind = Annotated[type(low), Meta(ge=low, le=high)]

    def __get__(self, part: Part | None, owner: type) -> Any:
        return self if part is None else st.session_state.get(part.key(self.key), self.default)

    def __set__(self, part: Part, value: object) -> None:
        st.session_state[part.key(self.key)] = value

    @property
    def is_mapping(self) -> bool:
        """Whether it has a number for each of some instances; a link has each as `key_INSTANCE`."""
        return isinstance(self.default, Mapping)

    @property
    def wanted(self) -> str:
        """What a link can have, in a few words: ' (1 to 99)'; empty for what is no number and none of a few."""
        if self.bounds is not None:
            return " (a number above 0)" if self.bounds == ANY_NUMBER else " ({:,} to {:,})".format(*self.bounds)
        return f" (one of {', '.join(self.options)})" if self.options else ""

    def default_in(self, resources: Resources, key: str) -> Any:
        """Its default beside these models and samples."""
        return self.default(resources, key) if callable(self.default) else copy(self.default)

    def parse(self, text: str, resources: Resources) -> Any:
        """Read a link's text; ValueError if it makes no sense."""
        if self.default is None and text == EMPTY:
            return None
        is_list, options = self.kind == list[str], self.options if self.among is None else self.among(resources)
        spelled = {option.casefold(): option for option in options}
        try:
            value = convert([*dict.fromkeys(names(text))] if is_list else text, self.kind, strict=False)
            if spelled:
                value = [spelled[name.casefold()] for name in value] if is_list else spelled[value.casefold()]
        except (ValidationError, KeyError) as error:
            raise ValueError(text) from error
        return value if self.read is None else self.read(value, resources)


def setting(
    default: T,
    label: str = "",
    bounds: tuple[float, float] | None = None,
    *,
    among: Known | None = None,
    read: Callable[[Any, Resources], Any] | None = None,
    usual: Callable[[Resources, str], T] | None = None,
    follows_profile: bool = False,
    in_links: bool = True,
) -> T:
    """Declare a setting as `Setting` describes it; `usual` makes its default."""
    kind: Any = list[str] if isinstance(default, list) else bool if isinstance(default, bool) else str
    how: Any = {"follows_profile": follows_profile, "in_links": in_links}
    made = Setting(default=usual or default, kind=kind, among=among, read=read, bounds=bounds, label=label, **how)
    return cast(T, made)


def one_of(options: Mapping[str, str] | Iterable[str], label: str = "", default: str | None = None) -> str:
    """One of a few, the first until another is chosen; `options` may map each to how it reads."""
    labels = dict(options) if isinstance(options, Mapping) else {str(option): str(option) for option in options}
    return cast(str, Setting(default=next(iter(labels)) if default is None else default, options=labels, label=label))


class Part:
    """Settings of the session that belong together; their keys begin with `prefix`."""

    #: What asks for some of them.
    question: ClassVar[type[Struct]] = AdviseQuestion

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def key(self, name: str) -> str:
        """Return a setting's key: of its widget, in the session and in links."""
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def settings(self) -> dict[str, Setting]:
        """Key -> setting."""
        return {self.key(name): value for name, value in vars(type(self)).items() if isinstance(value, Setting)}

    def answers(self, question: type[Struct]) -> dict[str, Any]:
        """Return the values of a question's fields that are settings here.

        A share is percent here; an option that was not changed is the question's own default.
        """
        values, declared = {}, fields_of(question)
        for key, setting in self.settings.items():
            if key in declared:
                value = getattr(self, key)
                if setting.options and value == setting.default:
                    value = declared[key].default
                values[key] = value / 100 if setting.is_share and value else value
        return values


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


def _anchor(text: str, resources: Resources) -> str:
    """Read an anchor however it is written: an offer stands for its GPU."""
    name = anchor_named(resources.models, resources.catalog, text)
    if name not in resources.anchors:
        raise ValueError(text)
    return name


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


def _offered(name: str) -> Known:
    """Return what makes the options of a filter of offers."""
    return lambda resources: resources.catalog.filter_options[name]


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
    sample: str = setting("", among=lambda resources: resources.samples, usual=_sample)
    steps: int | None = setting(None, bounds=(1, MAX_STEPS), follows_profile=True)
    #: As typed, such as "122.4 ms", "5.2 it/s", "14 min/epoch" or a progress line.
    latency: str | None = setting(None, read=_latency, follows_profile=True)
    shown: Held | None = setting(None, in_links=False)
    chosen: str | None = setting(None, in_links=False)
    pasted: str = setting("", in_links=False)
    pasted_done: bool = setting(False, in_links=False)
    trusted: tuple[object, ...] = setting((), in_links=False)

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
    def sizes(self) -> dict[str, str]:
        """Field of `Held` -> key of the session's: the sizes it was recorded at, where the profile's file has none."""
        which = "second" if self.prefix else "profiled"
        return {"batch_size": f"{which}_batch", "pixels": f"{which}_pixels"}


class NetworkSettings(Part):
    """The profile's own sizes where it doesn't say them, a second profile, and how all is predicted."""

    anchor: str | None = setting(None, read=_anchor, follows_profile=True)
    profiled_batch: int | None = setting(None, bounds=_SIZES)
    profiled_pixels: int | None = setting(None, bounds=_SIZES)
    second = setting(False, "Second profile")
    second_batch: int | None = setting(None, bounds=_SIZES)
    second_pixels: int | None = setting(None, bounds=_SIZES)
    #: Step latencies of the network that the visitor measured, milliseconds.
    measured: Mapping[str, float] = setting({})
    measured_at = one_of({"same": "Profile's size", "other": "Second size"})
    method = setting(DEFAULT_METHOD, among=method_options)
    precision = one_of(
        {AS_PROFILED: "As profiled", FP32: "FP32", TF32: "TF32", AMP: "AMP (mixed FP16)", BF16: "AMP (mixed BF16)"}
    )
    checkpointing = setting(False, "Activation checkpointing")
    training_code = one_of(
        dict(zip((AS_PROFILED, *CODES), ("As profiled", "Plain", "Channels-last", "Tuned"), strict=True))
    )

    @property
    def how(self) -> dict[str, Any]:
        """Fields of a question: how its steps are predicted."""
        return {name: getattr(self, name) for name in ("method", "precision", "training_code", "checkpointing")}


class Training(Part):
    """Images, epochs, sizes and limits; whether all GPUs of a node train, and what they share."""

    images = setting(USUAL_IMAGES, "Images per epoch")
    validation_images = setting(0, "Validation images per epoch")
    epochs = setting(90)
    at_batch: int | None = setting(None, bounds=AXIS_RANGE["batch"])
    at_pixels: int | None = setting(None, bounds=(AXIS_RANGE["pixels"][0], LARGEST_PIXELS))
    runs = setting(1)
    at_once = setting(False, "All runs at once")
    #: How its images are loaded; `images_per_s_per_vcpu`: how many of them one vCPU prepares per second.
    loading = one_of({"off": "Not counted", "overhead": "6–9% overhead", "vcpus": "By vCPUs"}, "Data loading")
    images_per_s_per_vcpu = setting(float(JPEG_IMAGES_PER_S_PER_VCPU), "Images/s per vCPU")
    interruptions = one_of(
        {"off": "Not counted", **{band: f"{band} a month" for band in INTERRUPTION_BANDS}, "day": "Per day"}
    )
    per_day = setting(0.1, "Interruptions per day", ANY_NUMBER)
    checkpoint_minutes = setting(USUAL_CHECKPOINT_MINUTES, "Checkpoint (min)")
    restart_minutes = setting(USUAL_RESTART_MINUTES, "Restart (min)")
    #: What it may take, and with what probability in percent.
    deadline_hours: float | None = setting(None, "Deadline (h)")
    budget_usd: float | None = setting(None, "Budget ($)")
    certainty = setting(90, "Confidence (%)")
    whole_nodes = setting(False, "Use all GPUs of a machine")
    #: Its name or its number of parameters.
    network: str | None = setting(None, "Network or parameters", read=_network)
    # Costs beside the steps, which bars leave out.
    vars().update({name: setting(None) for name in COST_FIELDS})

    def answers(self, question: type[Struct]) -> dict[str, Any]:
        """Return the values of a question's fields, but for the network; only spot machines are interrupted."""
        values = super().answers(question) | {"with_loading": self.loading == "overhead"}
        if self.loading != "vcpus":
            values["images_per_s_per_vcpu"] = None
        if self.runs == 1:
            values["at_once"] = False
        if session.offers.market != SPOT:
            values["interruptions"] = None
        elif self.interruptions != "off":
            values["market"] = SPOT
        if self.interruptions == "day" and values.get("interruptions"):
            values["interruptions"] = f"{self.per_day:g}"
        return {name: value for name, value in values.items() if name in fields_of(question) and name != "network"}


def with_meaning(question: type[Struct], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a question's fields without those that need another one, which is empty."""
    needs = {name: [other for other in fields_of(question)[name].needs if other in values] for name in values}
    empty: tuple[object, ...] = (None, {})
    return {
        name: value
        for name, value in values.items()
        if not needs[name] or any(values[other] not in empty for other in needs[name])
    }


def typed_network() -> tuple[str | None, float | None]:
    """Return the network's name or its number of parameters as typed; InputError: it begins as a number only."""
    typed = (session.training.network or "").strip()[:MAX_NETWORK_LETTERS]
    return (None, typed_count(typed)) if typed[:1].isdigit() else (typed or None, None)


class Offers(Part):
    """Which offers, and at which prices, US dollars an hour."""

    price: Mapping[str, float] = setting({})
    provider: list[str] = setting([], "Cloud", among=_offered("provider"))
    gpu: list[str] = setting([], "GPU", among=_offered("gpu"))
    gpu_count: list[str] = setting([], "GPUs in a machine", among=_offered("gpu_count"))
    min_memory_gib: float | None = setting(None, "Memory per GPU, at least (GiB)")
    confidence = one_of({level: sentence(words) for level, words in CONFIDENCE_LABELS.items()})
    market = one_of({market: sentence(market) for market in MARKET_CHOICES})
    region: str | None = setting(None, among=_offered("region"))
    spot_discount: int | None = setting(None, "Spot is cheaper by (%)")
    include_retired = setting(False, "Retired instances")
    preset = one_of(
        {Preset.ORIGINAL: "PROFET's 4", Preset.AWS: "AWS", Preset.GPUS: "One per GPU", Preset.ALL: "All"},
        "Instances",
        Preset.GPUS,
    )

    def answers(self, question: type[Struct]) -> dict[str, Any]:
        """Return the values of a question's fields; only spot machines have a discount."""
        values = super().answers(question) | {"gpu_count": [int(count) for count in self.gpu_count]}
        if "spot_discount" in values and self.market not in (SPOT, ANY_MARKET):
            values["spot_discount"] = None
        return values


class PredictView(Part):
    """What Predict shows."""

    per = one_of({"step": "Step", "epoch": "Epoch", "training": "Training"}, "Result for", "training")
    chart = one_of({"bars": "Bars", "scatter": "Scatter", "table": "Table"}, "View")
    sort = one_of({Sort.COST: "Cost", Sort.LATENCY: "Time", Sort.NAME: "Name"}, "Sort by")
    against = setting(USUAL_PLAN, "Compare with")


class SizesView(Part):
    """What Sizes shows, and the GPUs that charts show."""

    axis = one_of({"batch": "Batch size", "pixels": "Image size"}, "Vary")
    scale = one_of({"log": "Log", "linear": "Linear"}, "Scale of the chart")
    drawn: list[str] = setting(
        [],
        "GPUs in the chart",
        among=lambda resources: {offer.gpu for offer in resources.catalog.all_offers if "," not in offer.gpu},
    )
    shows = one_of({"latency": "Latency", "images": "Images/s", "time": "Time", "cost": "Cost"}, "Show")
    each_at = one_of(("size", "largest"), "Table for")


class ScalerView(Part):
    """Latencies at both ends of an axis, milliseconds, empty: as predicted; and the size between them."""

    scaler_axis = one_of({"batch": "Batch size", "pixels": "Image size"}, "Vary")
    scaler_instance = one_of(ORIGINAL, "Target instance", ORIGINAL[-1])
    scaler_method = one_of({"default": "Default", "profet": "PROFET's polynomial"}, "Method")
    for _axis, _sizes in AXIS_RANGE.items():
        vars()[f"scaler_min_{_axis}"] = setting(None, bounds=ANY_NUMBER)
        vars()[f"scaler_max_{_axis}"] = setting(None, bounds=ANY_NUMBER)
        vars()[f"scaler_at_{_axis}"] = setting(128, bounds=_sizes)


class NetworkFile(Part):
    """A network without a profile, and its step."""

    net_from = one_of({"name": "By name", "file": "File"}, "Network from")
    net = setting("resnet50", "Network name", read=_network_name)
    net_pixels: int | None = setting(None, "Image size", (MIN_PIXELS, MAX_PIXELS))
    net_batch = setting(32, "Batch size", (1, MAX_BATCH))
    net_optimizer = one_of(dict(zip(OPTIMIZERS, ("SGD", "Momentum", "Adam"), strict=True)), "Optimizer")
    net_frozen = setting(False, "Frozen backbone")


class ScaleOut(Part):
    """How GPUs share a training."""

    question = ScaleoutQuestion

    one_gpu = one_of({"predicted": "Predicted", "typed": "Measured"}, "Step on one GPU")
    gradients = one_of({"fp32": "FP32", "fp16": "FP16"}, "Gradient precision")
    strategy = one_of(STRATEGY_WORDS, "Gradient exchange")
    #: Gb/s between machines.
    machine_network = one_of(
        {"own": "As each offer says", **{f"{gbit:g}": say for gbit, say in NAMED_NETWORKS.items()}},
        "Network between machines",
    )
    batch_kept = one_of({"each": "Per-GPU batch", "all": "Global batch"}, "Keep fixed")
    global_batch: int | None = setting(None, bounds=(2, MAX_IMAGES))
    total_gpus: int | None = setting(None, "GPUs", (2, MAX_GPUS))
    out_shows = one_of({"speed_up": "Speed-up", "step": "Latency", "time": "Time", "cost": "Cost"}, "Show")
    #: Whether the chart has all strategies.
    exchanges = setting(False, "Compare gradient exchanges")
    #: A measured step on one GPU.
    step_ms: float | None = setting(None, "Latency (ms)")
    one_gpu_batch = setting(64, "Batch size", (1, MAX_IMAGES))
    one_gpu_on: str | None = setting(
        None, "Measured on", among=lambda resources: {offer.gpu for offer in resources.catalog.values()}
    )


class CompareView(Part):
    """What Compare lists and shows: `inspect` is a sample's name; `inspect_custom`, an upload, is in no link."""

    view = one_of({"compare": "Side by side", "inside": "Inside one profile"})
    compare_samples: list[str] = setting([], "Samples", among=lambda resources: resources.samples, usual=_other_samples)
    compare_networks: list[str] = setting(
        [], "Networks by name", read=lambda given, resources: [_network_name(name, resources) for name in given]
    )
    compare_by = one_of({"latency": "Latency", "images": "Images/s", "cost": "Cost per 1,000 steps"}, "Show")
    inspect: str | None = setting(None, among=lambda resources: (ON_PREDICT, *resources.samples))
    inspect_custom: str | None = setting(None, in_links=False)


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
        "Section",
        "method",
    )


class ManyCore(Part):
    """The network on many-core CPUs, and its training."""

    manycore_from = one_of({"published": "Published", "flops": "Custom"}, "Network")
    manycore_network = one_of(tuple(PUBLISHED), "Published network", "large")
    manycore_flops = setting(1e9, "FLOPs per image", ANY_NUMBER)
    manycore_images: int | None = setting(None, "Images per epoch", (1, MAX_IMAGES))
    manycore_test_images: int | None = setting(None, "Test images per epoch", (0, MAX_IMAGES))
    manycore_epochs: int | None = setting(None, "Epochs", (1, MAX_EPOCHS))


class Table(Part):
    """What is chosen of a result table: columns (empty: the usual ones), order (empty: as rows come), the open row.

    What a table doesn't have, it ignores.
    """

    columns: list[str] = setting([])
    sort = setting("")
    open = setting("")

    def choose(self, row_key: str = "") -> None:
        """Open a row, or none."""
        self.open = row_key


class Custom(Part):
    """The visitor's profiles, instances and GPUs, in no link; `share_profile` puts their profile into it.

    `aside`: latencies typed for another GPU than the one chosen now: what they are of -> that GPU, and their fields.

    `link_prices`: the fetched price lists that the link was made with; `link_ignored`: what of it makes no sense.

    `link_given` is what the link gave that no profile has replaced yet; None before it is read. `link_missing`:
    the page opened without the upload that its address asks for.
    """

    profiles: Mapping[str, Held] = setting({}, in_links=False)
    instances: tuple[Instance, ...] = setting((), in_links=False)
    gpus: tuple[CustomGpu, ...] = setting((), in_links=False)
    share_profile: bool = setting(False, in_links=False)
    link_given: frozenset[str] | None = setting(None, in_links=False)
    link_page: str = setting("", in_links=False)
    link_missing: bool = setting(False, in_links=False)
    link_prices: str = setting("", in_links=False)
    link_ignored: tuple[str, ...] = setting((), in_links=False)
    chosen_anchor: str | None = setting(None, in_links=False)
    aside: Mapping[str, tuple[str, Mapping[str, Any]]] = setting({}, in_links=False)

    @property
    def given(self) -> frozenset[str]:
        """Settings that the link gave and no profile has replaced yet."""
        return self.link_given or frozenset()


class Session:
    """All that one visitor's session holds."""

    #: The profile that every page is about, and one of another size of the same network from the same anchor.
    profile, second = slots = Slot(), Slot("second")
    network, training, offers, custom = NetworkSettings(), Training(), Offers(), Custom("custom")
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
#: Key -> setting: all that links have.
LINKED = {
    key: declared
    for part in vars(Session).values()
    if isinstance(part, Part)
    for key, declared in part.settings.items()
    if declared.in_links
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
