"""Read reports of measured accuracy that ship with the models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from profet_core.errors import ArtifactError
from profet_core.files import JsonObject, manifest_checksum, shown, strict_json


def read_report(path: Path, command: str, **made_for: str) -> JsonObject:
    """A report as `command` wrote it.

    Parameters
    ----------
    made_for : what it judges, "models" or the name of a file of coefficients without its ending -> the checksum of the
        loaded one. A report on models has no checksum of its own.

    Raises
    ------
    ArtifactError : it is missing, damaged or changed, or was made for other models or coefficients.
    """
    remedy = f"restore it (git checkout models) or run `{command}`"
    try:
        report = strict_json(path)
    except OSError:
        raise ArtifactError(f"The accuracy report {shown(path)} is missing: {remedy}.") from None
    except (ValueError, RecursionError):
        report = None
    whole = isinstance(report, Mapping) and (
        "models" in made_for or report.get("checksum") == manifest_checksum(report)
    )
    if not isinstance(report, Mapping) or not whole:
        raise ArtifactError(f"The accuracy report {shown(path)} is damaged or was changed: {remedy}.")
    for name, loaded in made_for.items():
        if report.get(f"{name}_checksum") != loaded:
            other = "other models than those" if name == "models" else f"another {name}.json than that"
            raise ArtifactError(f"The figures in {shown(path)} belong to {other} loaded: {remedy}.")
    return report
