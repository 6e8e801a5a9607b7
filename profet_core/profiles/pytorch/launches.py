"""Which operation of PyTorch started what ran on the GPU: by the time and thread of the call that started it."""

from __future__ import annotations

import numpy as np

from profet_core.profiles.pytorch.events import Spans
from profet_core.profiles.trace_events.nested_times import innermost

#: What no operation of the trace started.
NOBODY = -1


class Launches:
    """Which operation made each call of the CUDA runtime.

    Not by `External id`, which has been seen to name another operation.
    """

    def __init__(self, calls: Spans) -> None:
        self._begins = np.frombuffer(calls.begins_us, np.float64)
        self._links = np.frombuffer(calls.links, np.int64)
        threads = np.frombuffer(calls.threads, np.int32)
        self._by_thread = np.lexsort((self._begins, threads))
        self._sorted_threads = threads[self._by_thread]
        self._owners = np.full(len(self._begins), NOBODY, np.int64)

    def find_owners(self, thread: int, begins: np.ndarray, durations: np.ndarray, owners: np.ndarray) -> None:
        """Note the innermost of one thread's operations (in nesting order) that encloses each of its calls.

        Parameters
        ----------
        owners : (operations,), what the calls of each are noted under.
        """
        first, last = np.searchsorted(self._sorted_threads, [thread, thread + 1])
        rows = self._by_thread[first:last]
        if len(rows):
            inner = innermost(begins, durations, self._begins[rows])
            self._owners[rows] = np.where(inner >= 0, owners[np.maximum(inner, 0)], NOBODY)

    def of(self, links: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Owner and time of the call for work with these correlations, which began then; nobody's keep their time.

        Correlations ascend: work below the first call's was started before the recording, and its time is NaN.
        """
        owners, launched = np.full(len(links), NOBODY, np.int64), begins.copy()
        if len(self._links):
            order = np.argsort(self._links, kind="stable")
            place = np.minimum(np.searchsorted(self._links[order], links), len(order) - 1)
            rows = order[place]
            linked = (self._links[rows] == links) & (links >= 0)
            owners[linked] = self._owners[rows[linked]]
            launched[linked] = self._begins[rows[linked]]
            launched[(links >= 0) & (links < self._links.min())] = np.nan
        return owners, launched
