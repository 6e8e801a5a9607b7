"""PyTorch's profiles: chrome traces, translated to TensorFlow's operations."""
