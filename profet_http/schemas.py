"""JSON Schemas of the answers; every key that a document has, and no other."""

from __future__ import annotations

from collections.abc import Mapping

Schema = Mapping[str, object]
Keys = Mapping[str, Schema]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}


def maybe(schema: Schema) -> Schema:
    """The same, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def many(schema: Schema) -> Schema:
    """A list of them."""
    return {"type": "array", "items": schema}


def by_name(schema: Schema) -> Schema:
    """An object with one for each name."""
    return {"type": "object", "additionalProperties": schema}


def record(**properties: Schema) -> Schema:
    """An object with just these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TEXTS = many(TEXT)
#: Whether a step fits in a GPU's memory.
_VERDICTS = ("fits", "does not fit", "can't tell")
BASIS: Schema = {
    "type": "string",
    "enum": ["given", "measured", "derived", "transferred", "carried", "carried-back", "scaled-out", "sharpened"],
}
MEMORY = by_name(
    record(
        verdict={"type": "string", "enum": [*_VERDICTS]},
        probability=maybe(NUMBER),
        largest_batch=maybe(WHOLE),
        why=TEXT,
    )
)

# Keys that stand together in several answers, in the order that all of them have.
_GPUS: Keys = {"gpu": TEXT, "gpu_count": WHOLE}
_PER_GPU: Keys = {"usd_per_gpu_hour": NUMBER, "price_note": TEXT}
_RENTED: Keys = {"provider": TEXT, **_GPUS, **_PER_GPU}
_PRICED: Keys = {"usd_per_hour": NUMBER, "status": TEXT}
_IMAGES: Keys = {"images": WHOLE, "validation_images": WHOLE}


def _latency(number: Schema = NUMBER, *, ends: Schema) -> Keys:
    """A step latency and both ends of its interval."""
    return {"latency_ms": number, "low_ms": ends, "high_ms": ends}


def _totals(number: Schema = NUMBER) -> Keys:
    """What an epoch and the whole training take and cost."""
    return {"epoch_s": number, "epoch_usd": number, "total_s": number, "total_usd": number}


PREDICTION = record(
    anchor=TEXT,
    anchor_latency_ms=maybe(NUMBER),
    method=TEXT,
    steps=WHOLE,
    steps_basis=TEXT,
    predictions=many(
        record(
            instance=TEXT,
            **_latency(maybe(NUMBER), ends=maybe(NUMBER)),
            members=by_name(NUMBER),
            basis=BASIS,
            cost_per_1000_steps_usd=maybe(NUMBER),
            **_PRICED,
            note=TEXT,
            **_RENTED,
        )
    ),
    interval_level=maybe(NUMBER),
    unknown_operations=record(names=TEXTS, share=NUMBER, mapped=by_name(TEXT), left_out=TEXTS),
    likeness=maybe(record(distance=NUMBER, words=TEXT, error_percent=maybe(NUMBER))),
    warnings=TEXTS,
    memory=MEMORY,
)

COSTS = record(
    anchor=TEXT,
    **_IMAGES,
    batch_size=WHOLE,
    epochs=WHOLE,
    rows=many(
        record(
            instance=TEXT,
            latency_ms=NUMBER,
            **_PRICED,
            step_usd=NUMBER,
            cost_per_1000_steps_usd=NUMBER,
            images_per_s=NUMBER,
            **_totals(),
            speedup=maybe(NUMBER),
            energy_kwh_at_most=maybe(NUMBER),
            co2e_kg_at_most=maybe(NUMBER),
            basis=BASIS,
            note=TEXT,
            **_RENTED,
        )
    ),
    warnings=TEXTS,
    memory=MEMORY,
)

ESTIMATE = record(
    network=TEXT,
    batch_size=WHOLE,
    method=TEXT,
    counts=record(
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
    interval_level=NUMBER,
    estimates=many(
        record(
            instance=TEXT,
            **_latency(ends=NUMBER),
            by_method=by_name(NUMBER),
            regime=TEXT,
            basis=BASIS,
            cost_per_1000_steps_usd=NUMBER,
            **_totals(maybe(NUMBER)),
            **_PRICED,
            note=TEXT,
            **_RENTED,
        )
    ),
    memory=MEMORY,
    profile=maybe(
        record(
            anchor=TEXT,
            disagreements=many(
                record(instance=TEXT, estimated_ms=NUMBER, profiled_ms=NUMBER, ratio=NUMBER, overlap=maybe(FLAG))
            ),
        )
    ),
    warnings=TEXTS,
)

_PICK = record(plan=TEXT, certainty=maybe(NUMBER), rival=maybe(TEXT), too_close_to_call=FLAG)
ADVICE = record(
    anchor=TEXT,
    workload=record(images=WHOLE, batch_size=WHOLE, epochs=WHOLE, validation_images=WHOLE),
    deadline_h=maybe(NUMBER),
    budget_usd=maybe(NUMBER),
    answer=record(plan=TEXT, sentences=TEXTS),
    plans=many(
        record(
            plan=TEXT,
            instance=TEXT,
            **_GPUS,
            gpus=WHOLE,
            batch_size=WHOLE,
            market=TEXT,
            region=TEXT,
            usd_per_hour=NUMBER,
            as_of=TEXT,
            source=TEXT,
            status=TEXT,
            basis=BASIS,
            latency_ms=NUMBER,
            total_s=NUMBER,
            low_s=maybe(NUMBER),
            high_s=maybe(NUMBER),
            total_usd=NUMBER,
            low_usd=maybe(NUMBER),
            high_usd=maybe(NUMBER),
            in_time=maybe(NUMBER),
            in_budget=maybe(NUMBER),
            rests_on=TEXT,
            note=TEXT,
            provider=TEXT,
            **_PER_GPU,
        )
    ),
    fastest=_PICK,
    cheapest=_PICK,
    within=maybe(
        record(
            certainty=NUMBER,
            sure=maybe(TEXT),
            expected=maybe(TEXT),
            surest=maybe(TEXT),
            nearest=TEXT,
            over_s=NUMBER,
            over_usd=NUMBER,
        )
    ),
    frontier=TEXTS,
    upgrades=many(
        record(
            extra_usd=NUMBER,
            saves_h=NUMBER,
            hours_per_usd=NUMBER,
            certainty=maybe(NUMBER),
            cheaper=TEXT,
            faster=TEXT,
        )
    ),
    beaten=many(record(plan=TEXT, by=TEXT, certainty=maybe(NUMBER))),
    left_out=many(record(instance=TEXT, reason=TEXT)),
    comparison=maybe(
        record(
            a=TEXT,
            b=TEXT,
            latency_ratio=NUMBER,
            latency_ratio_low=maybe(NUMBER),
            latency_ratio_high=maybe(NUMBER),
            break_even_ratio=NUMBER,
            break_even_usd_per_hour=NUMBER,
            break_even_low=maybe(NUMBER),
            break_even_high=maybe(NUMBER),
            faster=maybe(NUMBER),
            cheaper=maybe(NUMBER),
            beats=maybe(NUMBER),
            sentences=TEXTS,
        )
    ),
    memory=MEMORY,
    warnings=TEXTS,
)

_ON_GPUS: Keys = {
    "gpus": WHOLE,
    "nodes": WHOLE,
    "strategy": TEXT,
    "batch_per_gpu": WHOLE,
    "batch_size": WHOLE,
    **_latency(ends=maybe(NUMBER)),
    "images_per_s": NUMBER,
    "efficiency": NUMBER,
    "speed_up": NUMBER,
    "speed_up_low": maybe(NUMBER),
    "speed_up_high": maybe(NUMBER),
    "one_gpu_ms": NUMBER,
    "fits_in_memory": {"type": ["string", "null"], "enum": [*_VERDICTS, None]},
    "largest_batch": maybe(WHOLE),
}
SCALED_OUT = record(
    network=maybe(TEXT),
    parameters=NUMBER,
    gradients=TEXT,
    strategy=TEXT,
    global_batch=maybe(WHOLE),
    **_IMAGES,
    instance=maybe(TEXT),
    gpu=TEXT,
    one_gpu=record(**_latency(maybe(NUMBER), ends=maybe(NUMBER)), basis=BASIS, note=TEXT),
    interconnect=record(
        gpus=WHOLE,
        link=TEXT,
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
            by_strategy_ms=by_name(NUMBER),
        )
    ),
    last_paying=maybe(WHOLE),
    offers=many(
        record(
            instance=TEXT,
            **_ON_GPUS,
            usd_per_hour=NUMBER,
            epoch_s=NUMBER,
            epoch_usd=NUMBER,
            region=TEXT,
            market=TEXT,
            status=TEXT,
            **_RENTED,
        )
    ),
    interval_level=NUMBER,
    warnings=TEXTS,
)

OFFERS = many(
    record(
        name=TEXT,
        **_GPUS,
        gpu_memory_gib=NUMBER,
        vcpus=maybe(WHOLE),
        usd_per_hour=NUMBER,
        region=TEXT,
        os=TEXT,
        market=TEXT,
        status=TEXT,
        as_of=TEXT,
        source=TEXT,
        own=FLAG,
        machine_source=TEXT,
        provider=TEXT,
        host=TEXT,
        **_PER_GPU,
        basis=TEXT,
    )
)

HEALTH = record(status={"const": "ok", "type": "string"}, sample=TEXT, predicted=WHOLE)
ERROR = record(error=TEXT)
