"""Take files, keep the totals of the good ones and one line for each bad one, and let the files go."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import RerunException, StopException, get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from profet_core import InputError, ProfetError
from profet_core.layers.guarded import read_network_guarded
from profet_core.layers.network import Network
from profet_core.profiles.guarded import read_guarded
from profet_core.sandbox.process import taken
from ui.notices import log_failure, show_error
from ui.server import is_dropped
from ui.state.profiles import add_own
from ui.state.records import OwnProfile
from ui.state.resources import Resources
from ui.turns import others_first
from ui.words import plain, show_code


@dataclass(frozen=True, slots=True)
class Uploader:
    """One uploader of a page, by what its keys begin with; a new number in its widget's key is an empty widget."""

    prefix: str

    @property
    def number(self) -> int:
        """How often it was emptied: that of the files that are in it now."""
        state = st.session_state
        if self._number_key not in state:
            state[self._number_key] = _resumed_number(self._widgets)
        number: int = state[self._number_key]
        return number

    @property
    def key(self) -> str:
        """Of its widget."""
        return f"{self._widgets}{self.number}"

    def empty(self) -> None:
        """Draw it empty from the next run on."""
        st.session_state[self._number_key] = self.number + 1

    @property
    def _widgets(self) -> str:
        return f"{self.prefix}:file:"

    @property
    def _number_key(self) -> str:
        return f"{self.prefix}:number"


def let_go(file: UploadedFile) -> None:
    """Drop the raw bytes at once: Streamlit would keep them as long as the uploader holds the file."""
    context = get_script_run_ctx()
    if context is not None:
        # Not part of what every file manager must have; the one that comes with Streamlit has it.
        remove = getattr(context.uploaded_file_mgr, "remove_file", lambda **_: None)
        remove(session_id=context.session_id, file_id=file.file_id)
    file.close()


def _resumed_number(key: str) -> int:
    """The number after `key` in the keys of widgets that came with this run; 0 where none did.

    Streamlit runs nothing when a browser connects anew: the first action comes from the page of before, and what it
    gives to a widget that the new session doesn't draw, such as a file, would be lost.
    """
    numbered = re.compile(rf"-{re.escape(key)}(\d{{1,9}})$", re.ASCII)
    return max((int(found[1]) for name in _widgets_of_this_run() if (found := numbered.search(name))), default=0)


def _widgets_of_this_run() -> list[str]:
    """Ids of the widgets whose values came with this run; Streamlit keeps them private, so that there may be none."""
    context = get_script_run_ctx()
    state = getattr(getattr(context, "session_state", None), "_state", None)
    return list(getattr(getattr(state, "_new_widget_state", None), "states", ()))


_LOG = logging.getLogger(__name__)
_TOO_BIG = "Too big with its weights? What `model.to_json()` gives tells as much."

Kept = TypeVar("Kept")


# Without slots, as `Column`.
@dataclass(frozen=True)
class GivenNetwork(Generic[Kept]):
    """What became of the files that were given.

    Attributes
    ----------
    name : of the last one. problem : what is wrong with it, one line; empty if it was read.
    kept : of the last one that was read; None before.
    """

    name: str = ""
    problem: str = ""
    kept: Kept | None = None


def network_file(
    prefix: str, label: str, tip: str, *, pixels: int | None, keep: Callable[[Network], Kept]
) -> GivenNetwork[Kept]:
    """Ask for a file.

    Parameters
    ----------
    prefix : of the keys of its widget and of what is kept.
    pixels : image size to count at; None: the file's own.
    keep : what of a network stays in the session; ProfetError says why it can't be used.
    """
    uploader, given_key = Uploader(prefix), f"{prefix}:given"
    given: GivenNetwork[Kept] = st.session_state.get(given_key, GivenNetwork())
    file = st.file_uploader(label, key=uploader.key, help=f"{tip} {_TOO_BIG}")
    if file is not None and not file.closed:
        try:
            given = GivenNetwork(file.name, kept=keep(_read(file, pixels)))
        except ProfetError as error:
            given = GivenNetwork(file.name, str(error), given.kept)
        except Exception as error:
            log_failure(_LOG, "A network could not be read", error)
            problem = f"{file.name}: something went wrong on our side while reading it."
            given = GivenNetwork(file.name, problem, given.kept)
        finally:
            let_go(file)
        st.session_state[given_key] = given
        uploader.empty()
        st.rerun()
    return given


def _read(file: UploadedFile, pixels: int | None) -> Network:
    if is_dropped(file):
        raise InputError(f"{file.name}: the server let go of it before it was read: give it again.")
    with taken(file) as copy:
        let_go(file)
        with others_first():
            return read_network_guarded(copy, file.name, pixels)


_LOG = logging.getLogger(__name__)
#: Lines shown one by one; more are counted.
SHOWN_LINES = 6
CONVERT_COMMAND = "profet convert TRACE -o profile.json"

_REVEALS = """
A raw trace names every layer and scope of your network, in order and with the time of each; PyTorch traces may hold
shapes, file paths and lines of your code too. From that, much of an architecture can be told. A profile holds the total
time per operation type and nothing else. Make one on your own machine and upload that:
"""


@dataclass(frozen=True, slots=True)
class Notes:
    """What became of one batch of files."""

    batch: int = -1
    errors: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()


def upload_input(resources: Resources, prefix: str, take: Callable[[OwnProfile], None]) -> None:
    """Ask for files; the good ones join the visitor's list and `take` gets the last of them."""
    uploader = Uploader(prefix)
    files = st.file_uploader(
        "Profiles of training steps (one file each)",
        accept_multiple_files=True,
        key=uploader.key,
        help="PROFET JSON; TensorFlow's xplane.pb, trace.json, tensorflow_stats.pb or statistics CSV; a PyTorch trace; "
        "plain or gzip. Or the folder plugins/profile/RUN as zip or tar.gz. About says how to record one. At most "
        f"{max_upload_mb()} MB a file: `{CONVERT_COMMAND}` reduces larger ones.",
    )
    _show_privacy(prefix)
    if files:
        for own in _read_all(resources, prefix, uploader.number, files)[-1:]:
            take(own)
        uploader.empty()
        st.rerun()
    _show_notes(prefix)


def notes_on(prefix: str) -> Notes:
    """What became of the files that were given last."""
    notes: Notes = st.session_state.get(_notes_key(prefix), Notes())
    return notes


def max_upload_mb() -> int:
    """Largest file the server takes, megabytes."""
    return int(st.get_option("server.maxUploadSize"))


def _read_all(resources: Resources, prefix: str, batch: int, files: Sequence[UploadedFile]) -> list[OwnProfile]:
    bar = st.empty()
    added = []
    for number, file in enumerate(files, start=1):
        if file.closed:
            # Read in a run that the visitor's next click cut short.
            continue
        notes = notes_on(prefix)
        errors, infos = (notes.errors, notes.infos) if notes.batch == batch else ((), ())
        where = f"{number} of {len(files)}: " if len(files) > 1 else ""
        try:
            own, new = _read_one(resources, file, bar, f"Reading {where}{plain(file.name[:60])}")
            added.append(own)
            if not new:
                infos += (f"{file.name} holds the same profile as {own.name}: it is on the list once.",)
        except ProfetError as error:
            text = str(error)
            errors += (text if text.startswith(file.name) else f"{file.name}: {text}",)
        except Exception as error:
            log_failure(_LOG, "A profile could not be read", error)
            errors += (f"{file.name}: something went wrong on our side while reading it; the others are not affected.",)
        except (RerunException, StopException):
            errors += (f"{file.name} was not read to its end, because you clicked on: give it again.",)
            raise
        finally:
            let_go(file)
            st.session_state[_notes_key(prefix)] = Notes(batch, errors, infos)
    bar.empty()
    return added


def _read_one(resources: Resources, file: UploadedFile, bar: DeltaGenerator, text: str) -> tuple[OwnProfile, bool]:
    if is_dropped(file):
        raise InputError("the server let go of it before it was read: give fewer or smaller files at a time.")

    # Streamlit ends the run here, and with it the reading, if the visitor has left or clicked on.
    def progress(share: float) -> None:
        bar.progress(min(max(share, 0.0), 1.0), text=text)

    def waiting(place: int) -> None:
        bar.progress(0.0, text=f"{text}: number {place} in the queue")

    with taken(file) as copy:
        let_go(file)
        with others_first():
            profile = read_guarded(copy, file.name, progress=progress, waiting=waiting)
    return add_own(profile, file.name, "upload", resources.anchor_of(profile))


def _show_notes(prefix: str) -> None:
    notes = notes_on(prefix)
    for line in notes.errors[:SHOWN_LINES]:
        show_error(line)
    if len(notes.errors) > SHOWN_LINES:
        with st.expander(f"{len(notes.errors) - SHOWN_LINES} more files could not be taken"):
            for line in notes.errors[SHOWN_LINES:]:
                st.markdown(f"- {plain(line)}")
    for line in notes.infos[:SHOWN_LINES]:
        st.info(plain(line), icon=":material/content_copy:")


def _show_privacy(prefix: str) -> None:
    with st.expander("Raw traces name your layers: reduce them first", icon=":material/lock:", key=f"{prefix}:private"):
        st.markdown(_REVEALS)
        show_code(CONVERT_COMMAND, wrap_lines=True)
        st.markdown(
            "Whatever you upload, only the totals stay on the server, in memory and for your session; the file is let "
            f"go as soon as it is read. A file may have {max_upload_mb()} MB; reduce larger ones with the same command."
        )


def _notes_key(prefix: str) -> str:
    return f"notes:{prefix}"
