"""Fits, validates and exports the models: the only place that imports training libraries."""
