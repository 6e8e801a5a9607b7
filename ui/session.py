"""One visitor's session: every setting, its default and what it may be, in links too.

A setting that a question asks for has its range, default and help from the question; the others are declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import streamlit as st
from msgspec import Meta, Struct, ValidationError, convert, inspect

from profet_core import InputError
from profet_core.answers.context import MAX_NETWORK_LETTERS
from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_LABELS, MARKET_CHOICES
from profet_core.catalog.gpus import AMP, AS_PROFILED, BF16, CODES, FP32, TF32
from profet_core.catalog.instance import SPOT
from profet_core.catalog.interconnects import NAMED_NETWORKS
from profet_core.layers.estimate import OPTIMIZERS
from profet_core.layers.measured import step_ms
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS, sized_name
from profet_core.prediction.scaler import AXIS_RANGE, LARGEST_PIXELS, SIZE_WORDS
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
from ui.resources import Resources
from ui.words import ON_PREDICT, sentence

#: Any number above 0.
ANY_NUMBER = (SMALLEST_NUMBER, LARGEST_NUMBER)
#: One process for all GPUs needs the number of weight tensors, which no field has.
STRATEGIES = (Strategy.RING, Strategy.TREE, Strategy.PS_CPU, Strategy.PS_GPU)
DEFAULT_METHOD = "default"
#: What the opened plan is set against: the one next to it.
USUAL_PLAN = "usual"
#: What links have beside settings: a profile, the fetched price lists, and whether there are custom instances or GPUs.
PARAMETER, PRICES, CUSTOM_ROWS = NO_SETTINGS = "profile", "prices", "custom"
#: The text in a link that stands for "left empty on purpose".
EMPTY = "none"
#: The sample that the app opens with; one at the largest batch, and others of its image size.
_SAMPLE, _SECOND_SAMPLE = "resnet50-224px-b64-g4dn", "vgg16-128px-b256-g3s"
_OTHER_SAMPLES = ("vgg16-224px-b16-g3s", "mobilenetv2-224px-b32-p2")
#: Labels of settings that aren't their names, and the app's defaults where the question has others.
_LABELS = {
    "images": "Images per epoch",
    "validation_images": "Validation images per epoch",
    "at_once": "All runs at once",
    "images_per_s_per_vcpu": "Images/s per vCPU",
    "certainty": "Confidence (%)",
    "whole_nodes": "Use all GPUs of a machine",
    "network": "Network or parameters",
    "checkpointing": "Activation checkpointing",
    "second": "Second profile",
    "provider": "Cloud",
    "gpu": "GPU",
    "gpu_count": "GPUs in a machine",
    "min_memory_gib": "Memory per GPU, at least (GiB)",
    "include_retired": "Retired instances",
    "total_gpus": "GPUs",
}
_USUAL: Mapping[str, float] = {
    "images": USUAL_IMAGES,
    "epochs": 90,
    "images_per_s_per_vcpu": float(JPEG_IMAGES_PER_S_PER_VCPU),
    "checkpoint_minutes": USUAL_CHECKPOINT_MINUTES,
    "restart_minutes": USUAL_RESTART_MINUTES,
}
_FEW_WORDS = 4
#: The last word of a name that is its unit -> how a label says it.
_UNITS = {"hours": "h", "minutes": "min", "usd": "$", "gib": "GiB", "ms": "ms"}


class Setting(Struct, eq=False):
    """A setting of the session.

    Attributes
    ----------
    default : its value until another is given.
    label, tip : of its field.
    bounds : of a number, the smallest and the largest.
    options : value -> how it reads, for one of a few.
    among : what it may be of what the resources have.
    read : value of a link and the resources -> as it is kept; ValueError if it makes no sense.
    follows_profile : its default is what the shown profile says.
    is_share : percent here, a share in its question.
    """

    default: Any = None
    label: str = ""
    bounds: tuple[float, float] | None = None
    options: Mapping[str, str] = MappingProxyType({})
    among: Callable[[Resources], Collection[str]] | None = None
    read: Callable[[Any, Resources], Any] | None = None
    follows_profile: bool = False
    in_links: bool = True
    is_share: bool = False
    tip: str = ""

    @property
    def is_mapping(self) -> bool:
        """Whether it has a number for each of some instances; a link has each as `key_INSTANCE`."""
        return isinstance(self.default, Mapping)

    @property
    def is_list(self) -> bool:
        """Whether it is some of many."""
        return isinstance(self.default, list)

    @property
    def wanted(self) -> str:
        """What a link can have, in a few words: ' (1 to 99)'; empty for what is no number and none of a few."""
        if self.bounds is not None:
            return " (a number above 0)" if self.bounds == ANY_NUMBER else " ({:,} to {:,})".format(*self.bounds)
        return f" (one of {', '.join(self.options)})" if self.options else ""

    def parse(self, text: str, resources: Resources) -> Any:
        """Read a link's text; ValueError if it makes no sense."""
        if self.default is None and text == EMPTY:
            return None
        kind: Any = bool if isinstance(self.default, bool) else str
        if self.bounds is not None:
            kind = Annotated[type(self.bounds[0]), Meta(ge=self.bounds[0], le=self.bounds[1])]
        options = self.options if self.among is None else self.among(resources)
        values = []
        for part in names(text) if self.is_list else [text]:
            same = [option for option in options if option.casefold() == part.casefold()]
            meant = same or ([part] if not options else _gpus_called(part, options, resources) if self.among else [])
            if not meant or (len(meant) > 1 and not self.is_list):
                raise ValueError(part)
            values += meant
        try:
            values = [convert(part, kind, strict=False) for part in dict.fromkeys(values)]
        except ValidationError as error:
            raise ValueError(text) from error
        value = values if self.is_list else values[0]
        return value if self.read is None else self.read(value, resources)


def one_of(options: Mapping[str, str] | Iterable[str], label: str = "", default: str | None = None) -> Setting:
    """One of a few, the first until another is chosen; `options` may map each to how it reads."""
    words = options if isinstance(options, Mapping) else dict(zip(options, options, strict=True))
    labels = {str(option): sentence(words[option]) for option in words}
    return Setting(str(default or next(iter(labels))), label, options=labels)


def asked(
    *fields: str, of: type[Struct] = AdviseQuestion, bounds: tuple[float, float] | None = None
) -> dict[str, Setting]:
    """Return the settings of fields of a question, by name; `bounds`: narrower than the question's."""
    settings = {}
    for name in fields:
        field = fields_of(of)[name]
        field_bounds, is_share = bounds, field.unit == "SHARE"
        default: Any = _USUAL.get(name, field.default)
        if is_share:
            low, high = field.bounds
            field_bounds = max(1, round(100 * low)), round(100 * high) - 1
            default = default and round(100 * default)
        elif field.is_mapping:
            field_bounds = ANY_NUMBER
        elif bounds is None and isinstance(field.kinds[0], inspect.IntType | inspect.FloatType):
            field_bounds = field.bounds
        default = [*default] if isinstance(default, tuple) else default
        settings[name] = Setting(default, field.label, field_bounds, is_share=is_share)
    return settings


class Part:
    """Settings of the session that belong together, by name; their keys begin with `prefix`."""

    prefix: str
    #: Key -> setting.
    settings: Mapping[str, Setting]

    def __init__(self, prefix: str = "", question: type[Struct] = AdviseQuestion, /, **settings: Setting) -> None:
        self.__dict__["prefix"] = prefix
        self.__dict__["settings"] = {self.key(name): setting for name, setting in settings.items()}
        for name, setting in settings.items():
            *words, last = name.split("_")
            unit = "%" if setting.is_share else _UNITS.get(last, "")
            derived = " ".join(words if last in _UNITS else [*words, last]) + f" ({unit})" * bool(unit)
            setting.label = setting.label or _LABELS.get(name) or sentence(derived)
            field = fields_of(question).get(name)
            # An option's default is the question's. A few words only say the label again.
            tip = "" if field is None else field.help if setting.options else field.help.partition(" (default")[0]
            setting.tip = f"{sentence(tip)}." if len(tip.split()) > _FEW_WORDS else ""

    def key(self, name: str) -> str:
        """Return a setting's key: of its widget, in the session and in links."""
        return f"{self.prefix}_{name}" if self.prefix else name

    def __getattr__(self, name: str) -> Any:
        # Whatever isn't an attribute; also before there are any, where it is copied.
        if name in ("prefix", "settings") or (key := self.key(name)) not in self.settings:
            raise AttributeError(name)
        return st.session_state.get(key, self.settings[key].default)

    def __setattr__(self, name: str, value: object) -> None:
        if (key := self.key(name)) not in self.settings:
            raise AttributeError(name)
        st.session_state[key] = value

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


def _gpus_called(text: str, options: Collection[str], resources: Resources) -> list[str]:
    """GPUs and models among the options that a text means: 'RTX 3090' is 'GeForce RTX 3090'."""
    meant = {gpu.name for gpu in resources.gpus.matching(text)}
    # A model means all of its GPUs.
    models = {gpu.model for gpu in resources.gpus.values() if gpu.name in meant}
    models -= {gpu.model for gpu in resources.gpus.values() if gpu.name not in meant}
    return [option for option in options if option in meant or option in models]


def _offered_gpus(resources: Resources) -> set[str]:
    return {offer.gpu for offer in resources.catalog.all_offers if "," not in offer.gpu}


def _offered(name: str) -> Setting:
    """Return a filter of offers by what they have."""
    return Setting(None if name == "region" else [], among=lambda resources: resources.catalog.filter_options[name])


def method_options(resources: Resources) -> tuple[str, ...]:
    """Methods that can be chosen: the default one by that name, then all others."""
    models = resources.models
    return (DEFAULT_METHOD, *(name for name in models.methods if name != models.default_method))


def latency_text(latency_ms: float | None) -> str | None:
    """Return a latency as its field shows it."""
    return None if latency_ms is None else f"{as_typed(latency_ms)} ms"


def _own(defaults: Mapping[str, Any]) -> dict[str, Setting]:
    """Return settings that are in no link."""
    return {name: Setting(default, in_links=False) for name, default in defaults.items()}


class Slot(Part):
    """A place that holds one profile, with its latency as typed: "122.4 ms", "5.2 it/s" or "14 min/epoch".

    `shown` is the profile, `chosen` the key of the visitor's own one, `pasted` a text that was read if `pasted_done`,
    and `trusted` a latency in doubt to use as typed.
    """

    def __init__(self, prefix: str = "") -> None:
        super().__init__(
            prefix,
            # "name": a network by name or file, without a profile; not of the second one.
            source=one_of(("sample", "upload", "paste", "name")),
            sample=Setting(_SECOND_SAMPLE if prefix else _SAMPLE, among=lambda resources: resources.samples),
            steps=Setting(bounds=(1, MAX_STEPS), follows_profile=True),
            latency=Setting(read=_latency, follows_profile=True),
            **_own({"shown": None, "chosen": None, "pasted": "", "pasted_done": False, "trusted": ()}),
        )

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


class Training(Part):
    """Images, epochs, sizes and limits; whether all GPUs of a node train, and what they share."""

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

    @property
    def typed(self) -> str:
        """The network's name or its number of parameters, as typed."""
        return (self.network or "").strip()[:MAX_NETWORK_LETTERS]

    @property
    def shared(self) -> dict[str, Any]:
        """Fields of a question: what GPUs exchange the gradients of; InputError: it begins as a number only."""
        is_count = self.typed[:1].isdigit()
        return {"network": None, "parameters": typed_count(self.typed)} if is_count else {"network": self.typed or None}


class Offers(Part):
    """Which offers, and at which prices, US dollars an hour."""

    def answers(self, question: type[Struct]) -> dict[str, Any]:
        """Return the values of a question's fields; only spot machines have a discount."""
        values = super().answers(question) | {"gpu_count": [int(count) for count in self.gpu_count]}
        if "spot_discount" in values and self.market not in (SPOT, ANY_MARKET):
            values["spot_discount"] = None
        return values


class Table(Part):
    """What is chosen of a result table: columns (empty: the usual ones), order (empty: as rows come), the open row.

    What a table doesn't have, it ignores.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix, columns=Setting([]), sort=Setting(""), open=Setting(""))

    def choose(self, row_key: str = "") -> None:
        """Open a row, or none."""
        self.open = row_key


class Session:
    """All that one visitor's session holds."""

    #: The profile that every page is about, and one of another size of the same network from the same anchor.
    profile, second = slots = Slot(), Slot("second")
    #: The profile's own sizes where it doesn't say them, and step latencies of the network that the visitor measured;
    #: how all is predicted.
    network = Part(
        anchor=Setting(read=_anchor, follows_profile=True),
        second=Setting(False),
        **asked("profiled_batch", "profiled_pixels", "second_batch", "second_pixels", bounds=(1, MAX_IMAGES)),
        **asked("measured"),
        measured_at=one_of({"same": "Profile's size", "other": "Second size"}),
    )
    how = Part(
        **asked("checkpointing"),
        method=Setting(DEFAULT_METHOD, among=method_options),
        precision=one_of(
            {AS_PROFILED: "As profiled", FP32: "FP32", TF32: "TF32", AMP: "AMP (mixed FP16)", BF16: "AMP (mixed BF16)"}
        ),
        training_code=one_of(
            dict(zip((AS_PROFILED, *CODES), ("As profiled", "Plain", "Channels-last", "Tuned"), strict=True))
        ),
    )
    training = Training(
        **asked("images", "validation_images", "epochs", "runs", "at_once", "whole_nodes", *COST_FIELDS),
        **asked("deadline_hours", "budget_usd", "certainty", "checkpoint_minutes", "restart_minutes"),
        **asked("images_per_s_per_vcpu"),
        **asked("at_batch", bounds=AXIS_RANGE["batch"]),
        **asked("at_pixels", bounds=(AXIS_RANGE["pixels"][0], LARGEST_PIXELS)),
        #: How its images are loaded.
        loading=one_of({"off": "Not counted", "overhead": "6–9% overhead", "vcpus": "By vCPUs"}, "Data loading"),
        interruptions=one_of(
            {"off": "Not counted", **{band: f"{band} a month" for band in INTERRUPTION_BANDS}, "day": "Per day"}
        ),
        per_day=Setting(0.1, "Interruptions per day", ANY_NUMBER),
        network=Setting(read=_network),
    )
    offers = Offers(
        **asked("price", "min_memory_gib", "spot_discount", "include_retired"),
        **{name: _offered(name) for name in ("provider", "gpu", "gpu_count", "region")},
        confidence=one_of(CONFIDENCE_LABELS),
        market=one_of(MARKET_CHOICES),
        preset=one_of(
            {Preset.ORIGINAL: "PROFET's 4", Preset.AWS: "AWS", Preset.GPUS: "One per GPU", Preset.ALL: "All"},
            "Instances",
            Preset.GPUS,
        ),
    )
    predict = Part(
        per=one_of(("step", "epoch", "training"), "Result for", "training"),
        chart=one_of(("bars", "scatter", "table"), "View"),
        sort=one_of({Sort.COST: "Cost", Sort.LATENCY: "Time", Sort.NAME: "Name"}, "Sort by"),
        against=Setting(USUAL_PLAN, "Compare with"),
    )
    #: What Sizes shows, and the GPUs that charts show.
    sizes = Part(
        axis=one_of(SIZE_WORDS, "Vary"),
        scale=one_of(("log", "linear"), "Scale of the chart"),
        drawn=Setting([], "GPUs in the chart", among=_offered_gpus),
        shows=one_of({"latency": "Latency", "images": "Images/s", "time": "Time", "cost": "Cost"}, "Show"),
        each_at=one_of(("size", "largest"), "Table for"),
    )
    #: Latencies at both ends of an axis, milliseconds, empty: as predicted; and the size between them.
    scaler = Part(
        scaler_axis=one_of(SIZE_WORDS, "Vary"),
        scaler_instance=one_of(ORIGINAL, "Target instance", ORIGINAL[-1]),
        scaler_method=one_of({"default": "Default", "profet": "PROFET's polynomial"}, "Method"),
        **{f"scaler_{end}_{axis}": Setting(bounds=ANY_NUMBER) for axis in AXIS_RANGE for end in ("min", "max")},
        **{f"scaler_at_{axis}": Setting(128, bounds=sizes) for axis, sizes in AXIS_RANGE.items()},
    )
    #: A network without a profile, and its step.
    file = Part(
        net_from=one_of({"name": "By name", "file": "File"}, "Network from"),
        net=Setting("resnet50", "Network name", read=_network_name),
        net_pixels=Setting(None, "Image size", (MIN_PIXELS, MAX_PIXELS)),
        net_batch=Setting(32, "Batch size", (1, MAX_BATCH)),
        net_optimizer=one_of(dict(zip(OPTIMIZERS, ("SGD", "Momentum", "Adam"), strict=True)), "Optimizer"),
        net_frozen=Setting(False, "Frozen backbone"),
    )
    #: How GPUs share a training. `step_ms`: a measured step on one GPU; `exchanges`: the chart has all strategies.
    scale_out = Part(
        "",
        ScaleoutQuestion,
        one_gpu=one_of({"predicted": "Predicted", "typed": "Measured"}, "Step on one GPU"),
        gradients=one_of({"fp32": "FP32", "fp16": "FP16"}, "Gradient precision"),
        strategy=one_of(
            # With what one was checked on, where that is little.
            {name: name.words + f" ({CHECKED_ON.get(name)})" * (name in CHECKED_ON) for name in STRATEGIES},
            "Gradient exchange",
        ),
        #: Gb/s between machines.
        machine_network=one_of(
            {"own": "As each offer says", **{f"{gbit:g}": say for gbit, say in NAMED_NETWORKS.items()}},
            "Network between machines",
        ),
        batch_kept=one_of({"each": "Per-GPU batch", "all": "Global batch"}, "Keep fixed"),
        **asked("step_ms", of=ScaleoutQuestion),
        **asked("global_batch", of=ScaleoutQuestion, bounds=(2, MAX_IMAGES)),
        **asked("total_gpus", of=ScaleoutQuestion, bounds=(2, MAX_GPUS)),
        out_shows=one_of({"speed_up": "Speed-up", "step": "Latency", "time": "Time", "cost": "Cost"}, "Show"),
        exchanges=Setting(False, "Compare gradient exchanges"),
        one_gpu_batch=Setting(64, "Batch size", (1, MAX_IMAGES)),
        one_gpu_on=Setting(
            None, "Measured on", among=lambda resources: {offer.gpu for offer in resources.catalog.values()}
        ),
    )
    #: What Compare lists and shows: `inspect` is a sample's name; `inspect_custom`, an upload, is in no link.
    compare = Part(
        view=one_of({"compare": "Side by side", "inside": "Inside one profile"}),
        compare_samples=Setting([*_OTHER_SAMPLES], "Samples", among=lambda resources: resources.samples),
        compare_networks=Setting(
            [], "Networks by name", read=lambda given, resources: [_network_name(name, resources) for name in given]
        ),
        compare_by=one_of({"latency": "Latency", "images": "Images/s", "cost": "Cost per 1,000 steps"}, "Show"),
        inspect=Setting(among=lambda resources: (ON_PREDICT, *resources.samples)),
        inspect_custom=Setting(in_links=False),
    )
    #: The section of About.
    texts = Part(
        open=one_of(
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
    )
    #: The network on many-core CPUs, and its training.
    manycore = Part(
        manycore_from=one_of({"published": "Published", "flops": "Custom"}, "Network"),
        manycore_network=one_of(tuple(PUBLISHED), "Published network", "large"),
        manycore_flops=Setting(1e9, "FLOPs per image", ANY_NUMBER),
        manycore_images=Setting(None, "Images per epoch", (1, MAX_IMAGES)),
        manycore_test_images=Setting(None, "Test images per epoch", (0, MAX_IMAGES)),
        manycore_epochs=Setting(None, "Epochs", (1, MAX_EPOCHS)),
    )
    predict_table, sizes_table = Table("predict"), Table("sizes")
    scale_out_table, compare_table = Table("scale_out"), Table("compare")
    #: The visitor's profiles, instances and GPUs. `share_profile` puts their profile into the link; `aside` has
    #: latencies typed for another GPU than the one chosen now: what they are of -> that GPU, and their fields. Of the
    #: link: the price lists it was made with, what of it makes no sense, what it gave that no profile has replaced yet
    #: (None before it is read), whether it was made beside custom rows, or asks for an upload that isn't there.
    custom = Part(
        "custom",
        **_own(
            {"profiles": {}, "instances": (), "gpus": (), "share_profile": False, "chosen_anchor": None, "aside": {}}
        ),
        **_own({"link_given": None, "link_page": "", "link_missing": False, "link_prices": "", "link_ignored": ()}),
        **_own({"link_rows": False}),
    )

    @property
    def prediction_inputs(self) -> tuple[Part, ...]:
        """What predictions depend on."""
        by_name = (self.file,) if self.profile.source == "name" else ()
        return (self.profile, self.network, self.how, *by_name, *((self.second,) if self.network.second else ()))


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
