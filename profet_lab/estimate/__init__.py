"""Fits and judges what answers without a profile."""
