"""Speedup of AMP and TF32."""
