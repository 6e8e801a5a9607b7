"""Kinds, classes and clusters of operations; imputation of truncated profiles."""
