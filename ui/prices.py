"""The dialog of prices: all offers' prices, and instances and GPUs of the visitor's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from msgspec.structs import replace

from profet_core import InputError, ProfetError
from profet_core.answers.by_layers import NetworkPrediction
from profet_core.answers.predict import speed_of_step
from profet_core.catalog import MARKETS, Instance
from profet_core.catalog.custom_gpus import (
    HAS_NONE,
    PRECISIONS,
    SHEET_COLUMNS,
    USD_PER_KWH,
    CustomGpu,
    checked_custom_gpus,
    custom_gpu_cells,
    custom_gpu_from,
)
from profet_core.catalog.custom_instances import check_custom_rows, custom_cells, custom_row, default_cells
from profet_core.catalog.gpus import FP32
from profet_core.catalog.instance import CUSTOM_HARDWARE, machine_words, offer_name
from profet_core.layers.custom_gpu import BATCH_RANGE, NETWORKS, PIXEL_RANGE, check_custom_gpu
from profet_profiles.units import as_typed, format_ms, typed_positive
from ui.custom import custom_prices, forget_other_anchors, visitors_resources, without_custom_gpus
from ui.predicted import current_network
from ui.resources import Resources, load_resources
from ui.session import session
from ui.words import about_link, one_line_errors, plain, show_error

_TEXT, _NUMBER, _SELECT = st.column_config.TextColumn, st.column_config.NumberColumn, st.column_config.SelectboxColumn
Cells = Mapping[str, str]
#: Of one machine.
_MAX_GPUS = 64


@st.dialog("Prices and custom GPUs", width="large", on_dismiss="rerun")
def prices_dialog() -> None:
    """Show prices, instances and GPUs; closing it draws the page with what was changed."""
    with one_line_errors():
        # With what was added since the dialog opened.
        resources = visitors_resources()
        for tab, table in zip(
            st.tabs(["Prices", "Custom instances", "Custom GPU"]), (_prices, _instances, _gpus), strict=True
        ):
            with tab:
                table(resources)


def _prices(resources: Resources) -> None:
    """Show every offer with its list price, and the visitor's beside it; a custom GPU has its price in its own form."""
    st.caption("Your price replaces the list price in every market. It is included in links that you copy.")
    search, reset = st.columns([3, 1], vertical_alignment="bottom")
    words = search.text_input("Search", key="prices:search", placeholder="GPU, cloud or machine").casefold().split()
    reset.button("Reset all", on_click=_reset_prices, disabled=not custom_prices(resources), width="stretch")
    names = {
        name: (offer_name(offer), machine_words(offer))
        for name, offer in resources.catalog.items()
        if name not in _custom_gpu_instances()
    }
    matching = [name for name, shown in names.items() if all(word in " ".join(shown).casefold() for word in words)]
    matching.sort(key=lambda name: (resources.catalog[name].gpu, resources.catalog[name].gpu_count, names[name]))
    offers, given = [resources.catalog[name] for name in matching], session.offers.price

    def put(rows: Sequence[Cells]) -> list[str]:
        prices, problems = {name: usd for name, usd in session.offers.price.items() if name not in matching}, []
        for name, row in zip(matching, rows, strict=True):
            try:
                prices |= {name: typed_positive(row["usd"])} if row["usd"] else {}
            except InputError as error:
                problems.append(f"{name}: {error}")
        if not problems:
            session.offers.price = prices
        return problems

    rows = [
        {
            **dict(zip(("offer", "code"), names[offer.name], strict=True)),
            "list": as_typed(offer.usd_per_hour),
            "as_of": offer.as_of[:7],
            "usd": as_typed(given[offer.name]) if offer.name in given else "",
        }
        for offer in offers
    ]
    columns = {
        "offer": _TEXT("GPU · cloud", pinned=True, disabled=True),
        "code": _TEXT("Machine", disabled=True),
        "list": _NUMBER("List price ($/h)", format="%.3f", disabled=True),
        "as_of": _TEXT("As of", disabled=True),
        "usd": _NUMBER("Your price ($/h)", min_value=0, help="Empty: the list price."),
    }
    _editor("prices", columns, rows, lambda: session.offers.price, put, matching)


def _reset_prices() -> None:
    session.offers.price = {}


def say_whose() -> None:
    """On a server with a custom list of its operator, show how many rows are from it."""
    if count := sum(offer.custom for offer in load_resources().catalog.all_offers):
        rows = "1 row comes" if count == 1 else f"{count} rows come"
        st.caption(f"{rows} from this server's own list, which everyone sees.")


def _instances(resources: Resources) -> None:
    st.caption("Add a row to set your own instance. Select rows to delete them.")
    say_whose()
    shared = load_resources().catalog
    defaults = default_cells()
    # A custom GPU may have been removed.
    gpus = tuple(dict.fromkeys((*resources.gpus, *(row.gpu for row in session.custom.instances))))
    columns = {
        "instance": _TEXT("Name", required=True, pinned=True, help="A new name, or a listed instance to change."),
        "gpu": _SELECT("GPU", options=gpus, help="Empty: as in the list of instances."),
        "gpu_count": _NUMBER("GPUs", min_value=1, max_value=_MAX_GPUS, step=1, help="Empty: 1, or as listed."),
        "usd_per_hour": _NUMBER("Price ($/h)", required=True, min_value=0, help="For the machine with all its GPUs."),
        "market": _SELECT(
            "Market",
            options=MARKETS,
            default=defaults["market"],
            format_func=lambda name: "my hardware" if name == CUSTOM_HARDWARE else str(name),
        ),
        "region": _TEXT("Region", default=defaults["region"]),
        "as_of": _TEXT("Price date", default=defaults["as_of"], help="Year, year-month or year-month-day."),
        "source": _TEXT("Source", default=defaults["source"]),
    }

    def put(rows: Sequence[Cells]) -> list[str]:
        made, problems = list[Instance](), list[str]()
        for row in rows:
            try:
                cells = {**dict.fromkeys(columns, ""), **row}
                made.append(custom_row(cells, shared, resources.gpus, _custom_gpu_instances()))
            except ProfetError as error:
                problems.append(str(error))
        try:
            if not problems:
                check_custom_rows(made, shared)
                session.custom.instances = tuple(made)
        except ProfetError as error:
            problems.append(str(error))
        return problems

    rows = [custom_cells(row, shared, resources.gpus) for row in session.custom.instances]
    _editor("custom-instances", columns, rows, lambda: session.custom.instances, put, repr(columns), grows=True)


def _custom_gpu_instances() -> frozenset[str]:
    return frozenset(row.instance for row in session.custom.gpus)


_STEP, _TF32 = "step_ms", "tf32_tensor_dense_tflops"
_AS_SIMILAR = "Empty: same as the similar GPU."
#: What the form of a custom GPU asks: title -> field -> label and help.
_GPU_FIELDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "GPU": {
        "gpu": ("Name", ""),
        "like": ("Similar to", "Its specs fill empty fields."),
        "usd_per_hour": ("Price ($/h)", f"Empty: its electricity, the power limit at ${USD_PER_KWH:.2f}/kWh."),
    },
    "Measured there (optional)": {
        _STEP: (
            "Step of the shown profile (ms)",
            "Latency of its step, at the size it was recorded at, measured without a profiler.",
        ),
        "images_per_s": ("or images/s", "Training throughput on one GPU."),
        "network": ("Network", "Of the throughput."),
        "batch_size": ("Batch size", ""),
        "pixels": ("Image size", ""),
        "precision": ("Precision", ""),
    },
    "Specs": {
        "memory_gib": ("Memory (GiB)", _AS_SIMILAR),
        "bandwidth_gb_per_s": ("Bandwidth (GB/s)", _AS_SIMILAR),
        "fp32_tflops": ("FP32 (TFLOP/s)", _AS_SIMILAR),
        _TF32: ("TF32 (TFLOP/s)", f"Dense, on tensor cores. {_AS_SIMILAR} 0: none."),
        "tdp_w": ("Power limit (W)", _AS_SIMILAR),
        "source": ("Source", "Where the specs are from."),
    },
}
#: A custom GPU's speed by a measured step, which the form keeps.
_TIMES = "times_reference"


def _gpus(_: Resources) -> None:
    """Show a form for a new GPU, or one of the visitor's."""
    own = {custom.name: custom for custom in session.custom.gpus}
    if st.session_state.get("custom-gpu") not in (None, *own):
        del st.session_state["custom-gpu"]
    # Only what is there can be chosen: without a GPU the form is for a new one.
    name = st.selectbox("Your GPU", [*own], index=None, placeholder="New GPU", key="custom-gpu") if own else None
    cells = _gpu_cells(own[name]) if name else {}
    options: dict[str, Collection[str]] = {
        "like": tuple(load_resources().gpus.shipped),
        "network": NETWORKS,
        "precision": PRECISIONS,
    }
    bounds = {"batch_size": BATCH_RANGE, "pixels": PIXEL_RANGE}
    prefix = f"custom-gpu:{name or ''}"
    with st.form(prefix, border=False):
        for title, fields in _GPU_FIELDS.items():
            st.markdown(f"**{title}**")
            places = st.columns(3, gap="small")
            for number, (field, (label, tip)) in enumerate(fields.items()):
                place, text = places[number % 3], cells.get(field, "")
                more: Any = {"key": f"{prefix}:{field}", "help": tip or None}
                if field in options:
                    choices = tuple(options[field])
                    index = choices.index(text) if text in choices else None
                    place.selectbox(label, choices, index=index, placeholder="Choose", **more)
                elif field in ("gpu", "source"):
                    place.text_input(label, text, **more)
                elif field in bounds:
                    place.number_input(label, *bounds[field], value=int(text) if text else None, step=1, **more)
                else:
                    place.number_input(label, 0.0, value=float(text) if text else None, step=None, format="%g", **more)
        save = partial(_save_gpu, prefix, name, cells)
        st.form_submit_button("Save" if name else "Add GPU", on_click=save)
    if name:
        others = [custom for custom in session.custom.gpus if custom.name != name]
        st.button(f"Remove {plain(name)}", icon=":material/delete:", on_click=_put_gpus, args=(others,))
    if problem := st.session_state.pop("custom-gpu:problem", ""):
        show_error(problem)
    st.caption("For better predictions, measure it with `profet collect --quick`.")
    about_link("Custom GPU", "memory", "own_gpu")


def _save_gpu(prefix: str, name: str | None, before: Cells) -> None:
    """Put the form's GPU in the place of the one of that name, or beside the others; what is wrong is one line."""
    typed = {field: st.session_state[f"{prefix}:{field}"] for fields in _GPU_FIELDS.values() for field in fields}
    try:
        made = _made_gpu({_TIMES: "", **before, **_texts(typed)})
        rows = [made if custom.name == name else custom for custom in session.custom.gpus]
        _put_gpus(rows if name else [*rows, made])
        # It is shown as one of theirs: the form would still have all that was typed, as if nothing had been added.
        st.session_state["custom-gpu"] = made.name
    except ProfetError as error:
        st.session_state["custom-gpu:problem"] = str(error)


def _gpu_cells(custom: CustomGpu) -> dict[str, str]:
    """As in a file, without the specs that equal the similar GPU's."""
    cells, like = custom_gpu_cells(custom), load_resources().gpus[custom.like]
    same = {column: "" for column in SHEET_COLUMNS if getattr(custom.gpu, column) == getattr(like, column)}
    return {column: "0" if text == HAS_NONE else text for column, text in (cells | same).items()}


def _made_gpu(cells: dict[str, str]) -> CustomGpu:
    """Make a GPU of the table's cells, checked against the catalog and the models; ProfetError names what is wrong."""
    step_ms, name = cells.pop(_STEP), cells["gpu"]
    if cells[_TF32] == "0":
        cells[_TF32] = HAS_NONE
    if cells["images_per_s"]:
        # A new throughput replaces what an earlier step said.
        cells[_TIMES] = ""
    elif not cells[_TIMES]:
        cells["precision"] = ""
    custom = custom_gpu_from(cells, load_resources().gpus)
    if step_ms and custom.point is not None and cells["images_per_s"]:
        raise InputError(f"{name}: enter a step or images/s, not both.")
    resources = without_custom_gpus()
    if custom.instance in resources.catalog:
        raise InputError(f"There is an instance {custom.instance} already: give {custom.name} another name.")
    check_custom_gpu(resources.models, custom)
    if not step_ms:
        return custom
    # With the speed that a measured step of the shown profile implies.
    prediction, measured_ms = current_network(resources).training.prediction, float(step_ms)
    if isinstance(prediction, NetworkPrediction):
        raise InputError("A step of a custom GPU needs a profile of it on Predict: enter images/s, or upload one.")
    tf32 = session.how.precision != FP32
    point = speed_of_step(resources, prediction, custom, measured_ms, tf32=tf32)
    return replace(custom, point=point, source=f"a step of {format_ms(measured_ms)} that you measured")


def _put_gpus(rows: Sequence[CustomGpu]) -> None:
    """Replace the visitor's GPUs; what was recorded on one that is gone has no anchor."""
    session.custom.gpus = checked_custom_gpus(rows)
    # A price may be left from an instance that was called so.
    prices = session.offers.price.items()
    session.offers.price = {name: usd for name, usd in prices if name not in _custom_gpu_instances()}
    forget_other_anchors(visitors_resources())


def _editor(
    key: str,
    columns: Mapping[str, Any],
    rows: Sequence[Cells],
    now: Callable[[], object],
    put: Callable[[Sequence[Cells]], list[str]],
    beside: object,
    *,
    grows: bool = False,
) -> None:
    """Draw a table to edit and one line per problem; a change counts once nothing is wrong.

    `columns`: column -> its configuration. `rows`: as they are when it opens: anew where it was closed, or where
    `beside` or what counts `now` was changed elsewhere. `put`: takes all rows; returns what is wrong with them.
    `grows`: rows can be added and removed.
    """
    state: dict[str, Any] = st.session_state.get(f"{key}:table", {"number": -1, "now": None})
    is_open = f"{key}:editor:{state['number']}" in st.session_state and state["beside"] == beside
    if not is_open or state["now"] != now():
        state = {"number": state["number"] + 1, "beside": beside, "opened": rows, "now": now(), "problems": []}
        st.session_state[f"{key}:table"] = state
    editor_key = f"{key}:editor:{state['number']}"

    def take_edits() -> None:
        state["problems"] = put(_edited_rows(state["opened"], st.session_state[editor_key]))
        state["now"] = now()

    data = pd.DataFrame(state["opened"], columns=[*columns], dtype=object)
    for column in columns:
        # Empty text is no number; whole numbers may become others.
        numeric = columns[column]["type_config"]["type"] == "number"
        data[column] = pd.to_numeric(data[column]).astype(float) if numeric else data[column].astype("str")
    more: Any = {"num_rows": "dynamic"} if grows else {"height": 420}
    st.data_editor(
        data, column_config=dict(columns), hide_index=True, placeholder="", key=editor_key, on_change=take_edits, **more
    )
    for problem in state["problems"]:
        show_error(problem)


def _edited_rows(opened: Sequence[Cells], edits: Mapping[str, Any]) -> list[dict[str, str]]:
    """Cells of each row, with what the editor says was changed, removed and added."""
    changed, removed = edits["edited_rows"], edits["deleted_rows"]
    # Numbers of rows are texts in the browser's JSON.
    texts = [_texts(changed.get(number, changed.get(str(number), {}))) for number in range(len(opened))]
    rows = [{**cells, **texts[number]} for number, cells in enumerate(opened) if number not in removed]
    return rows + [cells for cells in map(_texts, edits["added_rows"]) if any(cells.values())]


def _texts(cells: Mapping[str, Any]) -> dict[str, str]:
    return {
        column: "" if value is None else value.strip() if isinstance(value, str) else as_typed(value)
        for column, value in cells.items()
    }
