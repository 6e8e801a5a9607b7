"""Reads measurements: PROFET's own, others' timings, and profiles that strangers recorded."""
