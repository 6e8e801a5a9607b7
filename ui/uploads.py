"""Take files, keep the totals of the good ones and one line for each bad one, and let the files go."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import BinaryIO, TypeVar

import streamlit as st
from msgspec import Struct, field
from streamlit.delta_generator import DeltaGenerator
from streamlit.typing import UploadedFile

from profet_core import ProfetError, Profile
from profet_core.layers.logs import read_log_guarded
from profet_core.layers.measured import LOGS, TrainingLog
from profet_core.layers.network import Network
from profet_core.layers.reading import read_network_guarded
from profet_profiles.sandbox import read_guarded, taken
from ui.custom import NETWORK, add_profile, given_network
from ui.resources import Held, Resources
from ui.server import others_first
from ui.session import session
from ui.streamlit_internals import forget_upload
from ui.words import log_failure, plain, sentence, show_code, show_error

_LOG = logging.getLogger(__name__)
#: Lines shown one by one; more are counted.
_SHOWN_LINES = 6
CONVERT_COMMAND = "profet convert TRACE -o profile.json"
_REVEALS = """
A raw trace names every layer and scope of your network, in order and with the time of each; PyTorch traces may hold
shapes, file paths and lines of your code too. From that, much of an architecture can be inferred. A profile holds the
total time per operation type and nothing else. Make one on your own machine and upload that:
"""

Result = TypeVar("Result")


def _uploader_key(prefix: str) -> str:
    """Key of an uploader's widget; a new number in it is an empty widget."""
    return f"{prefix}:file:{st.session_state.get(f'{prefix}:number', 0)}"


def _empty_uploader(prefix: str) -> None:
    """Draw it empty in a new run: neither browser nor server holds its files any longer."""
    st.session_state[f"{prefix}:number"] = st.session_state.get(f"{prefix}:number", 0) + 1
    st.rerun()


def _let_go(file: UploadedFile) -> None:
    """Drop the raw bytes at once: Streamlit would keep them as long as the uploader holds the file."""
    forget_upload(file)
    file.close()


def _read(file: UploadedFile, read: Callable[[BinaryIO], Result]) -> Result:
    """Read a copy of a file, and let the file go before."""
    with taken(file) as copy:
        _let_go(file)
        with others_first():
            return read(copy)


def _why_not(file: UploadedFile, error: Exception) -> str:
    """One line on why a file could not be read; what is wrong on our side is logged."""
    if isinstance(error, ProfetError):
        return f"{file.name} can't be used. {sentence(str(error).removeprefix(f'{file.name}: '))}"
    log_failure(_LOG, "A file could not be read", error)
    return f"{file.name} can't be used. Something went wrong on our side while reading it."


def _take_file(key: str, read: Callable[[BinaryIO, str], Result], take: Callable[[Result, str], object]) -> None:
    """Read the file that an uploader of one got, if any: `take` keeps what it holds, else why not stays to be shown."""
    file = st.session_state.get(_uploader_key(key))
    if file is None or file.closed:
        return
    problem = ""
    try:
        take(_read(file, lambda copy: read(copy, file.name)), file.name)
    except Exception as error:
        problem = _why_not(file, error)
    finally:
        _let_go(file)
    st.session_state[f"{key}:problem"] = problem
    _empty_uploader(key)


def network_file(tip: str, *, pixels: int | None) -> Network | None:
    """Ask for a network's file, keep its layers for the session, and let the file go; returns the last one read.

    `pixels`: image size to count at; None: the file's own.
    """
    st.file_uploader("Network file", key=_uploader_key("network"), help=tip)

    def keep(network: Network, _: str) -> None:
        st.session_state[NETWORK] = network

    _take_file("network", lambda copy, name: read_network_guarded(copy, name, pixels), keep)
    if problem := st.session_state.get("network:problem"):
        show_error(problem)
    return given_network()


def read_given_log(take: Callable[[TrainingLog], None]) -> None:
    """Read the log that its uploader got, in the run that it starts; `take`: called with what it says."""

    def keep(log: TrainingLog, name: str) -> None:
        take(log)
        sizes = [f"batch {log.batch_size}"] * bool(log.batch_size) + [f"{log.pixels} px"] * bool(log.pixels)
        facts = ", ".join([f"{log.time}, the median of {log.count:,}", *sizes, *filter(None, [log.gpu])])
        st.session_state["log:read"] = f"{name}: {facts}."

    _take_file("log", read_log_guarded, keep)


def log_input() -> None:
    """Ask for the log of a finished training, and say what was read from it."""
    problem, read = (st.session_state.get(f"log:{name}", "") for name in ("problem", "read"))
    with st.expander("From a training log", icon=":material/description:", key="log", expanded=bool(problem)):
        st.file_uploader("Training log", key=_uploader_key("log"), help=f"{LOGS[0].upper()}{LOGS[1:]}.")
        if problem:
            show_error(problem)
        elif read:
            st.caption(plain(read))


class Notes(Struct):
    """What became of one batch of files: of those that were in one uploader."""

    batch: str = ""
    errors: list[str] = field(default_factory=list)
    infos: list[str] = field(default_factory=list)


#: What is done with the profiles of an upload that are new, and the one to show; returns lines for the visitor.
Take = Callable[[Sequence[Held], Held], Sequence[str]]


def upload_input(prefix: str) -> None:
    """Ask for files, which `read_uploads` reads in the run that they start."""
    st.file_uploader(
        "Profile (JSON or trace)",
        accept_multiple_files=True,
        key=_uploader_key(prefix),
        help="PROFET JSON; TensorFlow's xplane.pb, trace.json, tensorflow_stats.pb or statistics CSV; a PyTorch trace; "
        "plain or gzip. Or the folder plugins/profile/RUN as zip or tar.gz. About says how to record one. At most "
        f"{max_upload_mb()} MB a file: `{CONVERT_COMMAND}` reduces larger ones.",
    )
    if session.custom.profiles:
        # Room for what belongs to the profile that is there.
        return
    st.caption(f"JSON, trace or zip, up to {max_upload_mb()} MB")
    with st.expander("Remove layer names before uploading", icon=":material/lock:", key=f"{prefix}:private"):
        st.markdown(_REVEALS)
        show_code(CONVERT_COMMAND, wrap_lines=True)
        st.markdown(
            "The server deletes every upload once it is read and keeps only the totals, in memory, for your session. "
            f"Files can have up to {max_upload_mb()} MB; the same command reduces larger ones."
        )


def read_uploads(resources: Resources, prefix: str, take: Take) -> None:
    """Read the files that an uploader got; the good ones join the visitor's list."""
    if not (files := st.session_state.get(_uploader_key(prefix))):
        return
    notes = notes_on(prefix)
    if notes.batch != _uploader_key(prefix):
        notes = st.session_state[f"notes:{prefix}"] = Notes(_uploader_key(prefix))
    bar, added, new = st.empty(), [], []
    for number, file in enumerate(files, start=1):
        if file.closed:
            # Read in a run that the visitor's next click cut short.
            continue
        where = f"{number} of {len(files)}: " if len(files) > 1 else ""
        try:
            profile = _read(file, partial(_with_bar, bar, f"Reading {where}{plain(file.name[:60])}", file.name))
            custom, is_new = add_profile(resources, profile, file.name, "upload")
            added.append(custom)
            if is_new:
                new.append(custom)
            else:
                notes.infos.append(f"{file.name} holds the same profile as {custom.name}, already on the list.")
        except Exception as error:
            notes.errors.append(_why_not(file, error))
        except BaseException:
            # Streamlit ends a run with exceptions of its own.
            notes.errors.append(f"{file.name} was not read completely because you clicked on: upload it again.")
            raise
        finally:
            _let_go(file)
    bar.empty()
    if added:
        notes.infos += take(new, added[-1])
    _empty_uploader(prefix)


def show_notes(prefix: str, after: str = "") -> None:
    """Say what became of the files that were given last; `after` follows what can't be used."""
    notes = notes_on(prefix)
    for line in notes.errors[:_SHOWN_LINES]:
        show_error(f"{line} {after}")
    if more := notes.errors[_SHOWN_LINES:]:
        with st.expander(f"{len(more)} more files could not be used"):
            st.markdown("\n".join(f"- {plain(line)}" for line in more))
    for line in notes.infos[:_SHOWN_LINES]:
        st.info(plain(line), icon=":material/info:")


def notes_on(prefix: str) -> Notes:
    """Return what became of the last upload."""
    return st.session_state.get(f"notes:{prefix}") or Notes()


def max_upload_mb() -> int:
    """Largest file the server takes, megabytes."""
    return int(st.get_option("server.maxUploadSize"))


def _with_bar(bar: DeltaGenerator, text: str, name: str, copy: BinaryIO) -> Profile:
    """Read a profile; Streamlit ends the run where it draws, if the visitor has left or clicked on."""

    def progress(share: float) -> None:
        bar.progress(min(max(share, 0.0), 1.0), text=text)

    def waiting(place: int) -> None:
        bar.progress(0.0, text=f"{text}: number {place} in the queue")

    return read_guarded(copy, name, progress=progress, waiting=waiting)
