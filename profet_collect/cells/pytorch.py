"""Trains a cell in PyTorch as a plain script would, and records it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch

from profet_collect.cells.recorded import measured, plan_of
from profet_collect.cells.task import Measured, Seen, Task
from profet_collect.networks.graph import network_graph
from profet_collect.networks.pytorch import build
from profet_recorder.pytorch import PyTorchEngine
from profet_recorder.recording import Recording

LEARNING_RATE = 1e-3
#: What a cell may end with; a full memory, of whichever library, is a RuntimeError too.
ERRORS = (RuntimeError, ValueError, MemoryError)


def seen(task: Task) -> Seen:
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


def measure(task: Task) -> Measured:
    """Warm up, time, profile; what memory is too small for is raised as PyTorch has it."""
    cell = task.cell
    assert cell is not None
    device = torch.device("cuda" if task.device == "gpu" else "cpu")
    if task.threads is not None:
        torch.set_num_threads(task.threads)
    torch.manual_seed(task.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = cell.precision != "fp32"
    graph = network_graph(cell.model, cell.pixels)
    with device:
        network = build(graph)
    optimizer = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE)
    batch = _batch(cell.batch_size, graph.pixels, graph.classes, is_pinned=device.type == "cuda")
    with plan_of(task) as plan:
        recording = Recording(plan, PyTorchEngine(network, optimizer))
        try:
            _train(network, optimizer, batch, device, recording, is_mixed=cell.precision == "amp")
        finally:
            recording.abort()
        return measured(recording, task)


def _batch(size: int, pixels: int, classes: int, *, is_pinned: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels in the host's memory: a step copies them, as it does in a training."""
    images, labels = torch.rand(size, 3, pixels, pixels), torch.randint(classes, (size,))
    return (images.pin_memory(), labels.pin_memory()) if is_pinned else (images, labels)


def _train(
    network: torch.nn.Module,
    optimizer: Any,
    batch: tuple[torch.Tensor, torch.Tensor],
    device: torch.device,
    recording: Recording,
    *,
    is_mixed: bool,
) -> None:
    loss_of = torch.nn.CrossEntropyLoss()
    scaler = torch.amp.GradScaler(device.type, enabled=is_mixed)
    network.train()
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
