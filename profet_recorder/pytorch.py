"""PyTorch's side of a recording: torch.profiler, with eager operations."""

from __future__ import annotations

import functools
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
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
    BatchSizes,
    ObservedSizes,
    Patches,
    StepFacts,
    StepKind,
    as_arguments,
    completed,
    has_updated,
    keras_flavour,
    observed,
    step_warnings,
    with_larger_images,
)
from profet_recorder.plan import RecorderError, print_once

_TRACE_NAME = "recorded.pt.trace.json"
COMPILE_IS_OFF = "torch.compile is off for the recorded steps: it fuses operations that the models need separate"


class PyTorchEngine:
    """Records with `torch.profiler`; `model` is a module or None, `optimizer` one of torch or None."""

    #: The profiler's first step pays for its own start.
    profiler_warm_up = 1

    def __init__(self, model: Any = None, optimizer: Any = None) -> None:
        import torch

        self._torch = torch
        self._model = model
        self._optimizers: list[Any] = []
        self.trains(optimizer)
        self._sizes = ObservedSizes(channels_last=False)
        self._calls = _ObservedCalls(torch)
        #: The context in which compiled modules run as they are written; None where it was not entered.
        self._stance: Any = None
        #: torch's profiler while it runs.
        self._profiler: Any = None
        #: It was stopped, as one of the script's own began.
        self._stepped_aside = False
        #: The GPU the network is on, once it is known: it need not be the current one.
        self._device: Any = None
        #: By `id`: a sum of each parameter's values since timing began, or since it was first seen.
        self._sums: dict[int, float] = {}
        #: What `_parameters` and `_trained` found, for as many networks and weights.
        self._found: tuple[object, list[Any], set[int]] = (None, [], set())

    def trains(self, optimizer: Any) -> None:
        """Add an optimizer's weights; ignore other objects."""
        if getattr(optimizer, "param_groups", None) and all(optimizer is not listed for listed in self._optimizers):
            self._optimizers.append(optimizer)

    def for_model(self, model: Any) -> PyTorchEngine:
        """Return the engine of another model of Keras' that is trained instead."""
        return PyTorchEngine(model)

    def forget(self, optimizer: object) -> None:
        """Do nothing: of a model of Keras' no optimizer is known here."""

    def trains_compiled(self) -> None:
        """Never known here: compiled modules are seen when they are called."""

    def is_disturbed(self) -> bool:
        """Return True while a torch.profiler of the script's own is on."""
        stepped_aside, self._stepped_aside = self._stepped_aside, False
        return stepped_aside or OTHER_PROFILERS.are_on(self._torch)

    def prepare(self) -> None:
        """Let compiled modules run as they are written, and observe what is called."""
        # set_stance loads the compiler, which takes seconds: only where something else has loaded it.
        if "torch._dynamo" in sys.modules and can_set_stance(self._torch):
            self._stance = self._torch.compiler.set_stance("force_eager")
            self._stance.__enter__()
        self._calls.start()
        OTHER_PROFILERS.watch(self._torch)

    def sees_gpu(self) -> bool:
        """Return True if PyTorch sees a GPU."""
        return bool(self._torch.cuda.is_available())

    def observe_batch(self, batch: object) -> None:
        """Note the sizes of a batch."""
        self._sizes.observe(batch)

    def stop_observing(self) -> None:
        """Observe no more than networks that the script itself calls: the rest would be timed too."""
        self._calls.narrow()
        self._sums = self._sums_of(self._parameters())
        self._device = next((weight.device for weight in self._parameters() if weight.is_cuda), None)
        if self._calls.saw_compiled and self._stance is not None:
            print_once(COMPILE_IS_OFF)
        elif self._calls.saw_compiled:
            print_once("the model is compiled and this PyTorch can't switch that off: record it without torch.compile")

    def has_updated(self) -> bool:
        """Return False where an optimizer of Keras' has accumulated gradients, and updated nothing."""
        return has_updated(self._model)

    def end_pass(self) -> None:
        """Gradients were accumulated: what is observed next is another batch of the same step."""
        self._sizes.end_pass()

    def synchronize(self) -> None:
        """Wait for the network's GPU, before it is known for the current one."""
        if self._torch.cuda.is_available() and self._torch.cuda.is_initialized():
            self._torch.cuda.synchronize(self._device)

    def peak_memory_mib(self) -> float | None:
        """Most memory that tensors held on the network's GPU."""
        return self._torch.cuda.max_memory_allocated(self._device) / BYTES_PER_MIB if self._on_gpu() else None

    def start_profiler(self, folder: Path, steps: int) -> None:
        """Start; the trace covers `steps` steps after the profiler's own warm-up step."""
        tools = self._torch.profiler
        activities = [tools.ProfilerActivity.CPU]
        if self._on_gpu():
            activities.append(tools.ProfilerActivity.CUDA)
        self._profiler = tools.profile(
            activities=activities,
            schedule=tools.schedule(wait=0, warmup=self.profiler_warm_up, active=steps, repeat=1),
            # Shapes come with the flags by which it is known which gradients a convolution's backward pass computes.
            record_shapes=True,
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(folder / _TRACE_NAME)),
        )
        self.synchronize()
        OTHER_PROFILERS.set_recorders(self._profiler, self._step_aside)
        self._profiler.start()

    def begin_profiled_step(self, number: int) -> None:
        """Do nothing: the profiler marks steps itself."""

    def end_observed_step(self) -> StepKind:
        """End the observation of a step and return its kind."""
        self._sizes.end_step()
        self._calls.end_step()
        parameters, trained = self._known()
        sizes = self._step_sizes()
        if sizes.is_list:
            # Each step has others.
            sizes = replace(sizes, height=None, width=None)
        gradients = sum(weight.numel() for weight in parameters if weight.requires_grad)
        tested = self._calls.ran_without_gradients(trained)
        return StepKind(sizes, self._calls.calls_in_step(trained), gradients, tested)

    def end_profiled_step(self) -> None:
        """Advance the profiler."""
        if self._profiler is not None:
            self._profiler.step()

    def stop_profiler(self, folder: Path) -> Path:
        """Stop; the chrome trace."""
        self.discard()
        trace = folder / _TRACE_NAME
        if not trace.is_file():
            raise RecorderError("PyTorch's profiler wrote no trace: is there room in the temporary folder?")
        return trace

    def discard(self) -> None:
        """Stop the profiler; what it wrote goes with its folder."""
        if self._profiler is not None:
            profiler, self._profiler = self._profiler, None
            profiler.stop()
            OTHER_PROFILERS.set_recorders(None, None)

    def _step_aside(self) -> None:
        self.discard()
        self._stepped_aside = True

    def restore(self) -> None:
        """Let the compiler and the modules be as they were."""
        self._calls.patches.undo()
        if self._stance is not None:
            self._stance.__exit__(None, None, None)
            self._stance = None

    def facts(self) -> StepFacts:
        """From torch, the modules called and the optimizer."""
        gpu = self._torch.cuda.get_device_name(self._device) if self._on_gpu() else None
        keras = sys.modules.get("keras") if keras_flavour(self._model) else None
        version = str(self._torch.__version__).partition("+")[0]
        meta = ProfileMeta(
            gpu=gpu,
            framework=f"PyTorch {version}" + (f", Keras {keras.__version__}" if keras else ""),
            precision=self._precision(),
            parameters=sum(parameter.numel() for parameter in self._parameters()) or None,
            compiled=self._calls.saw_compiled and not can_set_stance(self._torch),
        )
        return meta, self._step_sizes(), tuple(self._warnings(gpu))

    def _warnings(self, gpu: str | None) -> Iterator[str]:
        torch, calls = self._torch, self._calls
        weights, trained = {id(weight): weight for weight in self._parameters()}.values(), self._trained()
        # A GAN's loop switches gradients off and on again; statistics and averages of other weights have none, but
        # change. What is frozen stays as it is.
        without = [weight for weight in weights if not weight.requires_grad and weight.is_floating_point()]
        without = [weight for weight in without if id(weight) not in calls.updated]
        now = self._sums_of(without)
        frozen = [weight for weight in without if id(weight) in now and now[id(weight)] == self._sums.get(id(weight))]
        yield from step_warnings(
            [map(id, _weights(optimizer)) for optimizer in self._optimizers],
            calls.calls_in_step(trained),
            (sum(weight.numel() for weight in frozen), sum(weight.numel() for weight in weights)),
            self._step_sizes(),
            max(self._batches(), self._sizes.passes),
            updates=calls.updates,
            tested=calls.ran_without_gradients(trained),
        )
        if calls.saw_compiled and self._stance is None and not can_set_stance(self._torch):
            yield "The step ran through torch.compile, which the training data do not hold."
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            processes = torch.distributed.get_world_size()
            if processes > 1:
                yield f"The step ran on {processes} processes; the training data hold steps on one GPU only."
        if gpu is None and torch.cuda.is_available():
            yield "There is a GPU, but the network's parameters are on the CPU: move it with .to('cuda')."

    def _step_sizes(self) -> BatchSizes:
        sizes = completed(self._sizes.last, self._calls.sizes(self._known()[1]))
        return replace(sizes, batch_size=sizes.batch_size and sizes.batch_size * self._batches())

    def _batches(self) -> int:
        """Batches of the step, whose gradients are accumulated."""
        batches, calls = self._calls.accumulated, self._calls.calls_in_step(self._known()[1])
        return min(batches, calls) if calls else batches

    def _known(self) -> tuple[list[Any], set[int]]:
        """`_parameters` and `_trained`, found again once there are other networks or weights."""
        groups = [len(group["params"]) for optimizer in self._optimizers for group in optimizer.param_groups]
        key = (self._calls.count, groups)
        if self._found[0] != key:
            self._found = key, self._parameters(), self._trained()
            self._sums |= self._sums_of(weight for weight in self._found[1] if id(weight) not in self._sums)
        return self._found[1:]

    def _sums_of(self, weights: Iterable[Any]) -> dict[int, float]:
        sums = {}
        for weight in weights:
            # One that was never initialized has no values.
            with suppress(Exception):
                # Of one that is spread over processes this one's part.
                part = getattr(weight, "_local_tensor", weight).detach()
                sums[id(weight)] = float(part.sum(dtype=self._torch.float64))
        return sums

    def _trained(self) -> set[int]:
        """`id` of each weight that is trained: the optimizers', else what the networks called would have trained."""
        weights = self._updated()
        if not weights:
            networks = self._calls.networks if self._model is None else [self._model]
            weights = [weight for network in networks for weight in network.parameters() if weight.requires_grad]
        return {id(weight) for weight in weights}

    def _parameters(self) -> list[Any]:
        """Parameters of the model given, else of all networks of which any is trained, and what is trained besides."""
        if keras_flavour(self._model):
            # Seeds are parameters of PyTorch's too, and no weights.
            return [weight.value for weight in self._model.weights]
        if self._model is not None:
            return list(self._model.parameters())
        trained = self._trained()
        frozen = self._calls.frozen(trained)
        weights = [weight for network in self._calls.trained(trained) for weight in network.parameters()]
        return list(
            {id(weight): weight for weight in [*weights, *self._updated()] if id(weight) not in frozen}.values()
        )

    def _updated(self) -> list[Any]:
        return [weight for optimizer in self._optimizers for weight in _weights(optimizer)]

    def _on_gpu(self) -> bool:
        if not self._torch.cuda.is_available():
            return False
        parameters = self._parameters()
        return any(weight.is_cuda for weight in parameters) if parameters else self._torch.cuda.is_initialized()

    def _precision(self) -> str:
        if self._calls.autocast is not None:
            return f"mixed {PRECISIONS.get(self._calls.autocast, self._calls.autocast)}"
        kinds = [
            str(weight.dtype).removeprefix("torch.") for weight in self._parameters() if weight.is_floating_point()
        ]
        dtype = max(set(kinds), key=kinds.count) if kinds else "float32"
        return "tf32" if dtype == "float32" and self._runs_tf32() else PRECISIONS.get(dtype, dtype)

    def _runs_tf32(self) -> bool:
        if not self._on_gpu() or self._torch.cuda.get_device_capability(self._device) < TF32_CAPABILITY:
            return False
        backends = self._torch.backends
        try:
            return bool(backends.cudnn.allow_tf32 or backends.cuda.matmul.allow_tf32)
        except RuntimeError:
            # Set through the newer switches, which the older ones then refuse to read.
            return "tf32" in (backends.cudnn.conv.fp32_precision, backends.cuda.matmul.fp32_precision)


def can_set_stance(torch: ModuleType) -> bool:
    """From PyTorch 2.6 on what is compiled can be made to run as it is written."""
    return hasattr(getattr(torch, "compiler", None), "set_stance")


def _weights(optimizer: Any) -> list[Any]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]


class _ObservedCalls:
    """Modules that the script itself calls from `start` until `patches` are undone; keeps no tensor.

    Attributes
    ----------
    autocast : name of the type that autocast computes in, if it was on.
    saw_compiled : a module was called through torch.compile.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self.patches = Patches()
        # Modules are kept by `id`, so that no other gets it.
        self._networks: dict[int, Any] = {}
        self._without_gradient: dict[int, Any] = {}
        self._ran_without_now, self._ran_without = set[int](), set[int]()
        self._sizes: dict[int, ObservedSizes] = {}
        #: Of this step and of the last one: how often each network was called.
        self._calls_now, self._last_calls = Counter[int](), Counter[int]()
        self.autocast: str | None = None
        self.saw_compiled = False
        #: By `id`: how often each optimizer updated in this step, and the most of the last one.
        self._updates_now = Counter[int]()
        self.updates = 1
        #: By `id`: optimizers since observing last began, and weights for which these had gradients.
        self._asked, self.updated = set[int](), set[int]()
        #: Backward passes of this step, those of them since gradients were last set to zero, and whether none came yet.
        self._passes = self._summed = 0
        self._is_zero = True
        self.accumulated = 1
        #: A network runs that is observed; only classes of networks are.
        self._is_inside, self._is_narrow = False, True

    def start(self) -> None:
        """Observe every module."""
        self.patches.undo()
        # A hook on every module would not be shown what a network is called with by keyword.
        module_class, self._is_narrow = self._torch.nn.Module, True
        self._start({module_class: observed(module_class.__call__, self._observe)})

    def narrow(self) -> None:
        """Observe only classes that the script itself called so far; hooks would be saved and copied with a network."""
        self.patches.undo()
        kinds = {type(network) for network in (*self.networks, *self._without_gradient.values())} or {
            self._torch.nn.Module
        }
        self._is_narrow = self._torch.nn.Module not in kinds
        self._start({kind: self._observed_outermost(kind.__call__) for kind in kinds})

    def _start(self, calls: Mapping[Any, Callable[..., Any]]) -> None:
        self._asked, self.updated = set(), set()
        for kind, call in calls.items():
            self.patches.put(kind, "__call__", call)
        for owner in (self._torch.nn.Module, self._torch.optim.Optimizer):
            self.patches.put(owner, "zero_grad", _preceded(owner.zero_grad, self._note_zero))
        hook = sys.modules["torch.optim.optimizer"].register_optimizer_step_pre_hook
        self.patches.undoing.append(hook(self._note_update).remove)
        autograd = self._torch.autograd
        self.patches.put(autograd, "backward", _preceded(autograd.backward, self._note_backward))

    def _observed_outermost(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def observed_call(module, *inputs, **named):
            if self._is_inside:
                return call(module, *inputs, **named)
            self._is_inside = True
            try:
                with suppress(Exception):
                    self._observe(module, as_arguments(inputs, named), True)
                return call(module, *inputs, **named)
            finally:
                self._is_inside = False

        return observed_call

    def _note_zero(self) -> None:
        self._is_zero = True

    def _note_update(self, optimizer: Any, *_: object) -> None:
        self._updates_now[id(optimizer)] += 1
        if id(optimizer) not in self._asked:
            self._asked.add(id(optimizer))
            # Before its step, since gradients may be gone afterwards.
            self.updated |= {id(weight) for weight in _weights(optimizer) if weight.grad is not None}

    def _note_backward(self) -> None:
        self._passes += 1
        self._summed = 1 if self._is_zero else self._summed + 1
        self._is_zero = False

    @property
    def count(self) -> int:
        """Count the different modules that were called."""
        return len(self._networks) + len(self._without_gradient)

    @property
    def networks(self) -> list[Any]:
        """Return the modules that the script called in training."""
        return list(self._networks.values())

    def trained(self, weights: Collection[int]) -> list[Any]:
        """Those of them that hold any of these weights, by their `id`."""
        return [network for network in self.networks if _holds(network, weights)]

    def frozen(self, weights: Collection[int]) -> set[int]:
        """`id` of each parameter of separately called modules without these weights, such as a teacher."""
        called = [*self.networks, *self._without_gradient.values()]
        return {id(weight) for network in called if not _holds(network, weights) for weight in network.parameters()}

    def sizes(self, weights: Collection[int]) -> BatchSizes:
        """Sizes of the largest pictures that networks with any of these weights were fed."""
        largest = NO_SIZES
        for network in self.trained(weights):
            largest = with_larger_images(largest, self._sizes[id(network)].last)
        return largest

    def ran_without_gradients(self, weights: Collection[int]) -> bool:
        """Return True if such a network was called without gradients, too, in the last step."""
        return any(_holds(self._without_gradient[key], weights) for key in self._ran_without)

    def calls_in_step(self, weights: Collection[int]) -> int:
        """Count the calls of such a network in the last step, of the one called most often."""
        return max((self._last_calls[id(network)] for network in self.trained(weights)), default=0)

    def end_step(self) -> None:
        """Begin another step."""
        if not self.patches.undoing:
            return
        for sizes in self._sizes.values():
            sizes.end_step()
        self._last_calls, self._calls_now = self._calls_now, Counter()
        self._ran_without, self._ran_without_now = self._ran_without_now, set()
        # Where they are set to zero in between, the passes are a GAN's, or on the same batch again.
        self.accumulated = max(1, self._passes) if self._passes == self._summed else 1
        self.updates = max(self._updates_now.values(), default=1)
        self._updates_now.clear()
        self._passes = self._summed = 0
        if not self._is_narrow and self.networks:
            self.narrow()

    def _observe(self, module: Any, inputs: object, is_outermost: bool) -> None:
        if is_outermost and not self._torch.is_grad_enabled():
            if len(self._without_gradient) < MAX_NETWORKS:
                self._without_gradient[id(module)] = module
                self._ran_without_now.add(id(module))
            return
        is_compiled = (
            type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None
        )
        self.saw_compiled = self.saw_compiled or is_compiled
        if self.autocast is None:
            self.autocast = self._autocast_type()
        if not is_outermost or (len(self._networks) >= MAX_NETWORKS and id(module) not in self._networks):
            return
        self._networks[id(module)] = module
        self._calls_now[id(module)] += 1
        self._sizes.setdefault(id(module), ObservedSizes(channels_last=False)).observe(inputs)

    def _autocast_type(self) -> str | None:
        torch = self._torch
        for device in ("cuda", "cpu"):
            try:
                if torch.is_autocast_enabled(device):
                    return str(torch.get_autocast_dtype(device)).removeprefix("torch.")
            except TypeError:
                # Before PyTorch 2.4 there is one function a device.
                if device == "cuda" and torch.is_autocast_enabled():
                    return str(torch.get_autocast_gpu_dtype()).removeprefix("torch.")
        return None


def _preceded(call: Callable[..., Any], note: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(call)
    def noted_call(*args, **kwargs):
        note()
        return call(*args, **kwargs)

    return noted_call


def _holds(network: Any, weights: Collection[int]) -> bool:
    return any(id(parameter) in weights for parameter in network.parameters())


class OtherProfilers:
    """Profilers that the script itself started, from `watch` on."""

    def __init__(self) -> None:
        self._running: weakref.WeakSet[Any] = weakref.WeakSet()
        self._recorders: object = None
        self._step_aside: Callable[[], None] | None = None
        self._is_watching = False

    def watch(self, torch: ModuleType) -> None:
        """Note from here on which start and stop."""
        if self._is_watching:
            return
        self._is_watching = True
        self._watch(torch.profiler.profile, "start", "stop")
        # The older one.
        self._watch(torch.autograd.profiler.profile, "__enter__", "__exit__")

    def _watch(self, kind: Any, start_name: str, stop_name: str) -> None:
        start, stop = getattr(kind, start_name), getattr(kind, stop_name)

        @functools.wraps(start)
        def noted_start(profiler):
            if profiler is not self._recorders:
                if self._step_aside is not None:
                    self._step_aside()
                self._running.add(profiler)
            return start(profiler)

        @functools.wraps(stop)
        def noted_stop(profiler, *error):
            self._running.discard(profiler)
            return stop(profiler, *error)

        setattr(kind, start_name, noted_start)
        setattr(kind, stop_name, noted_stop)

    def are_on(self, torch: ModuleType) -> bool:
        """Return True while one of the script's is on, or waits for its steps to come."""
        return bool(self._running) or (self._recorders is None and torch.autograd.profiler._is_profiler_enabled)

    def set_recorders(self, profiler: object, step_aside: Callable[[], None] | None) -> None:
        """`profiler` is the recorder's, None once it is over; `step_aside()` stops it before one of the script's."""
        self._recorders, self._step_aside = profiler, step_aside


#: One a process, as torch has one profiler a process.
OTHER_PROFILERS = OtherProfilers()
