"""Columns of the pages' result tables, each declared once: which value of a row, how it is read, what exports have."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from profet_core.catalog.collection import is_guess
from profet_core.catalog.gpus import Gpus
from profet_core.catalog.instance import Instance, cloud_words, price_source, price_words
from profet_core.catalog.interconnects import load_interconnects
from profet_core.latency import HOST_LIMITED, BasisWord
from profet_core.training.cost import Energy, training_energy
from profet_core.training.memory import FitAnswer, Verdict, does_not_fit
from profet_core.training.plans import COSTED_STEPS, MEASURED_ERRORS_PCT, Confidence, Period, Plan, plan_confidence
from profet_core.training.several_gpus import ScaledStep, WholeNodePlan
from profet_profiles.units import (
    TimeUnit,
    format_certainty,
    format_co2e,
    format_energy,
    format_ms,
    format_ms_range,
    format_significant,
    format_usd,
    format_usd_range,
)
from ui.tables import Column, TableCell

#: What the dots of a basis mean.
DOTS = "Mean error ●●● {:.0f}%, ●●○ {:.0f}%, ●○○ more.".format(
    *(MEASURED_ERRORS_PCT[level] for level in (Confidence.GOOD, Confidence.FAIR))
)
#: A verdict as the table says it.
_FIT = {Verdict.FITS: "Fits", Verdict.CANT_TELL: "May not fit", Verdict.DOES_NOT_FIT: "Doesn't fit"}


def _offer_cell(plan: Plan, code: str = "") -> TableCell:
    """GPU and cloud; beneath them the machine's code and what is special about it."""
    fit, notes = plan.fit, [code or plan.code]
    notes += ["doesn't fit"] if does_not_fit(fit) else []
    notes += ["may not fit"] if fit is not None and fit.verdict is Verdict.CANT_TELL else []
    notes += [HOST_LIMITED] if plan.row.limited_by_host else []
    return TableCell(plan.name, beneath=", ".join(notes))


def _node_cell(row: WholeNodePlan) -> TableCell:
    return _offer_cell(row.plan, "" if row.nodes == 1 else f"{row.nodes} × {row.plan.code}")


def _price_cell(offer: Instance) -> TableCell:
    per_gpu = "" if offer.gpu_count == 1 else f"{format_usd(offer.usd_per_gpu_hour)} per GPU"
    return TableCell(price_words(offer), per_gpu)


def _node_price_cell(row: WholeNodePlan) -> TableCell:
    per_node = "" if row.nodes == 1 else f"{row.nodes} × {format_usd(row.offer.usd_per_hour)}"
    return TableCell(price_words(row.plan.offer), per_node)


def _basis_cell(plan: Plan) -> TableCell:
    """Return the word; the dots aren't read aloud."""
    return TableCell(plan.basis.word, mark=plan_confidence(plan).mark)


def _fit_words(fit: FitAnswer) -> str:
    return _FIT[fit.verdict] + (f" (up to batch {fit.largest_batch:,})" if fit.largest_batch else "")


def _speed_up_cell(step: ScaledStep) -> TableCell:
    return TableCell(f"{format_significant(step.speed_up)}×", beneath=f"{step.gpus} GPUs")


def _price_from(offer: Instance) -> str:
    return "your guess" if is_guess(offer) else price_source(offer)


def _hidden(column: Column) -> Column:
    """Return the column, shown only where it is chosen."""
    return replace(column, by_default=False)


def _of_plan(column: Column) -> Column:
    """Return the column of the plan of each row, shown only where it is chosen."""
    return replace(column, part="plan", by_default=False)


def _range(key: str, of: str, words: Callable[..., str], export: str, narrow_under: str) -> Column:
    """Return the column of an interval; `export`: name of its lower end, whose unit is that of the interval's."""
    unit = export.rpartition("_")[2]
    low, high = f"{of}.low_{unit}", f"{of}.high_{unit}"
    return Column(
        key,
        "Cost range" if unit == "usd" else "Range",
        (low, high),
        words,
        exports={export: low, export.replace("low", "high"): high},
        tip="90% prediction interval. Sorted by its upper end.",
        narrow_under=narrow_under,
    )


#: Offers in exports, as people and as programs name them, and the dates of their prices.
_OFFER = {
    **{"name": "phrase", "instance": "instance"},
    **{name: f"offer.{name}" for name in ("gpu", "gpu_count", "provider", "market")},
    "price_as_of": "offer.as_of",
}
INSTANCE = Column("instance", "Instance", words=_offer_cell, read="", exports=_OFFER | {"batch_size": "batch_size"})
STEP = Column("latency_ms", "Step", words=format_ms, exports="step_ms", tip="Latency of a training step.")
STEP_RANGE = _range("latency_range_ms", "row.interval", format_ms_range, "step_low_ms", "latency_ms")
COST_RANGE = _range("cost_range_usd", "interval", format_usd_range, "training_low_usd", "training_usd")
IMAGES = Column("images_per_s", "Images/s", words=format_significant, by_default=False)
#: Sorted by the largest batch that fits.
MEMORY = Column(
    "memory",
    "Memory",
    "fit.largest_batch",
    _fit_words,
    read="fit",
    exports={"fits_in_memory": "fit.verdict.value", "largest_batch": "fit.largest_batch"},
    tip="Whether a step fits in one GPU's memory, and the largest batch that does.",
    by_default=False,
)
PRICE = Column(
    "usd_per_hour",
    "$/h",
    "offer.usd_per_hour",
    _price_cell,
    read="offer",
    exports={"usd_per_hour": "offer.usd_per_hour", "usd_per_gpu_hour": "offer.usd_per_gpu_hour"},
    tip="Of the whole machine, with all its GPUs. A month marks a price that is over 60 days old.",
)
#: The widest range first.
BASIS = Column(
    "confidence",
    "Basis",
    plan_confidence,
    _basis_cell,
    read="",
    exports={
        **{"basis": "basis.value", "basis_word": "basis.word.value", "basis_note": "row.note"},
        "confidence": lambda plan: plan_confidence(plan).word,
    },
    tip="; ".join(f"{word}: {word.words}" for word in BasisWord) + f". {DOTS}",
)
#: Of Predict, shown only where they are chosen.
_FURTHER = (
    STEP,
    IMAGES,
    Column("in_time", "In time", words=format_certainty, tip="Chance to keep to the deadline."),
    Column("in_budget", "Within budget", words=format_certainty, tip="Chance to keep to the budget."),
    MEMORY,
)
_OF_OFFER = (
    Column("provider", "Cloud", lambda plan: cloud_words(plan.offer.provider), exports="cloud"),
    Column("market", "Market", "offer.market"),
    Column("region", "Region", "offer.region"),
    Column(
        "price_from",
        "Price from",
        "offer.as_of",
        _price_from,
        read="offer",
        exports={"price_as_of": "offer.as_of", "price_source": "offer.source"},
    ),
    Column("status", "Status", "offer.status"),
)


def predict_columns(per: Period, unit: TimeUnit, gpus: Gpus) -> tuple[Column, ...]:
    """All columns of Predict's plans of a period, in their order; the first six are shown until others are chosen.

    Exports name a value by what it is of and its unit: step_low_ms, epoch_s, training_high_usd.
    """
    is_step, title = per is Period.STEP, per.capitalize()
    cost = f"cost_per_{COSTED_STEPS}_steps" if is_step else per.value
    cost_title = f"Cost per {COSTED_STEPS:,} steps" if is_step else f"{title} cost"

    def energy(plan: Plan) -> Energy | None:
        """Of the period, or of as many steps as the cost is for."""
        total_s = plan.total_s * (COSTED_STEPS if is_step else plan.workload.machines)
        return training_energy(total_s, plan.offer, gpus, plan.gpus)

    cost_range = _range("cost_range", "interval", format_usd_range, f"{cost}_low_usd", "cost")
    time_range = _range("time_range", "interval", unit.range_words, f"{per}_low_s", "time")
    time, used = {"step_ms": "latency_ms"}, f"{cost.replace('cost', 'energy')}_{{}}_at_most".format
    return (
        Column("plan", "Instance", "label", _offer_cell, read="", exports=_OFFER),
        Column(
            "time", f"{title} time", "total_s", unit.words, exports=time | ({} if is_step else {f"{per}_s": "total_s"})
        ),
        replace(time_range, exports=STEP_RANGE.exports) if is_step else time_range,
        Column(
            "cost", cost_title, "total_usd", format_usd, exports={f"{cost}_usd": "total_usd", **cost_range.exported}
        ),
        PRICE,
        replace(BASIS, narrow_under="cost"),
        *map(_hidden, (replace(cost_range, tip="Time and cost move together along it."), *_FURTHER)),
        Column(
            "energy_kwh",
            "Energy",
            "kwh",
            format_energy,
            exports=used("kwh"),
            part=energy,
            tip="Upper bound: board power of the GPUs that train, idle power of the others, all CPU cores at full "
            "load. Memory, disks and network are not counted.",
            by_default=False,
        ),
        Column(
            "co2e_kg",
            "CO₂e",
            words=format_co2e,
            exports=used("co2e_kg"),
            part=energy,
            tip="That energy, with the data center's overhead and the mean carbon intensity of the region's grid in "
            "2023 (Green Software Foundation, Cloud Region Metadata). No number where the region is not in it.",
            by_default=False,
        ),
        *map(_hidden, _OF_OFFER),
    )


def size_columns(unit: TimeUnit, *, with_batch: bool = False) -> tuple[Column, ...]:
    """All columns of Sizes, in their order, with times in one unit; `with_batch`: each row has its own batch size."""
    return (
        INSTANCE,
        Column("batch_size", "Batch size", words="{:,}".format, by_default=with_batch),
        STEP,
        STEP_RANGE,
        IMAGES,
        Column("training_s", "Training time", "total_s", unit.words),
        Column(
            "training_usd",
            "Training cost",
            "total_usd",
            format_usd,
            exports={"training_usd": "total_usd", **COST_RANGE.exported},
        ),
        _hidden(COST_RANGE),
        replace(PRICE, narrow_under="training_usd"),
        replace(BASIS, narrow_under="training_usd"),
        MEMORY,
    )


def out_columns(unit: TimeUnit) -> tuple[Column, ...]:
    """All columns of Scale out, in their order, with times in one unit."""
    cost_range = _range("cost_range_usd", "plan.interval", format_usd_range, "epoch_low_usd", "epoch_usd")
    offer = {name: f"plan.{path}" for name, path in _OFFER.items()} | {"instance": "offer.name"}
    counts = {"nodes": "nodes", "gpus": "step.gpus", "batch_size": "step.batch_size"}
    return (
        Column("instance", "Instance", "offer.name", _node_cell, read="", exports=offer | counts),
        _of_plan(replace(STEP, tip="Step latency on all GPUs.")),
        _of_plan(STEP_RANGE),
        Column(
            "speed_up",
            "Speed-up",
            "step.speed_up",
            _speed_up_cell,
            read="step",
            exports={"speed_up": "step.speed_up", "one_gpu_step_ms": "step.one_gpu_ms"},
            tip="Images/s of all GPUs over images/s of one, at the same batch per GPU.",
        ),
        _of_plan(IMAGES),
        Column("epoch_s", "Epoch time", words=unit.words),
        _range("epoch_range_s", "plan.interval", unit.range_words, "epoch_low_s", "epoch_s"),
        Column(
            "epoch_usd",
            "Epoch cost",
            words=format_usd,
            exports={"epoch_usd": "epoch_usd", **cost_range.exported},
            tip="You pay for whole machines.",
        ),
        _hidden(cost_range),
        Column(
            "usd_per_hour",
            "$/h",
            words=_node_price_cell,
            read="",
            exports={"usd_per_hour": "usd_per_hour", "node_usd_per_hour": "offer.usd_per_hour"},
            tip="All machines together.",
            narrow_under="epoch_usd",
        ),
        replace(BASIS, part="plan", narrow_under="epoch_usd"),
        Column("strategy", "Strategy", "step.strategy.value", read="step.strategy.words", by_default=False),
        Column(
            "links",
            "Links",
            "link_gb_per_s",
            read="words",
            exports={
                **{"link": "link.value", "link_gb_per_s": "link_gb_per_s"},
                **{"network_gbit_per_s": "network_gbit_per_s", "links_assumed": "assumed"},
            },
            part=lambda row: load_interconnects().of(row.offer),
            by_default=False,
        ),
        replace(MEMORY, exports={"fits_in_memory": "fit.verdict.value"}),
    )
