"""Read and write profiles, one reader per format; the base on which the core and the recorder stand.

It needs the standard library alone; importing it loads no reader.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profet_profiles.profet_json import write_profile
    from profet_profiles.reading import READERS, read_profile, read_profile_folder
    from profet_profiles.record import Profile, ProfileMeta
    from profet_profiles.unpacking import Reader

__all__ = [
    "READERS",
    "VERSION",
    "Profile",
    "ProfileMeta",
    "Reader",
    "read_profile",
    "read_profile_folder",
    "write_profile",
]

VERSION = "1.2.0"
_MODULES = {"Profile": "record", "ProfileMeta": "record", "Reader": "unpacking", "write_profile": "profet_json"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES.get(name, 'reading')}")
    globals()[name] = value = getattr(module, name)
    return value
