"""TensorFlow's profiles: traces of every version, and the statistics made from them."""
