"""TensorFlow's side of a recording: tf.profiler, without XLA."""

from __future__ import annotations

import functools
import math
import sys
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from profet_profiles.record import ProfileMeta
from profet_recorder.engine import (
    BYTES_PER_MIB,
    MAX_NETWORKS,
    NO_SIZES,
    PRECISIONS,
    TF32_CAPABILITY,
    ObservedSizes,
    Patches,
    StepFacts,
    StepKind,
    batch_sizes,
    completed,
    has_updated,
    keras_flavour,
    observed,
    step_warnings,
    trained_kind,
    updates_made,
    with_larger_images,
)
from profet_recorder.plan import RecorderError, print_once

#: Name of a Keras policy -> precision; one that is not plain float32 goes before it, in this order.
_POLICIES = {**PRECISIONS, "mixed_float16": "mixed fp16", "mixed_bfloat16": "mixed bf16"}


class TensorFlowEngine:
    """Records with `tf.profiler`, for Keras 3, tf_keras and custom loops.

    `model` is a Keras model or None, `optimizer` what updates its weights if that is known, `calls` what is observed of
    Keras already; None: it is observed from `prepare` on.
    """

    profiler_warm_up = 0

    def __init__(self, model: Any = None, optimizer: object = None, calls: ObservedKeras | None = None) -> None:
        import tensorflow as tf

        self._tf = tf
        self._model = model
        self._models = [] if model is None else [model]
        self._optimizers = [] if optimizer is None else [optimizer]
        self._calls = ObservedKeras() if calls is None else calls
        self._observes_itself = calls is None
        self._saw_compiled = False
        self._sizes = ObservedSizes(channels_last=self._channels_last())
        self._profiler_runs = self._stepped_aside = False
        self._profiler_patches = Patches()
        #: The open mark of a profiled step.
        self._marker: Any = None
        #: XLA's switches as they were, of the model and of TensorFlow; None where they were off.
        self._was_jit: object = None
        self._was_auto_jit: object = None

    def trains(self, optimizer: Any) -> None:
        """Its weights are trained too; of a model, those that any optimizer updates."""
        is_model = keras_flavour(optimizer) and (hasattr(optimizer, "train_step") or hasattr(optimizer, "layers"))
        observed = self._models if is_model else self._optimizers
        if all(optimizer is not listed for listed in observed):
            observed.append(optimizer)

    def for_model(self, model: Any) -> TensorFlowEngine:
        """Return the engine of another model that is trained instead."""
        return TensorFlowEngine(model, None, None if self._observes_itself else self._calls)

    def forget(self, optimizer: object) -> None:
        """Forget an optimizer whose model was compiled with another one: it updates nothing any more."""
        self._calls.forget(optimizer)

    def trains_compiled(self) -> None:
        """Note that the steps run through XLA, in a function of the script's own."""
        if not self._saw_compiled:
            print_once("the step is compiled with XLA, which fuses operations: record it without jit_compile=True")
        self._saw_compiled = True

    def is_disturbed(self) -> bool:
        """Return True after a profiler of the script's own began; while one runs, this one does not start."""
        stepped_aside, self._stepped_aside = self._stepped_aside, False
        return stepped_aside

    def prepare(self) -> None:
        """Turn XLA off; the model's next train function is made without it."""
        model = self._model
        if self._observes_itself and (keras := sys.modules.get(keras_flavour(model) or "keras")) is not None:
            self._calls.start(keras)
        if model is not None and getattr(model, "jit_compile", False):
            self._was_jit = model.jit_compile
            model.jit_compile = False
            model.train_function = None
            print_once(
                "XLA (jit_compile) is off for the recorded steps: it fuses operations that the models need separate"
            )
        if auto_jit := self._tf.config.optimizer.get_jit():
            self._was_auto_jit = auto_jit
            self._tf.config.optimizer.set_jit(False)
            print_once("XLA's automatic clustering is off for the recorded steps")
        if model is not None:
            print_once(f"the model is one of {self._keras()}")
        if not self.sees_gpu() and (onednn := _onednn()) is not None:
            print_once(f"oneDNN is {'on' if onednn else 'off'}: the profile says so")

    def sees_gpu(self) -> bool:
        """Return True if TensorFlow sees a GPU."""
        return self._gpu() is not None

    def observe_batch(self, batch: object) -> None:
        """Note the sizes of a batch."""
        self._sizes.observe(batch)

    def stop_observing(self) -> None:
        """Do nothing: observing never slows a step here."""

    def synchronize(self) -> None:
        """Wait for the GPU."""
        self._tf.test.experimental.sync_devices()

    def peak_memory_mib(self) -> float | None:
        """Most memory TensorFlow's allocator held on the first GPU."""
        if self._gpu() is None:
            return None
        return self._tf.config.experimental.get_memory_info("GPU:0")["peak"] / BYTES_PER_MIB

    def start_profiler(self, folder: Path, steps: int) -> None:
        """Start with the settings the training data were recorded with."""
        options = self._tf.profiler.experimental.ProfilerOptions(
            host_tracer_level=2, python_tracer_level=0, device_tracer_level=1
        )
        self.synchronize()
        self._tf.profiler.experimental.start(str(folder), options)
        self._profiler_runs = True
        module = sys.modules["tensorflow.python.profiler.profiler_v2"]
        start = module.start

        @functools.wraps(start)
        def start_of_the_script(*args, **kwargs):
            # It goes first.
            self.discard()
            self._stepped_aside = True
            return start(*args, **kwargs)

        for owner in (module, self._tf.profiler.experimental):
            self._profiler_patches.put(owner, "start", start_of_the_script)

    def begin_profiled_step(self, number: int) -> None:
        """Open the mark that the trace's reader takes for a step."""
        # A name of its own: tf_keras marks steps as "train", by other numbers, and the reader would count both.
        self._marker = self._tf.profiler.experimental.Trace("profet_step", step_num=number, _r=1)
        self._marker.__enter__()

    def has_updated(self) -> bool:
        """Return False where gradients were accumulated since this was last called, and no weights were updated."""
        # What was traced before it was observed is known by the model's own optimizer alone.
        return self._calls.have_updated(getattr(self._model, "run_eagerly", False)) and has_updated(self._model)

    def end_pass(self) -> None:
        """Gradients were accumulated: what is observed next is another batch of the same step."""
        self._sizes.end_pass()
        self._calls.sizes.end_pass()

    def end_observed_step(self) -> StepKind:
        """End the observation of a step and return its kind."""
        self._sizes.end_step()
        self._calls.end_step()
        trained = sum(math.prod(weight.shape) for weight in self._trained().values())
        return StepKind(completed(self._sizes.last, self._calls.sizes.last), self._sizes.passes, trained)

    def end_profiled_step(self) -> None:
        """Close the mark."""
        self._marker.__exit__(None, None, None)
        self._marker = None

    def stop_profiler(self, folder: Path) -> Path:
        """Stop; the xplane file."""
        self._profiler_runs = False
        self._profiler_patches.undo()
        self._tf.profiler.experimental.stop()
        traces = sorted(folder.rglob("*.xplane.pb"))
        if not traces:
            raise RecorderError("TensorFlow's profiler wrote no trace: is there room in the temporary folder?")
        return traces[0]

    def discard(self) -> None:
        """Stop the profiler without writing its trace."""
        self._profiler_patches.undo()
        if self._marker is not None:
            self.end_profiled_step()
        if self._profiler_runs:
            self._profiler_runs = False
            self._tf.profiler.experimental.stop(save=False)

    def restore(self) -> None:
        """Turn XLA on again where it was on."""
        if self._observes_itself:
            self._calls.patches.undo()
        if self._was_jit is not None:
            self._model.jit_compile = self._was_jit
            self._was_jit = None
            # Keras 3 sets the attribute itself; tf_keras hands the function over. Either may be in the midst of fit.
            function = self._model.make_train_function(force=True)
            if function is not None:
                self._model.train_function = function
        if self._was_auto_jit is not None:
            self._tf.config.optimizer.set_jit(self._was_auto_jit)
            self._was_auto_jit = None

    def facts(self) -> StepFacts:
        """From TensorFlow and the model."""
        gpu = self._gpu()
        meta = ProfileMeta(
            gpu=None if gpu is None else self._details(gpu).get("device_name") or "unknown GPU",
            framework=f"TensorFlow {self._tf.__version__}" + (f", {self._keras()}" if self._networks() else ""),
            precision=self._precision(),
            parameters=self._parameters(),
            compiled=self._saw_compiled or None,
            onednn=_onednn(),
        )
        return meta, completed(self._sizes.last, self._calls.sizes.last), tuple(self._warnings())

    def _trained(self) -> dict[int, Any]:
        """Weights that optimizers update, by `id`: those of the models given, else those of the optimizers given."""
        if not self._models:
            return self._calls.weights(self._optimizers)
        own = {id(weight): weight for model in self._models for weight in _weights_of(model)}
        updated = self._calls.weights(self._calls.optimizers_of(own))
        return {key: weight for key, weight in own.items() if key in updated}

    def _networks(self) -> list[Any]:
        """Return the models that were called for their gradients and are trained, else the models given."""
        return self._calls.networks(self._trained()) or self._models

    def _parameters(self) -> int | None:
        weights = {id(weight): weight for network in self._networks() for weight in _weights_of(network)}
        for network in self._networks():
            # A model's own, such as sums of gradients and counters; layers have statistics, which count.
            for name in ("_non_trainable_variables", "_non_trainable_weights"):
                for weight in vars(network).get(name, ()) if hasattr(network, "layers") else ():
                    weights.pop(id(weight), None)
        return sum(math.prod(weight.shape) for weight in (weights | self._trained()).values()) or None

    def _warnings(self) -> Iterator[str]:
        optimizers = self._calls.optimizers_of(self._trained())
        updated = self._calls.weights(optimizers)
        kind = {id(weight): weight for network in self._networks() for weight in trained_kind(network)}
        frozen = {key: weight for key, weight in kind.items() if updated and key not in updated}
        yield from step_warnings(
            [self._calls.weights([optimizer]) for optimizer in optimizers],
            1,
            (sum(math.prod(weight.shape) for weight in frozen.values()), self._parameters() or 0),
            completed(self._sizes.last, self._calls.sizes.last),
            self._sizes.passes,
        )
        is_keras_3 = self._flavour() == "keras" and not str(sys.modules["keras"].__version__).startswith("2.")
        if is_keras_3 and any(type(layer).__name__ == "BatchNormalization" for layer in self._layers()):
            yield (
                "Keras 3 takes batch normalization apart into small operations, which the training data (TensorFlow "
                "2.5) never show; recorded with tf_keras the same network looks more like them."
            )
        strategies = [getattr(model, "distribute_strategy", None) for model in (*self._models, *self._networks())]
        strategies.append(self._tf.distribute.get_strategy())
        replicas = max(getattr(strategy, "num_replicas_in_sync", 1) for strategy in strategies)
        if replicas > 1:
            yield f"The step ran on {replicas} GPUs; the training data hold steps on one only."

    def _gpu(self) -> Any:
        """Return the first visible GPU, None without one: a script may have hidden some, or all."""
        return next(iter(self._tf.config.get_visible_devices("GPU")), None)

    def _details(self, gpu: object) -> Mapping[str, Any]:
        return self._tf.config.experimental.get_device_details(gpu)

    def _flavour(self) -> str | None:
        return next((flavour for network in self._networks() if (flavour := keras_flavour(network))), None)

    def _keras(self) -> str:
        package = self._flavour() or "keras"
        version = getattr(sys.modules.get(package), "__version__", "")
        return f"{'Keras' if package == 'keras' else package} {version}".strip()

    def _layers(self) -> list[Any]:
        layers: list[Any] = []
        for network in self._networks():
            flatten = getattr(network, "_flatten_layers", None)
            layers += flatten() if flatten else getattr(network, "layers", ())
        return layers

    def _channels_last(self) -> bool:
        keras: Any = sys.modules.get(keras_flavour(self._model) or "keras")
        try:
            return keras.backend.image_data_format() == "channels_last"
        except AttributeError:
            return True

    def _precision(self) -> str | None:
        if not self._networks():
            return None
        layers, attributes = (*self._networks(), *self._layers()), ("dtype_policy", "_dtype_policy")
        names = {getattr(getattr(layer, attribute, None), "name", None) for layer in layers for attribute in attributes}
        # One layer of another type, such as a float32 head, doesn't make the step FP32.
        policy = next((name for name in _POLICIES if name != "float32" and name in names), "float32")
        return "tf32" if policy == "float32" and self._runs_tf32() else _POLICIES[policy]

    def _runs_tf32(self) -> bool:
        gpu = self._gpu()
        if gpu is None or not self._tf.config.experimental.tensor_float_32_execution_enabled():
            return False
        return tuple(self._details(gpu).get("compute_capability", (0, 0))) >= TF32_CAPABILITY


def _onednn() -> bool | None:
    """Whether the CPU's operations run with oneDNN; None where this TensorFlow does not show it."""
    try:
        # By TensorFlow's version, the processor and TF_ENABLE_ONEDNN_OPTS; nothing public shows it.
        from tensorflow.python.util import _pywrap_util_port

        return bool(_pywrap_util_port.IsMklEnabled())
    except (ImportError, AttributeError):
        return None


class ObservedKeras:
    """Layers that a script calls under a gradient tape, and the weights its optimizers update, while started.

    In a graph both are seen once, when it is traced: so this is started before anything trains, where that can be.

    Attributes
    ----------
    sizes : of the called layers.
    patches : undo them, and both are called as before.
    """

    def __init__(self, on_update: Callable[[object], None] = lambda optimizer: None) -> None:
        """`on_update` takes an optimizer after each of its updates."""
        self._on_update = on_update
        self._networks: dict[int, Any] = {}
        #: Of each optimizer: itself, so that no other gets its `id`, and the weights it updates.
        self._updates: dict[int, tuple[object, dict[int, Any]]] = {}
        #: How often each has updated them, as it was last asked; `id` of those that did in this step, and in the last.
        self._made: dict[int, int | None] = {}
        #: One of them may be called without updating anything.
        self._may_skip = False
        self._moved: set[int] = set()
        self._last_moved: set[int] = set()
        #: What layers were fed since gradients were computed, and of each network the tensor that it was fed last.
        self._fed = NO_SIZES
        self._inputs: dict[int, Callable[[], object]] = {}
        #: The network called last was fed the same tensor as before, such as for the second gradient of SAM.
        self.is_fed_again = False
        self.sizes = ObservedSizes(channels_last=True)
        self.patches = Patches()

    def start(self, keras: ModuleType) -> None:
        """Begin to observe the layers and optimizers of Keras 3 or tf_keras."""
        layer = keras.layers.Layer
        self.patches.put(layer, "__call__", observed(layer.__call__, self._observe))
        for optimizers in (keras.optimizers, getattr(keras.optimizers, "legacy", None)):
            kind = getattr(optimizers, "Optimizer", None)
            name = next((name for name in ("apply", "apply_gradients") if hasattr(kind, name)), None)
            if isinstance(kind, type) and name:
                self.patches.put(kind, name, self._observed_update(getattr(kind, name)))

    def weights(self, optimizers: Collection[object]) -> dict[int, Any]:
        """Return the weights that these optimizers update, by `id`."""
        weights: dict[int, Any] = {}
        for optimizer in optimizers:
            weights |= self._updates.get(id(optimizer), (None, {}))[1]
        return weights

    def forget(self, optimizer: object) -> None:
        """Forget what an optimizer updated."""
        self._updates.pop(id(optimizer), None)
        self._made.pop(id(optimizer), None)

    def optimizers_of(self, weights: Collection[int]) -> list[object]:
        """Those that updated any of these weights in the last step."""
        keys = self._last_moved & self._updates.keys() or self._updates.keys()
        return [self._updates[key][0] for key in keys if not self._updates[key][1].keys().isdisjoint(weights)]

    def have_updated(self, may_skip: bool = False) -> bool:
        """Return True if one of the optimizers, where any is known, has updated weights since this was last called.

        Parameters
        ----------
        may_skip : what isn't called updates nothing; else only an optimizer that is called without updating.
        """
        self.end_forward()
        # To ask them is to wait for the GPU.
        return self._ask() if self._may_skip or may_skip else True

    def _ask(self) -> bool:
        made = {key: updates_made(optimizer) for key, (optimizer, _) in self._updates.items()}
        moved = {key for key, count in made.items() if count is None or count != self._made.get(key, 0)}
        self._made |= made
        self._moved |= moved
        return bool(moved) or not made

    def end_forward(self) -> None:
        """Forget the batch: what layers are fed next may be another one."""
        self.sizes.observe(self._fed)
        self._fed = NO_SIZES

    def end_step(self) -> None:
        """Begin another step."""
        self.end_forward()
        self._ask()
        self._last_moved, self._moved = self._moved, set()
        self.sizes.end_step()

    def networks(self, trained: Collection[int]) -> list[Any]:
        """Return the called layers that hold any of these weights."""
        return [
            network
            for network in self._networks.values()
            if any(id(weight) in trained for weight in _weights_of(network))
        ]

    def _observed_update(self, apply: Any) -> Callable[..., Any]:
        @functools.wraps(apply)
        def observed_update(optimizer, gradients, *others, **named):
            gradients = list(gradients)
            result = apply(optimizer, gradients, *others, **named)
            with suppress(Exception):
                # `apply` takes gradients and weights, `apply_gradients` pairs of both.
                given = others[0] if others else named.get("trainable_variables")
                is_pairs = gradients and isinstance(gradients[0], tuple | list)
                weights = [pair[1] for pair in gradients] if is_pairs else given or optimizer._trainable_variables
                updated = self._updates.setdefault(id(optimizer), (optimizer, {}))[1]
                first = [pair[0] for pair in gradients] if is_pairs else gradients
                pairs = zip(first, weights, strict=False)
                updated.update({id(weight): weight for gradient, weight in pairs if gradient is not None})
                self._may_skip |= bool(getattr(optimizer, "gradient_accumulation_steps", None)) or _in_branch()
            self._on_update(optimizer)
            return result

        return observed_update

    def _observe(self, layer: object, inputs: Any, is_outermost: bool) -> None:
        # Layers are called outside of a tape to build a network, to validate it, to make a GAN's noise a picture.
        if is_outermost and under_tape() and (len(self._networks) < MAX_NETWORKS or id(layer) in self._networks):
            self._networks[id(layer)] = layer
            sizes, last = batch_sizes(inputs, channels_last=True), self.sizes.last
            # A graph of its own for an epoch's last, smaller batch shows nothing of the steps that follow.
            is_rest = is_in_graph() and sizes.pixels == last.pixels and (sizes.batch_size or 0) < (last.batch_size or 0)
            self._fed = self._fed if is_rest else with_larger_images(self._fed, sizes)
            # Last, for not everything that is fed can be referred to.
            first, before = inputs.get(0), self._inputs.pop(id(layer), lambda: None)()
            self.is_fed_again = first is not None and before is first
            self._inputs[id(layer)] = weakref.ref(first)


def _weights_of(layer: Any) -> list[Any]:
    """All weights of a layer or model, trained or not; of one that was never built, those of its parts."""
    try:
        return list(layer.weights)
    except ValueError:
        return [weight for part in getattr(layer, "layers", ()) for weight in _weights_of(part)]


def is_in_graph() -> bool:
    """Return True where operations are traced into a graph of TensorFlow's, not run."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and not tensorflow.executing_eagerly()


def _in_branch() -> bool:
    """Return True where operations are traced into a branch of a condition, which may not run."""
    graph = sys.modules["tensorflow"].compat.v1.get_default_graph() if is_in_graph() else None
    while graph is not None and type(graph).__name__ != "CondBranchFuncGraph":
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def under_tape() -> bool:
    """Return True where a gradient tape records what is called."""
    try:
        # No public API has it.
        from tensorflow.python import pywrap_tfe

        return not pywrap_tfe.TFE_Py_TapeSetIsEmpty()
    except (ImportError, AttributeError):
        return True
