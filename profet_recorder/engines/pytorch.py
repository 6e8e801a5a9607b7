"""PyTorch's side of a recording: torch.profiler, with eager operations."""

from __future__ import annotations

import sys
from pathlib import Path

from profet_recorder.engines.batches import SizesSeen
from profet_recorder.engines.engine import StepFacts, keras_flavour
from profet_recorder.engines.pytorch_calls import CallsSeen
from profet_recorder.errors import RecorderError, say

_MIB = 2**20
#: From compute capability 8 on (Ampere), cuDNN runs float32 convolutions as TF32 unless that is switched off.
_TF32_CAPABILITY = (8, 0)
_PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}


class PyTorchEngine:
    """Records with `torch.profiler`; `model` is a module or None, `optimizer` one of torch or None."""

    #: The profiler's first step pays for its own start.
    profiler_warm_up = 1

    def __init__(self, model: object = None, optimizer: object = None) -> None:
        import torch

        self._torch = torch
        self._model = model
        self._optimizer = optimizer
        self._sizes = SizesSeen(channels_last=False)
        self._calls = CallsSeen(torch)
        self._stance: object = None
        self._profiler = None
        self._trace: Path | None = None
        #: The GPU the network is on, once it is known: it need not be the current one.
        self._device: object = None

    def prepare(self) -> None:
        """Let compiled modules run as they are written, and look at what is called."""
        # set_stance loads the compiler, which takes seconds: only where something else has loaded it.
        if "torch._dynamo" in sys.modules and hasattr(self._torch.compiler, "set_stance"):
            self._stance = self._torch.compiler.set_stance("force_eager")
            self._stance.__enter__()
        self._calls.start()
        if not self._torch.cuda.is_available():
            say("no CUDA GPU is seen by PyTorch: the profile will be marked as a CPU's")

    def look_at(self, batch: object) -> None:
        """Note the sizes of a batch."""
        self._sizes.note(batch)

    def stop_looking(self) -> None:
        """Take the hooks off the modules: they would be timed too."""
        self._calls.stop()
        self._device = next((one.device for one in self._parameters() if one.is_cuda), None)
        if self._calls.saw_compiled:
            if self._stance is not None:
                say("torch.compile is off for the recorded steps: it joins operations, and the models know them apart")
            else:
                say("the model is compiled and this PyTorch can't switch that off: record it without torch.compile")

    def synchronize(self) -> None:
        """Wait for the network's GPU, before it is known for the current one."""
        if self._torch.cuda.is_available() and self._torch.cuda.is_initialized():
            self._torch.cuda.synchronize(self._device)

    def peak_memory_mib(self) -> float | None:
        """Most memory that tensors held on the network's GPU."""
        return self._torch.cuda.max_memory_allocated(self._device) / _MIB if self._on_gpu() else None

    def start_profiler(self, folder: Path, steps: int) -> None:
        """Start; the trace covers `steps` steps after the profiler's own warm-up step."""
        tools = self._torch.profiler
        activities = [tools.ProfilerActivity.CPU]
        if self._on_gpu():
            activities.append(tools.ProfilerActivity.CUDA)
        trace = folder / "recorded.pt.trace.json"
        self._profiler = tools.profile(
            activities=activities,
            schedule=tools.schedule(wait=0, warmup=self.profiler_warm_up, active=steps, repeat=1),
            # Shapes come with the flags that tell which gradients a convolution's backward pass computes.
            record_shapes=True,
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(trace)),
        )
        self._trace = trace
        self._calls.start()
        self.synchronize()
        self._profiler.start()

    def begin_profiled_step(self, number: int) -> None:
        """The profiler marks steps itself; what it is fed is looked at again."""
        self._calls.forget_step()
        self._sizes.forget_last()

    def end_profiled_step(self) -> None:
        """Tell the profiler once the GPU is done."""
        self.synchronize()
        self._profiler.step()

    def stop_profiler(self) -> Path:
        """Stop; the chrome trace."""
        self._profiler.stop()
        self._profiler = None
        self._calls.stop()
        if not self._trace.is_file():
            raise RecorderError("PyTorch's profiler wrote no trace: is there room in the temporary folder?")
        return self._trace

    def odd_step(self) -> str | None:
        """Validation in between, or another batch size."""
        return self._calls.odd_step() or self._sizes.odd()

    def discard(self) -> None:
        """Stop the profiler; what it wrote goes with its folder."""
        self._calls.stop()
        if self._profiler is not None:
            profiler, self._profiler = self._profiler, None
            profiler.stop()

    def restore(self) -> None:
        """Let the compiler and the modules be as they were."""
        self._calls.stop()
        if self._stance is not None:
            self._stance.__exit__(None, None, None)
            self._stance = None

    def facts(self) -> StepFacts:
        """What torch, the modules called and the optimizer tell."""
        calls, warnings = self._calls, []
        if calls.calls_in_step > 1:
            warnings.append(
                f"The network ran {calls.calls_in_step} times in one step; the batch size is that of one call."
            )
        if calls.saw_compiled and self._stance is None and not hasattr(self._torch.compiler, "set_stance"):
            warnings.append("The step ran through torch.compile, which the training data do not hold.")
        if self._torch.distributed.is_available() and self._torch.distributed.is_initialized():
            size = self._torch.distributed.get_world_size()
            if size > 1:
                warnings.append(f"The step ran on {size} processes; the training data hold steps on one GPU only.")
        gpu = self._torch.cuda.get_device_name(self._device) if self._on_gpu() else None
        if gpu is None and self._torch.cuda.is_available():
            warnings.append("There is a GPU, but the network's parameters are on the CPU: move it with .to('cuda').")
        keras = sys.modules.get("keras") if keras_flavour(self._model) else None
        return StepFacts(
            gpu=gpu,
            framework=f"PyTorch {self._version()}" + (f", Keras {keras.__version__}" if keras else ""),
            precision=self._precision(),
            parameters=sum(parameter.numel() for parameter in self._parameters()) or None,
            sizes=self._sizes.first if self._sizes.first.height else calls.sizes or self._sizes.first,
            compiled=calls.saw_compiled and not hasattr(self._torch.compiler, "set_stance"),
            warnings=warnings,
        )

    def _version(self) -> str:
        return str(self._torch.__version__).partition("+")[0]

    def _parameters(self) -> list:
        """Parameters of the model given, else of the largest module called, else of the optimizer."""
        module = self._model if self._model is not None else self._calls.largest
        if module is not None:
            return list(module.parameters())
        groups = getattr(self._optimizer, "param_groups", ())
        return list({id(one): one for group in groups for one in group["params"]}.values())

    def _on_gpu(self) -> bool:
        if not self._torch.cuda.is_available():
            return False
        parameters = self._parameters()
        return any(one.is_cuda for one in parameters) if parameters else self._torch.cuda.is_initialized()

    def _precision(self) -> str:
        if self._calls.autocast is not None:
            return f"mixed {_PRECISIONS.get(self._calls.autocast, self._calls.autocast)}"
        kinds = [str(one.dtype).removeprefix("torch.") for one in self._parameters() if one.is_floating_point()]
        found = max(set(kinds), key=kinds.count) if kinds else "float32"
        if found == "float32" and self._runs_tf32():
            return "tf32"
        return _PRECISIONS.get(found, found)

    def _runs_tf32(self) -> bool:
        if not self._on_gpu() or self._torch.cuda.get_device_capability(self._device) < _TF32_CAPABILITY:
            return False
        backends = self._torch.backends
        try:
            return bool(backends.cudnn.allow_tf32 or backends.cuda.matmul.allow_tf32)
        except RuntimeError:
            # Set through the newer switches, which the older ones then refuse to read.
            return "tf32" in (backends.cudnn.conv.fp32_precision, backends.cuda.matmul.fp32_precision)
