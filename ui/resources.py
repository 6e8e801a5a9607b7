"""What every visitor shares and nobody changes, loaded once; and a profile as pages hold it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import streamlit as st
from msgspec import Struct

from profet_core import Profile
from profet_core.answers.by_layers import NetworkProfile
from profet_core.answers.context import Context, Served, load_served
from profet_core.catalog.gpus import gpu_label, load_gpus
from profet_core.catalog.instance import CUSTOM_PROVIDER, gpu_words
from profet_core.layers.networks import network_in_file_name
from profet_core.layers.rates import calibrated_gpus
from profet_core.prediction.checks import read_as
from profet_core.prediction.models import Sample, load_samples
from profet_core.prediction.targets import anchor_named, anchor_names
from profet_profiles.profet_json import profile_to_link_text


# Without slots, for the cached property.
class Held(Struct, frozen=True, dict=True):
    """A profile and what is known of it.

    Attributes
    ----------
    key : tells its content apart from others'; a sample's name.
    name : the file's name, or what the visitor called it; no two of a visitor are alike.
    origin : "sample", "upload", "paste", "link" or "network"; "stand-in" of a sample in the place of a missing upload.
    anchor : instance or GPU it was recorded on, None while not known.
    precision, compiled, batch_size, pixels : the visitor's answers where the file doesn't tell.
    network : its name as the visitor chose it, `NO_NETWORK` for none; None while they haven't.
    steps : how many training steps the visitor says the file covers; None while they haven't said.
    """

    key: str
    read: Profile
    name: str
    origin: str
    anchor: str | None = None
    latency_ms: float | None = None
    precision: str | None = None
    compiled: bool | None = None
    batch_size: int | None = None
    pixels: int | None = None
    steps: int | None = None
    network: str | None = None
    sample: Sample | None = None

    @cached_property
    def profile(self) -> Profile:
        """The profile as the visitor's answers have it."""
        meta = self.read.meta
        fields = ("precision", "compiled", "batch_size", "pixels")
        answers = {name: getattr(self, name) for name in fields if getattr(meta, name) is None}
        answers["network"] = self.network or meta.network or network_in_file_name(self.read.file_name)
        return replace(read_as(self.read, self.steps), meta=replace(meta, **answers))

    @cached_property
    def link_text(self) -> str | None:
        """The profile as a link has it, which has no file's name; None if it is too long for one."""
        meta = replace(self.read.meta, network=self.profile.meta.network)
        return profile_to_link_text(replace(self.read, meta=meta))

    @property
    def missing(self) -> list[str]:
        """What to ask of a visitor's own, of "anchor", "batch_size" and "pixels"."""
        meta = self.profile.meta
        answers = {"anchor": self.anchor, "batch_size": meta.batch_size, "pixels": meta.pixels}
        return [name for name, answer in answers.items() if self.is_custom and answer is None]

    @property
    def is_custom(self) -> bool:
        """It is the visitor's own profile."""
        return self.sample is None and not self.is_network

    @property
    def is_network(self) -> bool:
        """It is a network without a profile."""
        return isinstance(self.read, NetworkProfile)


class Resources(Context, frozen=True):
    """The app's read-only inputs: what the core answers from, and the samples.

    `served` is what the server loaded; None: nothing that can change.
    """

    samples: dict[str, Held]
    served: Served | None = None

    @property
    def anchors(self) -> tuple[str, ...]:
        """What a profile can have been recorded on: the measured instances, then every other GPU by its full name."""
        return anchor_names(self.models)

    def gpu_words(self, name: str) -> str:
        """Return an anchor's GPU in a sentence: 'M60' of an instance, 'NVIDIA A100 80 GB (SXM)' of a GPU."""
        return gpu_words(self.catalog[name]) if name in self.catalog else self.anchor_label(name)

    def anchor_label(self, name: str) -> str:
        """'T4 (g4dn.xlarge)' of an instance, 'NVIDIA A100 80 GB (SXM)' of a GPU; your own as it is called."""
        if name in self.catalog:
            return f"{gpu_words(self.catalog[name])} ({name})"
        label = gpu_label(name) if name in load_gpus() else name
        return f"{label} (few steps measured)" if name in calibrated_gpus(self.models) else label

    def anchor_labels(self) -> dict[str, str]:
        """Anchor -> its label, with the custom instances that have its GPU: a box finds by label what is typed."""
        custom: dict[str | None, list[str]] = {}
        for name, entry in self.catalog.items():
            if entry.provider == CUSTOM_PROVIDER:
                custom.setdefault(anchor_named(self.models, self.catalog, name), []).append(name)
        return {name: ", ".join((self.anchor_label(name), *custom.get(name, ()))) for name in self.anchors}


# A spinner needs a visitor, and `warm_up` loads before there is one.
@st.cache_resource(show_spinner=False)
def load_resources() -> Resources:
    """Load and check everything once per server; ArtifactError: a model or a sample is missing, damaged or changed."""
    served = load_served()
    context = served.context
    samples = {
        sample.name: Held(
            sample.name, sample.profile, sample.title, "sample", sample.anchor, sample.latency_ms, sample=sample
        )
        for sample in load_samples()
    }
    return Resources(context.models, context.catalog, context.gpus, samples, served)
