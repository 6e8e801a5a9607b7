"""Report on predictions from third-party profiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from profet_core.accuracy.real_checks import RealCheck, RealReading
from profet_core.accuracy.real_figures import RealFigures, figures, figures_by
from profet_core.latency import Basis


@dataclass(frozen=True)
class RealReport:
    """All profiles of a folder, tied to one set of models."""

    models_checksum: str
    made: str
    checks: tuple[RealCheck, ...]
    readings: tuple[RealReading, ...]

    @property
    def compared(self) -> tuple[str, ...]:
        """Profiles with at least one check."""
        return tuple(dict.fromkeys(check.profile for check in self.checks))

    @property
    def averaged(self) -> tuple[str, ...]:
        """Profiles that the means are of."""
        return tuple(dict.fromkeys(check.profile for check in self.of_profiled))

    @property
    def of_profiled(self) -> tuple[RealCheck, ...]:
        """Checks towards GPUs that were profiled for the training data: what the means are over."""
        return tuple(check for check in self.checks if check.basis is Basis.MEASURED)

    @property
    def mean(self) -> RealFigures | None:
        """Over every check of `of_profiled`; None if there is none."""
        return figures(self.of_profiled)

    @property
    def pairs(self) -> dict[tuple[str, str], RealFigures]:
        """(anchor, target) -> figures, unprofiled targets included."""
        return figures_by(self.checks, lambda check: (check.anchor, check.target))

    @property
    def libraries(self) -> dict[str, RealFigures]:
        """Framework -> figures."""
        return figures_by(self.of_profiled, lambda check: check.library)

    @property
    def kinds(self) -> dict[str, RealFigures]:
        """What was trained -> figures."""
        return figures_by(self.of_profiled, lambda check: check.kind)

    @property
    def alike(self) -> tuple[tuple[RealCheck, ...], ...]:
        """All checks, those together that differ in the profile alone."""
        groups: dict[tuple[str, ...], list[RealCheck]] = {}
        for check in self.checks:
            key = (check.anchor, check.target, check.framework, check.kind)
            groups.setdefault(key, []).append(check)
        return tuple(tuple(group) for group in groups.values())

    @property
    def translated(self) -> tuple[RealCheck, ...]:
        """Checks of `of_profiled` whose profile is PyTorch's, translated to TensorFlow's operations."""
        return tuple(check for check in self.of_profiled if check.library == "PyTorch")

    def steps_here_ms(self, checks: Iterable[RealCheck]) -> dict[float, tuple[float, ...]]:
        """What others measured on the very GPU of profiles of `checks` -> the steps of those profiles."""
        here = {row.profile: row.here_ms for row in self.readings if row.here_ms is not None}
        found: dict[float, tuple[float, ...]] = {}
        for name, step_ms in {check.profile: check.step_ms for check in checks}.items():
            if name in here:
                found[here[name]] = (*found.get(here[name], ()), step_ms)
        return found

    def document(self) -> dict[str, object]:
        """The report as `profet validate --real --format json` prints it; all figures percent or milliseconds."""
        ends = {(check.anchor, check.target): check for check in self.checks}
        return {
            "models_checksum": self.models_checksum,
            "made": self.made,
            "pairs": [
                {
                    **{name: getattr(ends[pair], name) for name in ("anchor", "anchor_gpu", "target", "target_gpu")},
                    "basis": ends[pair].basis,
                    **_figures_document(found),
                }
                for pair, found in self.pairs.items()
            ],
            "frameworks": [{"framework": name, **_figures_document(row)} for name, row in self.libraries.items()],
            "kinds": [{"kind": name, **_figures_document(row)} for name, row in self.kinds.items()],
            "mean": _figures_document(self.mean) if self.mean else None,
            "profiles": [asdict(check) for check in self.checks],
            "read": [{**asdict(row), "steps_right": row.steps_right} for row in self.readings],
        }


def _figures_document(row: RealFigures) -> dict[str, float]:
    return {
        "n": row.n,
        "mape_with_latency": row.error.with_latency,
        "mape_without_latency": row.error.without_latency,
        "coverage_90": row.covered.with_latency,
        "coverage_90_without_latency": row.covered.without_latency,
    }
