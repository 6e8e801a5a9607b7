"""Networks by name: as they were measured, else as Keras or torchvision builds them."""
