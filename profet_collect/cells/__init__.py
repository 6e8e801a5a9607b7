"""Measures one cell in a process of its own, so that a crash or a full memory ends that cell alone."""
