"""Read and write profiles, one reader per format."""

from profet_recorder.profiles.profet_json import write_profile
from profet_recorder.profiles.reading import READERS, read_profile, read_profile_folder
from profet_recorder.profiles.record import Profile, ProfileMeta
from profet_recorder.profiles.unpacking import Reader

__all__ = ["READERS", "Profile", "ProfileMeta", "Reader", "read_profile", "read_profile_folder", "write_profile"]
