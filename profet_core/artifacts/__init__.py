"""Load the models and sample traces that ship with the code."""
