"""Caveats that increase a prediction's uncertainty, as sentences shown before any number."""

from __future__ import annotations

from collections.abc import Sequence

from profet_core.artifacts.models import Models
from profet_core.artifacts.training_range import TrainingRange
from profet_core.catalog import gpu_model
from profet_core.operations.unknown import UnknownOperations
from profet_core.prediction.anchors import Anchor, anchor_gpu
from profet_core.prediction.estimates import ProfileEstimates
from profet_core.prediction.input_wait import input_wait_warning
from profet_core.prediction.refusals import WARNED_UNATTRIBUTED_SHARE
from profet_core.prediction.steps import steps_note
from profet_core.profiles.record import UNKNOWN_DEVICE_OPERATION, Profile
from profet_core.units import US_PER_MS, format_ms

#: Unknown operations matter above this share of busy time.
NOTABLE_UNKNOWN_SHARE = 0.05


def caveats(
    models: Models,
    profile: Profile,
    anchor: Anchor,
    estimates: ProfileEstimates,
    own_range: TrainingRange | None = None,
) -> tuple[str, ...]:
    """Caveats of `estimates`, which a method made from `profile`: one sentence each, most serious first.

    Parameters
    ----------
    own_range : training range of the anchor, if custom models were trained on its profiles.
    """
    known = own_range or (None if anchor.gpu else models.ranges[anchor.instance])
    found = [
        *profile.warnings,
        _wrong_gpu_warning(models, profile, anchor),
        None if own_range else _unprofiled_anchor_warning(anchor),
        _compiled_warning(profile),
        steps_note(profile),
        _unattributed_warning(profile),
        input_wait_warning(profile),
        _unknown_warning(estimates.unknown),
        *estimates.warnings,
        None if known is None else _range_warning(known, profile, anchor.name),
        _floor_warning(estimates.at_floor),
    ]
    # The recorder may already have written the same note into the profile.
    return tuple(dict.fromkeys(text for text in found if text))


def _wrong_gpu_warning(models: Models, profile: Profile, anchor: Anchor) -> str | None:
    recorded = profile.meta.gpu
    gpu = anchor_gpu(models, anchor)
    if recorded is None or gpu is None or _same_gpu(models, recorded, gpu):
        return None
    given = f"the anchor is {gpu}" if anchor.name == gpu else f"{anchor.name} has {gpu}"
    return f"The profile says it was recorded on {recorded}, but {given}: check the anchor."


def _same_gpu(models: Models, recorded: str, gpu: str) -> bool:
    """Whether a profile's GPU name can denote a GPU; a missing form factor or memory size is no contradiction."""
    if gpu_model(recorded) == gpu_model(gpu):
        return True
    return models.transfer is not None and gpu in {one.name for one in models.transfer.gpus.named(recorded)}


def _unprofiled_anchor_warning(anchor: Anchor) -> str | None:
    if anchor.gpu is None:
        return None
    return (
        f"The models have no profiles of {anchor.gpu.name}: the profile is scaled to profiled GPUs by their speed "
        "at each kind of operation. All predictions are less certain."
    )


def _compiled_warning(profile: Profile) -> str | None:
    if not profile.meta.compiled:
        return None
    return (
        "This step was compiled (XLA or torch.compile), which fuses operations. The models were trained on "
        "uncompiled steps: intervals are wider."
    )


def _unattributed_warning(profile: Profile) -> str | None:
    if profile.unknown_share <= WARNED_UNATTRIBUTED_SHARE:
        return None
    return f"{profile.unknown_share:.0%} of the GPU time belongs to no named operation: the interval is wider."


def _unknown_warning(unknown: UnknownOperations) -> str | None:
    # Time without an operation has its own warning if it matters.
    if not set(unknown.names) - ({UNKNOWN_DEVICE_OPERATION} & set(unknown.left_out)):
        return None
    parts = [f"{name} counted as {cluster}" for name, cluster in unknown.mapped.items()]
    parts += [f"{name} ignored" for name in unknown.left_out]
    shown = "; ".join(parts[:8]) + (f"; and {len(parts) - 8} more" if len(parts) > 8 else "")
    weight = "expect larger errors" if unknown.share > NOTABLE_UNKNOWN_SHARE else "negligible"
    count = len(unknown.names)
    noun = "operation" if count == 1 else "operations"
    return f"The models don't know {count} {noun}, {unknown.share:.1%} of the busy time ({weight}): {shown}."


def _range_warning(known: TrainingRange, profile: Profile, anchor: str) -> str | None:
    low, high = known.device_total_us
    total = profile.device_total_us
    if total == 0 or low * 0.8 <= total <= high * 1.25:
        return None
    side = "shorter" if total < low else "longer"
    return (
        f"This step's GPU time is {side} than any in the training data of {anchor} ({format_ms(total / US_PER_MS)} "
        f"of device time, known {format_ms(low / US_PER_MS)} to {format_ms(high / US_PER_MS)}): the prediction is "
        "an extrapolation."
    )


def _floor_warning(at_floor: Sequence[str]) -> str | None:
    if not at_floor:
        return None
    return f"The prediction for {', '.join(at_floor)} fell below all measurements and was set to half the fastest step."
