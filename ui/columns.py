"""Columns of the pages' result tables: the values of their rows, the cells that are read, and what exports have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from profet_core.catalog.collection import is_guess
from profet_core.catalog.gpus import Gpus
from profet_core.catalog.instance import cloud_words, price_source, price_words
from profet_core.catalog.interconnects import load_interconnects
from profet_core.latency import HOST_LIMITED, BasisWord
from profet_core.training.cost import training_energy
from profet_core.training.memory import FitAnswer, Verdict, does_not_fit
from profet_core.training.plans import (
    COSTED_STEPS,
    MEASURED_ERRORS_PCT,
    Confidence,
    Period,
    Plan,
    TotalInterval,
    plan_confidence,
)
from profet_core.training.several_gpus import WholeNodePlan
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
from ui.tables import MISSING, Column, TableCell, Value

#: What the dots of a basis mean.
DOTS = "Mean error ●●● {:.0f}%, ●●○ {:.0f}%, ●○○ more.".format(
    *(MEASURED_ERRORS_PCT[level] for level in (Confidence.GOOD, Confidence.FAIR))
)
#: A verdict as the table says it.
_FIT = {Verdict.FITS: "Fits", Verdict.CANT_TELL: "May not fit", Verdict.DOES_NOT_FIT: "Doesn't fit"}
#: Both ends of a row's interval; None without one.
Ends = Sequence[tuple[float, float] | None]


def _hidden(column: Column) -> Column:
    """Return the column, shown only where it is chosen."""
    return replace(column, by_default=False)


def _offer_cell(plan: Plan, code: str = "") -> TableCell:
    """GPU and cloud; beneath them the machine's code and what is special about it."""
    fit, notes = plan.fit, [code or plan.code]
    notes += ["doesn't fit"] if does_not_fit(fit) else []
    notes += ["may not fit"] if fit is not None and fit.verdict is Verdict.CANT_TELL else []
    notes += [HOST_LIMITED] if plan.row.limited_by_host else []
    return TableCell(plan.name, beneath=", ".join(notes))


def _offer_data(plans: Sequence[Plan]) -> dict[str, Sequence[Value]]:
    """Offers in exports, as people and as programs name them, and the dates of their prices."""
    columns = ("gpu", "gpu_count", "provider", "market")
    return {
        "name": [plan.phrase for plan in plans],
        "instance": [plan.instance for plan in plans],
        **{column: [getattr(plan.offer, column) for plan in plans] for column in columns},
        "price_as_of": [plan.offer.as_of for plan in plans],
    }


def _ends_data(low: str, ends: Ends) -> dict[str, Sequence[Value]]:
    """Both ends in exports; `low` is the lower one's name."""
    return {
        low: [end and end[0] for end in ends],
        low.replace("low", "high"): [end and end[1] for end in ends],
    }


def _range(
    key: str, title: str, ends: Ends, words: Callable[[float, float], str], low: str, beneath: str, tip: str = ""
) -> Column:
    """Return the interval of a column, sorted by its upper end.

    `low`: name of its lower end in exports. `beneath`: the column it is of.
    """
    return Column(
        key=key,
        title=title,
        values=[end and end[1] for end in ends],
        cells=[MISSING if end is None else words(*end) for end in ends],
        data=_ends_data(low, ends),
        narrow_under=beneath,
        tip=tip or "90% prediction interval. Sorted by its upper end.",
    )


def _step_ends(plans: Sequence[Plan]) -> Ends:
    intervals = [plan.row.interval for plan in plans]
    return [interval and (interval.low_ms, interval.high_ms) for interval in intervals]


def _seconds(intervals: Sequence[TotalInterval | None]) -> Ends:
    return [interval and interval.seconds for interval in intervals]


def _usd(intervals: Sequence[TotalInterval | None]) -> Ends:
    return [interval and interval.usd for interval in intervals]


def instance_column(plans: Sequence[Plan]) -> Column:
    """Return the offers that one GPU trains on, by their names."""
    return Column(
        key="instance",
        title="Instance",
        values=[plan.instance for plan in plans],
        cells=[_offer_cell(plan) for plan in plans],
        data={**_offer_data(plans), "batch_size": [plan.batch_size for plan in plans]},
    )


def step_columns(plans: Sequence[Plan], tip: str = "Latency of a training step.") -> tuple[Column, Column]:
    """Return the step latencies, and their intervals."""
    latencies = [plan.latency_ms for plan in plans]
    step = Column(key="latency_ms", title="Step", values=latencies, words=format_ms, export="step_ms", tip=tip)
    ends = _step_ends(plans)
    return step, _range("latency_range_ms", "Range", ends, format_ms_range, "step_low_ms", "latency_ms")


def _images_column(plans: Sequence[Plan]) -> Column:
    values = [plan.images_per_s for plan in plans]
    return Column(key="images_per_s", title="Images/s", values=values, words=format_significant)


def cost_columns(plans: Sequence[Plan]) -> tuple[Column, Column]:
    """Return what a training costs, and the interval of that."""
    ends, values = _usd([plan.interval for plan in plans]), [plan.total_usd for plan in plans]
    cost_range = _range("cost_range_usd", "Cost range", ends, format_usd_range, "training_low_usd", "training_usd")
    data = {"training_usd": values, **cost_range.exported()}
    return Column(key="training_usd", title="Training cost", values=values, words=format_usd, data=data), cost_range


def memory_column(fits: Sequence[FitAnswer | None]) -> Column:
    """Whether a step fits, sorted by the largest batch that does: 'Fits (up to batch 512)', "Doesn't fit"."""
    largest = [fit and fit.largest_batch for fit in fits]
    return Column(
        key="memory",
        title="Memory",
        values=largest,
        cells=[
            _FIT[fit.verdict] + (f" (up to batch {most:,})" if most else "") if fit else MISSING
            for fit, most in zip(fits, largest, strict=True)
        ],
        data={"fits_in_memory": [fit and fit.verdict.value for fit in fits], "largest_batch": largest},
        tip="Whether a step fits in one GPU's memory, and the largest batch that does.",
    )


def price_column(plans: Sequence[Plan], narrow_under: str = "") -> Column:
    """Return what the machines cost per hour."""
    offers = [plan.offer for plan in plans]
    return Column(
        key="usd_per_hour",
        title="$/h",
        values=[offer.usd_per_hour for offer in offers],
        cells=[
            TableCell(
                price_words(offer), "" if offer.gpu_count == 1 else f"{format_usd(offer.usd_per_gpu_hour)} per GPU"
            )
            for offer in offers
        ],
        data={
            "usd_per_hour": [offer.usd_per_hour for offer in offers],
            "usd_per_gpu_hour": [offer.usd_per_gpu_hour for offer in offers],
        },
        tip="Of the whole machine, with all its GPUs. A month marks a price that is over 60 days old.",
        narrow_under=narrow_under,
    )


def basis_column(plans: Sequence[Plan], narrow_under: str) -> Column:
    """Return what time and money are based on, the widest range first; only the word is read aloud."""
    levels = [plan_confidence(plan) for plan in plans]
    return Column(
        key="confidence",
        title="Basis",
        values=[int(level) for level in levels],
        cells=[TableCell(plan.basis.word, mark=level.mark) for plan, level in zip(plans, levels, strict=True)],
        data={
            "basis": [plan.basis.value for plan in plans],
            "basis_word": [plan.basis.word.value for plan in plans],
            "basis_note": [plan.row.note for plan in plans],
            "confidence": [level.word for level in levels],
        },
        tip="; ".join(f"{word}: {word.words}" for word in BasisWord) + f". {DOTS}",
        narrow_under=narrow_under,
    )


def predict_columns(plans: Sequence[Plan], per: Period, unit: TimeUnit, gpus: Gpus) -> tuple[Column, ...]:
    """All columns of Predict, in their order; the first six are shown until others are chosen.

    Exports name a value by what it is of and its unit: step_low_ms, epoch_s, training_high_usd.
    """
    shown = [plan.per(per) for plan in plans]
    intervals = [row.interval for row in shown]
    cost = f"cost_per_{COSTED_STEPS}_steps" if per is Period.STEP else per.value
    energy, step_ends = cost.replace("cost", "energy"), _step_ends(plans)
    times, costs = [row.total_s for row in shown], [row.total_usd for row in shown]
    tip = "Time and cost move together along it."
    cost_range = _range("cost_range", "Cost range", _usd(intervals), format_usd_range, f"{cost}_low_usd", "cost", tip)
    time_range = _range("time_range", "Range", _seconds(intervals), unit.range_words, f"{per}_low_s", "time")
    more = (
        cost_range,
        step_columns(plans)[0],
        _images_column(plans),
        Column(
            key="in_time",
            title="In time",
            values=[plan.in_time for plan in plans],
            words=format_certainty,
            tip="Chance to keep to the deadline.",
        ),
        Column(
            key="in_budget",
            title="Within budget",
            values=[plan.in_budget for plan in plans],
            words=format_certainty,
            tip="Chance to keep to the budget.",
        ),
        memory_column([plan.fit for plan in plans]),
        *_energy_columns(plans, times, per, energy, gpus),
        Column(
            key="provider", title="Cloud", values=[cloud_words(plan.offer.provider) for plan in plans], export="cloud"
        ),
        Column(key="market", title="Market", values=[plan.offer.market for plan in plans]),
        Column(key="region", title="Region", values=[plan.offer.region for plan in plans]),
        Column(
            key="price_from",
            title="Price from",
            values=[plan.offer.as_of for plan in plans],
            cells=["your guess" if is_guess(plan.offer) else price_source(plan.offer) for plan in plans],
            data={
                "price_as_of": [plan.offer.as_of for plan in plans],
                "price_source": [plan.offer.source for plan in plans],
            },
        ),
        Column(key="status", title="Status", values=[plan.offer.status for plan in plans]),
    )
    step_ms: Mapping[str, Sequence[Value]] = {"step_ms": [plan.latency_ms for plan in plans]}
    return (
        Column(
            key="plan",
            title="Instance",
            values=[plan.label for plan in plans],
            cells=[_offer_cell(plan) for plan in plans],
            data=_offer_data(plans),
        ),
        Column(
            key="time",
            title=f"{per.capitalize()} time",
            values=times,
            words=unit.words,
            data={**step_ms, **({} if per is Period.STEP else {f"{per}_s": times})},
        ),
        replace(time_range, data=_ends_data("step_low_ms", step_ends)) if per is Period.STEP else time_range,
        Column(
            key="cost",
            title=f"Cost per {COSTED_STEPS:,} steps" if per is Period.STEP else f"{per.capitalize()} cost",
            values=costs,
            words=format_usd,
            data={f"{cost}_usd": costs, **cost_range.exported()},
        ),
        price_column(plans),
        basis_column(plans, "cost"),
        *map(_hidden, more),
    )


def _energy_columns(
    plans: Sequence[Plan], times: Sequence[float], per: Period, name: str, gpus: Gpus
) -> tuple[Column, ...]:
    """Energy and emissions of a period, or of as many steps as the cost is for; `name` begins those of exports."""
    energies = []
    for plan, seconds in zip(plans, times, strict=True):
        total_s = seconds * (COSTED_STEPS if per is Period.STEP else plan.workload.machines)
        energies.append(training_energy(total_s, plan.offer, gpus, plan.gpus))
    return (
        Column(
            key="energy_kwh",
            title="Energy",
            values=[energy.kwh if energy else None for energy in energies],
            words=format_energy,
            export=f"{name}_kwh_at_most",
            tip="Upper bound: board power of the GPUs that train, idle power of the others, all CPU cores at full "
            "load. Memory, disks and network are not counted.",
        ),
        Column(
            key="co2e_kg",
            title="CO₂e",
            values=[energy.co2e_kg if energy else None for energy in energies],
            words=format_co2e,
            export=f"{name}_co2e_kg_at_most",
            tip="That energy, with the data center's overhead and the mean carbon intensity of the region's grid in "
            "2023 (Green Software Foundation, Cloud Region Metadata). No number where the region is not in it.",
        ),
    )


def size_columns(plans: Sequence[Plan], unit: TimeUnit, *, with_batch: bool = False) -> tuple[Column, ...]:
    """All columns of Sizes, in their order, with times in one unit; `with_batch`: each row has its own batch size."""
    cost, cost_range = cost_columns(plans)
    batches = [plan.batch_size for plan in plans]
    return (
        instance_column(plans),
        Column(key="batch_size", title="Batch size", values=batches, words="{:,}".format, by_default=with_batch),
        *step_columns(plans),
        _hidden(_images_column(plans)),
        Column(key="training_s", title="Training time", values=[plan.total_s for plan in plans], words=unit.words),
        cost,
        _hidden(cost_range),
        price_column(plans, "training_usd"),
        basis_column(plans, "training_usd"),
        _hidden(memory_column([plan.fit for plan in plans])),
    )


def out_columns(rows: Sequence[WholeNodePlan], unit: TimeUnit) -> tuple[Column, ...]:
    """All columns of Scale out, in their order, with times in one unit."""
    plans, offers, steps = [row.plan for row in rows], [row.offer for row in rows], [row.step for row in rows]
    intervals, costs = [plan.interval for plan in plans], [row.epoch_usd for row in rows]
    step, step_range = step_columns(plans, "Step latency on all GPUs.")
    cost_range = _range("cost_range_usd", "Cost range", _usd(intervals), format_usd_range, "epoch_low_usd", "epoch_usd")
    links = [load_interconnects().of(offer) for offer in offers]
    fits = [row.fit for row in rows]
    return (
        Column(
            key="instance",
            title="Instance",
            values=[offer.name for offer in offers],
            cells=[_offer_cell(row.plan, "" if row.nodes == 1 else f"{row.nodes} × {row.plan.code}") for row in rows],
            data={
                **_offer_data(plans),
                "instance": [offer.name for offer in offers],
                "nodes": [row.nodes for row in rows],
                "gpus": [step.gpus for step in steps],
                "batch_size": [step.batch_size for step in steps],
            },
        ),
        _hidden(step),
        _hidden(step_range),
        Column(
            key="speed_up",
            title="Speed-up",
            values=[step.speed_up for step in steps],
            cells=[TableCell(f"{format_significant(step.speed_up)}×", beneath=f"{step.gpus} GPUs") for step in steps],
            data={
                "speed_up": [step.speed_up for step in steps],
                "one_gpu_step_ms": [step.one_gpu_ms for step in steps],
            },
            tip="Images/s of all GPUs over images/s of one, at the same batch per GPU.",
        ),
        _hidden(_images_column(plans)),
        Column(key="epoch_s", title="Epoch time", values=[row.epoch_s for row in rows], words=unit.words),
        _range("epoch_range_s", "Range", _seconds(intervals), unit.range_words, "epoch_low_s", "epoch_s"),
        Column(
            key="epoch_usd",
            title="Epoch cost",
            values=costs,
            words=format_usd,
            data={"epoch_usd": costs, **cost_range.exported()},
            tip="You pay for whole machines.",
        ),
        _hidden(cost_range),
        Column(
            key="usd_per_hour",
            title="$/h",
            values=[row.usd_per_hour for row in rows],
            cells=[
                TableCell(
                    price_words(row.plan.offer),
                    "" if row.nodes == 1 else f"{row.nodes} × {format_usd(row.offer.usd_per_hour)}",
                )
                for row in rows
            ],
            data={
                "usd_per_hour": [row.usd_per_hour for row in rows],
                "node_usd_per_hour": [offer.usd_per_hour for offer in offers],
            },
            tip="All machines together.",
            narrow_under="epoch_usd",
        ),
        basis_column(plans, "epoch_usd"),
        Column(
            key="strategy",
            title="Strategy",
            values=[step.strategy.value for step in steps],
            cells=[step.strategy.words for step in steps],
            by_default=False,
        ),
        Column(
            key="links",
            title="Links",
            values=[link.link_gb_per_s for link in links],
            cells=[link.words for link in links],
            data={
                "link": [link.link.value for link in links],
                "link_gb_per_s": [link.link_gb_per_s for link in links],
                "network_gbit_per_s": [link.network_gbit_per_s for link in links],
                "links_assumed": [link.assumed for link in links],
            },
            by_default=False,
        ),
        replace(_hidden(memory_column(fits)), data={"fits_in_memory": [fit and fit.verdict.value for fit in fits]}),
    )
