"""The locks do not age: what a locked package requires is locked too, with its extras; pip looks for nothing else."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.locked import locked

LOCKS = ("requirements-serve.txt", "requirements.txt")


def applies(requirement: Requirement, extras: set[str]) -> bool:
    """Whether a package that is installed with `extras` requires it on this system and Python."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras})


def not_pinned(pins: list[Requirement]) -> list[str]:
    """What locked packages require and no pin gives: pip takes the newest for it, or refuses it for want of a hash."""
    here = {canonicalize_name(pin.name): pin for pin in pins if applies(pin, set())}
    missing = []
    for name, pin in here.items():
        for required in (
            requirement for requirement in map(Requirement, requires(name) or ()) if applies(requirement, pin.extras)
        ):
            given = here.get(canonicalize_name(required.name))
            if given is None or not required.extras <= given.extras:
                missing.append(f"{name} requires {required}")
    return missing


@pytest.fixture(params=LOCKS)
def pins(request, repository: Path) -> list[Requirement]:
    """One lock's pins, as they are installed here."""
    locked_pins = list(locked(repository / request.param))
    for pin in locked_pins:
        version = next(iter(pin.specifier)).version
        try:
            if applies(pin, set()) and distribution(pin.name).version != version:
                pytest.skip(f"another {pin.name} than {request.param} has is installed: {version} is locked")
        except PackageNotFoundError:
            pytest.skip(f"{pin.name} is not installed: pip install -r {request.param}")
    return locked_pins


def test_whatever_a_locked_package_requires_is_locked_with_its_extras_and_what_is_missing_found(pins):
    assert not_pinned(pins) == []
    pins = [Requirement(f"{name}==1") for name in ("pytest-cov", "coverage", "pluggy")]
    missing = not_pinned(pins)
    assert any(line.startswith("pytest-cov requires coverage[toml]") for line in missing)
    assert any(line.startswith("pytest-cov requires pytest>=") for line in missing)
    assert not any("pluggy" in line for line in missing)
