"""The bucket that a fleet's cells are kept in, and how they are copied home from it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from profet_core.errors import InputError

#: Scheme -> the cloud's own copying command.
_SYNC = {"s3": "aws s3 sync", "gs": "gcloud storage rsync --recursive"}
_NAME = re.compile(r"(s3|gs)://([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])((?:/[A-Za-z0-9._-]+)*)/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bucket:
    """An existing bucket, and the folder in it ("" for its root)."""

    scheme: str
    name: str
    folder: str

    @property
    def url(self) -> str:
        """Of the bucket itself, which is mounted."""
        return f"{self.scheme}://{self.name}"

    def fetch_command(self, target: str) -> str:
        """Copies the folder's files, new and changed, to a local folder."""
        source = "/".join(filter(None, (self.url, self.folder)))
        return f"{_SYNC[self.scheme]} {shlex.quote(source)} {shlex.quote(target)}"


def bucket_of(text: str) -> Bucket:
    """A bucket of its address.

    Raises
    ------
    InputError : it is none of S3 or Google Cloud Storage.
    """
    found = _NAME.fullmatch(text)
    if found is None or ".." in text:
        raise InputError(
            f"--bucket {text[:80]!a}: name an existing bucket, such as s3://my-bucket or gs://my-bucket/folder."
        )
    return Bucket(found[1], found[2], found[3].strip("/"))
