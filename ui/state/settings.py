"""Every setting a link can carry: its name in the URL, its default, and the check a value from outside must pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from profet_core.advice.advise import ORIGINAL
from profet_core.answers.questions import LONGEST_NETWORK
from profet_core.catalog.collection import CONFIDENCE_WORDS, MARKET_CHOICES
from profet_core.from_layers.estimate import MOST_BATCH, OPTIMISERS
from profet_core.from_layers.model import METHODS
from profet_core.layers.networks import MAX_PIXELS, MIN_PIXELS, named_networks
from profet_core.manycore.models import FEWEST_THREADS, MOST_EPOCHS, MOST_IMAGES, MOST_THREADS
from profet_core.manycore.published import FEWEST_FLOPS, MOST_FLOPS, PUBLISHED
from profet_core.multi_gpu.law import Strategy
from profet_core.multi_gpu.step import MOST_GPUS
from profet_core.precision.names import AS_PROFILED, PRECISIONS
from profet_core.profiles.limits import MAX_STEPS
from profet_core.sizes.axes import AXIS_RANGE
from profet_core.sizes.scaler import SCALE_METHODS
from profet_core.units import MS_PER_UNIT
from ui.result_table.choices import TableChoices, parse_columns, parse_order, parse_row_key
from ui.state.resources import Resources, offer_choices
from ui.state.slots import PROFILE_SLOT, SECOND_SLOT, Slot

#: The usual one first; one process for all GPUs needs the number of weight tensors, which is not asked.
STRATEGIES = (Strategy.RING, Strategy.TREE, Strategy.PS_CPU, Strategy.PS_GPU)
#: What a link of one page may ask another page to show: settings that follow no profile.
ASKED_FOR = ("view", "inspect", "open", "part")
DEFAULT_METHOD = "default"
#: What Profiles shows below its list.
VIEWS = ("compare", "inside")
#: The profile that Answer shows, as the one that Profiles looks into; else a sample's name.
ON_PREDICT = "predict"
#: Sections of About that can be opened.
SECTIONS = ("record", "own_gpu", "method", "files", "prices", "precisions", "credits")
#: Model cards of Accuracy.
CARDS = ("model", "transfer", "precision", "cells", "estimate", "scaleout", "manycore")
#: What the opened plan is set against: the one next to it.
USUAL_PLAN = "usual"
#: Percent.
CERTAINTY_RANGE = (50, 99)
#: Result tables whose columns, order and open row links carry.
PREDICT_TABLE, SIZES_TABLE, SCALE_OUT_TABLE = TableChoices("predict"), TableChoices("sizes"), TableChoices("scale_out")
ESTIMATE_TABLE = TableChoices("estimate")
RESULT_TABLES = (PREDICT_TABLE, SIZES_TABLE, SCALE_OUT_TABLE, ESTIMATE_TABLE)
MAX_IMAGES = 1_000_000_000
MAX_EPOCHS = 1_000_000


#: The text that stands for "left empty on purpose" in a link.
EMPTY = "none"

Number = TypeVar("Number", int, float)


def one_of(options: Iterable[str]) -> Callable[[str], str]:
    """A parser that takes one of `options`."""
    allowed = tuple(options)

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return parse


def some_of(options: Iterable[str]) -> Callable[[str], list[str]]:
    """A parser that takes names out of `options`, joined by commas."""
    one = one_of(options)
    return lambda text: list(dict.fromkeys(one(part) for part in text.split(",") if part))


def true_or_false(text: str) -> bool:
    """The two words of Python."""
    return one_of(("True", "False"))(text) == "True"


def whole_between(smallest: int, largest: int) -> Callable[[str], int]:
    """A parser that takes a whole number within the bounds."""
    return _between(int, smallest, largest)


def whole_or_empty(smallest: int, largest: int) -> Callable[[str], int | None]:
    """As `whole_between`, or empty."""
    whole = whole_between(smallest, largest)
    return lambda text: None if text == EMPTY else whole(text)


def parse_network(text: str) -> str:
    """A network's name or its number of parameters, as it is typed; which there are, the page says."""
    if len(text) > LONGEST_NETWORK or not text.isprintable():
        raise ValueError(text[:LONGEST_NETWORK])
    return text


def positive_or_empty(text: str) -> float | None:
    """A finite number above 0, or empty."""
    if text == EMPTY:
        return None
    number = float(text)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(text)
    return number


def number_between(smallest: float, largest: float) -> Callable[[str], float]:
    """A parser that takes a number within the bounds."""
    return _between(float, smallest, largest)


def _between(read: Callable[[str], Number], smallest: Number, largest: Number) -> Callable[[str], Number]:
    def parse(text: str) -> Number:
        number = read(text)
        if not smallest <= number <= largest:
            raise ValueError(text)
        return number

    return parse


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes
    ----------
    parse : text of a link -> value; raises ValueError if the text makes no sense.
    follows_profile : its default is what the shown profile says, not `default`.
    sparse : it is in the session only where it was given: there is one for each of many instances.
    """

    key: str
    default: object
    parse: Callable[[str], object]
    follows_profile: bool = False
    sparse: bool = False


def scaler_key(what: str, axis: str) -> str:
    """Setting of the scaler along an axis: "min" or "max", its latency there, or "at", the size between."""
    return f"scaler_{what}_{axis}"


def measured_key(instance: str) -> str:
    """Setting of a step latency that the visitor measured on a target, milliseconds."""
    return f"measured_{instance}"


def price_key(instance: str) -> str:
    """Setting of a price of the user's."""
    return f"price_{instance}"


def all_settings(resources: Resources) -> dict[str, Setting]:
    """Every setting by its name."""
    found = (
        *_network_settings(resources),
        *_training_settings(),
        *_offer_settings(resources),
        *_sizes_settings(),
        *_estimate_settings(),
        *_scale_out_settings(resources),
        *_other_settings(resources),
        *_manycore_settings(),
        *(setting for table in RESULT_TABLES for setting in _table_settings(table)),
    )
    return {setting.key: setting for setting in found}


def _first_of(key: str, options: Sequence[str]) -> Setting:
    """One of these, the first until another is chosen."""
    return Setting(key, options[0], one_of(options))


def method_options(resources: Resources) -> tuple[str, ...]:
    """Methods that can be chosen: the default one by that name, then all others."""
    models = resources.models
    return (DEFAULT_METHOD, *(name for name in models.methods if name != models.default_method))


def _network_settings(resources: Resources) -> Iterator[Setting]:
    """The profile, one of another size, what was measured beside them, and how all is predicted."""
    first = next(iter(resources.samples))
    yield from _slot_settings(resources, PROFILE_SLOT, first)
    yield Setting("profiled_batch", None, whole_or_empty(1, MAX_IMAGES))
    yield Setting("profiled_pixels", None, whole_or_empty(1, MAX_IMAGES))
    yield Setting("second", False, true_or_false)
    yield from _slot_settings(resources, SECOND_SLOT, (resources.sample_pair("batch") or (first, first))[1])
    yield Setting("second_batch", None, whole_or_empty(1, MAX_IMAGES))
    yield Setting("second_pixels", None, whole_or_empty(1, MAX_IMAGES))
    yield _first_of("measured_at", ("same", "other"))
    for name in resources.catalog:
        yield Setting(measured_key(name), None, positive_or_empty, sparse=True)
    yield Setting("method", DEFAULT_METHOD, one_of(method_options(resources)))
    yield Setting("precision", AS_PROFILED, one_of(PRECISIONS))


def _training_settings() -> Iterator[Setting]:
    yield Setting("images", 1_281_167, whole_between(1, MAX_IMAGES))
    yield Setting("validation_images", 0, whole_between(0, MAX_IMAGES))
    yield Setting("epochs", 90, whole_between(1, MAX_EPOCHS))
    yield Setting("batch", None, whole_or_empty(*AXIS_RANGE["batch"]))
    yield Setting("pixels", None, whole_or_empty(*AXIS_RANGE["pixels"]))
    yield Setting("loading", False, true_or_false)
    yield Setting("deadline_h", None, positive_or_empty)
    yield Setting("budget_usd", None, positive_or_empty)
    yield Setting("certainty", 90, whole_between(*CERTAINTY_RANGE))


def _offer_settings(resources: Resources) -> Iterator[Setting]:
    known = offer_choices(resources)
    yield Setting("provider", [], some_of(known.providers))
    yield Setting("gpu", [], some_of(known.gpus))
    yield Setting("gpu_count", [], some_of(known.gpu_counts))
    yield Setting("min_memory_gib", None, positive_or_empty)
    yield _first_of("confidence", CONFIDENCE_WORDS)
    yield _first_of("market", MARKET_CHOICES)
    yield Setting("region", None, one_of(known.regions))
    yield Setting("spot_discount", None, whole_or_empty(1, 99))
    yield Setting("retired", False, true_or_false)
    for name in resources.catalog:
        yield Setting(price_key(name), None, positive_or_empty, sparse=True)
    yield Setting("whole_nodes", False, true_or_false)
    yield _first_of("per", ("training", "epoch", "step"))
    yield _first_of("preset", ("gpus", "original", "aws", "all"))
    yield Setting("drawn", [], some_of({offer.gpu for offer in resources.catalog.all_offers if "," not in offer.gpu}))
    yield _first_of("chart", ("bars", "scatter", "table"))
    yield _first_of("sort", ("latency", "cost", "name"))
    yield Setting("against", USUAL_PLAN, str)


def _sizes_settings() -> Iterator[Setting]:
    yield _first_of("axis", tuple(AXIS_RANGE))
    yield _first_of("shows", ("latency", "images", "time", "cost"))
    yield _first_of("each_at", ("size", "largest"))
    yield _first_of("sizes_view", ("curves", "scaler"))
    yield _first_of("scale", ("log", "linear"))
    yield Setting("scaler_instance", ORIGINAL[-1], one_of(ORIGINAL))
    yield _first_of("scaler_method", SCALE_METHODS)
    for axis in AXIS_RANGE:
        yield Setting(scaler_key("min", axis), None, positive_or_empty)
        yield Setting(scaler_key("max", axis), None, positive_or_empty)
        yield Setting(scaler_key("at", axis), 128, whole_between(*AXIS_RANGE[axis]))


def _estimate_settings() -> Iterator[Setting]:
    """The network without a profile, and its step."""
    yield _first_of("net_from", ("name", "file"))
    yield Setting("net", "ResNet50", one_of(named_networks()))
    yield Setting("net_pixels", None, whole_or_empty(MIN_PIXELS, MAX_PIXELS))
    yield Setting("net_batch", 32, whole_between(1, MOST_BATCH))
    yield Setting("net_optimiser", next(iter(OPTIMISERS)), one_of(OPTIMISERS))
    yield Setting("net_method", DEFAULT_METHOD, one_of((DEFAULT_METHOD, *METHODS)))


def _scale_out_settings(resources: Resources) -> Iterator[Setting]:
    yield Setting("network", None, parse_network)
    yield _first_of("gradients", ("fp32", "fp16"))
    yield _first_of("one_gpu", ("predicted", "typed"))
    yield Setting("one_gpu_ms", None, positive_or_empty)
    yield Setting("one_gpu_batch", 64, whole_between(1, MAX_IMAGES))
    yield Setting("one_gpu_on", None, one_of({offer.gpu for offer in resources.catalog.values()}))
    yield _first_of("out_shows", ("speed_up", "step", "time", "cost"))
    yield Setting("strategy", STRATEGIES[0].value, one_of(STRATEGIES))
    yield _first_of("batch_kept", ("each", "all"))
    yield Setting("batch_of_all", None, whole_or_empty(2, MAX_IMAGES))
    yield Setting("gpus", None, whole_or_empty(2, MOST_GPUS))


def _other_settings(resources: Resources) -> Iterator[Setting]:
    """Those of Compare, Accuracy and About."""
    yield _first_of("view", VIEWS)
    yield Setting("open", [], some_of(SECTIONS))
    yield _first_of("part", CARDS)
    yield Setting("compare_samples", [], some_of(resources.samples))
    yield _first_of("compare_by", ("latency", "cost"))
    yield Setting("inspect", None, one_of((ON_PREDICT, *resources.samples)))


def _manycore_settings() -> Iterator[Setting]:
    yield _first_of("manycore_from", ("published", "named", "flops"))
    yield Setting("manycore_network", "large", one_of(PUBLISHED))
    yield Setting("manycore_name", "ResNet50", one_of(named_networks()))
    yield Setting("manycore_pixels", 224, whole_between(MIN_PIXELS, MAX_PIXELS))
    yield Setting("manycore_flops", 1e9, number_between(FEWEST_FLOPS, MOST_FLOPS))
    yield Setting("manycore_file_pixels", None, whole_or_empty(MIN_PIXELS, MAX_PIXELS))
    yield Setting("manycore_images", None, whole_or_empty(1, MOST_IMAGES))
    yield Setting("manycore_test_images", None, whole_or_empty(0, MOST_IMAGES))
    yield Setting("manycore_epochs", None, whole_or_empty(1, MOST_EPOCHS))
    yield Setting("manycore_threads", None, whole_or_empty(FEWEST_THREADS, MOST_THREADS))
    yield _first_of("manycore_shows", ("time", "speedup"))


def _table_settings(table: TableChoices) -> Iterator[Setting]:
    yield Setting(table.columns_key, [], parse_columns)
    yield Setting(table.order_key, "", parse_order)
    yield Setting(table.open_key, "", parse_row_key)


def _slot_settings(resources: Resources, slot: Slot, sample: str) -> Iterator[Setting]:
    yield _first_of(slot.key("source"), ("sample", "upload", "paste"))
    yield Setting(slot.key("sample"), sample, one_of(resources.samples))
    if slot.sets_anchor:
        yield Setting(slot.anchor_key, None, _anchor_in(resources), follows_profile=True)
    yield Setting(slot.key("latency"), None, positive_or_empty, follows_profile=True)
    yield Setting(slot.key("unit"), "ms", one_of(MS_PER_UNIT), follows_profile=True)
    yield Setting(slot.key("steps"), None, whole_between(1, MAX_STEPS), follows_profile=True)


def _anchor_in(resources: Resources) -> Callable[[str], str]:
    """A parser that takes an anchor however it is written: an offer stands for its GPU."""

    def parse(text: str) -> str:
        if (name := resources.anchor_named(text)) is None:
            raise ValueError(text)
        return name

    return parse
