"""Read uploaded network files in a separate, limited process."""
