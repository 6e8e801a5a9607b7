"""What the traces of both frameworks share: events, self times, and the names of kernels and GPUs."""
