"""`*.xplane.pb`, the trace that TensorFlow writes today."""
