"""Reads what an xplane file says of its planes before their lines are read: names, and what its numbers stand for."""

from __future__ import annotations

from dataclasses import dataclass, field

from profet_core.errors import ProfileError
from profet_core.profiles.containers.unpacking import Content
from profet_core.profiles.decoding.protobuf_wire import PIECE_BYTES, WireStream, damaged
from profet_core.profiles.limits import MAX_METADATA, NamesKept
from profet_core.profiles.tensorflow.operation_names import (
    MAX_NAME_CHARACTERS,
    eager_type,
    kernel_operation,
    operation_type,
)
from profet_core.profiles.tensorflow.steps import has_gradient, is_forward, is_graph_operation, is_jax_name
from profet_core.profiles.tensorflow.xplane.schema import (
    PLANE_EVENT_METADATA,
    PLANE_NAME,
    PLANE_STAT_METADATA,
    PLANE_STATS,
    SPACE_PLANES,
    messages,
)
from profet_core.profiles.trace_events.kernel_names import MAX_KERNEL_CHARACTERS

_GIB = 2**30

#: Compute capability, multiprocessors, least memory in GiB of what is sold for servers, and name; boards for desks with
#: as many multiprocessors have less memory. Facts: NVIDIA's specs.
_SERVER_GPUS = (
    ((3, 7), 13, 10, "Tesla K80"),
    ((5, 2), 16, 7, "Tesla M60"),
    ((6, 0), 56, 11, "Tesla P100"),
    ((7, 0), 80, 15, "Tesla V100"),
    ((7, 5), 40, 14, "Tesla T4"),
    ((8, 0), 108, 38, "A100"),
    ((8, 6), 72, 20, "A10"),
    ((8, 6), 80, 20, "A10G"),
    ((8, 9), 58, 20, "L4"),
    ((9, 0), 114, 75, "H100"),
    ((9, 0), 132, 130, "H200"),
    ((9, 0), 132, 75, "H100"),
)


def server_gpu(capability: tuple[int, int], multiprocessors: int, memory_bytes: int) -> str | None:
    """The name of the GPU with these properties if it is one of those that clouds rent out, else None.

    >>> server_gpu((7, 5), 40, 15_843_721_216)
    'Tesla T4'
    """
    return next(
        (
            name
            for known, count, least_gib, name in _SERVER_GPUS
            if (known, count) == (capability, multiprocessors) and memory_bytes >= least_gib * _GIB
        ),
        None,
    )


HOST_PLANE = "/host:CPU"
DEVICE_PLANE_PREFIX = "/device:GPU:"
#: A host with eight GPUs has a dozen planes.
MAX_PLANES = 1000
MAX_FACTS = 10_000
_FACTS = ("compute_cap_major", "compute_cap_minor", "core_count", "memory_size")
_STATS = ("step_num", "batch_size", *_FACTS)
#: The stats of a kernel that may name its operation, in the order they are believed: today's, then those of TensorFlow
#: 2.2 to 2.5, where "level 0" repeats the outermost level of "annotation".
_LABELS = {"tf_op": 0, "annotation": 1} | {f"level {depth}": 2 + depth for depth in range(16)}


@dataclass(slots=True)
class Plane:
    """What is known of a plane before its lines are read.

    Attributes
    ----------
    types : id of an event's metadata -> operation type, of the events that are operations (host only).
    eager_types : the same of operations that ran as Python called them, of no graph (host only).
    graph_operations : ids of the operations whose number of runs tells the number of steps (host only).
    kernels : id of an event's metadata -> name (device only).
    capability : major compute capability (device only).
    gpu : the GPU's name, if what is noted of it tells (device only).
    references : id of a stat's metadata -> the operation type its name spells (device only).
    labels : id of a stat that may name a kernel's operation -> its rank, the lowest is believed first (device only).
    stats : name -> id of the stats that are looked at.
    has_gradient : some name is that of an operation of a gradient.
    has_jax : some name is one of JAX'.
    """

    name: str = ""
    types: dict[int, str] = field(default_factory=dict)
    eager_types: dict[int, str] = field(default_factory=dict)
    graph_operations: set[int] = field(default_factory=set)
    kernels: dict[int, str] = field(default_factory=dict)
    capability: int | None = None
    gpu: str | None = None
    references: dict[int, str] = field(default_factory=dict)
    labels: dict[int, int] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    has_gradient: bool = False
    has_jax: bool = False

    @property
    def is_host(self) -> bool:
        """The threads of the host."""
        return self.name == HOST_PLANE

    @property
    def is_device(self) -> bool:
        """A GPU."""
        return self.name.startswith(DEVICE_PLANE_PREFIX)


def read_planes(content: Content) -> list[Plane]:
    """Name and metadata of every plane, in the file's order; metadata of the host and of GPUs only.

    Raises
    ------
    ProfileError, protobuf's DecodeError : the file is damaged, or has more names than any trace.
    """
    planes = []
    with content.open() as stream:
        wire = WireStream(stream)
        names_left, names = MAX_METADATA, _Names()
        for number, size in wire.fields():
            if number != SPACE_PLANES:
                continue
            plane, facts = Plane(), {}
            planes.append(plane)
            if len(planes) > MAX_PLANES:
                raise damaged()
            for part, length in wire.fields(size):
                if part == PLANE_NAME and length <= MAX_NAME_CHARACTERS:
                    plane.name = _text(wire.read(length))
                elif part in (PLANE_EVENT_METADATA, PLANE_STAT_METADATA) and length <= PIECE_BYTES:
                    if (names_left := names_left - 1) < 0:
                        raise ProfileError(f"The trace has more than {MAX_METADATA:,} names: record fewer steps.")
                    _keep_metadata(plane, part, wire.read(length), names)
                elif part == PLANE_STATS and length <= PIECE_BYTES:
                    fact = messages().Stat.FromString(wire.read(length))
                    facts[fact.metadata_id] = fact.int64_value or fact.uint64_value
                    if len(facts) > MAX_FACTS:
                        raise damaged()
            if not any(map(is_forward, plane.types.values())) and any(map(is_forward, plane.eager_types.values())):
                # A step without a graph, whose operations XProf does not count.
                plane.types |= plane.eager_types
            # Names come after what they name.
            major, minor, multiprocessors, memory_bytes = (facts.get(plane.stats.get(name), 0) for name in _FACTS)
            plane.capability = major or None
            plane.gpu = server_gpu((major, minor), multiprocessors, memory_bytes)
    return planes


class _Names:
    """Keeps each name and each type once, whatever number of planes and of names of theirs have it."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}
        self._kept = NamesKept()

    def keep(self, name: str) -> str:
        """`name`, as it was kept before if it was."""
        held = self._held.get(name)
        if held is None:
            self._kept.add(name)
            held = self._held[name] = name
        return held


def _keep_metadata(plane: Plane, part: int, data: bytes, names: _Names) -> None:
    entry = messages().MetadataEntry.FromString(data)
    name = _text(entry.value.name[:MAX_NAME_CHARACTERS])
    plane.has_gradient |= has_gradient(name)
    plane.has_jax |= is_jax_name(name)
    if part == PLANE_EVENT_METADATA:
        if plane.is_host and (kind := operation_type(name)):
            plane.types[entry.key] = names.keep(kind)
            if is_graph_operation(name, kind):
                plane.graph_operations.add(entry.key)
        elif plane.is_host and (kind := eager_type(name)):
            plane.eager_types[entry.key] = names.keep(kind)
        elif plane.is_device:
            plane.kernels[entry.key] = names.keep(name[:MAX_KERNEL_CHARACTERS])
    elif name in _STATS:
        plane.stats[name] = entry.key
    elif plane.is_device and name in _LABELS:
        plane.labels[entry.key] = _LABELS[name]
    elif plane.is_device:
        plane.references[entry.key] = names.keep(kernel_operation(name))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
