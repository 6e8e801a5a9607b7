"""The answer as one page to print or send."""

from __future__ import annotations

import streamlit as st

from profet_core.advice.advise import Advice
from profet_core.documents.report import report_html, report_source
from ui.predicted.outcome import Outcome
from ui.state.resources import Resources


def report_button(resources: Resources, outcome: Outcome, advice: Advice) -> None:
    """A button that downloads the page; it is made when it is asked for."""
    prediction = outcome.prediction
    source = report_source(outcome.held.name, prediction, resources.models, prediction.warnings)
    st.download_button(
        "Report",
        lambda: report_html(advice, source),
        file_name="profet-report.html",
        mime="text/html",
        icon=":material/print:",
        key="report",
        on_click="ignore",
        help="One page to print or send.",
    )
