"""Step latencies of a training at its own batch and pixel size."""
