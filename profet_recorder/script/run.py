"""Runs a training script as `python script.py ...` would, recording a step of whatever trains in it."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

from profet_core.errors import ProfetError
from profet_recorder.errors import RecorderError, RecordingDone
from profet_recorder.plan import RecordPlan
from profet_recorder.progress import print_progress
from profet_recorder.script.after_import import after_import
from profet_recorder.script.hooks import ScriptHooks
from profet_recorder.script.nothing_trained import LAUNCHERS, why_nothing_trained

_RECORDER = str(Path(__file__).resolve().parents[1])
#: Python's own status of a script that ends with an exception or a text.
_FAILED = 1


def record_script(
    script: str, arguments: Sequence[str], plan: RecordPlan, *, module: bool = False, keep_running: bool = False
) -> int:
    """Run `script` with `arguments` and write the profile of `plan`; the script is stopped once it is written.

    Returns the script's own exit status: 0 where it was stopped.

    Parameters
    ----------
    script : a file, or the name of a module if `module`.
    keep_running : let the script run to its end.

    Raises
    ------
    RecorderError : the script is missing, or it ended without a profile.
    """
    _check_script(script, module)
    if "TF_ENABLE_ONEDNN_OPTS" not in os.environ:
        # Read when TensorFlow is imported; on a CPU oneDNN would rename the operations.
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
        print_progress("TF_ENABLE_ONEDNN_OPTS=0 is set, which matters to TensorFlow on a CPU only")

    def stop() -> None:
        if not keep_running:
            print_progress(f"{script} is stopped here; --keep-running lets it go on")
            raise RecordingDone

    hooks = ScriptHooks(plan, stop)
    try:
        with after_import(hooks.on_import), _as_main(script, arguments, module):
            status = _run(script, module)
    finally:
        hooks.undo()
    if not hooks.finished:
        reason = hooks.failure or (
            why_nothing_trained(script) if hooks.recording is None else hooks.recording.shortage(script)
        )
        if status == 0:
            raise RecorderError(reason)
        print_progress(f"{script} ended with status {status}; nothing was written")
    return status


def _check_script(script: str, module: bool) -> None:
    if module and script in LAUNCHERS:
        raise RecorderError(
            f"{script} trains in child processes: run profet in each of them instead, torchrun --no-python "
            "--nproc-per-node N profet profile SCRIPT."
        )
    if module:
        return
    if not Path(script).is_file():
        raise RecorderError(f"Script {script} not found: name the Python file that trains.")
    if Path(script).suffix == ".ipynb":
        raise RecorderError(
            f"{script} is a notebook: convert it (jupyter nbconvert --to script), take out what only a notebook can do "
            "(lines with % or !), and profile the .py; or use ProfileCallback or record_steps in its own cells."
        )


def _run(script: str, module: bool) -> int:
    """The status that Python would end with."""
    try:
        if module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            _run_file(Path(script))
    except RecordingDone:
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return _FAILED
    except ProfetError:
        raise
    except Exception as error:
        error = error.with_traceback(_scripts_own(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return _FAILED
    return 0


def _run_file(script: Path) -> None:
    path = str(script.absolute())
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=path, __builtins__=builtins, __loader__=SourceFileLoader("__main__", path), __cached__=None
    )
    sys.modules["__main__"] = main
    exec(compile(script.read_bytes(), path, "exec", dont_inherit=True), main.__dict__)


@contextmanager
def _as_main(script: str, arguments: Sequence[str], module: bool) -> Iterator[None]:
    """`sys.argv`, `sys.path` and `__main__` as the script would find them."""
    argv, path, main = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path.cwd() if module else Path(script).resolve().parent)
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = path
        sys.modules["__main__"] = main


def _scripts_own(traceback: TracebackType | None) -> TracebackType | None:
    """The script's own part of a traceback: what runs and records it is of no interest."""
    if traceback is None:
        return None
    rest = _scripts_own(traceback.tb_next)
    file = traceback.tb_frame.f_code.co_filename
    if file.startswith(_RECORDER) or file == "<frozen runpy>":
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
