"""Asks for one price of a visitor's own: of an instance of the catalogue or a new one, somewhere, in some market."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import streamlit as st

from profet_core import CatalogError, InputError
from profet_core.catalog import HOME_REGION, MARKETS, Instance
from profet_core.catalog.instance import MACHINE_COLUMNS, ON_DEMAND, OWN_HARDWARE
from profet_core.catalog.tables import LONGEST_NAME
from profet_core.typed_numbers import as_typed
from ui.errors import show_error
from ui.inputs.number_field import is_wrong, number_field, whole_field
from ui.state.own_gpus import own_gpu_instances, visitors_resources
from ui.state.own_instances import NAME, SHOWN, OfferKey, put_own_instance
from ui.state.resources import Resources, load_resources

_INSTANCE, _NAME, _GPU, _COUNT = "offer:instance", "offer:name", "offer:gpu", "offer:count"
_USD, _REGION, _MARKET, _AS_OF = "offer:usd", "offer:region", "offer:market", "offer:as-of"
_EDITED, _TRIED, _REFUSED = "offer:edited", "offer:tried", "offer:refused"
_NEW = ""
MAX_GPUS = 64
_FIRST_GPU = "L4"
_MARKET_LABELS = {OWN_HARDWARE: "my hardware"}


def own_offer_input(resources: Resources) -> None:
    """A form that adds a row, or changes the one that was taken up with `edit_offer`."""
    for key, value in _defaults().items():
        st.session_state.setdefault(key, value)
    # An own GPU says itself what an hour of it costs.
    of_own_gpus = own_gpu_instances()
    priced = (_NEW, *(name for name in resources.catalog if name not in of_own_gpus))
    if st.session_state[_INSTANCE] not in priced:
        # An own instance that was removed since.
        st.session_state[_INSTANCE] = _NEW
    if st.session_state[_GPU] not in resources.gpus:
        st.session_state[_GPU] = _FIRST_GPU
    st.selectbox(
        "Price of",
        priced,
        format_func=lambda name: resources.instance_label(name) if name else "a new instance",
        key=_INSTANCE,
        persist_state="session",
    )
    wrong = _problems(resources)
    if st.session_state[_INSTANCE] == _NEW:
        _machine_input(resources, wrong)
    number_field("$ an hour", _USD, unit="$", empty="0.75", tip="Of the whole instance with all its GPUs.")
    _say(wrong, _USD)
    _place_input(wrong)
    if line := st.session_state[_REFUSED]:
        show_error(line)
    with st.container(horizontal=True):
        edited: OfferKey | None = st.session_state[_EDITED]
        st.button("Add" if edited is None else "Save", key="offer:put", on_click=_put)
        if edited is not None:
            st.button("Cancel", key="offer:cancel", on_click=_empty)


def can_edit(row: Instance, resources: Resources) -> bool:
    """Whether the form can hold a row: it knows GPUs with a data sheet only."""
    try:
        return bool(resources.gpus.find(row.gpu, row.gpu_memory_gib))
    except InputError:
        return False


def edit_offer(row: Instance, resources: Resources) -> None:
    """Take a row into the form."""
    state = st.session_state
    is_new = row.name not in load_resources().catalog
    state[_INSTANCE], state[_NAME] = (_NEW, row.name) if is_new else (row.name, "")
    state[_GPU] = resources.gpus.find(row.gpu, row.gpu_memory_gib).name
    state[_COUNT], state[_USD], state[_REGION], state[_MARKET] = row.gpu_count, row.usd_per_hour, row.region, row.market
    state[_AS_OF] = _whole_date(row.as_of)
    state[_EDITED], state[_TRIED], state[_REFUSED] = row.offer_key, False, None


def _machine_input(resources: Resources, wrong: Mapping[str, str]) -> None:
    st.text_input("Name", key=_NAME, placeholder="my.l4", autocomplete="off", persist_state="session")
    _say(wrong, _NAME)
    gpu, count = st.columns([2, 1], gap="small")
    with gpu:
        st.selectbox("GPU", tuple(resources.gpus), key=_GPU, persist_state="session")
    with count:
        whole_field("GPUs", _COUNT, 1, MAX_GPUS)


def _place_input(wrong: Mapping[str, str]) -> None:
    market, region, as_of = st.columns(3, gap="small")
    with market:
        st.selectbox(
            "Market",
            MARKETS,
            format_func=lambda name: _MARKET_LABELS.get(name, name),
            key=_MARKET,
            persist_state="session",
        )
    with region:
        st.text_input("Region", key=_REGION, autocomplete="off", persist_state="session")
        _say(wrong, _REGION)
    with as_of:
        st.date_input(
            "Seen on", key=_AS_OF, min_value=date(2000, 1, 1), max_value=date.today(), persist_state="session"
        )


def _problems(resources: Resources) -> dict[str, str]:
    """Field -> one line on what is wrong in it; what is merely empty counts once somebody has tried."""
    state, tried = st.session_state, st.session_state[_TRIED]
    found: dict[str, str] = {}
    name, region = state[_NAME].strip(), state[_REGION].strip()
    if state[_INSTANCE] == _NEW and (name or tried) and (line := _name_problem(name, resources)):
        found[_NAME] = line
    if tried and state[_USD] is None and not is_wrong(_USD):
        found[_USD] = "Give a price."
    if not SHOWN.fullmatch(region) or len(region) > LONGEST_NAME:
        found[_REGION] = "A region has letters, digits, spaces and .,()/_- only."
    return found


def _name_problem(name: str, resources: Resources) -> str | None:
    if not name:
        return "Give it a name."
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        return "A name has letters, digits, dots and dashes."
    edited = st.session_state[_EDITED]
    same = next((known for known in resources.catalog if known.lower() == name.lower()), None)
    if same is not None and (edited is None or same != edited[0]):
        return f"There is {same} already: choose it above, or take another name."
    return None


def _say(wrong: Mapping[str, str], field: str) -> None:
    if field in wrong:
        show_error(wrong[field])


def _put() -> None:
    """Add or change the row, if nothing is wrong with it; else nothing that was typed is lost."""
    state, resources = st.session_state, visitors_resources()
    state[_TRIED], state[_REFUSED] = True, None
    if _problems(resources) or is_wrong(_USD) or is_wrong(_COUNT):
        return
    try:
        put_own_instance(load_resources().catalog, _cells(resources), state[_EDITED])
    except CatalogError as error:
        state[_REFUSED] = str(error)
        return
    _empty()


def _cells(resources: Resources) -> dict[str, str]:
    """The row of the form as a file has it."""
    state, machine = st.session_state, dict.fromkeys(MACHINE_COLUMNS, "")
    if state[_INSTANCE] == _NEW:
        gpu = resources.gpus[state[_GPU]]
        machine |= {"gpu": gpu.name, "gpu_count": str(state[_COUNT]), "gpu_memory_gib": str(gpu.memory_gib)}
    return {
        "instance": state[_INSTANCE] or state[_NAME].strip(),
        **machine,
        "usd_per_hour": as_typed(state[_USD]),
        "region": state[_REGION].strip(),
        "os": state[_EDITED][2] if state[_EDITED] else "linux",
        "market": state[_MARKET],
        "as_of": state[_AS_OF].isoformat(),
        "source": "given by the user",
    }


def _empty() -> None:
    for key, value in _defaults().items():
        st.session_state[key] = value


def _defaults() -> dict[str, object]:
    return {
        _INSTANCE: _NEW,
        _NAME: "",
        _GPU: _FIRST_GPU,
        _COUNT: 1,
        _USD: None,
        _REGION: HOME_REGION,
        _MARKET: ON_DEMAND,
        _AS_OF: date.today(),
        _EDITED: None,
        _TRIED: False,
        _REFUSED: None,
    }


def _whole_date(as_of: str) -> date:
    """The first day of what may be a year or a month only."""
    year, month, day = (*map(int, as_of.split("-")), 1, 1)[:3]
    return date(year, month, day)
