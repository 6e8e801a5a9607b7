"""Networks by name: the measured ones as they were measured, the others as Keras or torchvision builds them."""
