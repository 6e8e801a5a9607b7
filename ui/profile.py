"""Ask for the network's profile, its anchor and latency, and say what to keep in mind about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Literal

import streamlit as st

from profet_core import InputError, ProfetError
from profet_core.errors import ACTION_CODES, STEPS_CODES, Code, Note
from profet_core.layers.by_name import NO_NETWORK
from profet_core.layers.measured import LONGEST_TIME, TrainingLog
from profet_core.layers.networks import named_networks, native_pixels
from profet_core.layers.reading import FORMATS
from profet_core.prediction.checks import (
    MOSTLY_BUSY,
    VISION_TRANSFORMER,
    counted,
    diagnose,
    steps_note,
    steps_words,
    untold,
)
from profet_core.prediction.targets import anchor_in_text, recorded_on
from profet_core.training.cost import MAX_IMAGES
from profet_profiles.limits import MAX_STEPS
from profet_profiles.reading import sizes_in_name
from profet_profiles.sandbox import read_guarded
from profet_profiles.units import format_ms
from ui.custom import (
    MAX_NAME_LETTERS,
    add_profile,
    change_profile,
    custom_profile_in,
    keep_given,
    profile_in_slot,
    remove_profiles,
)
from ui.fields import aside_note, choice, network_name_input, number_field, select, set_aside, toggle
from ui.predicted import Predicted
from ui.resources import Held, Resources
from ui.server import others_first
from ui.session import LINKED, Slot, latency_text, session
from ui.uploads import Take, log_input, network_file, notes_on, read_given_log, read_uploads, show_notes, upload_input
from ui.words import ANCHOR_LABEL, inside_link, plain, record_link, sentence, show_error, show_warning

#: Field of `Held` -> label, answers and tip.
_QUESTIONS: Mapping[str, tuple[str, Mapping[str | bool | None, str], str]] = {
    "precision": (
        "Precision of the step",
        {None: "Don't know", "fp32": "FP32", "tf32": "TF32", "amp": "AMP (mixed FP16)", "bf16": "AMP (mixed BF16)"},
        "On Ampere and later, PyTorch and TensorFlow use TF32 by default.",
    ),
    "compiled": (
        "Compiled (XLA, torch.compile)?",
        {None: "Don't know", False: "No", True: "Yes"},
        "Compilers fuse operations, and the models have not seen fused ones.",
    ),
}
_SHARE_TIP = (
    "Puts the profile into this page's link, so it survives a reload: the time per operation type, and the step's "
    "metadata."
)
_PASTED_NAME = "pasted text"
_PASTE_EXAMPLE = '{"Device_Conv2D": 51425.8, "Device_MatMul": 1203.4, "Host_IDLE": 613483.8}'


def network_input(resources: Resources) -> None:
    """Ask for the network, where it was measured, and how long its step took there."""
    read_given_log(partial(_take_log, resources))
    select(
        "anchor",
        resources.anchor_labels(),
        label=ANCHOR_LABEL,
        index=None,
        placeholder="Choose a GPU",
        help="The instance or GPU that the profile was recorded on, or that you measured a step on. Type part of its "
        "name to find it. Not listed? Add it under *Prices*, or measure it: see *Custom GPU* on About.",
        on_change=_choose_anchor,
    )
    held = _profile_input(resources, session.profile, "2 · Your network")
    _latency_input(resources, session.profile, "3 · Measured time there (optional)")
    log_input()
    if held.is_custom:
        _name_input(held, session.profile.prefix)
    if held.is_network and not session.profile.latency:
        st.button(
            ":primary[Example: 31 min/epoch on an RTX 4090]", key="example", type="tertiary", on_click=_use_example
        )


def _take_log(resources: Resources, log: TrainingLog) -> None:
    """Fill in what a log says: its time, its GPU, and the sizes of a network without a profile."""
    session.profile.latency = log.time
    if gpu := recorded_on(resources.models, log.gpu):
        session.network.anchor = session.custom.chosen_anchor = gpu
    if session.profile.source == "name":
        session.file.net_batch = log.batch_size or session.file.net_batch
        session.file.net_pixels = log.pixels or session.file.net_pixels


def _use_example() -> None:
    """Fill in what somebody measured of the sample network."""
    file = session.file
    file.net_from, file.net, file.net_batch, file.net_pixels = "name", "resnet50", 64, None
    session.network.anchor = session.custom.chosen_anchor = "GeForce RTX 4090"
    session.profile.latency = "31 min/epoch"


def _choose_anchor() -> None:
    """Keep the choice; a latency is of the GPU that was chosen before, and a sample's of its own."""
    shown, now = session.profile.shown, session.network.anchor
    before, session.custom.chosen_anchor = session.custom.chosen_anchor, now
    if shown is not None and shown.is_custom:
        before = session.custom.profiles[shown.key].anchor
    for slot in session.slots:
        held = slot.shown
        if held is not None and (not slot.latency or slot.usable_ms is not None):
            is_samples = not held.is_custom and slot.latency == latency_text(held.latency_ms)
            set_aside(_aside(slot), held.anchor if is_samples else before, now, [slot.key("latency")])


def _aside(slot: Slot) -> str:
    return f"{slot.prefix}:{slot.shown.key if slot.shown else ''}"


def second_input(resources: Resources) -> None:
    """Ask for a profile of another size of the same network: sizes between are more accurate with it."""
    tip = "Add a profile of the same network and GPU at another size. Predictions between the two are more accurate."
    toggle("second", help=tip)
    if session.network.second:
        with st.container(border=True):
            held = _profile_input(resources, session.second, "Second profile")
            _latency_input(resources, session.second, "Its measured time per step (optional)")
            _size_inputs(held, session.second.prefix)


_SIZE_LABELS = {"batch_size": "Batch size", "pixels": "Image size"}


def _size_inputs(held: Held, prefix: str) -> None:
    """Ask for the sizes that an uploaded profile was recorded at, where its file has none."""
    for name, label in _SIZE_LABELS.items():
        if held.is_custom and getattr(held.read.meta, name) is None:
            draw = partial(number_field, bounds=(1, MAX_IMAGES), label=label, empty="not known")
            _ask(draw, held, prefix, name, getattr(held, name))


_OTHER_TRANSFORMER = "Another vision transformer"


def _name_input(held: Held, prefix: str) -> None:
    """Which network was profiled: as the file or its name says, until the visitor says otherwise."""
    stated = held.profile.meta.network
    stated = None if stated == NO_NETWORK else stated
    draw = partial(
        st.selectbox,
        "Network (optional)",
        list(dict.fromkeys((*filter(None, [stated]), VISION_TRANSFORMER, *named_networks()))),
        index=None,
        format_func=lambda name: _OTHER_TRANSFORMER if name == VISION_TRANSFORMER else name,
        placeholder="Not known",
        help="Its layers make predictions for GPUs with profiled models more accurate. Taken from the file's name "
        "where it has one. Empty: the profile alone.",
    )
    _ask(draw, held, prefix, "network", stated, empty=NO_NETWORK)


def _ask(draw: Callable[..., Any], held: Held, prefix: str, name: str, value: object, empty: object = None) -> None:
    """Draw an uploaded profile's field, which shows the `value` it has now; another one is kept with the profile.

    Another value is another field: a browser keeps what a field in a closed popover showed, and would send that.
    `empty`: what an empty field means.
    """
    key = f"{prefix}:{name}:{held.key}:{value}"
    st.session_state[key] = value

    def change() -> None:
        given = st.session_state[key]
        change_profile(held.key, {name: empty if given is None else given})

    draw(key=key, on_change=change)


def _take_gpu(resources: Resources, slot: Slot) -> None:
    """Of a network without a profile: take the GPU from a time as the commands write it, `RTX 4090=46ms`."""
    gpu, _, time = (slot.latency or "").partition("=")
    if time and slot.source == "name" and (anchor := recorded_on(resources.models, gpu.strip())):
        session.network.anchor = session.custom.chosen_anchor = anchor
        slot.latency = time.strip()


def _latency_input(resources: Resources, slot: Slot, label: str) -> None:
    """One training step's time on the anchor, with its unit."""
    st.text_input(
        label,
        key=slot.key("latency"),
        value=None,
        placeholder="122.4 ms, 7.3 it/s or 14 min/epoch",
        max_chars=LONGEST_TIME,
        help="Time of a training step on that GPU, without the profiler: 122.4 ms, 7.3 it/s, 520 images/s, "
        "14 min/epoch (of the images below), or the progress line of Keras or tqdm. Leave empty if unknown.",
        on_change=_take_gpu,
        args=(resources, slot),
        persist_state="session",
    )
    held = slot.shown
    _, kept = session.custom.aside.get(_aside(slot), (None, {}))
    if held is not None and (held.is_custom or latency_text(held.latency_ms) not in kept.values()):
        aside_note(_aside(slot), session.network.anchor, resources.gpu_words)


def _guesses(resources: Resources, held: Held) -> dict[str, Any]:
    """Of what is missing: what the file's name says, None where it says nothing."""
    batch_size, pixels = sizes_in_name(held.read.file_name or held.name)
    anchor = anchor_in_text(resources.models, resources.catalog, held.read.file_name or held.name)
    return {"anchor": anchor, "batch_size": batch_size, "pixels": pixels}


def answer_from_name(resources: Resources) -> None:
    """Take what the shown file doesn't say from its name, if that says all of it."""
    held = profile_in_slot(resources, session.profile)
    if not held.missing or st.session_state.get(_asked_key(held)):
        return
    anchor = held.anchor or session.network.anchor
    guesses = _guesses(resources, held) | ({} if anchor is None else {"anchor": anchor})
    given = {name: guesses[name] for name in held.missing}
    if None not in given.values():
        _answer_missing(held, given)
        profile_in_slot(resources, session.profile)


def _answer_missing(held: Held, given: Mapping[str, Any]) -> None:
    change_profile(held.key, given)
    if "anchor" in given:
        session.network.anchor = session.custom.chosen_anchor = given["anchor"]


def _asked_key(held: Held) -> str:
    """Key of whether the form asks though the file's name says all."""
    return f"missing:asked:{held.key}"


def _show_answered(held: Held) -> None:
    """Say which sizes are from the file's name, with a button that asks for them."""
    if not held.is_custom:
        return
    named = dict(zip(_SIZE_LABELS, sizes_in_name(held.read.file_name or held.name), strict=True))
    sizes = {name: size for name, size in named.items() if size and getattr(held.read.meta, name) is None}
    if not sizes or any(getattr(held, name) != size for name, size in sizes.items()):
        return
    words = " and ".join(f"{size} px" if name == "pixels" else f"batch {size}" for name, size in sizes.items())

    def ask() -> None:
        st.session_state[_asked_key(held)] = True
        change_profile(held.key, dict.fromkeys(sizes))
        st.session_state.update({key: None for name, key in session.profile.sizes.items() if name in sizes})

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        are = "are" if len(sizes) > 1 else "is"
        st.caption(plain(f"{sentence(words)} {are} from the file's name."), width="content")
        st.button(":primary[Change]", key="missing:change", type="tertiary", on_click=ask)


def missing_input(resources: Resources, held: Held) -> None:
    """Ask once for what the visitor's file doesn't say: the GPU, batch and image size; its name may say them."""
    if not held.missing:
        _show_answered(held)
        return
    guesses = _guesses(resources, held)
    keys = {name: f"missing:{name}:{held.key}" for name in held.missing}
    for name, key in keys.items():
        st.session_state.setdefault(key, guesses[name])

    def answer() -> None:
        _answer_missing(
            held, {name: st.session_state[key] for name, key in keys.items() if st.session_state[key] is not None}
        )

    with st.form("missing"):
        prefilled = " Values taken from the file name are filled in." * any(guesses[name] is not None for name in keys)
        st.markdown(f"Some details are missing from **{plain(held.name)}**.{prefilled}")
        row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
        if "anchor" in keys:
            row.selectbox(
                "Which GPU was this recorded on?",
                resources.anchors,
                index=None,
                format_func=resources.anchor_labels().__getitem__,
                key=keys["anchor"],
                placeholder="Choose a GPU",
                width=320,
            )
        for name, label in _SIZE_LABELS.items():
            if name in keys:
                at = row.container(width=150)
                number_field(keys[name], (1, MAX_IMAGES), label=label, empty="not known", at=at)
        row.form_submit_button("Continue", type="primary", on_click=answer)
        if held.anchor is not None:
            are = "per step" if "batch_size" in keys else "at the recorded size"
            st.caption(f"Results below are {are} until you continue.")


def latency_question(network: Predicted) -> None:
    """Ask about a latency that makes no sense; until the answer it is not used."""
    doubt, slot = network.doubt, session.profile
    if doubt is None:
        return
    st.warning(
        f"{plain(doubt.args[0])} Until you answer, the numbers below are predicted **without** a latency.",
        icon=":material/help:",
    )
    with st.container(horizontal=True):
        if (steps := doubt.suggested_steps) is not None and network.held.is_custom:
            change = partial(change_profile, network.held.key, {"steps": steps})
            st.button(f"Read it as {steps} step{'s' if steps > 1 else ''}", key=":use-steps", on_click=change)
        if (meant_ms := doubt.suggested_ms) is not None:
            use = partial(setattr, slot, "latency", latency_text(meant_ms))
            st.button(f"Use {format_ms(meant_ms)}", key=":use-suggested", on_click=use)
        st.button("Use it as typed", key=":use-typed", on_click=network.trust_latency)


def _profile_input(resources: Resources, slot: Slot, label: str) -> Held:
    """Where the profile comes from; returns the one that is shown."""
    is_first = slot is session.profile
    sources = LINKED["source"].options
    choice(slot.key("source"), {key: sources[key] for key in sources if is_first or key != "name"}, label=label)
    if slot.source == "name":
        _named_input()
        return profile_in_slot(resources, slot)
    if slot.source == "sample":
        titles = {name: sample_label(sample) for name, sample in resources.samples.items()}
        tip = "Real measurements to try the app with, unless the name says otherwise."
        select(slot.key("sample"), titles, help=tip)
    elif slot.source == "upload":
        upload_input(slot.prefix)
        if slot is session.profile and not session.custom.profiles:
            record_link(hint=bool(notes_on(slot.prefix).errors))
    else:
        _paste_input(resources, slot)
    if slot.source != "sample":
        _profile_choice(slot)
    held = profile_in_slot(resources, slot)
    if slot.source != "sample":
        facts = f"{plain(held.profile.source_format)}, {len(held.profile.operations)} operation types"
        still = f"No upload yet: still showing the sample {plain(held.name)}."
        st.caption(f"{plain(held.name)}: {facts}." if held.is_custom else still)
    if held.is_custom and (note := steps_note(counted(held.profile, slot.usable_ms))):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(note[0], width="content")
            key, edit = f"{slot.prefix}:change-steps", _edit_key(slot)
            st.button(
                ":primary[Change]", key=key, type="tertiary", on_click=partial(setattr, st.session_state, edit, True)
            )
    if is_first:
        inside_link("Look inside the profile", None if held.is_custom else held.key)
        if held.is_custom:
            # Totals only, but whoever has the link has them.
            st.toggle(
                "Share with this profile",
                key=session.custom.key("share_profile"),
                persist_state="session",
                disabled=held.link_text is None,
                help="This profile is too long for a link." if held.link_text is None else _SHARE_TIP,
            )
    return held


_FILE_TIP = (
    f"{FORMATS[0].upper()}{FORMATS[1:]}. Only its layers are read, and the file is not kept. If it is too big with its "
    "weights, upload the output of `model.to_json()`."
)


def _named_input() -> None:
    """Ask for a network by name or file, at its batch and image size."""
    choice("net_from", label_visibility="collapsed")
    pixels, empty = session.file.net_pixels, "its own"
    if session.file.net_from == "name":
        network_name_input()
        with suppress(InputError):
            empty = f"{native_pixels(session.file.net)}"
    else:
        empty = "from file"
        network = network_file(_FILE_TIP, pixels=pixels)
        if network is None:
            st.caption("No file yet.")
        elif pixels not in (None, read_at := network.counts.pixels):
            show_error(f"This file was read at {read_at} pixels. To use {pixels}, upload it again.")
    batch, size = st.columns(2, gap="small")
    number_field("net_batch", at=batch)
    number_field("net_pixels", empty=empty, help="Height and width in pixels.", at=size)


def sample_label(held: Held) -> str:
    """'ResNet50, 224 px, batch 64, g4dn'; PROFET's test data are known by their letter."""
    title, _, instance = held.name.partition(", on ")
    return f"{title.replace(' pixels', ' px').replace('PROFET test ', 'Test ')}, {instance.partition('.')[0]}"


def _paste_input(resources: Resources, slot: Slot) -> None:
    if slot.pasted_done:
        slot.pasted, slot.pasted_done = "", False
    text = st.text_area(
        "Profile as JSON", placeholder=_PASTE_EXAMPLE, height=150, key=slot.key("pasted"), persist_state="session"
    )
    st.button("Read it", key=f"{slot.prefix}:read-pasted")
    if not text.strip():
        return
    try:
        with others_first():
            profile = read_guarded(text.encode("utf-8", "replace"), _PASTED_NAME)
        custom, is_new = add_profile(resources, profile, _PASTED_NAME, "paste")
    except ProfetError as error:
        show_error(str(error))
        return
    take_new(resources, slot)([custom] * is_new, custom)
    slot.pasted_done = True
    st.rerun()


def take_new(resources: Resources, slot: Slot) -> Take:
    """Show the last of some profiles in `slot`, with what the visitor gave before."""

    def take(new: Sequence[Held], last: Held) -> list[str]:
        lines = [keep_given(resources, slot, custom, alone=len(new) == 1) for custom in new]
        slot.chosen = last.key
        return [line for line in lines if line]

    return take


def read_profiles(resources: Resources, slot: Slot) -> None:
    """Read what was uploaded to `slot`, and say what became of it."""
    read_uploads(resources, slot.prefix, take_new(resources, slot))
    if slot.source == "upload":
        shown = profile_in_slot(resources, slot)
        name = f"{shown.name} is" if shown.is_custom else "The sample is"
        show_notes(slot.prefix, f"{name} still shown.")


def _profile_choice(slot: Slot) -> None:
    """Which uploaded profile `slot` shows, if there are several; and what can be done with it."""
    every, custom = session.custom.profiles, custom_profile_in(slot)
    if custom is None:
        return
    if slot.chosen != custom.key:
        slot.chosen = custom.key
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    if len(every) > 1:
        row.selectbox(
            f"Profile ({len(every)} uploaded)",
            tuple(every),
            format_func=lambda key: every[key].name if key in every else "",
            key=slot.key("chosen"),
            persist_state="session",
            width="stretch",
        )
    with row.popover("Edit", icon=":material/edit:", key=_edit_key(slot), on_change="rerun"):
        rename_input(custom, slot.prefix)
        if slot is session.profile:
            _size_inputs(custom, slot.prefix)
        step_questions(custom, slot.prefix, slot.usable_ms)
        remove, key = f"Remove {plain(custom.name)}", f"{slot.prefix}:remove"
        st.button(remove, key=key, icon=":material/delete:", on_click=remove_profiles, args=(custom.key,))
        remove_all_button(slot.prefix)


def _edit_key(slot: Slot) -> str:
    return f"{slot.prefix}:edit"


def rename_input(custom: Held, prefix: str) -> None:
    """Ask what the visitor calls it."""
    # What it is called now: the list may have shortened or numbered what was typed.
    _ask(partial(st.text_input, "Name", max_chars=MAX_NAME_LETTERS), custom, prefix, "name", custom.name)


def remove_all_button(prefix: str, kind: Literal["secondary", "tertiary"] = "secondary") -> None:
    """Offer to empty the list, where there is more than one."""
    if len(keys := tuple(session.custom.profiles)) > 1:
        icon, key = ":material/delete_sweep:", f"{prefix}:remove-all"
        st.button(f"Remove all {len(keys)}", key=key, icon=icon, on_click=remove_profiles, args=keys, type=kind)


def step_questions(held: Held, prefix: str, latency_ms: float | None) -> None:
    """Ask of a visitor's file what it doesn't say: steps, precision, compilation. The answers stay with the profile.

    `latency_ms`: of one step on the anchor, if known: the number of steps may be inferred from it.
    """
    if not held.is_custom:
        return
    shown = counted(held.profile, latency_ms)
    # The file or the latency may tell.
    tip = "Times are divided by it. A wrong number is a wrong prediction: twice the steps, half the time."
    at = st.container(width=200)
    draw = partial(number_field, bounds=(1, MAX_STEPS), label="Steps in the file", help=tip, at=at)
    _ask(draw, held, prefix, "steps", shown.steps)
    st.caption(next(iter(steps_note(shown)), f"{sentence(steps_words(shown))}."))
    with st.container(horizontal=True, gap="small"):
        for field in untold(held.read):
            label, answers, tip = _QUESTIONS[field]
            words = answers.__getitem__
            draw = partial(st.selectbox, label, tuple(answers), format_func=words, help=tip, width=230)
            _ask(draw, held, prefix, field, getattr(held, field))


def besides_steps(warnings: Iterable[Note], held: Held) -> tuple[Note, ...]:
    """`warnings` without the one that an upload's choice of steps shows already."""
    return tuple(note for note in warnings if not (held.is_custom and note.code in STEPS_CODES))


def _network_notices(network: Predicted) -> None:
    """Whether a measured time is usual, what to check if not, and which network is meant."""
    if session.profile.latency and session.network.anchor is None:
        st.info("Choose the GPU that you measured on (1): the time is not used yet.", icon=":material/help:")
    for note in network.training.warnings:
        if note.code is Code.USUAL:
            st.markdown(plain(note))
        elif note.code in ACTION_CODES:
            show_warning(note)
        else:
            st.caption(plain(note))


def show_notices(network: Predicted, *, besides: Collection[Code] = ()) -> None:
    """Show what could not be used, what the profile warns of, and what another GPU doesn't change.

    `besides`: codes of what the page shows elsewhere.
    """
    profile = network.training.profile
    for problem in network.problems:
        show_error(problem)
    if network.held.is_network:
        _network_notices(network)
        return
    warnings = besides_steps(network.training.warnings, network.held)
    shown = [note for note in warnings if note.code not in besides]
    lines: list[str] = [note for note in shown if note.code in ACTION_CODES]
    diagnosis = diagnose(profile, network.training.prediction.anchor_latency_ms)
    if diagnosis.another_gpu_helps and diagnosis.gpu_busy_share is not None and diagnosis.gpu_busy_share < MOSTLY_BUSY:
        lines.append(diagnosis.sentence)
    if lines:
        mark = "- " if len(lines) > 1 else ""
        st.warning("\n".join(f"{mark}{plain(line)}" for line in lines), icon=":material/warning:")
    notes: list[str] = [note for note in shown if note.code not in {*ACTION_CODES, Code.CORRECTED}]
    notes += [f"Ignored in the file: {line}." for line in profile.ignored]
    with st.expander(f"{len(notes)} notes about this profile") if len(notes) > 1 else nullcontext():
        for note in notes:
            st.caption(plain(note))
    # Nothing is wrong with the numbers for these.
    for corrected in (note for note in warnings if note.code is Code.CORRECTED):
        st.caption(plain(corrected))
