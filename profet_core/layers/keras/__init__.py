"""Reads networks that Keras saved, from their description alone: no code of the file is run, no weights are read."""
