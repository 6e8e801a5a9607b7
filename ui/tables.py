"""Tables for the page and for download: a list of rows in, each a mapping of column to value."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from profet_core import Instance
from profet_core.advice.plans import Plan
from profet_core.catalog.instance import OWN_PROVIDER
from profet_core.catalog.naming import cloud_words, gpu_words, price_age_years
from profet_core.memory.fit import FitAnswer, Verdict
from profet_core.units import format_ms, format_significant, format_usd
from ui.result_table.columns import MISSING, Cell

_DASH = "–"  # between the ends of a range


def show_table(rows: Sequence[Mapping[str, str]], alt: str) -> None:
    """A plain HTML table: read by screen readers, copied as text, scrolled sideways where it is too wide."""
    kept_whole = [{column: _unbroken(value) for column, value in row.items()} for row in rows]
    st.table(pd.DataFrame(kept_whole), border="horizontal", hide_index=True, alt=alt)


def _unbroken(value: str) -> str:
    """A short value with non-breaking spaces, so that it never wraps into a tall row on a phone.

    A range breaks after its dash, if at all.
    """
    if value == MISSING:
        return value
    if len(value.replace("\\", "")) <= 16:
        return value.replace(" ", "\N{NO-BREAK SPACE}").replace(_DASH, f"{_DASH}\N{WORD JOINER}")
    low, dash, high = value.partition(f" {_DASH} ")
    return f"{_unbroken(low)} {_DASH} {_unbroken(high)}" if dash else value


def format_range_ms(low_ms: float, high_ms: float) -> str:
    """An interval of latencies: '190–205 ms'; the unit once."""
    return f"{format_significant(low_ms)}{_DASH}{format_ms(high_ms)}"


def fit_cell(answer: FitAnswer | None) -> str:
    """For a table, with the largest batch that fits: 'fits, ≤ 512', 'does not fit, ≤ 16', 'can't tell'."""
    if answer is None:
        return MISSING
    return f"{answer.verdict}, ≤ {answer.largest_batch:,}" if answer.largest_batch else answer.verdict


def fit_sentence(answer: FitAnswer) -> str:
    """Whether it fits, up to which batch, how sure that is, and why."""
    sure = "" if answer.probability is None else f" ({_percent(answer.verdict, answer.probability)})"
    largest = f", up to batch {answer.largest_batch:,}" if answer.largest_batch else ""
    return f"{answer.verdict}{largest}{sure}: {answer.why}."


def _percent(verdict: Verdict, fits: float) -> str:
    if verdict is Verdict.CANT_TELL:
        return f"{fits:.0%} that it fits"
    return f"{min(fits if verdict is Verdict.FITS else 1 - fits, 0.99):.0%} sure"


def gpu_cell(entry: Instance) -> str:
    """'T4, AWS'; of a node 'A100 (1 of 8), GCP': the speed is that of one GPU."""
    gpu = gpu_words(entry) if entry.gpu_count == 1 else f"{gpu_words(entry)} (1 of {entry.gpu_count})"
    return gpu if entry.provider == OWN_PROVIDER else f"{gpu}, {cloud_words(entry.provider)}"


def plan_gpus(plan: Plan) -> str:
    """As `gpu_cell`; where all GPUs of a node train '8 × A100, GCP'."""
    return plan.gpu_words if plan.gpus > 1 else gpu_cell(plan.offer)


def price_cell(offer: Instance) -> Cell:
    """'$1.29', with its year where it is old: '$1.29 · 2024'; beneath a node's what one of its GPUs comes to."""
    share = "" if offer.gpu_count == 1 else f"{format_usd(offer.usd_per_gpu_hour)} a GPU"
    return Cell(price_words(offer), beneath=share)


def price_words(offer: Instance) -> str:
    """US dollars an hour of the whole machine, with the year where the price is more than a year old."""
    old = f" · {offer.as_of[:4]}" if price_age_years(offer.as_of) else ""
    return f"{format_usd(offer.usd_per_hour)}{old}"


def price_source(entry: Instance) -> str:
    """Where a price is from: '2026, us-east-1, on-demand', on one line."""
    if not entry.as_of:
        return entry.market
    text = f"{entry.as_of}, {entry.region}, {entry.market}"
    return text.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")


def download_buttons(rows: Sequence[Mapping[str, object]], stem: str) -> None:
    """What is on screen as CSV and as JSON, with full digits."""
    with st.container(horizontal=True, width="content"):
        for kind, made, mime in (("csv", as_csv, "text/csv"), ("json", as_json, "application/json")):
            download_button(kind.upper(), partial(made, rows), f"{stem}.{kind}", mime, f"{stem}:{kind}")


def download_button(
    label: str, data: str | bytes | Callable[[], str], file_name: str, mime: str, key: str, **more: Any
) -> None:
    """A file to save; data that is made of a function is made when it is asked for."""
    icon = more.pop("icon", ":material/download:")
    st.download_button(label, data, file_name, mime, key=key, icon=icon, on_click="ignore", **more)


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV with a header; a missing value is empty, and no text is a formula to a spreadsheet."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _no_formula(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _no_formula(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def as_json(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as one JSON document; a missing value is null."""
    return json.dumps(list(rows), indent=2, allow_nan=False)
