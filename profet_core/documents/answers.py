"""Answers as JSON documents; keys and their order are a contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from profet_core.documents.parts import (
    BASIS,
    MEMORY,
    OFFER,
    OFFER_KEYS,
    RENTED,
    TEXTS,
    UNKNOWN_OPERATIONS,
    VERDICT,
    ends,
    totals,
)
from profet_core.documents.records import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    At,
    Keys,
    Type,
    at,
    by_name,
    many,
    maybe,
    record,
    under,
)
from profet_core.latency import LEVEL
from profet_core.precision.model import amp_words, supported_precisions

if TYPE_CHECKING:
    # A command loads what its own answer is made of.
    from profet_core.advice.whole_nodes import CurveRow
    from profet_core.answers.cost import CostAnswer
    from profet_core.answers.estimate import EstimateAnswer
    from profet_core.cost import CostRow
    from profet_core.energy.estimate import Energy
    from profet_core.latency import StepTime
    from profet_core.prediction.records import InstancePrediction

#: Share of held-out latencies inside the intervals.
_LEVEL = at(lambda _: LEVEL, NUMBER)

PREDICTION = record(
    **under(
        "prediction",
        anchor=TEXT,
        anchor_latency_ms=maybe(NUMBER),
        method=TEXT,
        steps=WHOLE,
        steps_basis=TEXT,
        predictions=many(
            record(
                instance=TEXT,
                latency_ms=maybe(NUMBER),
                **ends(maybe(NUMBER)),
                members=by_name(NUMBER),
                basis=BASIS,
                cost_per_1000_steps_usd=maybe(NUMBER),
                usd_per_hour=NUMBER,
                status=TEXT,
                note=TEXT,
                **RENTED,
            )
        ),
        interval_level=maybe(NUMBER),
        unknown_operations=UNKNOWN_OPERATIONS,
        similarity=maybe(record(distance=NUMBER, words=TEXT, error_percent=maybe(NUMBER))),
        warnings=TEXTS,
    ),
    memory=at("fits", MEMORY),
)


class _Costed(NamedTuple):
    """A row with the step it is based on, and the energy that the training takes."""

    row: CostRow
    step: StepTime
    energy: Energy | None


def _costed(answer: CostAnswer) -> list[_Costed]:
    steps = {step.instance: step for step in answer.training.steps.step_times}
    return [_Costed(row, steps[row.instance], answer.energy[row.instance]) for row in answer.table.rows]


COSTS = record(
    anchor=at("training.prediction.anchor", TEXT),
    **under("table", images=WHOLE, validation_images=WHOLE, batch_size=WHOLE, epochs=WHOLE),
    rows=at(
        _costed,
        many(
            record(
                **under(
                    "row",
                    instance=TEXT,
                    latency_ms=NUMBER,
                    usd_per_hour=NUMBER,
                    status=TEXT,
                    step_usd=NUMBER,
                    cost_per_1000_steps_usd=NUMBER,
                    images_per_s=NUMBER,
                    **totals(),
                    speedup=maybe(NUMBER),
                ),
                energy_kwh_at_most=at("energy.kwh", maybe(NUMBER)),
                co2e_kg_at_most=at("energy.co2e_kg", maybe(NUMBER)),
                basis=at("step.basis", BASIS),
                note=at("step.note", TEXT),
                **under("row", **RENTED),
            )
        ),
    ),
    warnings=at("training.warnings", TEXTS),
    memory=at("fits", MEMORY),
)


class _Estimated(NamedTuple):
    """A row with the case of its estimate, and its costs; None without images."""

    row: InstancePrediction
    regime: str
    cost: CostRow | None


def _estimated(answer: EstimateAnswer) -> list[_Estimated]:
    found = answer.estimate
    costs = {} if answer.costs is None else {row.instance: row for row in answer.costs.rows}
    return [_Estimated(row, found.regimes[row.instance], costs.get(row.instance)) for row in found.rows]


ESTIMATE = record(
    network=at("estimate.name", TEXT),
    **under("estimate", batch_size=WHOLE, method=TEXT),
    counts=at(
        "estimate.network",
        record(
            pixels=WHOLE,
            classes=WHOLE,
            parameters=WHOLE,
            flops=NUMBER,
            convolution_flops=NUMBER,
            depthwise_flops=NUMBER,
            dense_flops=NUMBER,
            activation_elements=NUMBER,
            layers=WHOLE,
        ),
    ),
    interval_level=_LEVEL,
    estimates=at(
        _estimated,
        many(
            record(
                **under("row", instance=TEXT, latency_ms=NUMBER, **ends(NUMBER)),
                by_method=at("row.members", by_name(NUMBER)),
                regime=TEXT,
                **under("row", basis=BASIS, cost_per_1000_steps_usd=NUMBER),
                **under("cost", **totals(maybe(NUMBER))),
                **under("row", usd_per_hour=NUMBER, status=TEXT, note=TEXT, **RENTED),
            )
        ),
    ),
    memory=at("estimate.fits", MEMORY),
    profile=at(
        lambda answer: answer.profiled and answer,
        maybe(
            record(
                anchor=at("profiled.anchor", TEXT),
                disagreements=many(
                    record(instance=TEXT, estimated_ms=NUMBER, profiled_ms=NUMBER, ratio=NUMBER, overlap=maybe(FLAG))
                ),
            )
        ),
    ),
    warnings=TEXTS,
)

#: Of one GPU; null where it is not known, or not asked as the step was measured.
_FIT = {"fits_in_memory": at("fit.verdict", maybe(VERDICT)), "largest_batch": at("fit.largest_batch", maybe(WHOLE))}
_ON_GPUS: Keys = {
    **under(
        "step",
        gpus=WHOLE,
        nodes=WHOLE,
        strategy=at("strategy.value", TEXT),
        batch_per_gpu=WHOLE,
        batch_size=WHOLE,
        latency_ms=NUMBER,
        **ends(maybe(NUMBER)),
        images_per_s=NUMBER,
        efficiency=NUMBER,
        speed_up=NUMBER,
        speed_up_low=at(lambda step: step.speed_up_range and step.speed_up_range[0], maybe(NUMBER)),
        speed_up_high=at(lambda step: step.speed_up_range and step.speed_up_range[1], maybe(NUMBER)),
        one_gpu_ms=NUMBER,
    ),
    **_FIT,
}


def _by_strategy(row: CurveRow) -> dict[str, float]:
    return {strategy.value: latency_ms for strategy, latency_ms in row.other_ms.items()}


SCALED_OUT = record(
    network=at(lambda answer: answer.network or None, maybe(TEXT)),
    parameters=NUMBER,
    gradients=TEXT,
    strategy=TEXT,
    global_batch=maybe(WHOLE),
    images=WHOLE,
    validation_images=WHOLE,
    instance=at("offer.name", maybe(TEXT)),
    gpu=TEXT,
    one_gpu=record(latency_ms=maybe(NUMBER), **ends(maybe(NUMBER)), basis=BASIS, note=TEXT),
    interconnect=record(
        gpus=WHOLE,
        link=at("link.value", TEXT),
        link_gb_per_s=NUMBER,
        pcie_generation=WHOLE,
        gpus_per_root=WHOLE,
        network_gbit_per_s=NUMBER,
        source=TEXT,
        assumed=TEXT,
    ),
    curve=many(
        record(
            **_ON_GPUS,
            over_one=maybe(NUMBER),
            epoch_s=NUMBER,
            epoch_usd=maybe(NUMBER),
            by_strategy_ms=at(_by_strategy, by_name(NUMBER)),
        )
    ),
    last_paying=maybe(WHOLE),
    offers=at(
        "plans",
        many(
            record(
                instance=at("offer.name", TEXT),
                **_ON_GPUS,
                usd_per_hour=NUMBER,
                epoch_s=NUMBER,
                epoch_usd=NUMBER,
                **under("offer", region=TEXT, market=TEXT, status=TEXT),
                **RENTED,
            )
        ),
    ),
    interval_level=_LEVEL,
    warnings=TEXTS,
)

#: Of pairs: offers, each with the basis of its prediction.
OFFERS = Type(
    many(record(**OFFER_KEYS, basis=TEXT)).schema,
    lambda rows: [{**OFFER.document(offer), "basis": basis} for offer, basis in rows],
)

SCALED = record(instance=TEXT, axis=TEXT, at=WHOLE, latency_ms=NUMBER)

_MODEL_TIMES = {"total_s": NUMBER, "preparation_s": NUMBER, "images_s": NUMBER, "contention_s": NUMBER}
MANYCORE = record(
    network=at("network.name", TEXT),
    **under(
        "network",
        forward_flops=maybe(NUMBER),
        forward_operations=NUMBER,
        backward_operations=NUMBER,
        forward_s=NUMBER,
        backward_s=NUMBER,
    ),
    **under("training", images=WHOLE, test_images=WHOLE, epochs=WHOLE),
    processor=at("machine.name", TEXT),
    cores=at("machine.cores", WHOLE),
    rows=many(
        record(
            threads=WHOLE,
            cpi=NUMBER,
            contention_s=NUMBER,
            extrapolated=FLAG,
            model_a=at(lambda row: row, record(**under("a", **_MODEL_TIMES), speedup=at("speedup_a", NUMBER))),
            model_b=at(lambda row: row, record(**under("b", **_MODEL_TIMES), speedup=at("speedup_b", NUMBER))),
        )
    ),
    warnings=at("notes", TEXTS),
)


def _of_point(name: str, kind: Type) -> At:
    """What is known of a GPU's speed, if that is known of it."""
    return at(lambda own: getattr(own.point, name, None), maybe(kind))


#: A GPU of the user's, with the name of its instance and what an hour of that costs; null is what is not known of it.
GPU_PRECISIONS = record(
    gpu=at("name", TEXT),
    memory_gib=NUMBER,
    precisions=at(supported_precisions, many(TEXT)),
    amp=at(amp_words, TEXT),
)
OWN_GPU = record(
    gpu=at("name", TEXT),
    instance=TEXT,
    like=TEXT,
    **under(
        "gpu",
        fp32_tflops=NUMBER,
        tf32_tensor_dense_tflops=maybe(NUMBER),
        memory_gib=NUMBER,
        bandwidth_gb_per_s=NUMBER,
        tdp_w=NUMBER,
    ),
    images_per_s=_of_point("images_per_s", NUMBER),
    network=_of_point("network", TEXT),
    pixels=_of_point("pixels", WHOLE),
    batch_size=_of_point("batch_size", WHOLE),
    precision=_of_point("precision", TEXT),
    times_reference=_of_point("times_reference", NUMBER),
    times_log_sd=_of_point("times_log_sd", NUMBER),
    usd_per_hour=at("offer.usd_per_hour", NUMBER),
    as_of=TEXT,
    source=TEXT,
)
