"""Guide: what PROFET is, how to record a profile, how the numbers are made and what they can't tell."""

from __future__ import annotations

import streamlit as st

from profet_core.advice.picks import CLOSE_CALL, CLOSE_CALL_OF_ESTIMATES
from profet_core.cost import MEASURED_EPOCH_FACTOR
from profet_core.latency import Basis
from profet_core.prediction.diagnosis import IDLE_BELOW, INPUT_ABOVE, INPUT_BUSY_BELOW
from profet_core.prediction.refusals import MOST_UNKNOWN_SHARE
from profet_core.prediction.unprofiled import reachable
from profet_core.scaling.scale import AXIS_RANGE
from ui.basis import SHORT_BASIS
from ui.errors import plain
from ui.frame import run_page
from ui.inputs.uploads import CONVERT_COMMAND, max_upload_mb
from ui.method import rule_phrase
from ui.paths import page_path
from ui.state.resources import Resources
from ui.tables import MISSING, format_price, price_source, show_table

_WHAT = """
You train a convolutional network (CNN) and wonder which cloud GPU to rent. PROFET predicts it from **one** profiled
training step on a GPU you already have, the *anchor*: how long a step takes on the other GPUs, and so what an epoch
and a training cost there. The profile holds only total times per operation type, such as 51 ms of `Conv2D`, never
your network's layers, weights or data. It is held in memory for your session only; nothing is stored.

1. **Predict**: one profile in, step latency and cost on every instance out.
2. **Scale**: from the smallest and the largest batch or picture size to every size between.
3. **Cost**: images and epochs in, time and money per epoch and per training out.
4. **Advise**: a deadline, a budget or neither in, what to rent and how sure that is out.
5. **Compare**: many profiles side by side. **Inspect**: what is in one, and what holds its step up.
6. **Accuracy**: how far off it was on networks and GPUs it had never seen, and when not to trust it.
"""

_COMMAND = """\
pip install .                            # in a copy of this project, where the training runs
profet profile train.py -- --epochs 3    # your script, and after -- its own arguments
"""

_RECORD = """
One command records a step of your own training, with **Keras or PyTorch**, and writes `profile.json`:
"""

_RECORDED = """
It runs your script as it is, lets it warm up, takes the median of ten steps **without** the profiler (that is the step
latency, so you type nothing), profiles one step and stops. XLA is switched off for that step, which it says. Upload the
file on **Predict**: GPU, batch and picture size, precision and latency are in it. Record on one of the instances below,
in the middle of training, on one GPU.

In a program of your own, with **Keras**:
"""

_KERAS = """\
from profet_recorder import ProfileCallback

model.fit(images, labels, callbacks=[ProfileCallback("profile.json")])
"""

_PYTORCH = """\
from profet_recorder import record_steps

for images, labels in record_steps(loader, "profile.json", model=model):
    train_step(images, labels)
"""

_TRACES = """
A trace that you have already is read as it is. Its format is told by its content, never by its name; all may be
compressed with gzip. Several files at once make a list: **Compare** predicts all of them, **Inspect** shows what is in
one. A trace seldom tells GPU, batch size or latency: Predict asks.
"""

_STEPS = """
**How many steps?** One in the middle of training is enough; of several the mean counts, which is steadier. Never the
first: it holds start-up and the search for fast kernels. Most traces tell how many steps they cover. Where one does
not, the number is inferred from the step latency, else assumed: two for PROFET's version 1, whose recorder profiles
two, one for all others. If that is wrong, say so: **This profile covers**, beside the upload, or `--steps N`.

**What gets no number.** A profile without GPU time, a step that XLA fused, or one where more than {unknown} of the
GPU's time belongs to no operation: one line says so and how to record it again. **Inspect** shows what is in it.
"""

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

_PRIVATE = """
**What a raw trace reveals.** All formats but PROFET JSON name every layer and scope of your network, in order and with
the time of each; a PyTorch trace may hold shapes, file paths and lines of code. Reduce it on your own machine, and
upload what comes out, a few kilobytes of totals per operation type:
"""

_KEPT = """
Whatever you upload, the server keeps the totals only, in memory and for your session; the file itself is let go as soon
as it is read. A file may have {limit} MB; larger ones are for the same command, which reads up to 1 GB in little
memory.
"""

_RECIPE = """\
import os
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"   # before TensorFlow is imported
import tensorflow as tf

model.compile(..., jit_compile=False)       # "auto" turns XLA on for GPUs, and the operations vanish
for _ in range(2):                          # warm up
    model.train_on_batch(images, labels)

options = tf.profiler.experimental.ProfilerOptions(
    host_tracer_level=2, python_tracer_level=0, device_tracer_level=1
)
tf.profiler.experimental.start("profile", options)
with tf.profiler.experimental.Trace("train", step_num=3, _r=1):
    model.train_on_batch(images, labels)
tf.profiler.experimental.stop()
"""

_AFTER = """
The folder then holds an `xplane.pb`. Keras 3 hides `FusedBatchNormV3`; tf_keras shows it, nearer to the data. Time
a few steps **without** the profiler: their median is the step latency to type in.
"""

_VERSION_1 = '{"Device_Conv2D": 51425.799, "Device_MatMul": 1203.4, "Host_IDLE": 613483.756}'
_VERSION_2 = """\
{
  "operations": {"Device_Conv2D": 25712.8995, "Device_MatMul": 601.7, "Host_IDLE": 306741.878},
  "meta": {
    "gpu": "Tesla T4", "framework": "TensorFlow 2.5", "precision": "fp32", "compiled": false,
    "batch_size": 64, "pixels": 128, "parameters": 23777252, "steps": 1,
    "step_latency_ms": 203.295, "peak_memory_mib": 5210
  }
}"""

_FORMATS = """
**Version 1** is what the original demo takes: microseconds per operation type over the two steps that its recorder
profiles, as one object or a list of one. **Version 2** is of one step, or of as many as `steps` in `meta` says. It adds
what the recorder knows, all of `meta` optional: with it you type little, and a wrong anchor or a wrong batch size is
noticed. Any sample on Predict can be downloaded as an example.
"""

_HELD_UP = f"""
**What holds a step up.** **Inspect** tells from the profile whether the GPU worked or waited: its rows, idle time
included, add up to about the step. A GPU that worked for
less than {IDLE_BELOW:.0%} of the step waits between short operations; input that took more than {INPUT_ABOVE:.0%} of a
step whose GPU worked for less than {INPUT_BUSY_BELOW:.0%} of it holds the step up. Then another GPU won't fix it: of
the measured steps of that kind 6% ran more than 1.5 times as fast on the best other instance, of all others 74%.
"""

_MADE = """
**Operation classes.** The default method groups operations by what they do: convolution forward and its two gradients,
depthwise convolution, matrix product, normalisation, pooling and so on. A table of TensorFlow's and PyTorch's
operations says what each does; kinds that the models never saw join the class that is bound by the same, mostly the
elementwise one, which memory bandwidth bounds. An operation of no known kind is set aside, and its time is carried over
to the target on its own, by less than the usual ratio of the two GPUs; communication between GPUs is left out. The
page says which, and how much of the time it is.

**Cut profiles.** TensorFlow keeps the 500 costliest operations only. A profile that lacks what every training step has
is recognised, its GPU time scaled up from what its host rows tell of the step, and its interval widened. Predict says
so.

**Three members.** For each pair of anchor and target there are two small networks and boosted trees. One network sees
the class times as shares of the step and answers with a multiple of it; the other predicts by how much each class grows
or shrinks, and adds up; the trees correct what the usual growth of each class adds up to. The answer is {default_rule},
with the anchor's latency or without it. If the profile's `meta` tells **batch and pixel size**, members that use them
are asked.

**Interval.** {level} of predictions on left-out architectures fell inside: its width is calibrated on networks that the
models had not seen, and grows with the disagreement of the members and with the profile's distance from the
training data. With {architectures} architectures that is no guarantee for each new network. **Accuracy** says how well
it held.

**A latency you have measured.** One step of the same network, timed once on a target (at another batch or pixel size if
need be), corrects the prediction there: the models' error at the one size is carried to the other, the less the
further apart they are. The field is on **Predict**; the gain is on **Accuracy**.

**The documented PROFET ensemble** is the other method. Device operations with similar *names* are grouped (edit
distance, average linkage, cut at 6), so that `MaxPool` and `MaxPoolGrad` make one feature. For each pair there are
three models: a line on the anchor's latency, a random forest and a dense network (128-64-32-16) on the clustered
profile. With the anchor's latency the answer is the **median of the three**; without it the **mean of the last two**.
It has no interval.

**Scale.** Latency between two sizes follows a law of growth, corrected by what the measured networks showed beyond it.
It hits both of your latencies exactly and never falls between them. PROFET's documented scaler is a curve of second
order per instance and axis; `profet scale --method profet` asks it.

**GPUs that nobody profiled.** Predictions go on from the measured GPUs to those one can rent today, and are marked.
*Derived* (A10G in g5): the same networks ran on that GPU in later measurements of whole epochs, which hold set-up,
validation and monitoring; these were corrected for, as far as a check on T4 and V100 tells. *Transferred* (L4, L40S,
A100, H100, H200): of a step only the GPU's own work is carried over, by the ratio of one published benchmark
(ResNet-50), or of data sheets where there is none; copying, starting and the host's launches stay as they are. Both
have wide intervals that rest on an assumption, named beside them. TF32 is a switch: frameworks use it for convolutions
on Ampere and later unless told otherwise.

**Does it fit in memory?** What ran on 8, 12 and 16 GB and what did not tells how memory grows with parameters and
activations. What ran on the anchor runs on any GPU with as much memory. For a smaller one, or a larger batch, the
recorded peak memory counts, else an estimate from the profile; the answer may be "can't tell".

**Advise.** Each latency's interval becomes a chance: to be done in time, within budget, to be cheaper than another.
Below {too_close} certainty it is called too close to call, below {too_close_estimate} where a GPU was not profiled: its
interval must exclude a tie. Spot prices are yours to give: the shipped list has none.

**Cost.**
"""

_FORMULAS = """\
steps per epoch    = images / batch size, rounded up
time of an epoch   = (steps + validation steps / 3) x step latency
cost of an epoch   = time of an epoch in hours x price per hour
images per second  = batch size / step latency"""

_LIMITS = f"""
- **CNNs only**, trained in **FP32** with **TensorFlow 2.5**, **without XLA**, by plain gradient descent. TF32, mixed
  precision, compilation, other optimisers and other kinds of network are outside the measurements.
- **Four GPUs were profiled**: Tesla M60, K80, V100 and T4; one of them is the anchor. Three of the four instances are
  retired. All other GPUs are derived or transferred, and of those only the A10G could be checked.
- **One GPU at a time.** A node of several has one GPU's latency and the whole node's price, never divided.
- **Batch {AXIS_RANGE["batch"][0]} to {AXIS_RANGE["batch"][1]} and {AXIS_RANGE["pixels"][0]} to
  {AXIS_RANGE["pixels"][1]} pixels.** In the measurements the picture size goes with the number of classes (32 pixels:
  10; 64 and 128: 100; 224 and 256: 1000), so curves over pixels include a growing last layer.
- **Loading data is not in a step.** Measured epochs took {MEASURED_EPOCH_FACTOR[0] - 1:.0%} to
  {MEASURED_EPOCH_FACTOR[1] - 1:.0%} longer than steps times latency.
- **Memory is estimated** without knowing your layers: for a smaller GPU than the anchor's, or a larger batch, the
  answer is often "can't tell". A recorded peak memory (`profet profile` writes it) makes it surer.
- **It errs more on networks unlike those measured.** How much is measured by leaving each architecture out in turn: see
  **Accuracy**. On Predict every sample shows such a left-out prediction beside the truth.
"""

_CREDITS = """
The measurements were made by the authors of PROFET and are published under the MIT licence:
[github.com/ddps-lab/profet](https://github.com/ddps-lab/profet), paper
[arXiv:2208.05130](https://arxiv.org/abs/2208.05130). A10G and P100 are derived from the same lab's later timings,
[ddps-lab/cloud-hw-trainpred](https://github.com/ddps-lab/cloud-hw-trainpred), newer GPUs from the ResNet-50 speeds
that Lambda published, [lambdal/deeplearning-benchmark](https://github.com/lambdal/deeplearning-benchmark).

This program is a new implementation under the MIT licence; the files `LICENSE` and `NOTICE` hold the notices.
Questions, mistakes and wishes: the project's issue tracker, beside the source code.
"""

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
    st.markdown(_WHAT)
    st.header("Record a profile", anchor="record")
    st.markdown(_RECORD)
    st.code(_COMMAND, language="sh", wrap_lines=True)
    st.markdown(_RECORDED)
    st.code(_KERAS, language="python")
    st.markdown("With **PyTorch**, around the loop:")
    st.code(_PYTORCH, language="python")
    with st.expander("By hand, with TensorFlow's profiler"):
        st.code(_RECIPE, language="python")
        st.markdown(_AFTER)
    st.subheader("What can be uploaded", anchor="formats")
    st.markdown(_TRACES)
    show_table([{"Format": name, "From": source, "Note": note} for name, source, note in _FORMATS_READ], "Formats")
    st.markdown(_STEPS.format(unknown=f"{MOST_UNKNOWN_SHARE:.0%}"))
    st.subheader("Keep the network private", anchor="private")
    st.markdown(_PRIVATE)
    st.code(CONVERT_COMMAND, language="sh")
    st.markdown(_KEPT.format(limit=max_upload_mb()))
    st.subheader("The file", anchor="format")
    st.markdown(_FORMATS)
    st.caption("Version 1")
    st.code(_VERSION_1, language="json", wrap_lines=True)
    st.caption("Version 2")
    st.code(_VERSION_2, language="json")
    st.header("How the numbers are made", anchor="method")
    st.markdown(_made(resources))
    st.code(_FORMULAS, language=None)
    st.markdown(_HELD_UP)
    st.page_link(page_path("accuracy"), label="How far off it was, and when not to trust it", icon=":material/rule:")
    st.header("What it can't do", anchor="limits")
    st.markdown(_LIMITS)
    st.header("Instances and prices", anchor="prices")
    _instances(resources)
    st.header("Who measured, licence, contact", anchor="credits")
    st.markdown(_CREDITS)
    st.header("Coming from the original's scripts", anchor="commands")
    show_table([{"Original": f"`{old}`", "Here": _here(new), "Note": note} for old, new, note in _COMMANDS], "Commands")


def _made(resources: Resources) -> str:
    """How both methods work, with what this copy's models say of themselves."""
    models = resources.models
    scale = models.interval_scale(True)
    return _MADE.format(
        default_rule=f"the {rule_phrase(models.method('default').with_latency)}",
        level="90%" if scale is None else f"{scale.level:.0%}",
        too_close=f"{CLOSE_CALL:.0%}",
        too_close_estimate=f"{CLOSE_CALL_OF_ESTIMATES:.0%}",
        architectures=len(models.manifest["training_data"]["architectures"]),
    )


def _here(command: str) -> str:
    return f"`{command}`" if command.startswith("profet") else command


def _instances(resources: Resources) -> None:
    st.markdown(
        "What each number rests on, and the list price that costs are computed with. Your own instances, prices, "
        "regions and spot offers: `profet instances add`; list prices anew: `profet instances refresh`. The app shows "
        "them after its next start."
    )
    basis = dict.fromkeys(resources.models.instances, Basis.MEASURED) | {
        name: resources.models.transfer.basis_of(gpu)
        for name, gpu in reachable(resources.models, resources.catalog).items()
    }
    show_table(
        [
            {
                "Instance": name,
                "GPU": entry.gpu if entry.gpu_count == 1 else f"{entry.gpu_count} × {entry.gpu}",
                "Latency is": SHORT_BASIS[basis[name]] if name in basis else MISSING,
                "GPU memory": f"{entry.gpu_memory_gib:g} GiB",
                "Price per hour": plain(format_price(entry.usd_per_hour)),
                "Price from": price_source(entry),
                "Status": entry.status,
            }
            for name, entry in resources.catalog.items()
        ],
        "Instances and prices",
    )


run_page(body, keys=lambda _: ())
