"""Guide: what PROFET is, how to record a profile, how the numbers are made and what they can't tell."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from profet_core.advice.claims import CLOSE_CALL, CLOSE_CALL_OF_ESTIMATES
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.prediction.diagnosis import IDLE_BELOW, INPUT_ABOVE, INPUT_BUSY_BELOW
from profet_core.prediction.refusals import MOST_UNATTRIBUTED_SHARE
from profet_core.prediction.unprofiled import basis_by_instance
from profet_core.scaling.axes import axis_range
from profet_core.units import listed_price
from ui.basis import SHORT_BASIS
from ui.frame import run_page
from ui.inputs.own_instances import say_whose
from ui.inputs.uploads import CONVERT_COMMAND, max_upload_mb
from ui.paths import page_path
from ui.phrases import rule_phrase
from ui.state.resources import Resources
from ui.tables import MISSING, price_source, show_table
from ui.texts import plain, read_text, show_text

_TEXTS = Path(__file__).parent

#: Format, where it comes from, note.
_FORMATS_READ = (
    ("PROFET JSON, version 2", "profet profile, profet convert", "totals and what is known of the step; the best"),
    ("PROFET JSON, version 1", "PROFET's own tools", "totals alone, over two steps"),
    ("xplane.pb", "tf.profiler, TensorBoard callback: plugins/profile/RUN", "TensorFlow 2.2 and later"),
    ("trace.json", "TensorFlow's trace viewer", "the same totals as xplane.pb"),
    ("tensorflow_stats.pb", "beside the trace, TensorFlow 2.2 to 2.6", "the same totals again"),
    ("Timeline", "TensorFlow 1: timeline.Timeline", "of one run of the session"),
    ("zip, tar.gz", "the folder plugins/profile/RUN", "the best file in it is taken and named"),
    ("Statistics CSV", "TensorBoard, XProf: framework op stats", "include idle time; old and new column names"),
    ("framework_op_stats JSON", "XProf", "the table behind that page"),
    (
        "PyTorch trace",
        "torch.profiler: export_chrome_trace, tensorboard_trace_handler",
        "translated to TensorFlow's operations",
    ),
)

#: The original's command, ours, and what it does.
_COMMANDS = (
    ("anchor_preprocessing.py", "nothing to run", "profet train reads the measurements"),
    ("train_anchor_model.py", "profet train", "fits every pair's members"),
    ("train_scaler_model.py", "profet train", "fits the scalers too"),
    ("anchor_prediction.py", "profet predict", "latency on every instance from one profile"),
    ("scaler_prediction.py", "profet scale", "latency at a size between two known ones"),
    ("anchor_validaiton.py", "profet validate", "one anchor: --anchor NAME"),
    ("anchor_validaiton.py without clustering", "profet validate --no-clustering", "what the clusters are worth"),
    ("train_scaler.py, scaler_validation.py", "profet validate --scaler", "true and predicted ends"),
)


def body(resources: Resources) -> None:
    """Draw the page."""
    st.title("Guide")
    show_text(_TEXTS / "what.md")
    st.header("Record a profile", anchor="record")
    show_text(_TEXTS / "record.md")
    with st.expander("By hand, with TensorFlow's profiler"):
        show_text(_TEXTS / "by_hand.md")
    st.subheader("What can be uploaded", anchor="formats")
    show_text(_TEXTS / "traces.md")
    show_table([{"Format": name, "From": source, "Note": note} for name, source, note in _FORMATS_READ], "Formats")
    show_text(_TEXTS / "steps.md", most_unknown=f"{MOST_UNATTRIBUTED_SHARE:.0%}")
    st.subheader("Keep the network private", anchor="private")
    show_text(_TEXTS / "private.md", convert_command=CONVERT_COMMAND, max_upload_mb=max_upload_mb())
    st.subheader("The file", anchor="format")
    show_text(_TEXTS / "file.md")
    st.caption("Version 1")
    st.code(read_text(_TEXTS / "version_1.json"), language="json", wrap_lines=True)
    st.caption("Version 2")
    st.code(read_text(_TEXTS / "version_2.json"), language="json")
    st.header("How the numbers are made", anchor="method")
    _method(resources)
    st.page_link(page_path("accuracy"), label="How far off it was, and when not to trust it", icon=":material/rule:")
    st.header("What it can't do", anchor="limits")
    _limits()
    st.header("Instances and prices", anchor="prices")
    _instances(resources)
    st.header("Who measured, licence, contact", anchor="credits")
    show_text(_TEXTS / "credits.md")
    st.header("Coming from the original's scripts", anchor="commands")
    show_table([{"Original": f"`{old}`", "Here": _here(new), "Note": note} for old, new, note in _COMMANDS], "Commands")


def _method(resources: Resources) -> None:
    """How both methods work, with what this copy's models say of themselves."""
    models = resources.models
    scale = models.interval_scale(True)
    show_text(
        _TEXTS / "method.md",
        default_rule=f"the {rule_phrase(models.method('default').with_latency)}",
        level="90%" if scale is None else f"{scale.level:.0%}",
        too_close=f"{CLOSE_CALL:.0%}",
        too_close_estimate=f"{CLOSE_CALL_OF_ESTIMATES:.0%}",
        architectures=len(models.manifest["training_data"]["architectures"]),
        idle_below=f"{IDLE_BELOW:.0%}",
        input_above=f"{INPUT_ABOVE:.0%}",
        input_busy_below=f"{INPUT_BUSY_BELOW:.0%}",
    )


def _limits() -> None:
    (batch_min, batch_max), (pixels_min, pixels_max) = axis_range("batch"), axis_range("pixels")
    low, high = MEASURED_EPOCH_FACTOR
    show_text(
        _TEXTS / "limits.md",
        batch_min=batch_min,
        batch_max=batch_max,
        pixels_min=pixels_min,
        pixels_max=pixels_max,
        epoch_longer_min=f"{low - 1:.0%}",
        epoch_longer_max=f"{high - 1:.0%}",
    )


def _here(command: str) -> str:
    return f"`{command}`" if command.startswith("profet") else command


def _instances(resources: Resources) -> None:
    st.markdown(
        "What each number rests on, and the list price that costs are computed with. Your own instances, prices, "
        "regions and spot offers: on Cost and Advise, for your session; on the command line `profet instances add`, "
        "and list prices anew `profet instances refresh`."
    )
    say_whose(resources)
    basis = basis_by_instance(resources.models, resources.catalog)
    show_table(
        [
            {
                "Instance": name,
                "GPU": entry.gpu if entry.gpu_count == 1 else f"{entry.gpu_count} × {entry.gpu}",
                "Latency is": SHORT_BASIS[basis[name]] if name in basis else MISSING,
                "GPU memory": f"{entry.gpu_memory_gib:g} GiB",
                "Price per hour": plain(listed_price(entry.usd_per_hour)),
                "Price from": price_source(entry),
                "Status": entry.status,
            }
            for name, entry in resources.catalog.items()
        ],
        "Instances and prices",
    )


run_page(body, keys=lambda _: ())
