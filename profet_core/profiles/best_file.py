"""Of many files, an archive's or a run's folder, reads the one that tells most and says which it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from profet_core.errors import ProfileError
from profet_core.profiles.containers.archives import SHORT_HEAD_BYTES, ArchivedFile
from profet_core.profiles.containers.unpacking import HEAD_BYTES
from profet_core.profiles.containers.watch import Watch
from profet_core.profiles.formats import MOST_TELLING_FIRST, Reader, reader_of
from profet_core.profiles.profet_json import reader as profet_json
from profet_core.profiles.record import Profile
from profet_core.profiles.tensorflow.tensorboard_files import refused_sibling

#: If the best file is damaged, the next ones are tried.
MAX_TRIES = 3

# TensorFlow names the folder of a run by its time.
_RUN = re.compile(r"\d{4}(?:_\d{2}){5}(?=/)", re.ASCII)
_NUMBERS = re.compile(r"(\d+)", re.ASCII)
_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]{0,2000}?"rank"\s*:\s*(\d{1,6})', re.ASCII)
# Any JSON may be PROFET's; among other files only what names an operation is.
_OPERATION = re.compile(rb'"(?:Device|Host)_')
_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file that a reader takes for its own, and the rank of the process that wrote it, if it tells."""

    file: ArchivedFile
    reader: Reader
    rank: int

    @property
    def run(self) -> str:
        """Time of the run as TensorFlow names its folder, or ""."""
        found = _RUN.findall(self.file.name)
        return found[-1] if found else ""

    @property
    def order(self) -> tuple[int, list[str | tuple[int, str]]]:
        """Lowest rank first, then by name, numbers in it as numbers."""
        parts = enumerate(_NUMBERS.split(self.file.name))
        return self.rank, [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else part for at, part in parts]


def read_best(files: Sequence[ArchivedFile], where: str, watch: Watch) -> Profile:
    """Read the file that tells most, and note which one it was.

    Of several runs the last one is taken, of several hosts or ranks the first.

    Parameters
    ----------
    where : "archive" or "folder", for messages.
    watch : that of the upload.

    Raises
    ------
    ProfileError : no file is a profile, or none that is can be read.
    """
    candidates, failed = _candidates(files, watch)
    if not candidates:
        raise failed[0] if failed and len(failed) == len(files) else ProfileError(_nothing_found(files, where))
    candidates.sort(key=lambda each: each.order)
    candidates.sort(key=lambda each: each.run, reverse=True)
    candidates.sort(key=lambda each: _preference(each.reader))
    failed = []
    for candidate in candidates[:MAX_TRIES]:
        try:
            with closing(candidate.file.open(HEAD_BYTES)) as content:
                content.follow()
                profile = candidate.reader.read(content)
        except ProfileError as error:
            failed.append(_named(error, candidate.file))
        else:
            if len(files) == 1:
                return profile
            note = _note(candidate, candidates, len(files), where)
            unread = tuple(f"{_short(each.file.name)}, which can't be read" for each in candidates[: len(failed)])
            return replace(profile, ignored=(note, *unread, *profile.ignored))
    raise failed[0]


def _candidates(files: Sequence[ArchivedFile], watch: Watch) -> tuple[list[_Candidate], list[ProfileError]]:
    """The files that a reader takes for its own, and what is wrong with those that can't be looked at."""
    found: list[_Candidate] = []
    failed: list[ProfileError] = []
    for file in files:
        watch.check_time()
        try:
            with closing(file.open(SHORT_HEAD_BYTES)) as content:
                head = content.head
        except ProfileError as error:
            failed.append(_named(error, file))
            continue
        reader = reader_of(head)
        if reader is None or refused_sibling(head) or (reader is profet_json and not _OPERATION.search(head)):
            continue
        rank = _RANK.search(head)
        found.append(_Candidate(file, reader, int(rank[1]) if rank else 0))
    return found, failed


def _named(error: ProfileError, file: ArchivedFile) -> ProfileError:
    return ProfileError(f"{_short(file.name)}: {error}")


def _preference(reader: Reader) -> int:
    return MOST_TELLING_FIRST.index(reader) if reader in MOST_TELLING_FIRST else len(MOST_TELLING_FIRST)


def _note(chosen: _Candidate, candidates: Sequence[_Candidate], count: int, where: str) -> str:
    alike = [each for each in candidates if each.reader is chosen.reader]
    runs = len({each.run for each in alike})
    others = sum(each.run == chosen.run for each in alike)
    which = f", of the last of {runs} runs" if runs > 1 else ""
    which += f", the first of {others} such files" if others > 1 else ""
    return f"{count - 1} of the {count} files in the {where}: {_short(chosen.file.name)} was read{which}"


def _nothing_found(files: Sequence[ArchivedFile], where: str) -> str:
    if any(file.name.endswith("/data.pkl") or file.name == "data.pkl" for file in files):
        return "this is a PyTorch checkpoint, not a profile: upload the trace that torch.profiler writes."
    return (
        f"the {where} holds no profile among its {len(files)} files: upload an xplane.pb or trace.json.gz of "
        "TensorFlow, or a trace of torch.profiler."
    )


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS else "..." + name[3 - _NAME_CHARACTERS :]
