"""Fit the default method on operation classes."""
