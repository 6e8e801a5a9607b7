"""Fits what a step on several GPUs takes, on published measurements, and judges it on what was held out."""
