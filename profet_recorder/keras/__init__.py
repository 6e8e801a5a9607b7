"""Recording from within Keras' `fit`."""
