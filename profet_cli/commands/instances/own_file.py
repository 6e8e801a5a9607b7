"""The user's own file of instances, as the actions that change it name and open it."""

from __future__ import annotations

from pathlib import Path

from profet_core.catalog import Gpus, Instance, load_gpus, own_path
from profet_core.catalog.own import OWN_VARIABLE
from profet_core.catalog.own_gpus import own_gpus_path, read_own_gpus
from profet_core.errors import InputError


def writable_path() -> Path:
    """The user's own file, for a command that changes it."""
    path = own_path()
    if path is None:
        raise InputError(f"No file for your custom instances: set {OWN_VARIABLE}.")
    return path


def known_gpus() -> Gpus:
    """The GPUs with specs, the user's after them."""
    shipped = load_gpus()
    return shipped.with_own(row.gpu for row in read_own_gpus(own_gpus_path(), shipped))


def offer_title(offer: Instance) -> str:
    """One offer in a line: 'g4dn.xlarge (Tesla T4, us-east-1, spot)'."""
    gpus = f"{offer.gpu_count} x {offer.gpu}" if offer.gpu_count > 1 else offer.gpu
    return f"{offer.name} ({gpus}, {offer.region}, {offer.market})"
