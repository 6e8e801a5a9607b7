"""Energy and emissions of a training: an upper bound of its power, and the grid's carbon intensity where it runs."""
