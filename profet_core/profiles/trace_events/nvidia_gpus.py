"""Names a GPU of NVIDIA's by what a profiler notes of it: compute capability, multiprocessors and memory."""

from __future__ import annotations

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
