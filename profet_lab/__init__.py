"""Fit, validate and export models; the only place that imports training libraries."""
