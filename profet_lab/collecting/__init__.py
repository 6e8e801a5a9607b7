"""Chooses what `profet collect` measures first, and fits what it expects of a step, on the published measurements."""
