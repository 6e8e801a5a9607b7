"""Observe a PyTorch step's networks, batches and precision, and profilers of the script's own."""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from types import ModuleType
from typing import Any

from profet_recorder.engines.engine import NO_SIZES, BatchSizes, batch_sizes, larger, odd_batch

#: A step calls a few networks; a loop that makes a new one each time is not followed.
_MOST_NETWORKS = 1_000


class ObservedCalls:
    """What the script itself calls of its modules while this is started; keeps modules and sizes, never a tensor.

    Attributes
    ----------
    autocast : name of the type that autocast computes in, if it was on.
    saw_compiled : a module was called through torch.compile.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self._call: Any = None
        #: A network runs: what is called meanwhile is a part of it.
        self._inside = False
        self._networks: dict[int, Any] = {}
        self._without_gradient: dict[int, Any] = {}
        self._first_sizes: dict[int, BatchSizes] = {}
        self._step_sizes: dict[int, BatchSizes] = {}
        self._step_calls: Counter[int] = Counter()
        self._validated: dict[int, Any] = {}
        self.autocast: str | None = None
        self.saw_compiled = False

    def start(self) -> None:
        """Begin to observe."""
        if self._call is not None:
            return
        module_class = self._torch.nn.Module
        call = self._call = module_class.__call__

        # A hook on every module would not be shown what a network is called with by keyword.
        @functools.wraps(call)
        def observed_call(module, *inputs, **named):
            is_outermost, self._inside = not self._inside, True
            try:
                # Whatever a module is, observing it must not end the training.
                with suppress(Exception):
                    self._observe(module, (inputs, named)) if is_outermost else self._look_inside(module)
                return call(module, *inputs, **named)
            finally:
                self._inside = not is_outermost

        module_class.__call__ = observed_call

    def stop(self) -> None:
        """Let modules be called as before."""
        if self._call is not None:
            self._torch.nn.Module.__call__ = self._call
            self._call = None

    @property
    def networks(self) -> list[Any]:
        """What the script called in training."""
        return list(self._networks.values())

    def trained(self, weights: Collection[int]) -> list[Any]:
        """Those of them that hold any of these weights, by their `id`."""
        return [network for network in self.networks if _holds(network, weights)]

    def frozen(self, weights: Collection[int]) -> set[int]:
        """`id` of each parameter of separately called modules without these weights, such as a teacher."""
        called = [*self.networks, *self._without_gradient.values()]
        return {id(one) for network in called if not _holds(network, weights) for one in network.parameters()}

    def sizes(self, weights: Collection[int]) -> BatchSizes:
        """Sizes of the largest pictures that networks with any of these weights were fed."""
        found = NO_SIZES
        for network in self.trained(weights):
            found = larger(found, self._first_sizes.get(id(network), NO_SIZES))
        return found

    def calls_in_step(self, weights: Collection[int]) -> int:
        """How often such a network was called in the last step, the one that was most often."""
        return max((self._step_calls[id(network)] for network in self.trained(weights)), default=0)

    def forget_step(self) -> None:
        """A new step begins."""
        self._step_sizes.clear()
        self._step_calls.clear()
        self._validated.clear()

    def odd_step(self, weights: Collection[int]) -> str | None:
        """Why the last step is not like the first, if it is not."""
        if any(_holds(network, weights) for network in self._validated.values()):
            return "validation ran in it"
        for network in self.trained(weights):
            first, last = self._first_sizes.get(id(network)), self._step_sizes.get(id(network))
            if first and last and (odd := odd_batch(first, last)):
                return odd
        return None

    def _observe(self, module: Any, inputs: object) -> None:
        if not self._torch.is_grad_enabled():
            if len(self._without_gradient) < _MOST_NETWORKS:
                self._without_gradient[id(module)] = module
                if not module.training:
                    self._validated[id(module)] = module
            return
        self._look_inside(module)
        if len(self._networks) >= _MOST_NETWORKS and id(module) not in self._networks:
            return
        # Kept, so that no other module gets its `id`.
        self._networks[id(module)] = module
        self._step_calls[id(module)] += 1
        sizes = batch_sizes(inputs, channels_last=False)
        for known in (self._first_sizes, self._step_sizes):
            known[id(module)] = larger(known.get(id(module), NO_SIZES), sizes)

    def _look_inside(self, module: object) -> None:
        self.saw_compiled = self.saw_compiled or _is_compiled(module)
        if self.autocast is None:
            self.autocast = self._autocast_type()

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


def _holds(network: Any, weights: Collection[int]) -> bool:
    return any(id(parameter) in weights for parameter in network.parameters())


def _is_compiled(module: object) -> bool:
    return type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None


class OtherProfilers:
    """Profilers that the script itself started, from `watch` on."""

    def __init__(self) -> None:
        self._running: weakref.WeakSet[Any] = weakref.WeakSet()
        self._own: Any = None
        self._step_aside: Callable[[], None] | None = None
        self._is_watching = False

    def watch(self, torch: ModuleType) -> None:
        """Note from here on which start and stop."""
        if self._is_watching:
            return
        self._is_watching = True
        kind = torch.profiler.profile
        start, stop = kind.start, kind.stop

        @functools.wraps(start)
        def noted_start(profiler):
            if profiler is not self._own:
                if self._step_aside is not None:
                    self._step_aside()
                self._running.add(profiler)
            return start(profiler)

        @functools.wraps(stop)
        def noted_stop(profiler):
            self._running.discard(profiler)
            return stop(profiler)

        kind.start, kind.stop = noted_start, noted_stop

    def are_on(self, torch: ModuleType) -> bool:
        """True while one of the script's is on, or waits for its steps to come."""
        return bool(self._running) or (self._own is None and torch.autograd.profiler._is_profiler_enabled)

    def begin_own(self, profiler: object, step_aside: Callable[[], None]) -> None:
        """`profiler` is the recorder's; `step_aside()` stops it before one of the script's starts."""
        self._own, self._step_aside = profiler, step_aside

    def end_own(self) -> None:
        """The recorder's is over."""
        self._own = self._step_aside = None


#: One a process, as torch has one profiler a process.
OTHER_PROFILERS = OtherProfilers()
