"""The step latencies of a training at its size, as profiled or carried there from what is known of the network."""
