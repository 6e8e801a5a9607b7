"""The places that hold a profile: one on Predict, one for a measured size, and two for each axis of Scale."""

from __future__ import annotations

from dataclasses import dataclass

from profet_core.scaling.axes import AXIS_RANGE


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that holds one profile.

    Attributes
    ----------
    prefix : opens the names of its settings; empty for Predict's.
    anchor_key : setting that names the instance it was recorded on; both ends of an axis share one.
    sets_anchor : a new profile here changes that setting.
    """

    prefix: str
    anchor_key: str
    sets_anchor: bool = True

    def key(self, part: str) -> str:
        """Name of this slot's setting `part`."""
        return f"{self.prefix}_{part}" if self.prefix else part

    @property
    def keys(self) -> tuple[str, ...]:
        """All settings of this slot."""
        return (*(self.key(part) for part in ("source", "sample", "steps")), *self.following_keys)

    @property
    def following_keys(self) -> tuple[str, ...]:
        """Settings whose default is what the shown profile says."""
        return (*((self.anchor_key,) if self.sets_anchor else ()), self.key("latency"), self.key("unit"))


PREDICT_SLOT = Slot("", "anchor")
#: The anchor's profile of the workload that was measured on a target, if it isn't the one in `PREDICT_SLOT`.
MEASURED_SLOT = Slot("measured", "anchor", sets_anchor=False)
#: Axis -> the slots of its smallest and of its largest size.
END_SLOTS = {
    axis: (Slot(f"{axis}_min", f"{axis}_anchor"), Slot(f"{axis}_max", f"{axis}_anchor")) for axis in AXIS_RANGE
}
ALL_SLOTS = (PREDICT_SLOT, MEASURED_SLOT, *(slot for ends in END_SLOTS.values() for slot in ends))
