"""Hooks a script's training from outside: Keras' `fit`, and whatever else updates weights."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import get_ident
from types import ModuleType
from typing import TYPE_CHECKING, Any

from profet_recorder.engine import PYTORCH, TENSORFLOW, Patches, as_arguments, framework_of
from profet_recorder.in_training import RecordingCallback, check_model, recording_callback
from profet_recorder.plan import RecorderError, RecordPlan, failure_line, print_once, print_progress, warn_and_continue
from profet_recorder.pytorch import COMPILE_IS_OFF, OTHER_PROFILERS, can_set_stance
from profet_recorder.recording import Recording, choose_engine, claim_process, release_process
from profet_recorder.tensorflow import ObservedKeras, is_in_graph, under_tape

if TYPE_CHECKING:
    from profet_recorder.recording import Engine

MakeEngine = Callable[[], "Engine"]
#: After so many updates of others the optimizer whose steps were followed trains no longer.
GONE = 50
#: After so many backward passes without any optimizer's step they are what marks the steps: a loop may update its
#: weights itself, and fastai's optimizers are none of torch.optim.
_BACKWARD_PASSES = 20
#: What TensorFlow calls the graphs of a loop's body.
_LOOPS = ("while_body", "Dataset_")


class StepMarks:
    """Records from one update of an optimizer to its next, with all that happens in between.

    That is the one that updates least often (a GAN's generator, beside several steps of its critic), the first of
    equals, unless another comes instead of it (a fine-tuning, after some steps of another training).

    Attributes
    ----------
    recording : None until something trains.
    """

    def __init__(self, begin: Callable[[MakeEngine], Recording]) -> None:
        """`begin` makes the recording, or begins it again, with another engine."""
        self._begin = begin
        self._followed: object = None
        #: Weights that the one followed updates, and the ones whose steps were counted before it, such as other folds'.
        self._shapes: list[tuple[int, ...]] = []
        self._before: list[object] = []
        #: Others that update in the same steps, and how many steps had been seen at each one's last update.
        self._others: list[object] = []
        self._seen_at: list[int] = []
        self._since = 0
        self.recording: Recording | None = None

    def mark(self, owner: object, make_engine: MakeEngine, trains: Sequence[object] = (), batch: object = None) -> bool:
        """`owner` has updated weights; True once the profile is written.

        Parameters
        ----------
        owner : an optimizer, or what one updates in, such as a tf.function: the same at each of its steps.
        trains : the optimizers, or networks, that are trained in it.
        batch : what the step was fed, if it is known.
        """
        recording = self.recording
        if recording is not None and recording.finished:
            return True
        if recording is not None and owner is self._followed:
            self._since = 0
            recording.end_step(batch)
            recording.begin_step()
            return recording.finished
        self._since += 1
        is_new = all(owner is not other for other in self._others)
        shapes = weight_shapes(trains)
        if recording is not None and is_new and recording.steps_seen > 1 and shapes and shapes == self._shapes:
            # Another fold, or a new optimizer each epoch: the same kind of step, and it counts on.
            self._before.append(self._followed)
            self._followed, self._others, self._seen_at, self._since = owner, [], [], 0
            recording.go_on_with(make_engine())
            for optimizer in trains:
                recording.engine.trains(optimizer)
            recording.begin_step()
            return False
        was_counted = any(owner is optimizer for optimizer in self._before)
        if recording is None or self._since > GONE or was_counted or self._is_rarer(owner, recording.steps_seen):
            self._followed, self._others, self._seen_at, self._since = owner, [], [], 0
            self._shapes, self._before = shapes, []
            self.recording = recording = self._begin(make_engine)
            for optimizer in trains:
                recording.engine.trains(optimizer)
            # The step that ends here started unobserved; it counts all the same.
            recording.pass_step(batch)
            recording.begin_step()
            return False
        if is_new:
            self._others.append(owner)
            self._seen_at.append(recording.steps_seen)
            for optimizer in trains:
                recording.engine.trains(optimizer)
        if batch is not None:
            recording.engine.observe_batch(batch)
        return False

    def _is_rarer(self, owner: object, steps_seen: int) -> bool:
        """Return True if the one followed has updated more than once since this one last did, or began."""
        which = next((number for number, other in enumerate(self._others) if other is owner), None)
        if which is None:
            return steps_seen > 1
        seen_at, self._seen_at[which] = self._seen_at[which], steps_seen
        return steps_seen - seen_at > 1

    def forget(self) -> None:
        """Something else trains now: what is marked next is followed."""
        self.recording = self._followed = None

    def end_pass(self, owner: object, batch: object) -> None:
        """`owner` has accumulated gradients of a batch, or had none to apply, and updated nothing yet."""
        if self.recording is not None and not self.recording.finished:
            if batch is not None:
                self.recording.engine.observe_batch(batch)
            if owner is self._followed:
                self.recording.engine.end_pass()


def weight_shapes(trained: Sequence[Any]) -> list[tuple[int, ...]]:
    """Shapes of what optimizers update, or of models' weights, in their order; none if they are not known."""
    shapes: list[tuple[int, ...]] = []
    for trainer in trained:
        with suppress(Exception):
            weights = [weight for group in trainer.param_groups for weight in group["params"]]
            shapes += [tuple(weight.shape) for weight in weights]
            continue
        with suppress(Exception):
            weights = getattr(trainer, "_trainable_variables", None) or trainer.weights
            shapes += [tuple(weight.shape) for weight in weights]
    return shapes


class ScriptHooks:
    """Whatever trains is recorded; nothing here ends a training but `stop`.

    Attributes
    ----------
    recording : the recording under way; None until something trains.
    failure : why no profile will be written; None while one may be.
    refusal : the same, where the script was to stop for it.
    ran_session : a session of TensorFlow 1 ran.
    """

    def __init__(self, plan: RecordPlan, stop: Callable[[], None]) -> None:
        """`stop` is called on the training's thread once the profile is written, or can't be; also at later steps."""
        claim_process(self)
        self._plan = plan
        self._stop_script = stop
        self._patches = Patches()
        self._keras_calls = ObservedKeras(self._after_keras_update)
        self._marks = StepMarks(self._begin)
        self._callback: RecordingCallback | None = None
        #: How deep inside of Keras' own `fit` or `train_on_batch` the script is: what updates weights there is theirs.
        self._in_keras = 0
        #: The outermost tf.function that each thread is in.
        self._functions: dict[int, Any] = {}
        #: By `id`: a tf.function that computes gradients, kept so that no other gets it, and its optimizers.
        self._trained_in: dict[int, tuple[object, list[object]]] = {}
        self._compiled: set[int] = set()
        #: How often gradients by the same weights, or in the same function, were computed since an optimizer was
        #: called, and the tape of the last ones.
        self._gradients = Counter[int]()
        self._tape: Callable[[], object] = lambda: None
        #: By `id` of a tf.function: how often it computes gradients by the same weights before an optimizer is called,
        #: and how often it did so far while it is traced.
        self._passes_in: dict[int, int] = {}
        self._traced = Counter[tuple[int, int]]()
        #: Optimizers that made a step inside of PyTorch's backward pass while it runs; else None.
        self._stepped_in_backward: list[object] | None = None
        #: Backward passes so far; None once an optimizer has begun a step.
        self._backward_passes: int | None = 0
        #: What lets compiled functions run as written until the step is recorded; None where none was compiled.
        self._stance: Any = None
        #: Why the script was to stop without a profile.
        self.refusal: str | None = None
        self.ran_session = False
        self.recording: Recording | None = None
        self.failure: str | None = None

    @property
    def on_import(self) -> dict[str, Callable[[ModuleType], None]]:
        """Map each import to what is called after it."""
        hooks = {
            "keras": self._hook_keras,
            "tf_keras": self._hook_keras,
            "tensorflow": self._hook_tensorflow,
            "torch": self._hook_torch,
        }
        return {name: functools.partial(self._hook_module, hook) for name, hook in hooks.items()}

    def _hook_module(self, hook: Callable[[ModuleType], None], module: ModuleType) -> None:
        """Wrap functions of a module that was just imported; of a version with other insides, what is found there."""
        try:
            hook(module)
        except Exception as error:
            print_progress(f"this {module.__name__} is recorded in part only ({type(error).__name__}: {error})")

    @property
    def finished(self) -> bool:
        """The profile is written."""
        return self.recording is not None and self.recording.finished

    def undo(self) -> None:
        """Take every hook off and end what is under way."""
        if self.recording is not None:
            self._guarded(self.recording.abort)
        self._compile_again()
        release_process(self)
        self._keras_calls.patches.undo()
        self._patches.undo()

    def _stop(self) -> None:
        self._compile_again()
        self._stop_script()

    # --- what is recorded -------------------------------------------------------------------------------------------

    def _guarded(self, observe: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of `observe`, or None if it fails; the training goes on."""
        if self.failure is not None:
            return None
        try:
            return observe(*arguments)
        except Exception as error:
            self._fail(error)
            return None

    def _fail(self, error: Exception) -> None:
        """Stop the recording, and the script if it was refused."""
        self.failure = failure_line(error)
        if self.recording is not None:
            try:
                self.recording.abort()
            except Exception as worse:
                warn_and_continue(worse)
        self._compile_again()
        if isinstance(error, RecorderError):
            self.refusal = self.failure
            self._stop()
        warn_and_continue(error)

    def _begin(self, make_engine: MakeEngine) -> Recording:
        """Return a recording by updates; it takes the place of any other."""
        if self._callback is not None:
            self._callback.forget()
        return self._begin_anew(make_engine)

    def _begin_in_fit(self, model: object) -> Recording:
        """Return a recording of a `fit`; it takes the place of any other."""
        self._marks.forget()
        return self._begin_anew(lambda: choose_engine(None, model, keras_calls=self._keras_calls))

    def _begin_anew(self, make_engine: MakeEngine) -> Recording:
        if self.recording is None:
            self.recording = Recording(self._plan, make_engine(), self)
        else:
            print_progress("another optimizer or network marks the steps now: the recording starts over")
            self.recording.start_over(make_engine())
        return self.recording

    def _mark(
        self, owner: object, make_engine: MakeEngine, trains: Sequence[object] = (), batch: object = None
    ) -> None:
        """`owner` has made a training step, or accumulated gradients for one."""
        self._gradients.clear()
        if not (self.finished or self.refusal or not trains or self._keras_calls.have_updated()):
            self._guarded(self._marks.end_pass, owner, batch)
        elif self.finished or self.refusal or self._guarded(self._marks.mark, owner, make_engine, trains, batch):
            self._stop()

    def _after_gradients(self, key: int, batch: object = None) -> None:
        """Once more before an optimizer is called, of another batch: gradients are accumulated."""
        if batch is None and self._keras_calls.is_fed_again:
            return
        is_again = self._gradients[key] == max(self._gradients.values(), default=0) > 0
        self._gradients[key] += 1
        recording = self._marks.recording
        if recording is not None and not recording.finished:
            if is_again:
                recording.engine.end_pass()
            self._keras_calls.end_forward()
            if batch is not None:
                recording.engine.observe_batch(batch)

    def _after_backward(self, owner: object, make_engine: MakeEngine, batch: object = None) -> None:
        """Gradients were computed, by whoever does without an optimizer that is known here."""
        if self._backward_passes is None or self._in_keras:
            return
        self._backward_passes += 1
        if self._backward_passes == _BACKWARD_PASSES:
            print_progress("no known optimizer makes a step: a step is from one backward pass to the next")
        if self._backward_passes >= _BACKWARD_PASSES:
            self._mark(owner, make_engine, (), batch)

    # --- Keras ------------------------------------------------------------------------------------------------------

    def _hook_keras(self, keras: ModuleType) -> None:
        self._keras_calls.start(keras)
        fit, train_on_batch = keras.Model.fit, keras.Model.train_on_batch
        signature = inspect.signature(fit)

        @functools.wraps(fit)
        def recorded_fit(*args, **kwargs):
            args, kwargs = self._guarded(lambda: self._with_callback(signature.bind(*args, **kwargs))) or (args, kwargs)
            with self._keras_at_work():
                return fit(*args, **kwargs)

        @functools.wraps(train_on_batch)
        def recorded_train_on_batch(network, *args, **kwargs):
            self._guarded(check_model, network)
            with self._keras_at_work():
                result = train_on_batch(network, *args, **kwargs)
            batch = args[0] if args else kwargs.get("x")
            self._mark(network, lambda: choose_engine(None, network, keras_calls=self._keras_calls), [network], batch)
            return result

        self._patches.put(keras.Model, "fit", recorded_fit)
        self._patches.put(keras.Model, "train_on_batch", recorded_train_on_batch)

    def _with_callback(self, call: inspect.BoundArguments) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a `fit`, with the recording among its callbacks."""
        if self.finished:
            self._stop()
            return call.args, call.kwargs
        if self._callback is None:
            self._callback = recording_callback(self._plan, self._stop, begin=self._begin_in_fit, on_error=self._fail)
        callbacks: Any = call.arguments.get("callbacks")
        if hasattr(callbacks, "append") and not isinstance(callbacks, list):
            # A CallbackList of the user's: Keras takes it as it is.
            if self._callback not in callbacks.callbacks:
                callbacks.append(self._callback)
            self._callback.set_model(call.args[0])
        else:
            given = callbacks if isinstance(callbacks, list | tuple) else [] if callbacks is None else [callbacks]
            # The first: others' work at the end of a batch is not part of the step.
            call.arguments["callbacks"] = [self._callback, *given]
        return call.args, call.kwargs

    @contextmanager
    def _keras_at_work(self) -> Iterator[None]:
        self._in_keras += 1
        try:
            yield
        finally:
            self._in_keras -= 1

    def _after_keras_update(self, optimizer: object) -> None:
        """Note that an optimizer has made a step or, where a graph is traced, is part of one."""
        self._backward_passes = None
        if self._in_keras:
            return
        if is_in_graph():
            self._guarded(self._note_training, optimizer)
        else:
            make_engine = functools.partial(choose_engine, framework_of(optimizer), None, optimizer, self._keras_calls)
            self._mark(optimizer, make_engine, [optimizer])

    # --- loops with TensorFlow's gradient tape ----------------------------------------------------------------------

    def _hook_tensorflow(self, tensorflow: ModuleType) -> None:
        session = tensorflow.compat.v1.Session
        run = session.run

        @functools.wraps(run)
        def noted_run(*args, **kwargs):
            self.ran_session = True
            return run(*args, **kwargs)

        self._patches.put(session, "run", noted_run)
        function_class: Any = type(tensorflow.function(lambda: None))
        call, gradient = function_class.__call__, tensorflow.GradientTape.gradient
        make_engine = functools.partial(choose_engine, TENSORFLOW, keras_calls=self._keras_calls)

        @functools.wraps(call)
        def recorded_call(function, *args, **kwargs):
            if self._in_keras:
                return call(function, *args, **kwargs)
            thread = get_ident()
            is_outermost = thread not in self._functions
            outermost = self._functions.setdefault(thread, function)
            if getattr(function, "_jit_compile", False):
                self._compiled.add(id(outermost))
            if not is_outermost:
                return call(function, *args, **kwargs)
            try:
                result = call(function, *args, **kwargs)
            finally:
                del self._functions[thread]
            if id(function) in self._trained_in:
                arguments = as_arguments(args, kwargs)
                if optimizers := self._trained_in[id(function)][1]:
                    if any(hasattr(argument, "element_spec") for argument in arguments.values()):
                        # It takes each batch itself.
                        for _ in range(self._passes_in.get(id(function), 1) - 1):
                            self._guarded(self._marks.end_pass, function, arguments)
                    self._mark(function, make_engine, optimizers, arguments)
                else:
                    self._guarded(self._after_gradients, id(function), arguments)
                    self._after_backward(function, make_engine, arguments)
                if id(function) in self._compiled and self.recording is not None:
                    self._guarded(self.recording.engine.trains_compiled)
            return result

        @functools.wraps(gradient)
        def recorded_gradient(tape, target, sources, *args, **kwargs):
            gradients = gradient(tape, target, sources, *args, **kwargs)
            if not is_in_graph():
                first = next(iter(tensorflow.nest.flatten(sources)), None)
                # One tape may be asked for the gradients of several losses, or in another one, as for a penalty.
                if hasattr(first, "assign") and not (self._in_keras or self._tape() is tape or under_tape()):
                    self._guarded(self._after_gradients, id(first))
                    self._tape = weakref.ref(tape)
                self._after_backward(recorded_gradient, make_engine)
            elif not self._in_keras:
                self._guarded(self._note_training, None, None if self._tape() is tape else sources)
                self._tape = weakref.ref(tape)
            return gradients

        self._patches.put(function_class, "__call__", recorded_call)
        self._patches.put(tensorflow.GradientTape, "gradient", recorded_gradient)

    def _note_training(self, optimizer: object = None, sources: object = None) -> None:
        """Gradients, or an optimizer's update, become part of the outermost tf.function that is being traced."""
        # A strategy traces on a thread of each device; none is traced where a graph is made for a session.
        function = self._functions.get(get_ident()) or next(iter(self._functions.values()), None)
        if function is None:
            return
        graph = sys.modules["tensorflow"].compat.v1.get_default_graph()
        while graph is not None and optimizer is not None:
            if getattr(graph, "name", "").startswith(_LOOPS):
                raise RecorderError(
                    "The loop over the batches runs inside of one tf.function, so its steps can't be separated: call a "
                    "tf.function of one step from a loop of Python."
                )
            graph = getattr(graph, "outer_graph", None)
        optimizers = self._trained_in.setdefault(id(function), (function, []))[1]
        if optimizer is not None:
            self._traced.clear()
        elif isinstance(sources, list | tuple) and sources and hasattr(sources[0], "assign"):
            key = id(function), id(sources[0])
            self._traced[key] += not self._keras_calls.is_fed_again
            self._passes_in[key[0]] = max(self._passes_in.get(key[0], 1), self._traced[key])
        if optimizer is not None and all(optimizer is not listed for listed in optimizers):
            optimizers.append(optimizer)

    # --- PyTorch ----------------------------------------------------------------------------------------------------

    def _hook_torch(self, torch: ModuleType) -> None:
        optimizers, backward = sys.modules["torch.optim.optimizer"], torch.autograd.backward
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)

        def before_step(optimizer, args, kwargs):
            # L-BFGS makes many backward passes in a step of its own.
            self._backward_passes = None

        def after_step(optimizer, args, kwargs):
            # Once the step is recorded, a compiled function that holds an optimizer's step is traced with this in it.
            if is_compiling():
                return
            if self._stepped_in_backward is not None:
                # A profiler that starts or stops in the midst of a backward pass ends the process.
                self._stepped_in_backward.append(optimizer)
            elif not self._in_keras:
                self._mark(optimizer, functools.partial(choose_engine, PYTORCH, None, optimizer), [optimizer])

        self._patches.undoing.append(optimizers.register_optimizer_step_pre_hook(before_step).remove)
        self._patches.undoing.append(optimizers.register_optimizer_step_post_hook(after_step).remove)
        OTHER_PROFILERS.watch(torch)
        make_engine = functools.partial(choose_engine, PYTORCH)

        @functools.wraps(backward)
        def recorded_backward(*args, **kwargs):
            if self._stepped_in_backward is not None:
                return backward(*args, **kwargs)
            stepped: list[object] = []
            self._stepped_in_backward = stepped
            try:
                result = backward(*args, **kwargs)
            finally:
                self._stepped_in_backward = None
            if stepped:
                self._mark(recorded_backward, make_engine, stepped)
            else:
                self._after_backward(recorded_backward, make_engine)
            return result

        self._patches.put(torch.autograd, "backward", recorded_backward)
        if can_set_stance(torch):
            compiled = torch.compile

            @functools.wraps(compiled)
            def compile_later(*args, **kwargs):
                if self._stance is None and not self.finished and self.failure is None:
                    # From inside of a compiled function, such as one that holds the optimizer's step, it can't be set.
                    self._stance = torch.compiler.set_stance("force_eager")
                    print_once(COMPILE_IS_OFF)
                return compiled(*args, **kwargs)

            self._patches.put(torch, "compile", compile_later)

    def _compile_again(self) -> None:
        if self._stance is not None:
            stance, self._stance = self._stance, None
            stance.__exit__(None, None, None)
