"""Predict if a training step fits in GPU memory."""
