"""Measures the most memory that a training step's tensors hold: `python -m profet_collect.step_peaks FILE`.

Every network and pixel size of the measurements, built as `profet collect` builds it, takes a step in PyTorch on
tensors that have shapes and lifetimes but no values, so that no size needs a GPU or much memory. What is counted is
what `torch.cuda.max_memory_allocated` counts, but for the workspace of the GPU's libraries. The table of the measured
networks is `profet_lab/memory/step_peaks.csv`.
"""

from __future__ import annotations

import csv
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from profet_collect.networks.graph import network_graph
from profet_collect.networks.pytorch import build
from profet_core.errors import InputError
from profet_core.layers.networks import MEASURED_PIXELS, measured_networks

BATCH_SIZES = (4, 16, 64, 256)
#: PyTorch's allocator on a GPU hands out whole blocks of this many bytes.
BLOCK_BYTES = 512
_POOLING_WITH_INDICES = torch.ops.aten.max_pool2d_with_indices.default


@dataclass(frozen=True, slots=True)
class StepPeak:
    """The most that the tensors of one step held at once.

    Attributes
    ----------
    peak_bytes : of all tensors, as PyTorch takes the step.
    without_indices_bytes : without the indices that PyTorch's maximum pooling keeps for its gradient, which take twice
        the memory of its output; TensorFlow keeps none.
    """

    model: str
    pixels: int
    batch_size: int
    peak_bytes: int
    without_indices_bytes: int


class HeldBytes(TorchDispatchMode):
    """Counts the bytes of the storages that are alive, while the mode is entered; views share theirs."""

    def __init__(self) -> None:
        super().__init__()
        self._alive: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self._held_bytes = self._index_bytes = 0
        self.peak_bytes = self.without_indices_bytes = 0

    def forget_peak(self) -> None:
        """The peak is again what is held now."""
        self.peak_bytes, self.without_indices_bytes = self._held_bytes, self._held_bytes - self._index_bytes

    def __torch_dispatch__(
        self,
        operation: Callable[..., Any],
        _: Any,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation and count what it puts out."""
        output = operation(*arguments, **(named or {}))
        tensors = [one for one in tree_leaves(output) if isinstance(one, torch.Tensor)]
        for number, tensor in enumerate(tensors):
            self._count(tensor.untyped_storage(), is_index=operation is _POOLING_WITH_INDICES and number == 1)
        self.peak_bytes = max(self.peak_bytes, self._held_bytes)
        self.without_indices_bytes = max(self.without_indices_bytes, self._held_bytes - self._index_bytes)
        return output

    def _count(self, storage: torch.UntypedStorage, *, is_index: bool) -> None:
        key = id(storage)
        if key in self._alive:
            return
        held = -(-storage.nbytes() // BLOCK_BYTES) * BLOCK_BYTES
        indices = held if is_index else 0

        def forget(_: object) -> None:
            del self._alive[key]
            self._held_bytes -= held
            self._index_bytes -= indices

        self._alive[key] = weakref.ref(storage, forget)
        self._held_bytes += held
        self._index_bytes += indices


def measured_peaks(model: str, pixels: int, classes: int | None, batch_sizes: Iterable[int]) -> Iterator[StepPeak]:
    """The peak of one network's step at each batch size: forward, backward, plain SGD.

    Raises
    ------
    InputError : the network can't be built, by its name or at this size.
    """
    graph = network_graph(model, pixels, classes)
    with FakeTensorMode(), HeldBytes() as held:
        network = build(graph)
        optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
        for batch_size in batch_sizes:
            optimizer.zero_grad(set_to_none=True)
            held.forget_peak()
            images = torch.rand(batch_size, 3, pixels, pixels)
            loss = torch.nn.functional.cross_entropy(network(images), torch.zeros(batch_size, dtype=torch.int64))
            loss.backward()
            optimizer.step()
            del images, loss
            yield StepPeak(model, pixels, batch_size, held.peak_bytes, held.without_indices_bytes)


def grid_peaks() -> Iterator[StepPeak]:
    """The peaks of every measured network at every measured pixel size that it can be built for."""
    for model in measured_networks():
        for pixels in MEASURED_PIXELS:
            try:
                network_graph(model, pixels)
            except InputError:
                continue
            yield from measured_peaks(model, pixels, None, BATCH_SIZES)


def write_peaks(peaks: Iterable[StepPeak], path: Path) -> None:
    """Write the table."""
    rows = [astuple(one) for one in peaks]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(StepPeak)])
        writer.writerows(rows)


if __name__ == "__main__":
    write_peaks(grid_peaks(), Path(sys.argv[1]))
