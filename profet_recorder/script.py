"""Runs a training script as `python script.py ...` would, recording a step of whatever trains in it."""

from __future__ import annotations

import builtins
import functools
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from threading import current_thread, main_thread
from types import ModuleType, TracebackType

from profet_recorder.engine import Patches
from profet_recorder.errors import ProfetError
from profet_recorder.hooks import ScriptHooks
from profet_recorder.plan import RecorderError, RecordingDone, RecordPlan, print_progress, share_recording

OnImport = Callable[[ModuleType], None]
_RECORDER = str(Path(__file__).resolve().parent)
#: Python's own status of a script that ends with an exception or a text.
_FAILED = 1
_TORCHRUN = "torchrun --no-python --nproc-per-node N"
#: Commands and modules that start the training in other processes, and how they start profet.
LAUNCHERS = {
    **dict.fromkeys(("torchrun", "torch.distributed.run", "torch.distributed.launch"), _TORCHRUN),
    **dict.fromkeys(("accelerate", "accelerate.commands.launch"), "accelerate launch --no_python"),
}
#: Seconds of a child process' work from which on it may have trained: importing a framework takes as long.
_CHILD_WORK_S = 1.0


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
    # Read when TensorFlow is imported; on a CPU oneDNN would rename the operations.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    hooks = ScriptHooks(plan, (lambda: None) if keep_running else _Stop(script))
    before = _modified(plan.output)
    share_recording()
    try:
        with after_import(hooks.on_import), _as_main(script, arguments, module), _without_our_tracebacks():
            status = _run(script, module)
        if hooks.recording is not None and hooks.recording.settle():
            return status or 0
    finally:
        hooks.undo()
    if status is None:
        raise RecorderError(hooks.refusal or "The script ended before its recording.")
    if status:
        print_progress(f"{script} ended with status {status}; nothing was written")
    elif hooks.failure is not None:
        print_progress(f"{script} ended; nothing was written: {hooks.failure}")
    elif hooks.recording is not None:
        print_progress(hooks.recording.shortage(script))
    elif _modified(plan.output) != before:
        print_progress(f"{script} ended; a child process of its own wrote {plan.output}")
    else:
        print_progress(why_nothing_trained(script, hooks.ran_session))
    return status


def _modified(path: Path) -> int | None:
    """When a file was written; None where there is none."""
    return path.stat().st_mtime_ns if path.is_file() else None


class _Stop:
    """Ends a script that has its profile, where that can be done: by an exception, once, on its main thread."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._was_called = self._was_shown = False

    def __call__(self) -> None:
        """End the script at the first call, and say at the next one that it goes on all the same."""
        is_main = current_thread() is main_thread()
        if is_main and not self._was_called:
            self._was_called = True
            print_progress(f"{self._script} is stopped here; --keep-running lets it go on")
            raise RecordingDone
        if not self._was_shown:
            self._was_shown = True
            why = "caught that (by a bare except?)" if is_main else "trains in a thread, which can't be stopped"
            print_progress(f"{self._script} {why}: it goes on to its end; Ctrl-C ends it")


@contextmanager
def _without_our_tracebacks() -> Iterator[None]:
    """What a script prints of the exception that stops it, as wandb and logging do, is empty."""
    kind = traceback.TracebackException
    init, formatted = kind.__init__, kind.format

    @functools.wraps(init)
    def noted_init(self, exc_type, exc_value, *args, **named):
        init(self, exc_type, exc_value, *args, **named)
        self.is_of_the_recorder = isinstance(exc_value, RecordingDone)

    @functools.wraps(formatted)
    def formatted_unless_ours(self, **named):
        return iter(()) if getattr(self, "is_of_the_recorder", False) else formatted(self, **named)

    patches = Patches()
    patches.put(kind, "__init__", noted_init)
    patches.put(kind, "format", formatted_unless_ours)
    try:
        yield
    finally:
        patches.undo()


def _check_script(script: str, module: bool) -> None:
    launcher = Path(script).name
    if launcher in LAUNCHERS and (module or not Path(script).is_file()):
        raise RecorderError(
            f"{script} trains in child processes: run profet in each of them instead, {LAUNCHERS[launcher]} "
            "profet profile SCRIPT."
        )
    if not module and not Path(script).is_file():
        raise RecorderError(f"Script {script} not found: name the Python file that trains.")
    if not module and Path(script).suffix == ".ipynb":
        raise RecorderError(
            f"{script} is a notebook: convert it (jupyter nbconvert --to script), take out what only a notebook can do "
            "(lines with % or !), and profile the .py; or use ProfileCallback or record_steps in its own cells."
        )


def _run(script: str, module: bool) -> int | None:
    """The status that Python would end with; None where the script was stopped, whatever it made of that."""
    try:
        if module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            path = str(Path(script).absolute())
            main = ModuleType("__main__")
            main.__dict__.update(
                __file__=path, __builtins__=builtins, __loader__=SourceFileLoader("__main__", path), __cached__=None
            )
            sys.modules["__main__"] = main
            exec(compile(Path(script).read_bytes(), path, "exec", dont_inherit=True), main.__dict__)
    except BaseException as error:
        if _comes_of_stopping(error):
            return None
        if isinstance(error, SystemExit):
            if error.code is None or isinstance(error.code, int):
                return error.code or 0
            print(error.code, file=sys.stderr)
            return _FAILED
        if isinstance(error, ProfetError) or not isinstance(error, Exception):
            raise
        error = error.with_traceback(_script_frames(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return _FAILED
    return 0


def _comes_of_stopping(error: BaseException | None) -> bool:
    """True for the exception that stops the script, and for one of a clean-up that it led to."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, RecordingDone):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


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


def _script_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The script's own part of a traceback: what runs and records it is of no interest."""
    if traceback is None:
        return None
    rest = _script_frames(traceback.tb_next)
    file = traceback.tb_frame.f_code.co_filename
    if file.startswith(_RECORDER) or file == "<frozen runpy>":
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


def why_nothing_trained(script: str, ran_session: bool = False) -> str:
    """One line, at the end of a script in which no training step was seen; `ran_session`: one of TensorFlow 1."""
    if ran_session:
        way_out = (
            f"{script} trains in a session of TensorFlow 1, whose steps can't be recorded: remove "
            "disable_eager_execution() if Keras trains, else write the step with tf.GradientTape or Keras, or record "
            "the same network with PyTorch."
        )
    elif _has_worked_in_children():
        way_out = (
            f"{script} itself made no training step, its child processes may have: start each of them with profet, "
            f"{_TORCHRUN} profet profile {script} (accelerate launch --no_python likewise), or put "
            "profet_recorder.record_step around the loop of the function that mp.spawn or multiprocessing starts."
        )
    elif "torch" in sys.modules:
        way_out = (
            f"{script} imported PyTorch, but no optimizer of torch.optim made a step and no backward() ran: put "
            "profet_recorder.record_steps around its loader."
        )
    # Whoever trains with JAX may load their data with TensorFlow.
    elif {"keras", "tf_keras"} & set(sys.modules) or ("tensorflow" in sys.modules and "jax" not in sys.modules):
        way_out = (
            f"{script} called neither Keras' fit nor train_on_batch, and took no gradients with tf.GradientTape: put "
            "profet_recorder.record_step around its training loop."
        )
    elif "jax" in sys.modules:
        way_out = (
            f"{script} uses JAX, whose steps can't be recorded: XLA fuses all of their operations. Record the same "
            "network's step with Keras or PyTorch."
        )
    else:
        way_out = f"{script} used neither Keras nor PyTorch."
    return f"{way_out} Nothing was recorded."


def _has_worked_in_children() -> bool:
    multiprocessing = sys.modules.get("multiprocessing")
    living = multiprocessing.active_children() if multiprocessing is not None else []
    if any(process.name.startswith("SpawnProcess") for process in living):
        return True
    try:
        import resource
    except ImportError:
        # Windows.
        return False
    worked = resource.getrusage(resource.RUSAGE_CHILDREN)
    return worked.ru_utime + worked.ru_stime >= _CHILD_WORK_S


@contextmanager
def after_import(on_import: Mapping[str, OnImport]) -> Iterator[None]:
    """Inside the block, call `on_import[name](module)` once each top-level module `name` is imported, or already is."""
    finder = _Finder(dict(on_import))
    for name in list(finder.waiting):
        if name in sys.modules:
            finder.waiting.pop(name)(sys.modules[name])
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Finds nothing itself: it asks the others, and has the loader call back."""

    def __init__(self, waiting: dict[str, OnImport]) -> None:
        self.waiting = waiting
        self._asking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.waiting or fullname in self._asking:
            return None
        self._asking.add(fullname)
        try:
            spec = find_spec(fullname)
        finally:
            self._asking.discard(fullname)
        if spec is not None and spec.loader is not None:
            # Only an import runs the module: TensorFlow asks for Keras' spec long before it imports Keras.
            execute = spec.loader.exec_module

            def execute_and_call(module: ModuleType) -> None:
                execute(module)
                if on_import := self.waiting.pop(fullname, None):
                    on_import(module)

            spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]  # this one loader's
        return spec
