"""Models, catalog and specs: loaded once per process, retried after a failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from profet_core.answers.questions import Context
from profet_core.answers.served import load_served
from profet_core.errors import ProfetError

#: A failed loading is not tried again sooner.
RETRY_S = 5.0


def load_context() -> Context:
    """Everything, checked file by file.

    The catalog is the one that the app shows to every visitor; what can't be read of its own file is held out.

    Raises
    ------
    ProfetError : something is missing, damaged or changed.
    """
    return load_served().context


class SharedContext:
    """One `Context` for all requests of a process."""

    def __init__(self, load: Callable[[], Context] = load_context) -> None:
        self._load = load
        self._lock = Lock()
        self._context: Context | None = None
        self._failure: ProfetError | None = None
        self._failed_at_s = 0.0

    def get(self) -> Context:
        """The context, loaded if it isn't yet; raises ProfetError if it can't be."""
        with self._lock:
            if self._context is None:
                self._context = self._loaded()
            return self._context

    def _loaded(self) -> Context:
        if self._failure is not None and time.monotonic() < self._failed_at_s + RETRY_S:
            raise self._failure
        try:
            return self._load()
        except ProfetError as error:
            self._failure, self._failed_at_s = error, time.monotonic()
            raise
