"""About: what PROFET is, and a short guide."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import streamlit as st

from profet_core.catalog.collection import prices_version
from profet_core.catalog.gpus import amp_words, supported_precisions
from profet_core.catalog.instance import cloud_words, date_words
from profet_core.layers.reading import FORMATS
from profet_core.prediction.checks import MAX_UNATTRIBUTED_SHARE
from profet_core.prediction.scaler import axis_range
from profet_core.training.cost import MEASURED_EPOCH_FACTOR
from profet_core.training.several_gpus import MAX_GPUS
from profet_profiles import VERSION
from profet_profiles.whole_files import read_signed
from ui.fields import choice
from ui.frame import run_page
from ui.prices import say_whose
from ui.resources import Resources
from ui.server import WHEEL, recorder_address
from ui.session import session
from ui.tables import show_table
from ui.uploads import max_upload_mb
from ui.words import one_line_errors, page_path, plain, show_code, show_text

_HERE = Path(__file__)
#: Of `clouds.csv`; a change of it is signed here.
_TABLE_SHA256 = "fb3d0238cd519a70aa04f565bb19543e92c06c36db30a762780cbcc4f6f2aba7"
#: Of a cloud, named one by one.
_MAX_REGIONS = 3


def main(resources: Resources) -> None:
    """Draw the page."""
    st.markdown(
        "PROFET predicts which cloud GPU to train a vision network on: how long training takes and what it costs on "
        "each instance type. It needs a profile of one training step on a GPU that you have, or only the network's "
        "name. A profile holds only the total time per operation type, so your network's architecture stays private."
    )
    choice("open", label_visibility="collapsed")
    with one_line_errors():
        _SECTIONS[session.texts.open](resources)


def _record(_: Resources) -> None:
    st.markdown("Install the recorder on the training machine. It needs Python 3.11 to 3.13 and your framework.")
    if not WHEEL.is_file():
        show_code("pip install ./profet_recorder    # in a copy of PROFET's source", wrap_lines=True)
    else:
        if address := recorder_address(st.context.url):
            show_code(f"pip install {address}", wrap_lines=True)
            st.caption("If that machine can't reach this server, copy the file there:")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.download_button(
                WHEEL.name,
                WHEEL.read_bytes,
                WHEEL.name,
                "application/octet-stream",
                key="record:wheel",
                on_click="ignore",
            )
            show_code(f"pip install ./{WHEEL.name}", wrap_lines=True)
    show_text(_HERE.with_name("record.md"))


def _method(resources: Resources) -> None:
    scale = resources.models.interval_scales.get(True)
    low, high = MEASURED_EPOCH_FACTOR
    show_text(
        _HERE.with_name("method.md"),
        {
            "rule": resources.models.method("default").rules[True].words,
            "level": "90%" if scale is None else f"{100 * scale.level:.0f}%",
            "most_gpus": MAX_GPUS,
            "batch": "{}-{}".format(*axis_range("batch")),
            "pixels": "{}-{}".format(*axis_range("pixels")),
            "epoch_longer": f"{100 * (low - 1):.0f}-{100 * (high - 1):.0f}%",
        },
    )


def _files(_: Resources) -> None:
    unknown = f"{100 * MAX_UNATTRIBUTED_SHARE:.0f}%"
    figures = {"networks": FORMATS, "most_unknown": unknown, "max_upload_mb": max_upload_mb()}
    show_text(_HERE.with_name("files.md"), figures)


def _prices(resources: Resources) -> None:
    st.markdown("On **Predict** you can set your own prices, region, and instances. They apply to your session only.")
    say_whose()
    text = read_signed(_HERE.with_name("clouds.csv"), _TABLE_SHA256)
    clouds = {row["cloud"]: row for row in csv.DictReader(text.splitlines())}
    offers = sorted(resources.catalog.all_offers, key=lambda offer: cloud_words(offer.provider).casefold())
    rows = []
    for provider, group in groupby(offers, key=lambda offer: offer.provider):
        each, cloud = list(group), clouds.get(provider, {"who": "", "site": ""})
        regions = list(dict.fromkeys(offer.region for offer in each if offer.region))
        more = f" and {len(regions) - _MAX_REGIONS} more" if len(regions) > _MAX_REGIONS else ""
        months = {date[:7]: date_words(date) for date in sorted(offer.as_of for offer in each if offer.as_of)}
        first, *_, last = [*months.values(), *months.values()] or ["", ""]
        (source, _), *_ = Counter(offer.source.partition(" @ ")[0] for offer in each).most_common(1)
        site = cloud["site"]
        rows.append(
            {
                "Cloud": plain(cloud_words(provider)),
                "Who": plain(cloud["who"]),
                "Site": f"[{plain(site)}](https://{site})" if site else "",
                "Offers": f"{len(each)}",
                "Regions": plain("; ".join(regions[:_MAX_REGIONS]) + more),
                "Prices of": first if first == last else f"{first} to {last}",
                "Source": plain(source),
            }
        )
    show_table(rows, "Clouds: who they are, and where and when their prices are from")
    if st.button("All offers and prices", icon=":material/table_rows:"):
        session.offers.preset, session.predict.chart = "all", "table"
        st.switch_page(page_path("predict"))


def _precisions(resources: Resources) -> None:
    rows = [
        {
            "GPU": gpu.name,
            "Memory": f"{gpu.memory_gib:g} GiB",
            "Precisions": ", ".join(map(str.upper, supported_precisions(gpu))),
            "AMP": amp_words(gpu),
        }
        for gpu in resources.gpus.values()
    ]
    show_table(rows, "GPUs, memory and precisions")


def _credits(resources: Resources) -> None:
    show_text(_HERE.with_name("credits.md"))
    fitted = ", ".join(f"{name} {version}" for name, version in resources.models.manifest["versions"].items())
    models, prices = resources.models.manifest["checksum"][:12], prices_version(resources.catalog.all_offers)
    st.caption(plain(f"PROFET {VERSION}. Models {models}, fitted with {fitted}. Prices {prices}."))


_SECTIONS: dict[str, Callable[[Resources], None]] = {
    "record": _record,
    "own_gpu": lambda _: show_text(_HERE.with_name("custom_gpu.md")),
    "method": _method,
    "files": _files,
    "prices": _prices,
    "precisions": _precisions,
    "credits": _credits,
}

run_page("About", main, lambda: ("open",))
