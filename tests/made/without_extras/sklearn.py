"""As if it were not installed: Keras imports it where it is there, which is a fourth of the time of a short script."""

raise ImportError("not here, for the tests of recordings")
