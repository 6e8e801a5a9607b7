"""Reads PROFET's pickles in a process of their own, by an unpickler that builds and calls nothing they name."""
