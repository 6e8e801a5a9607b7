"""What is in a profile, as words and rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from profet_core import Profile
from profet_core.prediction.placement import Placement
from profet_core.profiles.record import DEVICE_PREFIX, HOST_PREFIX
from profet_core.units import US_PER_MS, format_ms
from ui.inputs.steps import steps_words
from ui.tables import MISSING

_META_WORDS = {
    "gpu": "GPU",
    "framework": "Framework",
    "precision": "Precision",
    "compiled": "Compiled",
    "onednn": "oneDNN on the CPU",
    "batch_size": "Batch size",
    "pixels": "Pixels",
    "parameters": "Parameters",
    "step_latency_ms": "Step latency",
    "peak_memory_mib": "Peak memory",
}
_UNITS = {"step_latency_ms": " ms", "peak_memory_mib": " MiB"}


def fact_rows(profile: Profile) -> list[dict[str, str]]:
    """Format, steps and meta."""
    rows = [
        ("Format", profile.source_format),
        ("Steps", steps_words(profile) + ("" if profile.steps == 1 else "; times are of one")),
        ("Operation types", f"{len(profile.operations)}"),
    ]
    for field, value in asdict(profile.meta).items():
        rows.append((_META_WORDS.get(field, field.replace("_", " ")), _words(field, value)))
    return [{"": name, "In this profile": words} for name, words in rows]


@dataclass(frozen=True, slots=True)
class Side:
    """The GPU's or the host's rows, microseconds."""

    name: str
    busy_us: float
    idle_us: float

    @property
    def total_us(self) -> float:
        """All that was recorded."""
        return self.busy_us + self.idle_us


def sides_of(profile: Profile) -> tuple[Side, Side]:
    """Host and GPU."""
    operations = profile.operations
    host_idle, gpu_idle = (operations.get(f"{prefix}IDLE", 0.0) for prefix in (HOST_PREFIX, DEVICE_PREFIX))
    return (
        Side("host", profile.host_total_us - host_idle, host_idle),
        Side("GPU", profile.device_total_us - gpu_idle, gpu_idle),
    )


def busy_and_idle_words(profile: Profile) -> str:
    """Busy and idle time in a sentence or two."""
    host, gpu = sides_of(profile)
    sentences = ["There are no GPU rows."]
    if gpu.total_us:
        total, share = format_ms(gpu.total_us / US_PER_MS), gpu.idle_us / gpu.total_us
        sentences = [f"The GPU's rows add up to {total} a step, {share:.0%} of it idle."]
    if host.total_us:
        sentences.append(
            f"The host's threads together: {format_ms(host.busy_us / US_PER_MS)} of work and "
            f"{format_ms(host.idle_us / US_PER_MS)} of waiting; most threads wait all the time, which is as it should "
            "be."
        )
    return " ".join(sentences)


def table_row(row: Placement) -> dict[str, object]:
    """One operation, numbers as numbers."""
    return {
        "Operation": row.operation,
        "ms": round(row.time_us / US_PER_MS, 4),
        "% of busy time": None if row.share is None else round(100 * row.share, 2),
        "Kind": row.kind or MISSING,
        "Class": _place(row.operation_class, row.class_known, "by kind"),
        "Cluster": _place(row.cluster, row.cluster_known, "by likeness"),
    }


def data_row(row: Placement) -> dict[str, object]:
    """One operation with full digits, for download."""
    return asdict(row)


def _place(name: str | None, known: bool, otherwise: str) -> str:
    """Where an operation's time went, and how if the models never saw it."""
    if name is None:
        return MISSING
    return name.removeprefix(DEVICE_PREFIX) if known else f"{name.removeprefix(DEVICE_PREFIX)} ({otherwise})"


def _words(field: str, value: object) -> str:
    if value is None:
        return "not told"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}{_UNITS.get(field, '')}"
    return str(value)
