"""`profet-record`, in the app's command `profet profile`: runs a training script as `python script.py ...` would.

It records a step of whatever trains in it.
"""

from __future__ import annotations

import argparse
import builtins
import functools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from threading import current_thread, main_thread
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, NoReturn

from profet_profiles import VERSION
from profet_profiles.errors import InputError, ProfetError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from profet_recorder.plan import RecordPlan

# The app's other commands start without what records: it is imported where it is needed.

OnImport = Callable[[ModuleType], None]
_RECORDER = str(Path(__file__).resolve().parent)
_PROGRAM = "profet-record"
#: What the user typed before the script.
_TYPED = _PROGRAM if Path(sys.argv[0]).stem == _PROGRAM else "profet profile"
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


#: Between the command's own arguments and the script's.
SEPARATOR = "--"
_BAD_INPUT, _STOPPED = 2, 130


class OneLineParser(argparse.ArgumentParser):
    """Reports what is wrong in one line, without the usage text."""

    _is_help = False

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        self._is_help = True
        return super().format_help()

    def _get_formatter(self) -> argparse.HelpFormatter:
        # Every argument that is declared is formatted once, to try it: without asking for the terminal's width.
        return argparse.HelpFormatter(self.prog, width=None if self._is_help else 80)

    def error(self, message: str) -> NoReturn:
        """Raise InputError instead of ending the process."""
        raise InputError(f"{message} (see `{self.prog} --help`)")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help or the version; argparse's own hides that the output can't be written."""
        print(message, end="", file=file)


def main() -> int:
    """Run `profet-record`; returns the exit status."""
    parser = OneLineParser(prog=_PROGRAM, description="Record a profile of your own training script.")
    parser.add_argument("-V", "--version", action="version", version=f"{_PROGRAM} {VERSION}", help="print the version")
    add_arguments(parser)
    try:
        run(parse_arguments(parser, sys.argv[1:]))
    except ProfetError as error:
        print(f"{_PROGRAM}: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print(f"{_PROGRAM}: stopped", file=sys.stderr, flush=True)
        return _STOPPED
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the script and the recording; no `--format`, for stdout belongs to the script."""
    parser.usage = f"{parser.prog} [options] SCRIPT [{SEPARATOR} ARGUMENT ...]"
    parser.add_argument("script", metavar="SCRIPT", help="Python training script; its arguments follow `--`")
    parser.add_argument("-m", "--module", action="store_true", help="SCRIPT names a module, as in python -m")
    parser.add_argument("-o", "--output", default="profile.json", metavar="FILE", help="default: profile.json")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--warm-up", type=int, default=5, metavar="N", help="warm-up steps (default: 5)")
    parser.add_argument(
        "--timed", type=int, default=10, metavar="N", help="timed steps; their median is the latency (default: 10)"
    )
    parser.add_argument("--profiled", type=int, default=1, metavar="N", help="profiled steps, averaged (default: 1)")
    parser.add_argument("--batch-size", type=int, metavar="N", help="instead of what the data show")
    parser.add_argument("--pixels", type=int, metavar="N", help="instead of what the data show")
    parser.add_argument("--parameters", type=int, metavar="N", help="instead of what the network shows")
    parser.add_argument("--precision", metavar="NAME", help="fp32, tf32, mixed fp16, ... (default: detected)")
    parser.add_argument(
        "--device",
        choices=["gpu", "cpu"],
        default="gpu",
        help="cpu: CPU operations count as GPU operations, as in `profet collect --device cpu`",
    )
    parser.add_argument("--keep-running", action="store_true", help="let the script continue after the recording")
    parser.add_argument("--keep-trace", metavar="DIR", help="also keep the raw trace, which names the network's layers")


def parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the options; what follows `--` is the script's, in `script_arguments`."""
    end = arguments.index(SEPARATOR) if SEPARATOR in arguments else len(arguments)
    options, unknown = parser.parse_known_args(arguments[:end])
    name = Path(options.script).name
    if re.fullmatch(r"python[\d.]*(\.exe)?", name):
        script, *others = unknown or ["SCRIPT"]
        module, separator = "-m " if options.module else "", f" {SEPARATOR} " if others else ""
        raise InputError(f"Leave {options.script} out: {_TYPED} {module}{script}{separator}{' '.join(others)}")
    if unknown and name not in LAUNCHERS:
        raise InputError(f"Unknown arguments {' '.join(unknown)}: put the script's arguments after `{SEPARATOR}`.")
    options.script_arguments = list(arguments[end + 1 :])
    return options


def run(options: argparse.Namespace) -> None:
    """Run the script and write the profile; every message is on stderr, stdout and exit status are the script's."""
    from profet_recorder.plan import record_plan

    names = ("warm_up", "timed", "profiled", "batch_size", "pixels", "parameters", "precision", "force", "keep_trace")
    fields = {name: getattr(options, name) for name in names}
    plan = record_plan(options.output, **fields, as_device=options.device == "cpu")
    status = record_script(
        options.script, options.script_arguments, plan, module=options.module, keep_running=options.keep_running
    )
    if status:
        # The script's own; its output is on stderr.
        raise SystemExit(status)


# --- the script -------------------------------------------------------------------------------------------------------


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
    from profet_recorder.hooks import ScriptHooks
    from profet_recorder.plan import RecorderError, print_progress, share_recording

    launcher = Path(script).name
    if launcher in LAUNCHERS and (module or not Path(script).is_file()):
        raise RecorderError(
            f"{script} trains in child processes: run the recorder in each of them instead, {LAUNCHERS[launcher]} "
            f"{_TYPED} SCRIPT."
        )
    if not module and not Path(script).is_file():
        raise RecorderError(f"Script {script} not found: name the Python file that trains.")
    if not module and Path(script).suffix == ".ipynb":
        raise RecorderError(
            f"{script} is a notebook: convert it (jupyter nbconvert --to script), take out what only a notebook can do "
            "(lines with % or !), and profile the .py; or use ProfileCallback or record_steps in its own cells."
        )
    # Read when TensorFlow is imported; on a CPU oneDNN would rename the operations.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    hooks = ScriptHooks(plan, (lambda: None) if keep_running else _Stop(script))
    before = _modified(plan.output)
    share_recording()
    try:
        with after_import(hooks.on_import), _as_main(script, arguments, module), _without_our_tracebacks():
            status = _run(script, module)
        if hooks.recording is not None and hooks.recording.finish_early():
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


class RecordingDone(SystemExit):
    """Ends a script whose recording is complete: no `except Exception` catches it, and a thread ends in silence."""


class _Stop:
    """Ends a script that has its profile, where that can be done: by an exception, once, on its main thread."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._was_called = self._was_shown = False

    def __call__(self) -> None:
        """End the script at the first call, and say at the next one that it goes on all the same."""
        from profet_recorder.plan import print_progress

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
    """Empty what a script prints, as wandb and logging do, of the exception that stops it."""
    import traceback

    from profet_recorder.engine import Patches

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


def _run(script: str, module: bool) -> int | None:
    """Run the script; returns the status that Python would end with, None where the script was stopped."""
    try:
        if module:
            import runpy

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
    """Return True for the exception that stops the script, and for one of a clean-up that it led to."""
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
    """Return the script's own part of a traceback: what runs and records it is of no interest."""
    if traceback is None:
        return None
    rest = _script_frames(traceback.tb_next)
    file = traceback.tb_frame.f_code.co_filename
    if file.startswith(_RECORDER) or file == "<frozen runpy>":
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


def why_nothing_trained(script: str, ran_session: bool = False) -> str:
    """One line, at the end of a script in which no training step was seen; `ran_session`: one of TensorFlow 1."""
    from profet_recorder.engine import TENSORFLOW, keras_backend, other_backend_line

    if ran_session:
        way_out = (
            f"{script} trains in a session of TensorFlow 1, whose steps can't be recorded: remove "
            "disable_eager_execution() if Keras trains, else write the step with tf.GradientTape or Keras, or record "
            "the same network with PyTorch."
        )
    elif _has_worked_in_children():
        way_out = (
            f"{script} itself made no training step, its child processes may have: start each of them with "
            f"{_TORCHRUN} {_TYPED} {script} (accelerate launch --no_python likewise), or put "
            "profet_recorder.record_step around the loop of the function that mp.spawn or multiprocessing starts."
        )
    elif "torch" in sys.modules:
        way_out = (
            f"{script} imported PyTorch, but no optimizer of torch.optim made a step and no backward() ran: put "
            "profet_recorder.record_steps around its loader."
        )
    elif (backend := keras_backend()) not in (None, TENSORFLOW):
        way_out = other_backend_line(backend)
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


class _Finder:
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
