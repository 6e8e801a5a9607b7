"""Read networks that Keras saved: no code is run, no weights are read."""
