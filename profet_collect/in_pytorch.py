"""A cell in PyTorch: a named network as a module, channels first, trained as a plain script would."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import chain
from typing import Any

import torch
from torch import nn

from profet_collect.cell import CellTask, Seen
from profet_collect.networks import (
    ALEXNET,
    ALEXNET_UNITS,
    DROPPED_SHARE,
    LEARNING_RATE,
    OF_TORCHVISION,
    RESNETS,
    SMALL_RESNET,
    VGGS,
    classes_at,
    resnet_blocks,
)
from profet_core.errors import InputError
from profet_recorder.plan import RecordPlan
from profet_recorder.pytorch import PyTorchEngine
from profet_recorder.recording import Recording

#: What a cell may end with; a full memory, of whichever library, is a RuntimeError too.
ERRORS = (RuntimeError, ValueError, MemoryError)


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
    classes, is_mixed = classes_at(cell.pixels), cell.precision == "amp"
    with device:
        network = build(cell.model, cell.pixels, classes)
    optimizer: Any = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE)
    # In the host's memory: a step copies them, as it does in a training.
    batch = [torch.rand(cell.batch_size, 3, cell.pixels, cell.pixels), torch.randint(classes, (cell.batch_size,))]
    if device.type == "cuda":
        batch = [tensor.pin_memory() for tensor in batch]
    recording = Recording(plan, PyTorchEngine(network, optimizer))
    loss_of = nn.CrossEntropyLoss()
    scaler = torch.amp.GradScaler(device.type, enabled=is_mixed)
    network.train()
    try:
        while not recording.finished:
            recording.begin_step()
            images, labels = (tensor.to(device, non_blocking=True) for tensor in batch)
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


def build(name: str, pixels: int, classes: int) -> nn.Module:
    """Build a named network, on the device that torch's context names: images (batch, 3, side, side) to logits.

    Raises
    ------
    InputError : torchvision is missing, or doesn't have it.
    """
    if name in OF_TORCHVISION:
        try:
            from torchvision import models
        except ImportError:
            raise InputError(f"{name} needs torchvision: pip install torchvision.") from None
        more = {"aux_logits": False, "init_weights": False} if name == "InceptionV3" else {}
        return getattr(models, OF_TORCHVISION[name])(weights=None, num_classes=classes, **more)
    if name == "ResNetSmall":
        network = _small_resnet(classes)
    elif name in RESNETS:
        network = _resnet(classes, *RESNETS[name])
    elif (layers := _sequence(name, classes)) is not None:
        network = nn.Sequential(*layers)
    else:
        raise InputError(f"{name} can't be built: torchvision does not have it.")
    with torch.no_grad():
        # Dense layers get as many inputs as the images have values there.
        network.eval()(torch.zeros(1, 3, pixels, pixels))
    return network.train()


def _relu() -> nn.Module:
    return nn.ReLU(inplace=True)


def _sequence(name: str, classes: int) -> list[nn.Module] | None:
    """Build the layers of a network without branches; None if it is none."""
    if name == "LeNet5":
        parts = [(nn.LazyConv2d(filters, 5), _relu(), nn.MaxPool2d(2)) for filters in (6, 16)]
        dense = [(nn.LazyLinear(units), _relu()) for units in (120, 84)]
        return [*chain(*parts), nn.Flatten(), *chain(*dense), nn.LazyLinear(classes)]
    if name == "MNIST_CNN":
        parts = [(nn.LazyConv2d(filters, 3), _relu(), nn.MaxPool2d(2)) for filters in (32, 64)]
        return [*chain(*parts), nn.Flatten(), nn.Dropout(DROPPED_SHARE), nn.LazyLinear(classes)]
    built: list[nn.Module] = []
    if name == "CIFAR10_CNN":
        for filters in (32, 64):
            built += [nn.LazyConv2d(filters, 3, padding=1), _relu(), nn.LazyConv2d(filters, 3), _relu()]
            built += [nn.MaxPool2d(2), nn.Dropout(DROPPED_SHARE)]
        built += [nn.Flatten(), nn.LazyLinear(512), _relu(), nn.Dropout(DROPPED_SHARE)]
        return [*built, nn.LazyLinear(classes)]
    if name == "AlexNet":
        for filters, kernel, is_padded, is_pooled in ALEXNET:
            built += [nn.LazyConv2d(filters, kernel, padding=kernel // 2 + is_padded), nn.LazyBatchNorm2d(), _relu()]
            built += [nn.MaxPool2d(2)] if is_pooled else []
        built.append(nn.Flatten())
        for units in ALEXNET_UNITS:
            built += [nn.LazyLinear(units), nn.LazyBatchNorm1d(), _relu(), nn.Dropout(DROPPED_SHARE)]
        return [*built, nn.LazyLinear(classes), nn.LazyBatchNorm1d()]
    if name not in VGGS:
        return None
    for filters, number in VGGS[name]:
        built += [*chain(*((nn.LazyConv2d(filters, 3, padding=1), _relu()) for _ in range(number))), nn.MaxPool2d(2)]
    dense = [(nn.LazyLinear(4096), _relu()) for _ in range(2)]
    return [*built, nn.Flatten(), *chain(*dense), nn.LazyLinear(classes)]


class _Residual(nn.Module):
    """A branch and a shortcut around it, added."""

    def __init__(self, branch: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.branch, self.shortcut = branch, shortcut

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.shortcut(values) + self.branch(values)


def _small_resnet(classes: int) -> nn.Module:
    """Build the measurements' small ResNet, whose residual convolutions are 1 x 1."""
    built: list[nn.Module] = [nn.LazyConv2d(64, 7, 2, 3), nn.LazyBatchNorm2d(), nn.MaxPool2d(3, 2, 1)]
    for filters, stride in SMALL_RESNET:
        first = [nn.LazyConv2d(filters, 1, stride), nn.LazyBatchNorm2d(), _relu()]
        branch = nn.Sequential(*first, nn.LazyConv2d(filters, 1), nn.LazyBatchNorm2d())
        shortcut = nn.Sequential(nn.LazyConv2d(filters, 1, 2), nn.LazyBatchNorm2d()) if stride > 1 else nn.Identity()
        built += [_Residual(branch, shortcut), _relu()]
    return nn.Sequential(*built, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(classes))


def _resnet(classes: int, blocks: tuple[int, ...], kernels: tuple[int, ...]) -> nn.Module:
    """Build the measurements' ResNet: normalized before each convolution (v2), no normalization on shortcuts."""
    built: list[nn.Module] = [nn.LazyConv2d(64, 7, 2, 3), nn.LazyBatchNorm2d(), _relu(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, block in resnet_blocks(blocks):
        filters, stride, branch = 64 * 2**stage, 2 if stage and not block else 1, []
        for index, kernel in enumerate(kernels):
            # The block's input goes on beside it.
            branch += [nn.LazyBatchNorm2d(), nn.ReLU()] if stage or block or index else []
            widened = filters * (4 if index == 2 else 1)
            branch.append(nn.LazyConv2d(widened, kernel, 1 if index else stride, kernel // 2))
        is_same, channels = stride == 1 and channels == widened, widened
        built.append(_Residual(nn.Sequential(*branch), nn.Identity() if is_same else nn.LazyConv2d(widened, 1, stride)))
    pooled = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*built, nn.LazyBatchNorm2d(), _relu(), *pooled, nn.LazyLinear(classes))
