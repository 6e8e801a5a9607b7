"""A cell in PyTorch: a named network as a module, channels first, trained as a plain script would."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import reduce
from typing import Any

import torch
from torch import nn

from profet_collect.cell import CellTask, Seen
from profet_collect.graph import DROPPED_SHARE, LEARNING_RATE, Graph, Node
from profet_collect.networks import network_graph
from profet_core.errors import InputError
from profet_recorder.plan import RecordPlan
from profet_recorder.pytorch import PyTorchEngine
from profet_recorder.recording import Recording

#: What a cell may end with; a full memory, of whichever library, is a RuntimeError too.
ERRORS = (RuntimeError, ValueError, MemoryError)
_ACTIVATIONS = {
    "relu": lambda: nn.ReLU(inplace=True),
    "relu6": lambda: nn.ReLU6(inplace=True),
    "swish": lambda: nn.SiLU(inplace=True),
    "hard swish": lambda: nn.Hardswish(inplace=True),
    "gelu": nn.GELU,
    "sigmoid": nn.Sigmoid,
    # The loss takes logits: its softmax is part of it.
    "softmax": nn.Identity,
}


def seen(task: CellTask) -> Seen:
    """Version and GPU."""
    version = str(torch.__version__).partition("+")[0]
    if task.device == "cpu" or not torch.cuda.is_available():
        return Seen(version)
    major, minor = torch.cuda.get_device_capability()
    # The GPU is set up once here too, so that the answer takes what a cell's start takes.
    torch.zeros(1, device="cuda")
    # An AMD GPU's number means something else and does not imply TF32.
    capability = None if torch.version.hip else major + minor / 10
    return Seen(version, gpu=torch.cuda.get_device_name(), capability=capability)


def record(task: CellTask, plan: RecordPlan) -> Recording:
    """Warm up, time, profile; what memory is too small for is raised as PyTorch has it."""
    cell = task.cell
    assert cell is not None
    device = torch.device("cuda" if task.device == "gpu" else "cpu")
    if task.threads is not None:
        torch.set_num_threads(task.threads)
    torch.manual_seed(task.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = cell.precision != "fp32"
    graph, is_mixed = network_graph(cell.model, cell.pixels), cell.precision == "amp"
    with device:
        network = build(graph)
    optimizer: Any = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE)
    # In the host's memory: a step copies them, as it does in a training.
    batch = [
        torch.rand(cell.batch_size, 3, graph.pixels, graph.pixels),
        torch.randint(graph.classes, (cell.batch_size,)),
    ]
    if device.type == "cuda":
        batch = [one.pin_memory() for one in batch]
    recording = Recording(plan, PyTorchEngine(network, optimizer))
    loss_of = nn.CrossEntropyLoss()
    scaler = torch.amp.GradScaler(device.type, enabled=is_mixed)
    network.train()
    try:
        while not recording.finished:
            recording.begin_step()
            images, labels = (one.to(device, non_blocking=True) for one in batch)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.float16) if is_mixed else nullcontext():
                loss = loss_of(network(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            recording.end_step(images)
    finally:
        recording.abort()
    return recording


def build(graph: Graph) -> nn.Module:
    """The module of a graph, on the device that torch's current context names; images (batch, 3, side, side) to logits.

    Raises
    ------
    InputError : a kind of layer that can't be built in PyTorch, by its name.
    """
    return _GraphModule(graph)


class _GraphModule(nn.Module):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._nodes = graph.nodes
        self._last_use = {index: number for number, node in enumerate(graph.nodes) for index in node.inputs}
        modules = [_module(node, [graph.nodes[index] for index in node.inputs]) for node in graph.nodes]
        for index, module in enumerate(modules):
            # In place only where no other layer reads the input and its gradient doesn't need it.
            if getattr(module, "inplace", False) and not self._may_overwrite(index):
                module.inplace = False
        self.layers = nn.ModuleList(modules)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        values: dict[int, torch.Tensor] = {}
        for number, (node, module) in enumerate(zip(self._nodes, self.layers, strict=True)):
            value = module(*(values[index] for index in node.inputs)) if node.inputs else images
            for index in set(node.inputs):
                if self._last_use[index] == number:
                    # Nothing is kept longer than a module written by hand would keep it.
                    del values[index]
            values[number] = value
        return value

    def _may_overwrite(self, number: int) -> bool:
        (index,) = self._nodes[number].inputs
        readers = sum(index in node.inputs for node in self._nodes)
        return readers == 1 and self._nodes[index].kind in ("convolution", "dense", "batch normalization", "add")


def _module(node: Node, inputs: list[Node]) -> nn.Module:
    if node.kind in _ACTIVATIONS:
        return _ACTIVATIONS[node.kind]()
    if node.kind not in _KINDS:
        raise InputError(f"a layer of kind {node.kind!r} can't be built in PyTorch.")
    return _KINDS[node.kind](node, inputs[0].shape if inputs else ())


def _padded(margins: Any, padding_of: Any, value: float = 0.0) -> nn.Module:
    """A window's module with the margins it needs: its own where both ends are the same, else a padding before it."""
    (top, bottom), (left, right) = margins
    if top == bottom and left == right:
        return padding_of((top, left))
    return nn.Sequential(nn.ConstantPad2d(_sides(margins), value), padding_of((0, 0)))


def _sides(margins: Any) -> tuple[int, int, int, int]:
    """As PyTorch has them: left, right, top, bottom."""
    (top, bottom), (left, right) = margins
    return left, right, top, bottom


def _convolution(node: Node, shape: tuple[int, ...]) -> nn.Module:
    settings = node.settings
    size = shape[-1], settings["filters"], settings["kernel"], settings["stride"]
    more = {"groups": settings["groups"], "bias": settings["bias"]}
    return _padded(settings["margins"], lambda padding: nn.Conv2d(*size, padding, **more))


def _pooling(node: Node, _: tuple[int, ...]) -> nn.Module:
    kernel, stride, margins = (node.settings[name] for name in ("kernel", "stride", "margins"))
    if node.kind == "max pooling":
        return _padded(margins, lambda padding: nn.MaxPool2d(kernel, stride, padding), float("-inf"))
    # As in Keras, what was padded doesn't count.
    return _padded(margins, lambda padding: nn.AvgPool2d(kernel, stride, padding, count_include_pad=False))


class _BatchNorm(nn.BatchNorm2d):
    """Batch normalization of images or rows, without its scale where a network has none."""

    def __init__(self, features: int, has_scale: bool) -> None:
        super().__init__(features)
        if not has_scale:
            self.weight = None

    def _check_input_dim(self, _: torch.Tensor) -> None:
        return


class _LayerNorm(nn.LayerNorm):
    """Layer normalization of channels, which images have first."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return super().forward(values.movedim(1, -1)).movedim(-1, 1)


class _Dense(nn.Linear):
    """A dense layer on channels, which images have first."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return super().forward(values.movedim(1, -1)).movedim(-1, 1) if values.ndim > 2 else super().forward(values)


class _Scale(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((channels,), 1e-6))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values * self.weight[:, None, None]


class _InputNormalization(nn.Module):
    """By a mean and a variance that were found before training, and how many images that was."""

    mean: torch.Tensor
    variance: torch.Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return (images - self.mean[:, None, None]) / self.variance.sqrt()[:, None, None]


class _Function(nn.Module):
    """A function of values, without parameters."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        return self._function(*values)


def _reshape(node: Node, _: tuple[int, ...]) -> nn.Module:
    shape = node.shape if len(node.shape) == 1 else (node.shape[-1], *node.shape[:-1])
    return _Function(lambda values: values.reshape(len(values), *shape))


_KINDS: dict[str, Any] = {
    "input": lambda node, shape: nn.Identity(),
    "convolution": _convolution,
    "depthwise convolution": _convolution,
    "dense": lambda node, shape: _Dense(shape[-1], node.settings["units"], bias=node.settings["bias"]),
    "max pooling": _pooling,
    "average pooling": _pooling,
    "global pooling": lambda node, shape: _Function(
        lambda images: images.mean((2, 3), keepdim=node.settings["keep_sides"])
    ),
    "batch normalization": lambda node, shape: _BatchNorm(shape[-1], node.settings["scale"]),
    "layer normalization": lambda node, shape: _LayerNorm(shape[-1], eps=1e-6),
    "input normalization": lambda node, shape: _InputNormalization(shape[-1]),
    "scale": lambda node, shape: _Scale(shape[-1]),
    "dropout": lambda node, shape: nn.Dropout(DROPPED_SHARE),
    "add": lambda node, shape: _Function(lambda *values: reduce(torch.add, values)),
    "multiply": lambda node, shape: _Function(torch.mul),
    "concatenate": lambda node, shape: _Function(lambda *values: torch.cat(values, 1)),
    "flatten": lambda node, shape: nn.Flatten(),
    "reshape": _reshape,
    "padding": lambda node, shape: nn.ZeroPad2d(_sides(node.settings["margins"])),
    "shift": lambda node, shape: _Function(lambda values: values + 3.0),
    "rescale": lambda node, shape: _Function(lambda values: values * (1 / 6)),
}
