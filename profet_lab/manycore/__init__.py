"""Checks the many-core models: against what was published, and on this machine's own cores."""
