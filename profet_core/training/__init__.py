"""The step latencies of a training at its batch size, as profiled or carried there from both ends of an axis."""
