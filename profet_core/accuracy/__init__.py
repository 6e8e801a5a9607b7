"""Read reports of measured accuracy that ship with the models."""
