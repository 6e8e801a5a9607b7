"""Questions that users ask; each field is declared once, with its help, for options, requests and schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_WORDS, MARKET_CHOICES, OfferFilter
from profet_core.catalog.gpus import AS_PROFILED, CODES, PRECISIONS, requested_code, requested_precision
from profet_core.catalog.instance import ON_DEMAND, SPOT
from profet_core.catalog.launch import USUAL_COMMAND
from profet_core.errors import InputError
from profet_core.layers.measured import LONGEST_TIME
from profet_core.training.cost import (
    INTERRUPTION_BANDS,
    JPEG_IMAGES_PER_S_PER_VCPU,
    Extras,
    Interruptions,
    Workload,
    interruptions_per_h,
)
from profet_profiles.units import positive_number, typed_count

if TYPE_CHECKING:
    from profet_profiles import Profile

#: Names in a list, or instances with a number each.
MAX_ENTRIES = 100
#: A text: an instance's name, a region.
MAX_TEXT_CHARACTERS = 100
#: A log in a JSON body; a larger one is sent as a file.
MAX_LOG_CHARACTERS = 500_000
#: Fields that filter offers; the last of every question.
OFFER_FIELDS = ("provider", "region", "market", "gpu", "gpu_count", "min_memory_gib", "confidence")
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}
#: Of texts that are files: they have several lines.
_FILE_FORMAT = "text-file"
_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of value: "... must be {wanted}", as its JSON Schema has it; `parse` reads one text."""

    wanted: str
    schema: Mapping[str, Any]
    parse: Callable[[str], Any]
    #: Parsed texts of one field -> its value; None: a field has one text.
    join: Callable[[Sequence[Any]], object] | None = None
    metavar: str | None = None
    longest: int = MAX_TEXT_CHARACTERS

    def checked(self, value: object) -> object:
        """A JSON value; ValueError if it is of another kind."""
        return _checked(value, self.schema)

    def of_texts(self, texts: Sequence[str]) -> object:
        """Value of a query's or a form's texts; ValueError if they are of another kind."""
        if self.join is not None:
            return self.checked(self.join([self.parse(text) for text in texts]))
        if len(texts) != 1 or len(texts[0]) > self.longest:
            raise ValueError
        return self.checked(self.parse(texts[0]))


def _checked(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value, a number as a float; ValueError if the schema has no such value."""
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    kind = _JSON_TYPES.get(type(value), "null")
    if not (kind in types or (kind == "integer" and "number" in types)):
        raise ValueError
    match value:
        case int() if types == ["number"]:
            return float(value)
        case str():
            is_line = value.isprintable() or schema.get("format") == _FILE_FORMAT
            if not (0 < len(value) <= schema.get("maxLength", MAX_TEXT_CHARACTERS) and is_line):
                raise ValueError
        case list() if "items" in schema:
            if len(value) > schema["maxItems"]:
                raise ValueError
            return [_checked(one, schema["items"]) for one in value]
        case dict() if "additionalProperties" in schema:
            known, other = schema.get("properties", {}), schema["additionalProperties"]
            if len(value) > MAX_ENTRIES or not (other or value.keys() <= known.keys()):
                raise ValueError
            return {_checked(name, _TEXT): _checked(one, known.get(name, other)) for name, one in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a question; an option has `-` for `_`, and shows `unit` in its help."""

    kind: Kind
    help: str
    unit: str | None = None
    required: bool = False
    #: What a text can be; empty: anything. `read`: the choice that a text names, under any of its names.
    choices: tuple[str, ...] = ()
    read: Callable[[str], str] = str


Fields: TypeAlias = Mapping[str, Field]


def option(help: str, kind: Kind | None = None, *, default: Any = None, name: str = "", **more: Any) -> Any:
    """Declare a dataclass field that users fill in, with unit, choices and read of `Field`.

    `kind` None: by the annotation. `default` `dict`: an empty one, `MISSING`: the field is required. `name` : the
    field's, if it isn't the attribute's.
    """
    given = {"default_factory": dict} if default is dict else {"default": default}
    return dataclasses.field(metadata={"option": name, "kind": kind, "help": help, **more}, **given)


def part(kind: type, *, optional: bool = False) -> Any:
    """Declare a dataclass field that is a record of options; `optional`: None unless the first of these is given."""
    given: dict[str, Any] = {"default": None} if optional else {"default_factory": kind}
    return dataclasses.field(metadata={"part": kind}, **given)


def fields_of(question: type) -> Fields:
    """Fields of a question's class and its parts, those that filter offers last."""
    found: dict[str, Field] = {}
    for one in dataclasses.fields(question):
        if "part" in one.metadata:
            of_part = fields_of(one.metadata["part"])
            found |= {name: replace(field, required=False) for name, field in of_part.items()}
        elif "option" in one.metadata:
            kind = one.metadata["kind"] or _KINDS[str(one.type).removesuffix(" | None")]
            required = one.default is MISSING and one.default_factory is MISSING
            more = {name: value for name, value in one.metadata.items() if name not in ("option", "kind")}
            found[one.metadata["option"] or one.name] = Field(kind, **more, required=required)
    return {name: found[name] for name in sorted(found, key=lambda name: name in OFFER_FIELDS)}


Question = TypeVar("Question")


def from_fields(question: Callable[..., Question], values: Mapping[str, Any]) -> Question:
    """The question with these fields and other attributes; TypeError if it has none of that name."""
    given, rest = {}, dict(values)
    for one in dataclasses.fields(question):  # type: ignore[arg-type]
        if "part" in one.metadata:
            names = list(fields_of(one.metadata["part"]))
            of_part = {name: rest.pop(name) for name in names if name in rest}
            if one.default_factory is not MISSING or of_part.get(names[0]) is not None:
                given[one.name] = from_fields(one.metadata["part"], of_part)
        elif (name := one.metadata.get("option") or one.name) in rest:
            given[one.name] = rest.pop(name)
    return question(**given, **rest)


#: Field -> the field without which it has no meaning.
_NEEDED = {
    "checkpoint_minutes": "interruptions",
    "restart_minutes": "interruptions",
    "measured_trace": "measured",
    "measured_trace_latency_ms": "measured_trace",
    **{f"second_{name}": "second" for name in ("batch", "pixels", "latency_ms", "steps")},
}
#: Pairs of which one is given.
_EITHER = (("latency_ms", "without_latency"), ("with_loading", "images_per_s_per_vcpu"), ("network", "parameters"))
#: Field -> what it says about spot machines alone.
_OF_SPOT = {"interruptions": "Only spot machines are interrupted", "spot_discount": "Only spot prices have a discount"}


def check_together(values: Mapping[str, Any]) -> None:
    """Refuse fields of a question that contradict each other, or that have no meaning without another one."""
    given = {name for name, value in values.items() if value is not None and value is not False and value != {}}
    for name, needed in _NEEDED.items():
        if name in given and needed not in given:
            raise InputError(f"{{{name}}} needs {{{needed}}}.", name, needed)
    for one, other in _EITHER:
        if {one, other} <= given:
            raise InputError(f"Give {{{one}}} or {{{other}}}, not both.", one, other)
    for name, why in _OF_SPOT.items():
        if name in given and values.get("market") not in (SPOT, ANY_MARKET):
            raise InputError(f"{why}: {{{name}}} needs {{market}} {SPOT} or {ANY_MARKET}.", name, "market")
    if "at_once" in given and values.get("runs", 1) == 1:
        raise InputError("{at_once} needs several {runs}.", "at_once", "runs")
    if "images" in values and "images" not in given:
        check_epochs(values.get("epochs", 1), values.get("validation_images", 0))


def check_epochs(epochs: int, validation_images: int) -> None:
    """Refuse epochs and validation images of a training whose images are not given: it is one step."""
    for name, given in (("epochs", epochs != 1), ("validation_images", validation_images != 0)):
        if given:
            raise InputError(f"{{{name}}} needs {{images}}.", name, "images")


def names(text: str) -> list[str]:
    """Names, of "A,B"."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise InputError(f"{text!r} is not a list of numbers such as 1,2,4,8") from None


def _instance_number(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise InputError(f"{text!r} is not INSTANCE=NUMBER, such as g4dn.xlarge=0.4") from None


def _flat(lists: Sequence[list[Any]]) -> list[Any]:
    return [one for each in lists for one in each]


_FLAGS = {"true": True, "1": True, "": True, "false": False, "0": False}
_MANY = {"type": "array", "maxItems": MAX_ENTRIES}
_INTEGER, _NUMBER = {"type": "integer"}, {"type": "number"}
_LIST = f"a list of at most {MAX_ENTRIES}"
TEXT = Kind(f"text of at most {MAX_TEXT_CHARACTERS} characters", _TEXT, str)
WHOLE = Kind("a whole number", _INTEGER, int, metavar="N")
NUMBER = Kind("a number", _NUMBER, float)
#: A number such as 25.6M.
LARGE = Kind("a number", _NUMBER, typed_count, metavar="N")
FLAG = Kind("true or false", {"type": "boolean"}, lambda text: _FLAGS[text.lower()])
NAMES = Kind(f"{_LIST} names", {**_MANY, "items": _TEXT}, names, _flat, "A,B")
COUNTS = Kind(f"{_LIST} whole numbers", {**_MANY, "items": _INTEGER}, _counts, _flat, "1,2,4")
#: Instance -> number.
NUMBERS = Kind(
    f"at most {MAX_ENTRIES} instances with a number each, such as g4dn.xlarge and 0.4",
    {"type": "object", "additionalProperties": _NUMBER, "maxProperties": MAX_ENTRIES},
    _instance_number,
    dict,
)
#: GPU or instance -> time or speed as people write it, in one text or as a mapping.
_LINE = {"type": "string", "minLength": 1, "maxLength": LONGEST_TIME}
TIMES = Kind(
    f"at most {MAX_ENTRIES} texts such as RTX 4090=46ms, or GPUs with such a time each",
    {
        "type": ["array", "object"],
        **{"maxItems": MAX_ENTRIES, "items": _LINE},
        **{"maxProperties": MAX_ENTRIES, "additionalProperties": _LINE},
    },
    str,
    list,
    "GPU=TIME",
)
#: A file, or its JSON.
PROFILE = Kind(
    "a profile: an object, a file, or the name of a network without one",
    {"type": ["object", "array", "string"], "maxLength": MAX_TEXT_CHARACTERS},
    str,
    metavar="TRACE",
)
#: A log of a training, or in JSON its text.
LOG = Kind(
    f"a log: a file, or its text of at most {MAX_LOG_CHARACTERS:,} characters",
    {"type": "string", "format": _FILE_FORMAT, "minLength": 1, "maxLength": MAX_LOG_CHARACTERS},
    str,
    metavar="FILE",
    longest=MAX_LOG_CHARACTERS,
)
#: Kinds that are files.
FILES = (PROFILE, LOG)
_KINDS = {
    "str": TEXT,
    "int": WHOLE,
    "float": NUMBER,
    "bool": FLAG,
    "Sequence[str]": NAMES,
    "Sequence[int]": COUNTS,
    "Mapping[str, float]": NUMBERS,
    "Profile": PROFILE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffersQuestion:
    """Offers of the catalog; empty or None for no filter."""

    provider: str | Sequence[str] = option(
        "only these clouds: aws, azure, gcp, lambda, nebius, runpod, vast, verda; own: custom offers",
        NAMES,
        default=(),
    )
    region: str | None = option("only offers in this region: us-east-1, or a part of the name such as US", unit="NAME")
    market: str | None = option(
        "only offers of this market (default: the default offer of each instance)", choices=MARKET_CHOICES
    )
    gpu: str | Sequence[str] = option("only these GPUs, by name or model: V100,T4", NAMES, default=())
    gpu_count: int | Sequence[int] | None = option("only offers with this number of GPUs: 1, 2, 4 or 8", WHOLE)
    min_memory_gib: float | None = option("only GPUs with at least this much memory", unit="GIB")

    @classmethod
    def from_fields(cls, **values: Any) -> Self:
        """The question with these fields, as they are named for users, some of them in parts of it.

        Raises InputError, which names both, if one contradicts another, or has no meaning without it.
        """
        check_together(values)
        return from_fields(cls, values)

    @property
    def offer_filter(self) -> OfferFilter:
        """The filters, checked."""
        counts = () if self.gpu_count is None else self.gpu_count
        return OfferFilter(
            provider=(self.provider,) if isinstance(self.provider, str) else tuple(self.provider),
            region=self.region,
            market=self.market,
            gpu=(self.gpu,) if isinstance(self.gpu, str) else tuple(self.gpu),
            gpu_count=(counts,) if isinstance(counts, int) else tuple(counts),
            min_memory_gib=self.min_memory_gib,
            confidence=getattr(self, "confidence", None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesQuestion(OffersQuestion):
    """Offers of the catalog: each instance's default offer, `all`, or those of a region or market."""

    all: bool = option("every offer, in all regions and markets", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsQuestion(OffersQuestion):
    """Latencies in a precision, with a minimum confidence."""

    precision: str = option(
        "precision of the training (default: as profiled, with TF32 on Ampere and later; fp32 is without TF32)",
        default=AS_PROFILED,
        choices=PRECISIONS,
        read=requested_precision,
    )
    confidence: str | None = option("only predictions with at least this confidence", choices=tuple(CONFIDENCE_WORDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSteps:
    """Steps that the user measured on targets, and the profile that they belong to."""

    latencies_ms: Mapping[str, float] = option(
        "latency you measured on a target with the same network, in milliseconds",
        name="measured",
        default=dict,
        unit="INSTANCE=MS",
    )
    profile: Profile | None = option(
        "anchor profile of the measured workload, if not the profile itself", name="measured_trace"
    )
    anchor_ms: float | None = option(
        "latency of that profile on the anchor, in milliseconds", name="measured_trace_latency_ms", unit="MS"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondProfile:
    """A profile of the same network at another size, recorded on the same anchor."""

    profile: Profile = option(
        "profile of the same network at another size; makes predictions at other sizes more accurate",
        name="second",
        default=MISSING,
    )
    batch: int | None = option("batch size of the second profile", name="second_batch")
    pixels: int | None = option("pixel size of the second profile", name="second_pixels")
    latency_ms: float | None = option("its latency on the anchor, in milliseconds", name="second_latency_ms", unit="MS")
    steps: int | None = option("number of training steps in it (default: from that profile)", name="second_steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileQuestion(StepsQuestion):
    """A profile, its anchor, the prediction options, and the offers to answer for.

    Latencies are milliseconds per step; those of the anchor are of one GPU.
    """

    profile: Profile = option(
        "profile of training steps, in any supported format; or the name of a network, with profiled_batch, and with "
        "anchor and latency if a step was measured",
        default=MISSING,
    )
    anchor: str | None = option(
        "instance or GPU that the profile was recorded on (default: the GPU named in the profile)",
        unit="INSTANCE|GPU",
    )
    steps: int | None = option(
        "number of training steps in the profile (default: from the profile, else from its latency, else one; two for "
        "PROFET's own files)"
    )
    latency_ms: float | None = option("measured step latency on the anchor, in milliseconds", unit="MS")
    without_latency: bool = option("ignore the latency in the profile's metadata", default=False)
    trust_latency: bool = option("use the latency even if it doesn't fit the profile", default=False)
    method: str = option("default or profet (the documented ensemble)", default="default", unit="NAME")
    profiled_batch: int | None = option("batch size of the profile")
    profiled_precision: str | None = option(
        "precision of the profile, if the file does not state it (default: fp32)",
        choices=PRECISIONS[1:],
        read=requested_precision,
    )
    profiled_pixels: int | None = option("pixel size of the profile")
    training_code: str = option(
        "code of the training: plain; channels-last and compiled; or tuned as for MLPerf (default: as profiled)",
        default=AS_PROFILED,
        choices=(AS_PROFILED, *CODES),
        read=requested_code,
    )
    network: str | None = option(
        "network name, such as ResNet50, or none to predict from the profile alone (default: from the profile or its "
        "file's name)",
        unit="NAME",
    )
    measured: MeasuredSteps = part(MeasuredSteps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictQuestion(ProfileQuestion):
    """Step latency on `targets`; None: on all instances except the anchor."""

    targets: Sequence[str] | None = option("instances or GPUs to predict: p3.2xlarge,H100 (default: all)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion(ProfileQuestion):
    """Time and cost of a training; `images` None: the training is one step of any batch size."""

    images: int | None = option("training images per epoch", default=MISSING)
    validation_images: int = option("validation images per epoch (default: 0)", default=0)
    epochs: int = option("number of epochs (default: 1)", default=1)
    runs: int = option("number of such trainings, as in a sweep (default: 1)", default=1)
    at_once: bool = option("train all runs at once, each on its own machine (default: in turn on one)", default=False)
    with_loading: bool = option("add the measured data-loading overhead, 6 to 9%", default=False)
    images_per_s_per_vcpu: float | None = option(
        f"images per second that one vCPU prepares, such as {JPEG_IMAGES_PER_S_PER_VCPU} from JPEG: GPUs wait where an "
        "instance's vCPUs prepare fewer than they train (default: data loading is not counted)",
        unit="N",
    )
    price: Mapping[str, float] = option("your own price per hour, in US dollars", default=dict, unit="INSTANCE=USD")
    at_batch: int | None = option("predict at this batch size instead of the profiled one")
    at_pixels: int | None = option("predict at this pixel size instead of the profiled one")
    second: SecondProfile | None = part(SecondProfile, optional=True)

    def workload(self, batch_size: int) -> Workload:
        """The training at a batch size."""
        images = batch_size if self.images is None else self.images
        return Workload(
            images=images,
            batch_size=batch_size,
            epochs=self.epochs,
            validation_images=self.validation_images,
            with_loading=self.with_loading,
            images_per_s_per_vcpu=self.images_per_s_per_vcpu,
            runs=self.runs,
            at_once=self.at_once,
        )


#: Minutes between checkpoints, and until training goes on after an interruption, if they are not given.
USUAL_CHECKPOINT_MINUTES, USUAL_RESTART_MINUTES = 30.0, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherCosts:
    """Costs of a training beside its steps."""

    interruptions: str | None = option(
        f"interruptions of a spot machine: a number per day, or AWS's band of a month, {', '.join(INTERRUPTION_BANDS)} "
        "(default: not counted)",
        unit="N|BAND",
    )
    checkpoint_minutes: float | None = option("minutes between checkpoints (default: 30)", unit="MIN")
    restart_minutes: float | None = option("minutes until training goes on after one (default: 5)", unit="MIN")
    start_up_minutes: float | None = option("minutes before the first step, in the cost's breakdown", unit="MIN")
    dataset_gib: float | None = option("size of the data set, for storage in the cost's breakdown", unit="GIB")
    storage_usd_per_gib_month: float | None = option("price of storing a GiB for a month, in US dollars", unit="USD")

    def checked(self) -> Extras:
        """In seconds; InputError for a number that isn't positive, or a data set without its price."""
        if (self.dataset_gib is None) != (self.storage_usd_per_gib_month is None):
            names = ("dataset_gib", "storage_usd_per_gib_month")
            raise InputError(
                "Storage takes the size of the data set and its price: give {dataset_gib} and "
                "{storage_usd_per_gib_month}.",
                *names,
            )
        interruptions = None
        if self.interruptions is not None:
            minutes = (
                ("between checkpoints", self.checkpoint_minutes, USUAL_CHECKPOINT_MINUTES),
                ("of a restart", self.restart_minutes, USUAL_RESTART_MINUTES),
            )
            seconds = [
                60 * positive_number(f"The minutes {what}", usual if given is None else given)
                for what, given, usual in minutes
            ]
            interruptions = Interruptions(interruptions_per_h(self.interruptions), *seconds)
        start_up = self.start_up_minutes
        start_up_s = 0.0 if start_up is None else 60 * positive_number("The start-up", start_up)
        if self.dataset_gib is None or self.storage_usd_per_gib_month is None:
            return Extras(start_up_s, interruptions=interruptions)
        size_gib = positive_number("The size of the data set", self.dataset_gib)
        usd = positive_number("The price of storage", self.storage_usd_per_gib_month)
        return Extras(start_up_s, size_gib, usd, interruptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseQuestion(TrainingQuestion):
    """Offer to rent for a training; a network or a number of parameters implies whole nodes."""

    deadline_hours: float | None = option("deadline; recommends the cheapest offer that meets it", unit="H")
    budget_usd: float | None = option("budget; recommends the fastest offer within it", unit="USD")
    certainty: float = option(
        "required probability of fitting in memory and of meeting the limits (default: 0.9)", default=0.9, unit="SHARE"
    )
    market: str = option("only offers of this market (default: on-demand)", default=ON_DEMAND, choices=MARKET_CHOICES)
    spot_discount: float | None = option(
        "assumed spot discount, 0 to 1, for offers without a spot price in the catalog", unit="SHARE"
    )
    other_costs: OtherCosts = part(OtherCosts)
    include_retired: bool = option("include retired instances, which are never recommended", default=False)
    compare: Sequence[str] | None = option("compare two instances")
    whole_nodes: bool = option(
        "train on all GPUs of each machine, each with the batch size of one GPU (default: train on one GPU)",
        default=False,
    )
    parameters: float | None = option("number of parameters, such as 25.6M (default: from the profile)", LARGE)
    any_batch: bool = option("also say at which batch size the training is cheapest", default=False)
    launch_command: str = option(f"what the launch task runs (default: {USUAL_COMMAND})", default=USUAL_COMMAND)

    def workload(self, batch_size: int) -> Workload:
        """The training at a batch size, with its costs beside the steps."""
        return replace(TrainingQuestion.workload(self, batch_size), extras=self.other_costs.checked())


INSTANCES, PREDICT, COST, ADVISE = map(
    fields_of, (InstancesQuestion, PredictQuestion, TrainingQuestion, AdviseQuestion)
)
