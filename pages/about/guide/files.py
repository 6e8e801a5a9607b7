"""Which files are read, what is made of them, and how a network stays private."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from profet_core.prediction.refusals import MOST_UNATTRIBUTED_SHARE
from ui.inputs.uploads import CONVERT_COMMAND, max_upload_mb
from ui.state.resources import Resources
from ui.tables import show_table
from ui.texts import read_text, show_code, show_text

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
#: The same of networks, for estimates without a profile.
_NETWORKS_READ = (
    (".keras", "model.save", "its description; weights are not opened"),
    ("Model JSON", "model.to_json, Keras 2 and 3", "the same description"),
    ("ONNX", "torch.onnx.export, tf2onnx", "the graph; weights are passed over, other files never opened"),
    ("Layer table", "you", "CSV, a line a layer: docs/NETWORKS.md"),
)


def show_files(_: Resources) -> None:
    """The formats, the number of steps, networks, privacy, and PROFET JSON itself."""
    show_text(_TEXTS / "traces.md")
    show_table([{"Format": name, "From": source, "Note": note} for name, source, note in _FORMATS_READ], "Formats")
    show_text(_TEXTS / "steps.md", most_unknown=f"{MOST_UNATTRIBUTED_SHARE:.0%}")
    st.subheader("Networks that nobody profiled", anchor="networks")
    show_text(_TEXTS / "networks.md")
    show_table([{"Format": name, "From": source, "Note": note} for name, source, note in _NETWORKS_READ], "Networks")
    st.subheader("Keep the network private", anchor="private")
    show_text(_TEXTS / "private.md", convert_command=CONVERT_COMMAND, max_upload_mb=max_upload_mb())
    st.subheader("PROFET JSON", anchor="format")
    show_text(_TEXTS / "file.md")
    st.caption("Version 1")
    show_code(read_text(_TEXTS / "version_1.json"), wrap_lines=True)
    st.caption("Version 2")
    show_code(read_text(_TEXTS / "version_2.json"))
