"""Networks that train, in PyTorch and in Keras, made of the same layers that `profet_core/layers/` counts."""
