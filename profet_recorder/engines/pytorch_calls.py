"""Looks at which modules a PyTorch step calls, with what pictures and in what precision."""

from __future__ import annotations

from collections import Counter

from profet_recorder.engines.batches import BatchSizes, batch_sizes

#: More modules than any network of the data has; each is looked at once.
_MOST_MODULES = 10_000


class CallsSeen:
    """A hook on every module while it is started; keeps modules and sizes, never a tensor.

    Attributes
    ----------
    largest : the module with the most parameters among those called in training: the network.
    sizes : sizes of the first pictures the network was fed; of any module, if it was fed by keyword.
    autocast : name of the type that autocast computes in, if it was on.
    saw_compiled : a module was called through torch.compile.
    calls_in_step : how often the network was called in the last step.
    """

    def __init__(self, torch) -> None:
        self._torch = torch
        self._handle = None
        self._modules: dict[int, object] = {}
        self._sizes: dict[int, BatchSizes] = {}
        self._any_sizes: BatchSizes | None = None
        self._step_sizes: BatchSizes | None = None
        self._step_calls: Counter[int] = Counter()
        self._validated = False
        self.autocast: str | None = None
        self.saw_compiled = False
        self.largest: object = None

    def start(self) -> None:
        """Begin to look."""
        if self._handle is None:
            self._handle = self._torch.nn.modules.module.register_module_forward_pre_hook(self._look)

    def stop(self) -> None:
        """Take the hook off."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
            self._choose_largest()

    @property
    def sizes(self) -> BatchSizes | None:
        """See the class."""
        return self._sizes.get(id(self.largest)) or self._any_sizes

    def forget_step(self) -> None:
        """A new step begins."""
        self._step_sizes = None
        self._step_calls.clear()
        self._validated = False

    @property
    def calls_in_step(self) -> int:
        """See the class."""
        return self._step_calls[id(self.largest)]

    def odd_step(self) -> str | None:
        """Why the last step is not like the first, if it is not."""
        if self._validated:
            return "validation ran in it"
        first, last = self._any_sizes, self._step_sizes
        if first and last and first != last:
            return f"a batch of {last.batch_size} instead of {first.batch_size}"
        return None

    def _look(self, module, inputs) -> None:
        torch = self._torch
        if not torch.is_grad_enabled():
            self._validated = self._validated or not module.training
            return
        self._step_calls[id(module)] += 1
        kind = type(module).__name__
        compiled = kind == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None
        self.saw_compiled = self.saw_compiled or compiled
        if self._step_sizes is None or id(module) not in self._modules:
            sizes = batch_sizes(inputs, channels_last=False)
            if sizes.height is not None:
                self._any_sizes = self._any_sizes or sizes
                self._step_sizes = self._step_sizes or sizes
                self._sizes.setdefault(id(module), sizes)
        if len(self._modules) < _MOST_MODULES:
            self._modules.setdefault(id(module), module)
        if self.autocast is None:
            self.autocast = self._autocast_type()

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
