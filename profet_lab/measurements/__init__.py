"""Reads measurements: PROFET's own, others' timings, and third-party profiles."""
