"""Questions that users ask, each declared once: every field with its type, range, unit and help.

Options of the commands, requests and their schema, parameters of links, and the Python functions come from here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import NODEFAULT, Meta, ValidationError, inspect

from profet_core.catalog.collection import ANY_MARKET, CONFIDENCE_WORDS, MARKET_CHOICES, OfferFilter
from profet_core.catalog.gpus import AS_PROFILED, CODES, PRECISIONS
from profet_core.catalog.instance import ON_DEMAND, SPOT
from profet_core.catalog.interconnects import NAMED_LINKS
from profet_core.catalog.launch import USUAL_COMMAND
from profet_core.errors import InputError, nearest
from profet_core.layers.measured import LOGS, LONGEST_TIME, TrainingLog
from profet_core.training.cost import (
    INTERRUPTION_BANDS,
    JPEG_IMAGES_PER_S_PER_VCPU,
    MAX_EPOCHS,
    MAX_IMAGES,
    MAX_RUNS,
    Extras,
    Interruptions,
    Workload,
    interruptions_per_h,
)
from profet_profiles import Profile
from profet_profiles.units import LARGEST_NUMBER, SMALLEST_NUMBER, typed_count

#: Names in a list, or instances with a number each; characters of a text, such as an instance's name.
MAX_ENTRIES, MAX_TEXT_CHARACTERS = 100, 100
#: Of a log in a JSON body; a larger one is sent as a file.
MAX_LOG_CHARACTERS = 500_000
#: Minutes between checkpoints, and until training goes on after an interruption, if they are not given.
USUAL_CHECKPOINT_MINUTES, USUAL_RESTART_MINUTES = 30.0, 5.0
#: Images per epoch of a training on several GPUs, if they are not given: ImageNet's.
USUAL_IMAGES = 1_281_167


def about(
    description: str,
    unit: str = "",
    *,
    label: str = "",
    choices: Sequence[str] = (),
    needs: Sequence[str] = (),
    instead_of: Sequence[str] = (),
    read: Callable[[str], object] | None = None,
) -> Meta:
    """Describe a field.

    Parameters
    ----------
    unit : as its option's help shows it.
    label : of its field in the app.
    choices : what a text can be, under these names or others that the answer knows.
    needs, instead_of : fields of which one is needed, and fields beside which it has no meaning.
    read : what makes a value of a text.
    """
    extra = {"unit": unit, "label": label, "choices": choices, "needs": needs, "instead_of": instead_of, "read": read}
    return Meta(description=description, extra=extra)


Whole: TypeAlias = Annotated[int, Meta(ge=1, le=int(LARGEST_NUMBER))]
Images: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_IMAGES)]
Number: TypeAlias = Annotated[float, Meta(ge=SMALLEST_NUMBER, le=LARGEST_NUMBER)]
Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARACTERS)]
#: As a text "A,B".
Names: TypeAlias = Annotated[Sequence[Text], Meta(max_length=MAX_ENTRIES)]
Wholes: TypeAlias = Annotated[Sequence[Whole], Meta(max_length=MAX_ENTRIES)]
#: Instance -> number; as a text "g4dn.xlarge=0.4".
Numbers: TypeAlias = Annotated[Mapping[Text, Number], Meta(max_length=MAX_ENTRIES)]
_Line: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_TIME)]
#: GPU or instance -> time or speed as people write it, or texts such as "T4=46ms".
Times: TypeAlias = (
    Annotated[Sequence[_Line], Meta(max_length=MAX_ENTRIES)]
    | Annotated[Mapping[Text, _Line], Meta(max_length=MAX_ENTRIES)]
)

Gradients: TypeAlias = Literal["fp32", "fp16", "bf16"]

# Fields of several questions
Anchor: TypeAlias = Annotated[
    Text | None,
    about(
        "instance or GPU that the profile was recorded on (default: the GPU named in the profile)",
        "INSTANCE|GPU",
        needs=["profile"],
    ),
]
StepCount: TypeAlias = Annotated[
    Whole | None,
    about(
        "number of training steps in the profile (default: from the profile, else from its latency, else one; two for "
        "PROFET's own files)",
        "N",
        needs=["profile"],
    ),
]
LatencyMs: TypeAlias = Annotated[
    Number | None, about("measured step latency on the anchor, in milliseconds", "MS", needs=["profile"])
]
ProfiledBatch: TypeAlias = Annotated[Whole | None, about("batch size of the profile", "N", needs=["profile"])]
ProfiledPixels: TypeAlias = Annotated[Whole | None, about("pixel size of the profile", "N", needs=["profile"])]
ProfiledPrecision: TypeAlias = Annotated[
    Text | None,
    about(
        "precision of the profile, if the file does not state it (default: fp32)",
        choices=PRECISIONS[1:],
        needs=["profile"],
    ),
]
TrainingCode: TypeAlias = Annotated[
    Text,
    about(
        "code of the training: plain; channels-last and compiled; or tuned as for MLPerf (default: as profiled)",
        choices=(AS_PROFILED, *CODES),
        needs=["profile"],
    ),
]
ValidationImages: TypeAlias = Annotated[
    int,
    Meta(ge=0, le=MAX_IMAGES),
    about("validation images per epoch, each a third of a training one (default: 0)", "N", needs=["images"]),
]
Epochs: TypeAlias = Annotated[
    int, Meta(ge=1, le=MAX_EPOCHS), about("number of epochs (default: 1)", "N", needs=["images"])
]
Price: TypeAlias = Annotated[Numbers, about("your own price per hour, in US dollars", "INSTANCE=USD")]
SpotDiscount: TypeAlias = Annotated[
    Annotated[float, Meta(gt=0, lt=1)] | None,
    about("assumed spot discount, 0 to 1, for offers without a spot price in the catalog", "SHARE"),
]
Parameters: TypeAlias = Annotated[
    Number | None,
    about(
        "number of parameters, such as 25.6M (default: from the profile)", "N", instead_of=["network"], read=typed_count
    ),
]
NetworkName: TypeAlias = Annotated[
    Text | None,
    about(
        "network name, such as ResNet50; none to predict from the profile alone; or vision-transformer of one that has "
        "no known name (default: from the profile or its file's name)",
        "NAME",
    ),
]


class OffersQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Offers of the catalog; empty or None for no filter."""

    provider: Annotated[
        Names, about("only these clouds, such as aws, gcp, lambda, runpod, vast; own: custom offers")
    ] = ()
    region: Annotated[
        Text | None, about("only offers in this region: us-east-1, or a part of the name such as US", "NAME")
    ] = None
    market: Annotated[
        Text | None,
        about("only offers of this market (default: the default offer of each instance)", choices=MARKET_CHOICES),
    ] = None
    gpu: Annotated[Names, about("only these GPUs, by name or model: V100,T4")] = ()
    gpu_count: Annotated[Wholes, about("only offers with this number of GPUs: 1, 2, 4 or 8", "N")] = ()
    min_memory_gib: Annotated[Number | None, about("only GPUs with at least this much memory", "GIB")] = None

    @property
    def offer_filter(self) -> OfferFilter:
        """The filters, checked."""
        return OfferFilter(
            provider=tuple(self.provider),
            region=self.region,
            market=self.market,
            gpu=tuple(self.gpu),
            gpu_count=tuple(self.gpu_count),
            min_memory_gib=self.min_memory_gib,
            confidence=getattr(self, "confidence", None),
        )


class InstancesQuestion(OffersQuestion, frozen=True, kw_only=True):
    """Offers of the catalog: each instance's default offer, `all`, or those of a region or market."""

    all: Annotated[bool, about("every offer, in all regions and markets")] = False


class StepsQuestion(OffersQuestion, frozen=True, kw_only=True):
    """Latencies in a precision, with a minimum confidence."""

    precision: Annotated[
        Text,
        about(
            "precision of the training (default: as profiled, with TF32 on Ampere and later; fp32 is without TF32)",
            choices=PRECISIONS,
        ),
    ] = AS_PROFILED
    checkpointing: Annotated[
        bool,
        about("activation checkpointing: less memory, and one more forward pass, about 1.3 times the recorded time"),
    ] = False
    confidence: Annotated[
        Text | None, about("only predictions with at least this confidence", choices=CONFIDENCE_WORDS)
    ] = None


class ProfileQuestion(StepsQuestion, frozen=True):
    """A profile, its anchor, the prediction options, and the offers to answer for.

    Latencies are milliseconds per step; those of the anchor are of one GPU.
    """

    profile: Annotated[
        Profile,
        about(
            "profile of training steps, in any supported format; or the name of a network, with profiled_batch, and "
            "with anchor and latency if a step was measured",
            "TRACE",
        ),
    ]
    anchor: Anchor = None
    steps: StepCount = None
    latency_ms: LatencyMs = None
    without_latency: Annotated[
        bool, about("ignore the latency in the profile's metadata", instead_of=["latency_ms"])
    ] = False
    trust_latency: Annotated[
        bool, about("use the latency even if it doesn't fit the profile", instead_of=["without_latency"])
    ] = False
    method: Annotated[Text, about("default or profet (the documented ensemble)", "NAME")] = "default"
    profiled_batch: ProfiledBatch = None
    profiled_precision: ProfiledPrecision = None
    profiled_pixels: ProfiledPixels = None
    training_code: TrainingCode = AS_PROFILED
    network: NetworkName = None
    measured: Annotated[
        Numbers, about("latency you measured on a target with the same network, in milliseconds", "INSTANCE=MS")
    ] = {}
    measured_trace: Annotated[
        Profile | None,
        about("anchor profile of the measured workload, if not the profile itself", "TRACE", needs=["measured"]),
    ] = None
    measured_trace_latency_ms: Annotated[
        Number | None, about("latency of that profile on the anchor, in milliseconds", "MS", needs=["measured_trace"])
    ] = None


class PredictQuestion(ProfileQuestion, frozen=True, kw_only=True):
    """Step latency on `targets`; None: on all instances except the anchor."""

    targets: Annotated[Names | None, about("instances or GPUs to predict: p3.2xlarge,H100 (default: all)")] = None


class TrainingQuestion(ProfileQuestion, frozen=True, kw_only=True):
    """Time and cost of a training; `images` None: the training is one step of any batch size."""

    images: Annotated[Images | None, about("training images per epoch", "N")]
    validation_images: ValidationImages = 0
    epochs: Epochs = 1
    runs: Annotated[
        int, Meta(ge=1, le=MAX_RUNS), about("number of such trainings, as in a sweep (default: 1)", "N")
    ] = 1
    at_once: Annotated[
        bool, about("train all runs at once, each on its own machine (default: in turn on one)", needs=["runs"])
    ] = False
    with_loading: Annotated[
        bool, about("add the measured data-loading overhead, 6 to 9%", instead_of=["images_per_s_per_vcpu"])
    ] = False
    images_per_s_per_vcpu: Annotated[
        Number | None,
        about(
            f"images per second that one vCPU prepares, such as {JPEG_IMAGES_PER_S_PER_VCPU} from JPEG: GPUs wait "
            "where an instance's vCPUs prepare fewer than they train (default: data loading is not counted)",
            "N",
        ),
    ] = None
    price: Price = {}
    at_batch: Annotated[Whole | None, about("predict at this batch size instead of the profiled one", "N")] = None
    at_pixels: Annotated[Whole | None, about("predict at this pixel size instead of the profiled one", "N")] = None
    second: Annotated[
        Profile | None,
        about("profile of the same network at another size; makes predictions at other sizes more accurate", "TRACE"),
    ] = None
    second_batch: Annotated[Whole | None, about("batch size of the second profile", "N", needs=["second"])] = None
    second_pixels: Annotated[Whole | None, about("pixel size of the second profile", "N", needs=["second"])] = None
    second_latency_ms: Annotated[
        Number | None, about("its latency on the anchor, in milliseconds", "MS", needs=["second"])
    ] = None
    second_steps: Annotated[
        Whole | None, about("number of training steps in it (default: from that profile)", "N", needs=["second"])
    ] = None

    def workload(self, batch_size: int) -> Workload:
        """Describe the training at a batch size, with its costs beside the steps."""
        return Workload(
            images=batch_size if self.images is None else self.images,
            batch_size=batch_size,
            epochs=self.epochs,
            validation_images=self.validation_images,
            with_loading=self.with_loading,
            images_per_s_per_vcpu=self.images_per_s_per_vcpu,
            runs=self.runs,
            at_once=self.at_once,
            extras=self.extras,
        )

    @property
    def extras(self) -> Extras:
        """Costs beside the steps: none here."""
        return Extras()


class OtherCostsQuestion(TrainingQuestion, frozen=True, kw_only=True):
    """A training with costs beside its steps, which are in the breakdown of its cost."""

    start_up_minutes: Annotated[
        Number | None, about("minutes before the first step, in the cost's breakdown", "MIN", label="Start-up (min)")
    ] = None
    dataset_gib: Annotated[
        Number | None,
        about(
            "size of the data set, for storage in the cost's breakdown",
            "GIB",
            label="Data set (GiB)",
            needs=["storage_usd_per_gib_month"],
        ),
    ] = None
    storage_usd_per_gib_month: Annotated[
        Number | None,
        about("price of storing a GiB for a month, in US dollars", "USD", label="$/GiB-month", needs=["dataset_gib"]),
    ] = None


class AdviseQuestion(OtherCostsQuestion, frozen=True, kw_only=True):
    """Offer to rent for a training; a network or a number of parameters implies whole nodes."""

    market: Annotated[Text, about("only offers of this market (default: on-demand)", choices=MARKET_CHOICES)] = (
        ON_DEMAND
    )
    deadline_hours: Annotated[Number | None, about("deadline; recommends the cheapest offer that meets it", "H")] = None
    budget_usd: Annotated[Number | None, about("budget; recommends the fastest offer within it", "USD")] = None
    certainty: Annotated[
        float,
        Meta(ge=0.5, lt=1),
        about("required probability of fitting in memory and of meeting the limits (default: 0.9)", "SHARE"),
    ] = 0.9
    spot_discount: SpotDiscount = None
    interruptions: Annotated[
        Text | None,
        about(
            "interruptions of a spot machine: a number per day, or AWS's band of a month, "
            f"{', '.join(INTERRUPTION_BANDS)} (default: not counted)",
            "N|BAND",
        ),
    ] = None
    checkpoint_minutes: Annotated[
        Number | None, about("minutes between checkpoints (default: 30)", "MIN", needs=["interruptions"])
    ] = None
    restart_minutes: Annotated[
        Number | None, about("minutes until training goes on after one (default: 5)", "MIN", needs=["interruptions"])
    ] = None
    include_retired: Annotated[bool, about("include retired instances, which are never recommended")] = False
    compare: Annotated[Names | None, about("compare two instances")] = None
    whole_nodes: Annotated[
        bool,
        about("train on all GPUs of each machine, each with the batch size of one GPU (default: train on one GPU)"),
    ] = False
    parameters: Parameters = None
    any_batch: Annotated[bool, about("also say at which batch size the training is cheapest")] = False
    launch_command: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)],
        about(f"what the launch task runs (default: {USUAL_COMMAND})", "COMMAND"),
    ] = USUAL_COMMAND

    @property
    def extras(self) -> Extras:
        """Costs beside the steps, in seconds and dollars."""
        interruptions = None
        if self.interruptions is not None:
            minutes = self.checkpoint_minutes, self.restart_minutes
            usual = USUAL_CHECKPOINT_MINUTES, USUAL_RESTART_MINUTES
            checkpoint_s, restart_s = (60 * (given or other) for given, other in zip(minutes, usual, strict=True))
            interruptions = Interruptions(interruptions_per_h(self.interruptions), checkpoint_s, restart_s)
        return Extras(
            start_up_s=60 * (self.start_up_minutes or 0.0),
            dataset_gib=self.dataset_gib or 0.0,
            usd_per_gib_month=self.storage_usd_per_gib_month or 0.0,
            interruptions=interruptions,
        )


class EstimateQuestion(StepsQuestion, frozen=True):
    """A network without a profile, by its name, or of a file; `profile`: the same network, to compare with."""

    network: Annotated[Text, about("network name, such as resnet50", "NAME")]
    batch: Annotated[Whole, about("batch size", "N")]
    pixels: Annotated[
        Whole | None, about("height and width of the image (default: the network's, or the file's)", "N")
    ] = None
    classes: Annotated[Whole | None, about("number of classes of a named network (default: the network's)", "N")] = None
    profile: Annotated[Profile | None, about("profile of the network to compare with", "TRACE")] = None
    anchor: Annotated[
        Text | None,
        about("instance or GPU that the profile or the log is of", "INSTANCE|GPU", needs=["profile", "log"]),
    ] = None
    latency_ms: LatencyMs = None
    profiled_precision: ProfiledPrecision = None
    optimizer: Annotated[
        Literal["sgd", "momentum", "adam"], about("optimizer; its state counts in memory (default: sgd)")
    ] = "sgd"
    training_code: Annotated[
        Text | None,
        about(
            "training code: plain; channels-last and compiled; or tuned as for MLPerf (default: plain)", choices=CODES
        ),
    ] = None
    frozen_backbone: Annotated[bool, about("only the last layer is trained: no weight gradients before it")] = False
    images: Annotated[Images | None, about("training images per epoch; adds time and cost", "N")] = None
    validation_images: ValidationImages = 0
    epochs: Epochs = 1
    measured: Annotated[
        Times,
        about(
            "step time that you measured on a GPU, in the same precision: RTX 4090=46ms, T4@32=5.2it/s (at batch 32), "
            "=1390img/s, =14min/epoch (with images), or a progress line of Keras or tqdm",
            "GPU=TIME",
        ),
    ] = ()
    log: Annotated[
        TrainingLog | None,
        about(
            "log of a finished training of this network in the same precision, whose step time counts as measured: "
            f"{LOGS}; with the GPU that it ran on as anchor, unless it names it",
            "FILE",
        ),
    ] = None
    targets: Annotated[Names | None, about("instances to estimate (default: all)")] = None


class ScaleoutQuestion(StepsQuestion, frozen=True):
    """A step on several GPUs, from a profile or from one GPU's measured step.

    `global_batch` None: each GPU keeps its own batch (weak scaling). `instance` can be a plan's label.
    """

    profile: Annotated[
        Profile | None,
        about("profile of training steps on one GPU; or give a step's latency, GPU and batch size", "TRACE"),
    ] = None
    anchor: Anchor = None
    latency_ms: LatencyMs = None
    steps: StepCount = None
    profiled_batch: ProfiledBatch = None
    profiled_pixels: ProfiledPixels = None
    profiled_precision: ProfiledPrecision = None
    training_code: TrainingCode = AS_PROFILED
    step_ms: Annotated[
        Number | None,
        about(
            "measured step latency on one GPU, in milliseconds, instead of a profile",
            "MS",
            instead_of=["profile", "precision", "checkpointing"],
        ),
    ] = None
    batch: Annotated[Whole | None, about("keep this batch size per GPU (default: the profiled one)", "N")] = None
    global_batch: Annotated[Whole | None, about("keep this global batch size, divided over all GPUs", "N")] = None
    network: NetworkName = None
    parameters: Parameters = None
    tensors: Annotated[Whole | None, about("number of weight tensors, for one-process; ResNet50 has 161", "N")] = None
    gradients: Annotated[Gradients, about("precision of exchanged gradients (default: fp32)")] = "fp32"
    gpus: Annotated[Wholes, about("numbers of GPUs (default: 1, 2, 4, ... 64)", "1,2,4")] = ()
    total_gpus: Annotated[
        Whole | None, about("offers as whole machines with this many GPUs together (default: one machine each)", "N")
    ] = None
    strategy: Annotated[
        Literal["ring", "tree", "ps-cpu", "ps-gpu", "one-process"],
        about(
            "how GPUs exchange gradients (default: ring, which frameworks use today; tree is not measured, ps-cpu and "
            "ps-gpu only in 2017)"
        ),
    ] = "ring"
    instance: Annotated[Text | None, about("machine to scale out on (default: eight of the anchor's GPU)", "NAME")] = (
        None
    )
    images: Annotated[Images, about("training images per epoch (default: ImageNet's)", "N")] = USUAL_IMAGES
    validation_images: ValidationImages = 0
    network_gbit_per_s: Annotated[
        Number | None,
        about(
            "network between machines, in Gb/s, in place of the offers' own (default: theirs; unknown where none is "
            "published)",
            "N",
        ),
    ] = None
    link: Annotated[
        Text | None,
        about(
            "link between the GPUs of a machine of your own (default: what its GPU usually has)",
            choices=tuple(NAMED_LINKS),
        ),
    ] = None
    gpus_per_node: Annotated[Whole | None, about("GPUs in a machine of your own (default: 8)", "N")] = None
    epochs: Annotated[
        int,
        Meta(ge=1, le=MAX_EPOCHS),
        about("epochs of the training that deadline and budget are for (default: 1)", "N"),
    ] = 1
    deadline_hours: Annotated[Number | None, about("deadline; says how many GPUs meet it at the lowest cost", "H")] = (
        None
    )
    budget_usd: Annotated[Number | None, about("budget; says how many GPUs are fastest within it", "USD")] = None
    price: Price = {}
    spot_discount: SpotDiscount = None


class ScaleQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two measured latencies of one network, and the size between them; an instance can be a GPU's name."""

    instance: Annotated[Text, about("instance or GPU that both were measured on", "INSTANCE|GPU")]
    axis: Annotated[Literal["batch", "pixels"], about("size that differs")]
    min_ms: Annotated[Number, about("latency at batch 16 or 32 pixels, in milliseconds", "MS")]
    max_ms: Annotated[Number, about("latency at batch 256 or 256 pixels, in milliseconds", "MS")]
    at: Annotated[Whole, about("batch size 16-256 or pixel size 32-256", "N")]
    method: Annotated[Literal["default", "profet"], about("default or profet (the documented polynomial)")] = "default"
    other_size: Annotated[
        Whole | None, about("fixed size: pixels with axis batch, batch size with axis pixels", "N")
    ] = None
    largest: Annotated[Profile | None, about("profile at the largest size; makes the curve more accurate", "TRACE")] = (
        None
    )
    fixed_classes: Annotated[
        bool, about("along pixels: fixed number of classes (in the data it grows from 10 to 1000)")
    ] = False
    known_at: Annotated[Whole | None, about("another size between, with its latency", "N", needs=["known_ms"])] = None
    known_ms: Annotated[
        Number | None, about("its latency, which the default curve passes through", "MS", needs=["known_at"])
    ] = None


#: Fields that filter offers; the last of every question.
OFFER_FIELDS = (*OffersQuestion.__struct_fields__, "confidence")
#: Costs beside the steps, which the app asks for by their labels.
COST_FIELDS = tuple(
    name for name in OtherCostsQuestion.__struct_fields__ if name not in TrainingQuestion.__struct_fields__
)


Question = TypeVar("Question", bound=msgspec.Struct)
ReadFile: TypeAlias = "Callable[[QuestionField, Any, Mapping[str, object]], object]"


class QuestionField(NamedTuple):
    """A field of a question, as its struct declares it; `kinds`: what its value can be, but for None."""

    name: str
    help: str
    type: Any
    kinds: tuple[inspect.Type, ...]
    default: object
    unit: str = ""
    label: str = ""
    choices: Sequence[str] = ()
    needs: Sequence[str] = ()
    instead_of: Sequence[str] = ()
    read: Callable[[str], object] | None = None

    @property
    def required(self) -> bool:
        """Whether a question needs it."""
        return self.default is NODEFAULT

    @property
    def is_file(self) -> bool:
        """Whether it is a profile or a log, which is sent as a file, or in JSON."""
        return isinstance(self.kinds[0], inspect.DataclassType) or self.is_log

    @property
    def is_log(self) -> bool:
        """Whether it is a log."""
        return getattr(self.kinds[0], "cls", None) is TrainingLog

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false."""
        return isinstance(self.kinds[0], inspect.BoolType)

    @property
    def is_many(self) -> bool:
        """Whether it has several values: a list, or a number for each name."""
        return isinstance(self.kinds[0], inspect.CollectionType | inspect.DictType)

    @property
    def is_mapping(self) -> bool:
        """Whether it has a value for each name."""
        return any(isinstance(kind, inspect.DictType) for kind in self.kinds)

    @property
    def bounds(self) -> tuple[Any, Any]:
        """Smallest and largest number."""
        kind = self.kinds[0]
        assert isinstance(kind, inspect.IntType | inspect.FloatType), "only numbers have bounds"
        return kind.gt if kind.ge is None else kind.ge, kind.lt if kind.le is None else kind.le

    @property
    def wanted(self) -> str:
        """What its value must be, in words."""
        return " or ".join(dict.fromkeys(self._wanted(kind) for kind in self.kinds))

    def _wanted(self, kind: inspect.Type) -> str:
        match kind:
            case inspect.BoolType():
                return "true or false"
            case inspect.IntType() | inspect.FloatType():
                what = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
                low, high = self.bounds
                if low in (1, SMALLEST_NUMBER) and high == LARGEST_NUMBER:
                    return f"{what} above 0, at most {LARGEST_NUMBER:g}"
                return f"{what} from {low:g} to {high:,}"
            case inspect.StrType():
                return f"text of at most {kind.max_length} characters"
            case inspect.LiteralType():
                return f"one of {', '.join(map(str, kind.values))}"
            case inspect.DictType(value_type=inspect.FloatType()):
                return f"at most {MAX_ENTRIES} names with a number above 0 each, such as g4dn.xlarge=0.4"
            case inspect.DictType():
                return f"at most {MAX_ENTRIES} names with a time each, such as RTX 4090=46ms"
            case inspect.CollectionType():
                of = "names"
                match _plain(kind.item_type):
                    case inspect.IntType():
                        of = "whole numbers"
                    case inspect.StructType() as part:
                        required = [cell.name for cell in part.fields if cell.required]
                        of = f"objects with {', '.join(required)} and known columns"
                return f"a list of at most {kind.max_length} {of}"
        if self.is_log:
            return f"a log: a file, or its text of at most {MAX_LOG_CHARACTERS:,} characters"
        return "a profile: an object, a file, or the name of a network without one"


@cache
def fields_of(question: type[msgspec.Struct]) -> Mapping[str, QuestionField]:
    """List the fields of a question by name, in their order, those that filter offers last."""
    declared = {field.name: field for field in msgspec.structs.fields(question)}
    parts = [part for part in reversed(question.__mro__) if issubclass(part, msgspec.Struct)]
    names = dict.fromkeys(chain.from_iterable(part.__struct_fields__ for part in parts))
    fields = {}
    for name in sorted(names, key=lambda name: name in OFFER_FIELDS):
        field, kind = declared[name], inspect.type_info(declared[name].type)
        more: dict[str, Any] = {}
        while isinstance(kind, inspect.Metadata):
            more = {**(kind.extra or {}), **(kind.extra_json_schema or {}), **more}
            kind = kind.type
        kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        kinds = tuple(_plain(alternative) for alternative in kinds if not isinstance(alternative, inspect.NoneType))
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        if isinstance(kinds[0], inspect.LiteralType):
            more["choices"] = kinds[0].values
        fields[name] = QuestionField(name, more.pop("description"), field.type, kinds, default, **more)
    return fields


def _plain(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind


@cache
def _values_of(question: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Declare the values of a question but for its files, all of them optional."""
    values = [(field.name, field.type, None) for field in fields_of(question).values() if not field.is_file]
    return msgspec.defstruct(f"{question.__name__}Values", values)


def ask(
    question: type[Question], given: Mapping[str, object], *, of_texts: bool = False, read: ReadFile | None = None
) -> Question:
    """Make a question of the values that were given; None is as good as no value.

    Parameters
    ----------
    given : by field; with `of_texts` all texts that were given for it, as in a query, a form or options.
    read : reads what is given for a profile or a log, if it isn't one: its field, a file or
        what JSON has in its place, and the other values.

    Raises
    ------
    InputError : a field is unknown, missing or of another kind, contradicts another, or has no meaning without it; one
        line that names it, or both.
    """
    fields = fields_of(question)
    for name in given:
        if name not in fields:
            shown = ascii(name) if len(name) <= 60 else f"{name[:57]!a}..."
            raise InputError(f"Unknown field {shown}: choose from {nearest(name, fields)}.")
    files = {name: value for name, value in given.items() if fields[name].is_file}
    others = {
        name: value
        for name, value in given.items()
        if name not in files and (value is not None or fields[name].required)
    }
    values = _converted(question, others, of_texts)
    for name, field in fields.items():
        if field.required and name not in given:
            raise InputError(f"{{{name}}} is missing: {field.help}.", name)
    # What is wrong with a number is known before a large file is read.
    _check_together(fields, {**values, **files})
    for name, value in files.items():
        is_read = value is None or isinstance(value, Profile | TrainingLog) or read is None
        values[name] = value if is_read or read is None else read(fields[name], value, values)
    return question(**values)


def _converted(question: type[msgspec.Struct], given: Mapping[str, object], of_texts: bool) -> dict[str, object]:
    """Return values of the declared types; InputError names the first that is of another."""
    fields, kind = fields_of(question), _values_of(question)
    try:
        values = {name: _of_texts(fields[name], value, of_texts) for name, value in given.items()}
        converted = msgspec.convert(values, kind, strict=not of_texts)
    except (ValidationError, LookupError, ValueError):
        if len(given) > 1:
            # One alone says which it is.
            return {name: _converted(question, {name: value}, of_texts)[name] for name, value in given.items()}
        ((name, value),) = given.items()
        raise InputError(f"{{{name}}} must be {fields[name].wanted}{_shown(value)}.", name) from None
    for name in given:
        if not all(text.isprintable() for text in _texts(getattr(converted, name))):
            raise InputError(f"{{{name}}} must be {fields[name].wanted}, without control characters.", name)
    return {name: getattr(converted, name) for name in given}


def _of_texts(field: QuestionField, given: Any, of_texts: bool) -> object:
    """Return what a value of JSON or Python, or texts, are for a field; ValueError if they are of another kind."""
    if not of_texts:
        # Numbers of numpy are Python's here, and one stands for a list of one.
        value = given.item() if hasattr(given, "item") else given
        if isinstance(value, str) and value and field.is_many:
            return _of_texts(field, [value], True)
        is_list = isinstance(field.kinds[0], inspect.CollectionType)
        return [value] if is_list and not isinstance(value, Collection) else value
    match field.kinds:
        case [inspect.DictType()]:
            return {name.strip(): number.strip() for name, number in (text.split("=", 1) for text in given)}
        case [inspect.CollectionType(item_type=inspect.StructType())]:
            return msgspec.json.decode(given[-1])
        case [inspect.CollectionType()]:
            return list(chain.from_iterable(map(names, given)))
        case [inspect.CollectionType(), inspect.DictType()]:
            return list(given)
    (text,) = given
    if field.read is not None:
        return field.read(text)
    return text or (True if field.is_flag else text)


def names(text: str) -> list[str]:
    """Split "A,B" into names."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _texts(value: object) -> list[str]:
    """All texts of a value, but for keys' values that are no text."""
    if isinstance(value, str):
        return [value]
    parts = [*value, *value.values()] if isinstance(value, Mapping) else value if isinstance(value, list) else []
    return [part for part in parts if isinstance(part, str)]


def _check_together(fields: Mapping[str, QuestionField], values: Mapping[str, object]) -> None:
    """Refuse fields that contradict each other, or that have no meaning without another one."""
    given = {name for name, value in values.items() if value is not None and value != fields[name].default}
    for name in given:
        field = fields[name]
        # A question that has none of them doesn't ask for them.
        needed = [other for other in field.needs if other in fields]
        if needed and not given.intersection(needed):
            raise InputError(f"{{{name}}} needs {' or '.join(f'{{{other}}}' for other in needed)}.", name, *needed)
        for other in given.intersection(field.instead_of):
            raise InputError(f"Give {{{name}}} or {{{other}}}, not both.", name, other)
    for name, (other, choices, why) in _ONLY_FOR.items():
        if name in given and values.get(other, fields[other].default) not in choices:
            raise InputError(f"{why}: {{{name}}} needs {{{other}}} {' or '.join(choices)}.", name, other)


#: Field -> the field and its values beside which alone it has a meaning, and why.
_ONLY_FOR = {
    "interruptions": ("market", (SPOT, ANY_MARKET), "Only spot machines are interrupted"),
    "spot_discount": ("market", (SPOT, ANY_MARKET), "Only spot prices have a discount"),
    "fixed_classes": ("axis", ("pixels",), "Only along pixels classes grow"),
}


def _shown(given: object) -> str:
    """Write ", not 7" for a message; nothing for what is no number or short text."""
    value = given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(value, str) and value.isprintable():
        return f", not {value[:40]!r}"
    return f", not {value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else ""
