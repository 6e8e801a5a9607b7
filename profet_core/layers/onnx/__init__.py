"""Reads ONNX files: the graph and its tensors' sizes, from protobuf's wire format; weights are passed over."""
