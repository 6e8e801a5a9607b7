"""The profiles one visitor works with, and what is predicted from them. Nothing here is shared between visitors."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st

from profet_core import InputError, LatencyDoubtError, Prediction, Profile, predict
from profet_core.catalog import gpu_model
from profet_core.samples import Sample
from profet_core.units import latency_to_ms
from ui.link import forget_given, given_by_link
from ui.resources import Resources
from ui.settings import Slot


@dataclass(frozen=True)
class Held:
    """A profile in a slot, with where it came from.

    Attributes
    ----------
    name : what a person knows it by; of an upload it is a stranger's text.
    origin : "sample", "upload" or "paste".
    """

    profile: Profile
    name: str
    origin: str
    sample: Sample | None = None

    @property
    def identity(self) -> str:
        """Differs for two profiles that differ."""
        if self.sample:
            return f"sample {self.sample.name}"
        content = repr((self.origin, sorted(self.profile.operations.items()), self.profile.meta))
        return hashlib.sha256(content.encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """A prediction, and the reason if the latency that was typed could not be used for it.

    Attributes
    ----------
    doubt : the latency makes no sense beside the profile and the visitor has not said yet what to do.
    invalid : one line on a latency that is no latency at all.
    unused_measurement : one line on why a latency measured on a target could not correct the prediction.
    """

    held: Held
    prediction: Prediction
    doubt: LatencyDoubtError | None = None
    invalid: str | None = None
    unused_measurement: str | None = None


def held_in(resources: Resources, slot: Slot) -> Held:
    """The profile shown in `slot`: of the chosen source, or the last good one while that source has none."""
    source = st.session_state[slot.key("source")]
    current = st.session_state.get(_current_key(slot))
    wanted = _wanted(resources, slot, source)
    if wanted is None and current is None:
        # A link to an upload: the file is not in the link. Open with the sample, without the upload's latency.
        forget_given(slot.keys)
        wanted = _sample(resources, slot)
    if wanted is not None and (current is None or wanted.identity != current.identity):
        _show(resources, slot, wanted, current)
    return st.session_state[_current_key(slot)]


def hold_own(slot: Slot, held: Held) -> None:
    """Put a visitor's own profile into `slot`; `held_in` shows it as long as its source is chosen."""
    st.session_state[_own_key(slot, held.origin)] = held


def own_in(slot: Slot, origin: str) -> Held | None:
    """The visitor's last good upload or pasted profile in `slot`."""
    return st.session_state.get(_own_key(slot, origin))


def reread_slot(slot: Slot) -> None:
    """Forget which profile is shown, so that settings are taken from it (or from the link) again."""
    st.session_state.pop(_current_key(slot), None)


def predict_slot(resources: Resources, slot: Slot) -> Outcome:
    """Predict the profile in `slot` with its latency, or without it while the latency is in doubt."""
    held = held_in(resources, slot)
    anchor = st.session_state[slot.anchor_key]
    without = {
        "models": resources.models,
        "catalog": resources.catalog,
        "profile": held.profile,
        "anchor": anchor,
        "method": st.session_state["method"],
    }
    try:
        latency_ms = typed_latency_ms(slot)
        trusted = latency_ms is not None and st.session_state.get(_trust_key(slot)) == (
            held.identity,
            anchor,
            latency_ms,
        )
        return Outcome(held, predict(**without, latency_ms=latency_ms, trust_latency=trusted))
    except LatencyDoubtError as doubt:
        return Outcome(held, predict(**without), doubt=doubt)
    except InputError as error:
        return Outcome(held, predict(**without), invalid=str(error))


def typed_latency_ms(slot: Slot) -> float | None:
    """The latency in `slot`, milliseconds; None if the field is empty."""
    number = st.session_state.get(slot.key("latency"))
    return None if number is None else latency_to_ms(number, st.session_state[slot.key("unit")])


def trust_latency(resources: Resources, slot: Slot, latency_ms: float) -> None:
    """The visitor says that the latency is right as it was typed."""
    held = held_in(resources, slot)
    st.session_state[_trust_key(slot)] = (held.identity, st.session_state[slot.anchor_key], latency_ms)


def use_latency_ms(slot: Slot, latency_ms: float) -> None:
    """Put a latency into the field, in milliseconds."""
    st.session_state[slot.key("latency")] = latency_ms
    st.session_state[slot.key("unit")] = "ms"


def use_sample(slot: Slot, name: str) -> None:
    """Choose a sample, with its own anchor and latency even if the same one was chosen before."""
    st.session_state[slot.key("source")] = "sample"
    st.session_state[slot.key("sample")] = name
    reread_slot(slot)


def profile_defaults(resources: Resources, slot: Slot) -> dict[str, object]:
    """What the shown profile says about the settings that follow it."""
    held = st.session_state.get(_current_key(slot))
    if held is None:
        return {}
    latency_ms = held.sample.latency_ms if held.sample else held.profile.meta.step_latency_ms
    follows = {slot.key("latency"): latency_ms, slot.key("unit"): "ms"}
    if slot.sets_anchor:
        follows[slot.anchor_key] = held.sample.anchor if held.sample else _anchor_of(resources, held.profile)
    return follows


def _wanted(resources: Resources, slot: Slot, source: str) -> Held | None:
    return _sample(resources, slot) if source == "sample" else own_in(slot, source)


def _sample(resources: Resources, slot: Slot) -> Held:
    sample = resources.samples[st.session_state[slot.key("sample")]]
    return Held(resources.profiles[sample.name], sample.title, "sample", sample)


def _show(resources: Resources, slot: Slot, wanted: Held, before: Held | None) -> None:
    """Switch the slot to `wanted`; anchor and latency follow it, or return if it was shown before."""
    parts = slot.following_keys
    memory = st.session_state.setdefault(_memory_key(slot), {})
    if before is not None and before.sample is None:
        memory[before.origin] = (before.identity, {part: st.session_state.get(part) for part in parts})
    st.session_state[_current_key(slot)] = wanted
    remembered_for, remembered = memory.get(wanted.origin, (None, {}))
    follows = remembered if remembered_for == wanted.identity else profile_defaults(resources, slot)
    for part in parts:
        if part in given_by_link():
            continue
        value = follows.get(part)
        if part == slot.anchor_key and value is None:
            value = st.session_state.get(part) or resources.models.instances[0]
        st.session_state[part] = value


def _anchor_of(resources: Resources, profile: Profile) -> str | None:
    """The measured instance whose GPU the profile names, if it names one."""
    if profile.meta.gpu is None:
        return None
    named = gpu_model(profile.meta.gpu)
    return next((name for name in resources.models.instances if resources.catalog[name].gpu_model == named), None)


def _current_key(slot: Slot) -> str:
    return f"shown:{slot.prefix}"


def _own_key(slot: Slot, origin: str) -> str:
    return f"own:{slot.prefix}:{origin}"


def _memory_key(slot: Slot) -> str:
    return f"memory:{slot.prefix}"


def _trust_key(slot: Slot) -> str:
    return f"trusted:{slot.prefix}"
