"""Runs a training script as `python script.py ...` would, recording a step of whatever trains in it."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from profet_core.errors import ProfetError
from profet_recorder.errors import RecorderError, RecordingDone
from profet_recorder.plan import RecordPlan
from profet_recorder.progress import print_progress
from profet_recorder.script.after_import import after_import
from profet_recorder.script.hooks import ScriptHooks


def record_script(
    script: str, arguments: Sequence[str], plan: RecordPlan, *, module: bool = False, keep_running: bool = False
) -> None:
    """Run `script` with `arguments` and write the profile of `plan`; the script is stopped once it is written.

    Parameters
    ----------
    script : a file, or the name of a module if `module`.
    keep_running : let the script run to its end.

    Raises
    ------
    RecorderError : there is no such script, it failed (its traceback is on stderr), or ended before enough steps.
    """
    if not module and not Path(script).is_file():
        raise RecorderError(f"There is no script {script}: name the Python file that trains.")
    if "TF_ENABLE_ONEDNN_OPTS" not in os.environ:
        # Read when TensorFlow is imported; on a CPU oneDNN would rename the operations.
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
        print_progress("TF_ENABLE_ONEDNN_OPTS=0 is set, which matters to TensorFlow on a CPU only")

    def when_done() -> None:
        if not keep_running:
            print_progress(f"{script} is stopped here; --keep-running lets it go on")
            raise RecordingDone

    hooks = ScriptHooks(plan, when_done)
    try:
        with after_import(hooks.on_import), _as_main(script, arguments, module):
            _run(script, module, hooks)
    finally:
        hooks.undo()
    if hooks.recording is None:
        raise RecorderError(_nothing_trained(script))
    if not hooks.finished:
        raise RecorderError(hooks.recording.shortage(script))


def _run(script: str, module: bool, hooks: ScriptHooks) -> None:
    try:
        if module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except RecordingDone:
        pass
    except SystemExit as end:
        if end.code not in (None, 0) and not hooks.finished:
            raise RecorderError(f"{script} ended itself with status {end.code}; nothing was written.") from None
    except ProfetError:
        raise
    except Exception as error:
        _show_traceback(error, script)
        state = "the profile was written before" if hooks.finished else "nothing was written"
        raise RecorderError(f"{script} failed with {type(error).__name__} (above); {state}.") from None


@contextmanager
def _as_main(script: str, arguments: Sequence[str], module: bool) -> Iterator[None]:
    """`sys.argv` and `sys.path` as the script would find them."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path.cwd() if module else Path(script).resolve().parent)
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = path


def _show_traceback(error: Exception, script: str) -> None:
    """The script's own part of the traceback: what ran it is of no interest."""
    first = error.__traceback__
    while first is not None and Path(first.tb_frame.f_code.co_filename).name != Path(script).name:
        first = first.tb_next
    traceback.print_exception(type(error), error, first or error.__traceback__)


def _nothing_trained(script: str) -> str:
    if "torch" in sys.modules:
        return f"{script} imported PyTorch, but no optimizer of torch.optim made a step: nothing was recorded."
    if "tensorflow" in sys.modules or "keras" in sys.modules:
        return (
            f"{script} called neither Keras' fit nor train_on_batch: put profet_recorder.record_step around its own "
            "training loop; nothing was recorded."
        )
    return f"{script} used neither Keras nor PyTorch: nothing was recorded."
