"""Fit the documented PROFET ensemble (arXiv:2208.05130)."""
