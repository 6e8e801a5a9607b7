"""Read and write profiles, one reader per format."""

from profet_recorder.profiles.profet_json import write_profile
from profet_recorder.profiles.reading import READERS, Reader, read_profile, read_profile_folder
from profet_recorder.profiles.record import Profile, ProfileMeta

__all__ = ["READERS", "Profile", "ProfileMeta", "Reader", "read_profile", "read_profile_folder", "write_profile"]
