"""PyTorch's side of a recording: torch.profiler, with eager operations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from profet_recorder.engines.engine import (
    BYTES_PER_MIB,
    PRECISIONS,
    TF32_CAPABILITY,
    ObservedSizes,
    StepFacts,
    either,
    several_optimizers,
)
from profet_recorder.engines.frameworks import keras_flavour
from profet_recorder.engines.pytorch_calls import OTHER_PROFILERS, ObservedCalls
from profet_recorder.errors import RecorderError, print_progress

_TRACE_NAME = "recorded.pt.trace.json"


class PyTorchEngine:
    """Records with `torch.profiler`; `model` is a module or None, `optimizer` one of torch or None."""

    #: The profiler's first step pays for its own start.
    profiler_warm_up = 1

    def __init__(self, model: Any = None, optimizer: Any = None) -> None:
        import torch

        self._torch = torch
        self._model = model
        self._optimizers = [] if optimizer is None else [optimizer]
        self._sizes = ObservedSizes(channels_last=False)
        self._calls = ObservedCalls(torch)
        #: The context in which compiled modules run as they are written; None where it was not entered.
        self._stance: Any = None
        #: torch's profiler while it runs.
        self._profiler: Any = None
        #: It was stopped, as one of the script's own began.
        self._stepped_aside = False
        #: The GPU the network is on, once it is known: it need not be the current one.
        self._device: Any = None

    def trains(self, optimizer: Any) -> None:
        """Add an optimizer's weights; ignore other objects."""
        if getattr(optimizer, "param_groups", None) and all(optimizer is not known for known in self._optimizers):
            self._optimizers.append(optimizer)

    def trains_compiled(self) -> None:
        """Never known here: compiled modules are seen when they are called."""

    def is_disturbed(self) -> bool:
        """True while a torch.profiler of the script's own is on."""
        stepped_aside, self._stepped_aside = self._stepped_aside, False
        return stepped_aside or OTHER_PROFILERS.are_on(self._torch)

    def prepare(self) -> None:
        """Let compiled modules run as they are written, and observe what is called."""
        # set_stance loads the compiler, which takes seconds: only where something else has loaded it.
        if "torch._dynamo" in sys.modules and self._can_set_stance():
            self._stance = self._torch.compiler.set_stance("force_eager")
            self._stance.__enter__()
        self._calls.start()
        OTHER_PROFILERS.watch(self._torch)
        if not self._torch.cuda.is_available():
            print_progress("no CUDA GPU is seen by PyTorch: the profile will be marked as a CPU's")

    def observe_batch(self, batch: object) -> None:
        """Note the sizes of a batch."""
        self._sizes.observe(batch)

    def stop_observing(self) -> None:
        """Take the hooks off the modules: they would be timed too."""
        self._calls.stop()
        self._device = next((one.device for one in self._parameters() if one.is_cuda), None)
        if not self._calls.saw_compiled:
            return
        if self._stance is not None:
            print_progress(
                "torch.compile is off for the recorded steps: it fuses operations that the models need separate"
            )
        else:
            print_progress(
                "the model is compiled and this PyTorch can't switch that off: record it without torch.compile"
            )

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
        self._calls.start()
        self.synchronize()
        OTHER_PROFILERS.begin_own(self._profiler, self._step_aside)
        self._profiler.start()

    def begin_profiled_step(self, number: int) -> None:
        """The profiler marks steps itself; what it is fed is observed again."""
        self._calls.forget_step()
        self._sizes.forget_last()

    def end_profiled_step(self) -> None:
        """Advance the profiler once the GPU is done."""
        self.synchronize()
        if self._profiler is not None:
            self._profiler.step()

    def stop_profiler(self, folder: Path) -> Path:
        """Stop; the chrome trace."""
        self._stop_profiler()
        self._calls.stop()
        trace = folder / _TRACE_NAME
        if not trace.is_file():
            raise RecorderError("PyTorch's profiler wrote no trace: is there room in the temporary folder?")
        return trace

    def odd_step(self) -> str | None:
        """Validation in between, or another batch size."""
        return self._calls.odd_step(self._trained()) or self._sizes.odd()

    def discard(self) -> None:
        """Stop the profiler; what it wrote goes with its folder."""
        self._calls.stop()
        self._stop_profiler()

    def _step_aside(self) -> None:
        self.discard()
        self._stepped_aside = True

    def _stop_profiler(self) -> None:
        if self._profiler is not None:
            profiler, self._profiler = self._profiler, None
            profiler.stop()
            OTHER_PROFILERS.end_own()

    def restore(self) -> None:
        """Let the compiler and the modules be as they were."""
        self._calls.stop()
        if self._stance is not None:
            self._stance.__exit__(None, None, None)
            self._stance = None

    def facts(self) -> StepFacts:
        """From torch, the modules called and the optimizer."""
        gpu = self._torch.cuda.get_device_name(self._device) if self._on_gpu() else None
        return StepFacts(
            gpu=gpu,
            framework=self._framework(),
            precision=self._precision(),
            parameters=sum(parameter.numel() for parameter in self._parameters()) or None,
            sizes=either(self._sizes.first, self._calls.sizes(self._trained())),
            compiled=self._calls.saw_compiled and not self._can_set_stance(),
            warnings=tuple(self._warnings(gpu)),
        )

    def _warnings(self, gpu: str | None) -> Iterator[str]:
        torch, calls = self._torch, self._calls
        if several := several_optimizers([map(id, _weights(optimizer)) for optimizer in self._optimizers]):
            yield several
        elif (times := calls.calls_in_step(self._trained())) > 1:
            yield f"The network ran {times} times in one step; the batch size is that of one call."
        if calls.saw_compiled and self._stance is None and not self._can_set_stance():
            yield "The step ran through torch.compile, which the training data do not hold."
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            processes = torch.distributed.get_world_size()
            if processes > 1:
                yield f"The step ran on {processes} processes; the training data hold steps on one GPU only."
        if gpu is None and torch.cuda.is_available():
            yield "There is a GPU, but the network's parameters are on the CPU: move it with .to('cuda')."

    def _can_set_stance(self) -> bool:
        """From PyTorch 2.6 on compiled modules can be made to run as they are written."""
        return hasattr(self._torch.compiler, "set_stance")

    def _framework(self) -> str:
        version = str(self._torch.__version__).partition("+")[0]
        keras = sys.modules.get("keras") if keras_flavour(self._model) else None
        return f"PyTorch {version}" + (f", Keras {keras.__version__}" if keras else "")

    def _trained(self) -> set[int]:
        """`id` of each weight that is trained: the optimizers', else what the networks called would have trained."""
        weights = self._updated()
        if not weights:
            networks = self._calls.networks if self._model is None else [self._model]
            weights = [one for network in networks for one in network.parameters() if one.requires_grad]
        return {id(one) for one in weights}

    def _parameters(self) -> list[Any]:
        """Parameters of the model given, else of all networks of which any is trained, and what is trained besides."""
        if self._model is not None:
            return list(self._model.parameters())
        trained = self._trained()
        frozen = self._calls.frozen(trained)
        weights = [one for network in self._calls.trained(trained) for one in network.parameters()]
        return list({id(one): one for one in [*weights, *self._updated()] if id(one) not in frozen}.values())

    def _updated(self) -> list[Any]:
        return [weight for optimizer in self._optimizers for weight in _weights(optimizer)]

    def _on_gpu(self) -> bool:
        if not self._torch.cuda.is_available():
            return False
        parameters = self._parameters()
        return any(one.is_cuda for one in parameters) if parameters else self._torch.cuda.is_initialized()

    def _precision(self) -> str:
        if self._calls.autocast is not None:
            return f"mixed {PRECISIONS.get(self._calls.autocast, self._calls.autocast)}"
        kinds = [str(one.dtype).removeprefix("torch.") for one in self._parameters() if one.is_floating_point()]
        found = max(set(kinds), key=kinds.count) if kinds else "float32"
        if found == "float32" and self._runs_tf32():
            return "tf32"
        return PRECISIONS.get(found, found)

    def _runs_tf32(self) -> bool:
        if not self._on_gpu() or self._torch.cuda.get_device_capability(self._device) < TF32_CAPABILITY:
            return False
        backends = self._torch.backends
        try:
            return bool(backends.cudnn.allow_tf32 or backends.cuda.matmul.allow_tf32)
        except RuntimeError:
            # Set through the newer switches, which the older ones then refuse to read.
            return "tf32" in (backends.cudnn.conv.fp32_precision, backends.cuda.matmul.fp32_precision)


def _weights(optimizer: Any) -> list[Any]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]
