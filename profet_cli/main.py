"""Runs one command to its exit status: every end is one line, whatever becomes of the input, the output or the person.

Next to nothing is imported here: an interrupt before `main` is Python's own, and ends in a traceback.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType
    from typing import NoReturn

PROGRAM = "profet"
DONE, NO_OUTPUT, BAD_INPUT, STOPPED = 0, 1, 2, 130

#: What writing to stdout or stderr may run into, without a file's name.
_OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
_STOPPED_LINE = "stopped"
#: In the error of a library that can't be loaded, of a thread, and in Python's own where it could not even make one.
_NO_MEMORY = (
    "annot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "without exception set",
    "without setting an exception",
)
#: Between two searches for garbage: a command makes many records and hardly a cycle of them.
_ALLOCATIONS = 100_000
#: Commands that fit models, or run scripts: the number of threads is theirs.
_THREADS_OF_THEIR_OWN = {"profile", "collect", "data", "train", "validate"}
#: Commands after which something may be left to end: a user's script, other processes, a server.
_LEAVE_MORE = {*_THREADS_OF_THEIR_OWN, "app", "serve"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; as a process, with its own arguments and signals, if none are given.

    Returns the exit status: 0; 1 where the output can't be written; 2 for bad input; 130 where it was stopped. All but
    0 come with one line on stderr.
    """
    if arguments is not None:
        return _status(arguments, started=lambda: None)
    # While modules are imported nothing is changed, and an exception would not come through them whole.
    signal.signal(signal.SIGINT, _exit_interrupted)
    gc.set_threshold(_ALLOCATIONS)
    sys.unraisablehook = _end_if_interrupted
    try:
        if sys.stderr is None:
            # print() would take stdout for it.
            sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        if sys.stdout is None:
            line = "there is no standard output: redirect it, such as with > FILE or > /dev/null"
            return _ended(line, NO_OUTPUT)
        # Once it runs, what was begun is put back.
        status = _status(sys.argv[1:], lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        if not _LEAVE_MORE.intersection(sys.argv[1:2]):
            # Python's own end would take apart all that ends with the process.
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            os._exit(status)
        return status
    except KeyboardInterrupt:
        _exit_interrupted()
    finally:
        # What is left is Python's own end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _status(arguments: Sequence[str], started: Callable[[], object]) -> int:
    """Parse, call `started`, and run."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A profile's texts may hold what a terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _run(arguments, started)
    except KeyboardInterrupt as stop:
        # The command says how to go on, where that is possible.
        return _ended(": ".join((_STOPPED_LINE, *map(str, stop.args))), STOPPED)
    except BrokenPipeError:
        # The reader (head, less) went away: not an error.
        _drop_output()
    except Exception as error:
        return _status_of(error)
    return DONE


def _run(arguments: Sequence[str], started: Callable[[], object]) -> None:
    if not _THREADS_OF_THEIR_OWN.intersection(arguments[:1]):
        # Before numpy is imported: arrays are small here, and a second thread only waits for the first by spinning.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if arguments in (["-V"], ["--version"]):
        # Without what the commands need, too.
        from profet_profiles import VERSION

        print(f"profet {VERSION}", flush=True)
        return
    from profet_core.errors import InputError

    runs_a_script = False
    try:
        from profet_cli.commands import parsed

        options = parsed(arguments)
        started()
        # What a script of the user's lacks is its own error.
        runs_a_script = options.command == "profile"
        options.run(options)
    except ModuleNotFoundError as error:
        if runs_a_script or (error.name or "").startswith("profet_"):
            raise
        raise InputError(
            f"This command needs the serving set ({error.name} is missing): pip install -r requirements-serve.txt"
        ) from None
    except SystemExit:
        # --help
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def _status_of(error: Exception) -> int:
    """Say what went wrong, in one line; what is no error of a person, a disk or a pipe is raised again."""
    from profet_core.errors import ProfetError

    if isinstance(error, ProfetError):
        return _ended(
            error.worded(lambda field: "TRACE" if field == "profile" else f"--{field.replace('_', '-')}"), BAD_INPUT
        )
    if _is_interrupted(error):
        return _ended(_STOPPED_LINE, STOPPED)
    if isinstance(error, MemoryError) or (
        isinstance(error, ImportError | OSError | SystemError | RuntimeError)
        and any(text in str(error) for text in _NO_MEMORY)
    ):
        return _ended("there is not enough memory: close other programs or raise this one's limit", NO_OUTPUT)
    if isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_ERRORS:
        _drop_output()
        return _ended(f"the output can't be written: {error.strerror}", NO_OUTPUT)
    raise error


def _ended(line: str, status: int) -> int:
    """Say in one line how it ended; returns the exit status."""
    try:
        # Arguments and paths may hold line breaks; it stays one line.
        print(f"{PROGRAM}: {' '.join(line.split())}", file=sys.stderr, flush=True)
    except OSError:
        _drop_output()
    return status


def _is_interrupted(error: BaseException) -> bool:
    """Tell whether a library made another error of an interrupt, as some do while they are imported."""
    cause = error.__cause__ or error.__context__
    return cause is not None and (isinstance(cause, KeyboardInterrupt) or _is_interrupted(cause))


def _drop_output() -> None:
    """Let what is still to be written go nowhere, so that Python's own end does not fail at it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
        except ValueError:
            # It is closed.
            continue
    os.close(nowhere)


def _exit_interrupted(_signal: int = signal.SIGINT, _frame: FrameType | None = None) -> NoReturn:
    os.write(2, f"{PROGRAM}: {_STOPPED_LINE}\n".encode())
    os._exit(STOPPED)


def _end_if_interrupted(unraisable: sys.UnraisableHookArgs) -> None:
    """End at an interrupt where Python can't raise one, such as in a destructor."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _exit_interrupted()
    sys.__unraisablehook__(unraisable)
