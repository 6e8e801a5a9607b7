"""Observes which modules a PyTorch step calls, with what pictures and in what precision."""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import Any

from profet_recorder.engines.batches import BatchSizes, batch_sizes, odd_batch

#: More modules than any network of the data has; each is observed once.
_MOST_MODULES = 10_000


class ObservedCalls:
    """A hook on every module while it is started; keeps modules and sizes, never a tensor.

    Attributes
    ----------
    largest : the module with the most parameters among those called in training: the network.
    autocast : name of the type that autocast computes in, if it was on.
    saw_compiled : a module was called through torch.compile.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self._hook: Any = None
        self._modules: dict[int, Any] = {}
        self._sizes: dict[int, BatchSizes] = {}
        self._any_sizes: BatchSizes | None = None
        self._step_sizes: BatchSizes | None = None
        self._step_calls: Counter[int] = Counter()
        self._validated = False
        self.autocast: str | None = None
        self.saw_compiled = False
        self.largest: Any = None

    def start(self) -> None:
        """Begin to observe."""
        if self._hook is None:
            self._hook = self._torch.nn.modules.module.register_module_forward_pre_hook(self._observe)

    def stop(self) -> None:
        """Take the hook off."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
            self._choose_largest()

    @property
    def sizes(self) -> BatchSizes | None:
        """Sizes of the first pictures the network was fed; of any module, if it was fed by keyword."""
        return self._sizes.get(id(self.largest)) or self._any_sizes

    @property
    def calls_in_step(self) -> int:
        """How often the network was called in the last step."""
        return self._step_calls[id(self.largest)]

    def forget_step(self) -> None:
        """A new step begins."""
        self._step_sizes = None
        self._step_calls.clear()
        self._validated = False

    def odd_step(self) -> str | None:
        """Why the last step is not like the first, if it is not."""
        if self._validated:
            return "validation ran in it"
        first, last = self._any_sizes, self._step_sizes
        return odd_batch(first, last) if first and last else None

    def _observe(self, module: Any, inputs: object) -> None:
        if not self._torch.is_grad_enabled():
            self._validated = self._validated or not module.training
            return
        self._step_calls[id(module)] += 1
        self.saw_compiled = self.saw_compiled or _is_compiled(module)
        if self._step_sizes is None or id(module) not in self._modules:
            self._observe_sizes(module, inputs)
        if len(self._modules) < _MOST_MODULES:
            self._modules.setdefault(id(module), module)
        if self.autocast is None:
            self.autocast = self._autocast_type()

    def _observe_sizes(self, module: object, inputs: object) -> None:
        sizes = batch_sizes(inputs, channels_last=False)
        if sizes.height is not None:
            self._any_sizes = self._any_sizes or sizes
            self._step_sizes = self._step_sizes or sizes
            self._sizes.setdefault(id(module), sizes)

    def _choose_largest(self) -> None:
        if self.largest is None and self._modules:
            # The first of equals is the outermost: it is called before what is inside.
            self.largest = max(
                self._modules.values(), key=lambda module: sum(one.numel() for one in module.parameters())
            )
        self._modules.clear()

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


def _is_compiled(module: object) -> bool:
    return type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None
