"""The user's own file of instances, as the actions that change it name and open it."""

from __future__ import annotations

from pathlib import Path

from profet_core.catalog import Instance, own_path
from profet_core.catalog.own import OWN_VARIABLE
from profet_core.errors import InputError


def writable_path() -> Path:
    """The user's own file, for a command that changes it."""
    path = own_path()
    if path is None:
        raise InputError(f"There is no place for your own instances: name a file in {OWN_VARIABLE}.")
    return path


def offer_title(offer: Instance) -> str:
    """One offer in a line: 'g4dn.xlarge (Tesla T4, us-east-1, spot)'."""
    gpus = f"{offer.gpu_count} x {offer.gpu}" if offer.gpu_count > 1 else offer.gpu
    return f"{offer.name} ({gpus}, {offer.region}, {offer.market})"
