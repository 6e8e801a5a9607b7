"""A profile's network by name, as its file or a user says it, and its step on the profiled instances by its counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np

from profet_core.errors import Code, InputError, Note
from profet_core.latency import smooth_max
from profet_core.layers.network import Counts
from profet_core.layers.networks import (
    PROFET,
    as_in_tensorflow,
    counts_of,
    network_in_file_name,
    network_name,
    shared_name,
)
from profet_core.layers.rates import RATES_NAME, Mode, RateModel, rate_model_of
from profet_core.prediction.checks import waits_for_loader
from profet_core.prediction.counts import CountedStep
from profet_core.prediction.models import Models
from profet_profiles.record import Profile
from profet_profiles.units import format_count

#: Answer for a profile whose network is not to be used, whatever its file is called.
NO_NETWORK = "none"
#: So many times as many parameters are another network's; other classes change them less.
_OTHER_PARAMETERS = 2.0


def network_of(profile: Profile, given: str | None = None) -> str | None:
    """The name of a profile's network in its framework; None if neither a user nor the file says it.

    Parameters
    ----------
    given : by a user: `NO_NETWORK` for none; a number is of parameters, and names none.

    Raises
    ------
    InputError : the user's is unknown.
    """
    given = None if given is None or given.strip()[:1].isdigit() else given
    name = given or profile.meta.network
    if name == NO_NETWORK:
        return None
    try:
        if name is None and (name := network_in_file_name(profile.file_name)) is None:
            return None
        return network_name(name) if waits_for_loader(profile) else as_in_tensorflow(name)
    except InputError as error:
        if given is None:
            return None
        # Without the offer of a network's file.
        what = re.sub(r"( Or|: give an ONNX).*$", "", str(error)).rstrip(".")
        end = "" if what.endswith("?") else "."
        raise InputError(f"{what[:1].upper()}{what[1:]}{end} Correct or remove {{network}}.", "network") from None


def step_by_counts(models: Models, profile: Profile, given: str | None = None) -> CountedStep | Note | None:
    """A profile's step in FP32 on the profiled instances, by its network's counts and what was measured of it.

    Parameters
    ----------
    given : as `network_of` takes it.
    """
    name, meta = network_of(profile, given), profile.meta
    if name is None or not (models.folder / RATES_NAME).is_file():
        return None
    if not set(models.instances) <= (model := rate_model_of(models)).instances.keys():
        return None
    if meta.batch_size is None or meta.pixels is None:
        why = "the batch and pixel size of the profile are needed with it"
        return None if given is None else Note(Code.NETWORK_UNUSED, network=name, why=why)
    try:
        counts = counts_of(name, meta.pixels)
    except InputError:
        return Note(Code.NETWORK_UNUSED, network=name, why=f"it can't be built for images of {meta.pixels:,} pixels")
    recorded = meta.parameters or counts.parameters
    if not 1 / _OTHER_PARAMETERS <= counts.parameters / recorded <= _OTHER_PARAMETERS:
        why = f"it has {format_count(counts.parameters)} parameters, the profile says {format_count(recorded)}"
        return Note(Code.NETWORK_UNUSED, network=name, why=why)
    steps = _STEPS.setdefault(models, {})
    key = name, meta.batch_size, meta.pixels, waits_for_loader(profile)
    if key not in steps:
        if len(steps) >= _MAX_STEPS:
            steps.clear()
        steps[key] = _latencies_ms(models, model, name, counts, meta.batch_size, is_measured=not key[-1])
    return CountedStep(name, steps[key])


#: Steps by counts of some models: network, batch size, pixels, whether in PyTorch -> instance -> milliseconds.
_STEPS: WeakKeyDictionary[Models, dict[tuple[str, int, int, bool], Mapping[str, float]]] = WeakKeyDictionary()
_MAX_STEPS = 1_000


def _latencies_ms(
    models: Models, model: RateModel, name: str, counts: Counts, batch_size: int, *, is_measured: bool
) -> Mapping[str, float]:
    names = list(models.instances)
    gpus = [models.transfer.gpus[model.instances[name].gpu] for name in names]
    targets = list(zip(gpus, [models.transfer.step.hosts[name] for name in names], strict=True))
    modes = [Mode.FP32] * len(names)
    work_ms, launch_ms, start_ms = model.steps_ms(counts, batch_size, targets, modes, names, is_measured)
    places = names if name.startswith(PROFET) else [gpu.name for gpu in gpus]
    log_ratios, _ = model.known.corrections(shared_name(name), places, modes, batch_size, counts.pixels)
    latencies_ms = (smooth_max(work_ms, launch_ms) + start_ms) * np.exp(log_ratios)
    return dict(zip(names, latencies_ms.tolist(), strict=True))
