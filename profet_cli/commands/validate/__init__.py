"""`profet validate`: accuracy on what the models have not seen."""
