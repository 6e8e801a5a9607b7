"""Every setting a link can carry: its name in the URL, its default, and the check a value from outside must pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from profet_core.catalog.offers import MARKET_CHOICES
from profet_core.profiles.limits import MAX_STEPS
from profet_core.scaling.scale import AXIS_RANGE
from profet_core.units import MS_PER_UNIT
from ui.state.resources import Resources

SOURCES = ("sample", "upload", "paste")
AXES = tuple(AXIS_RANGE)
ENDS = ("profiles", "typed")
BATCH_FROM = ("profiled", "scaled")
MEASURED_AT = ("same", "other")
ALL_INSTANCES = "all"
DEFAULT_METHOD = "default"
LATENCY_GIVEN = ("given", "not")
COMPARE_BY = ("latency", "cost")
COMPARE_KEYS = ("compare_samples", "compare_by", "method")
RETIRED = ("out", "in")
USUAL_REGION = "usual"
#: Percent.
CERTAINTY_RANGE = (50, 99)
ADVISE_KEYS = ("deadline_h", "budget_usd", "certainty", "market", "region", "spot_discount", "retired")
#: The two plans that are set against each other, by their labels; usual: the cheapest and its closest rival.
USUAL_PLAN = "usual"
COMPARED_KEYS = ("against_a", "against_b")
ACCURACY_KEYS = ("latency_is", "points_anchor", "points_target")
MAX_IMAGES = 1_000_000_000
MAX_EPOCHS = 1_000_000

#: The text that stands for "left empty on purpose" in a link.
EMPTY = "none"


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes
    ----------
    parse : text of a link -> value; raises ValueError if the text makes no sense.
    follows_profile : its default is what the shown profile says, not `default`.
    """

    key: str
    default: object
    parse: Callable[[str], object]
    follows_profile: bool = False


@dataclass(frozen=True)
class Slot:
    """A place that holds one profile: Predict has one, Scale two per axis.

    Attributes
    ----------
    prefix : opens the names of its settings; empty for Predict's.
    anchor_key : setting that names the instance it was recorded on; both ends of an axis share one.
    sets_anchor : a new profile here changes that setting.
    """

    prefix: str
    anchor_key: str
    sets_anchor: bool = True

    def key(self, part: str) -> str:
        """Name of this slot's setting `part`."""
        return f"{self.prefix}_{part}" if self.prefix else part

    @property
    def keys(self) -> tuple[str, ...]:
        """All settings of this slot."""
        return (*(self.key(part) for part in ("source", "sample", "steps")), *self.following_keys)

    @property
    def following_keys(self) -> tuple[str, ...]:
        """Settings whose default is what the shown profile says."""
        return (*((self.anchor_key,) if self.sets_anchor else ()), self.key("latency"), self.key("unit"))


PREDICT_SLOT = Slot("", "anchor")
#: The anchor's profile of the workload that was measured on a target, if it isn't the one in `PREDICT_SLOT`.
MEASURED_SLOT = Slot("measured", "anchor", sets_anchor=False)
END_SLOTS = {axis: (Slot(f"{axis}_min", f"{axis}_anchor"), Slot(f"{axis}_max", f"{axis}_anchor")) for axis in AXES}


def typed_end_key(axis: str, end: str, instance: str) -> str:
    """Setting of a typed latency; `end` is "min" or "max"."""
    return f"{axis}_{end}_ms_{instance}"


def measured_key(instance: str) -> str:
    """Setting of a step latency that the visitor measured on a target, milliseconds."""
    return f"measured_{instance}"


def price_key(instance: str) -> str:
    """Setting of a price of the user's own."""
    return f"price_{instance}"


def all_settings(resources: Resources) -> dict[str, Setting]:
    """Every setting by its name."""
    instances = resources.models.instances
    found = [*_slot_settings(resources, PREDICT_SLOT, next(iter(resources.samples)))]
    found += _slot_settings(resources, MEASURED_SLOT, next(iter(resources.samples)))
    for axis, slots in END_SLOTS.items():
        pair = resources.sample_pair(axis) or (next(iter(resources.samples)),) * 2
        for slot, sample in zip(slots, pair, strict=True):
            found += _slot_settings(resources, slot, sample)
        found += [
            Setting(typed_end_key(axis, end, name), None, positive_or_empty)
            for end in ("min", "max")
            for name in instances
        ]
    found += [
        Setting("tf32", True, true_or_false),
        Setting("method", DEFAULT_METHOD, one_of(method_options(resources))),
        Setting("axis", "batch", one_of(AXES)),
        Setting("ends", "profiles", one_of(ENDS)),
        Setting("show", ALL_INSTANCES, one_of((ALL_INSTANCES, *instances))),
        Setting("batch", 64, whole_between(*AXIS_RANGE["batch"])),
        Setting("pixels", 128, whole_between(*AXIS_RANGE["pixels"])),
        Setting("images", 50_000, whole_between(1, MAX_IMAGES)),
        Setting("validation_images", 0, whole_between(0, MAX_IMAGES)),
        Setting("epochs", 10, whole_between(1, MAX_EPOCHS)),
        Setting("batch_from", "profiled", one_of(BATCH_FROM)),
        Setting("profiled_batch", None, whole_or_empty(1, MAX_IMAGES)),
        *(Setting(price_key(name), None, positive_or_empty) for name in resources.catalog),
        Setting("deadline_h", None, positive_or_empty),
        Setting("budget_usd", None, positive_or_empty),
        Setting("certainty", 90, whole_between(*CERTAINTY_RANGE)),
        Setting("market", MARKET_CHOICES[0], one_of(MARKET_CHOICES)),
        Setting("region", USUAL_REGION, one_of((USUAL_REGION, *regions(resources)))),
        Setting("spot_discount", None, whole_or_empty(1, 99)),
        Setting("retired", RETIRED[0], one_of(RETIRED)),
        *(Setting(key, USUAL_PLAN, str) for key in COMPARED_KEYS),
        Setting("measured_at", MEASURED_AT[0], one_of(MEASURED_AT)),
        *(Setting(measured_key(name), None, positive_or_empty) for name in instances),
        Setting("compare_samples", [], some_of(resources.samples)),
        Setting("compare_by", COMPARE_BY[0], one_of(COMPARE_BY)),
        Setting("inspect", None, one_of(resources.samples)),
        Setting("latency_is", LATENCY_GIVEN[0], one_of(LATENCY_GIVEN)),
        Setting("points_anchor", ALL_INSTANCES, one_of((ALL_INSTANCES, *instances))),
        Setting("points_target", ALL_INSTANCES, one_of((ALL_INSTANCES, *instances))),
    ]
    return {setting.key: setting for setting in found}


def method_options(resources: Resources) -> tuple[str, ...]:
    """Methods that can be chosen: the default one by that name, then all others."""
    models = resources.models
    return (DEFAULT_METHOD, *(name for name in models.methods if name != models.default_method))


def predict_keys(resources: Resources) -> tuple[str, ...]:
    """Settings that the predictions depend on."""
    measured = (measured_key(name) for name in resources.models.instances)
    return (*PREDICT_SLOT.keys, "method", "tf32", *measured, "measured_at", *MEASURED_SLOT.keys)


def scale_keys(resources: Resources, axis: str) -> tuple[str, ...]:
    """Settings that the curves along one axis depend on."""
    typed = (typed_end_key(axis, end, name) for end in ("min", "max") for name in resources.models.instances)
    return ("ends", axis, "method", *_unique(key for slot in END_SLOTS[axis] for key in slot.keys), *typed)


def cost_keys(resources: Resources) -> tuple[str, ...]:
    """Settings that the costs depend on, the scaled batch size aside."""
    prices = (price_key(name) for name in resources.catalog)
    return (*predict_keys(resources), "images", "validation_images", "epochs", "batch_from", "profiled_batch", *prices)


def advise_keys(resources: Resources) -> tuple[str, ...]:
    """Settings that the advice depends on, the scaled batch size aside."""
    return (*cost_keys(resources), *ADVISE_KEYS, *COMPARED_KEYS)


def regions(resources: Resources) -> tuple[str, ...]:
    """Every region that the catalogue has a price of."""
    return tuple(sorted({offer.region for offer in resources.catalog.all_offers}))


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

    def parse(text: str) -> int:
        number = int(text)
        if not smallest <= number <= largest:
            raise ValueError(text)
        return number

    return parse


def whole_or_empty(smallest: int, largest: int) -> Callable[[str], int | None]:
    """As `whole_between`, or empty."""
    whole = whole_between(smallest, largest)
    return lambda text: None if text == EMPTY else whole(text)


def positive_or_empty(text: str) -> float | None:
    """A finite number above 0, or empty."""
    if text == EMPTY:
        return None
    number = float(text)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(text)
    return number


def _slot_settings(resources: Resources, slot: Slot, sample: str) -> list[Setting]:
    return [
        Setting(slot.key("source"), "sample", one_of(SOURCES)),
        Setting(slot.key("sample"), sample, one_of(resources.samples)),
        *(
            [Setting(slot.anchor_key, None, one_of(resources.models.instances), follows_profile=True)]
            if slot.sets_anchor
            else []
        ),
        Setting(slot.key("latency"), None, positive_or_empty, follows_profile=True),
        Setting(slot.key("unit"), "ms", one_of(MS_PER_UNIT), follows_profile=True),
        Setting(slot.key("steps"), None, whole_between(1, MAX_STEPS), follows_profile=True),
    ]


def _unique(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keys))
