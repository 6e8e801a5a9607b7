"""Read ONNX files: the graph and its tensors' sizes, from protobuf's wire format; weights are skipped.

The `onnx` package holds all weights: of VGG16 (553 MB) 1.1 GB, with its shape inference 2.7 GB, where this takes 33 MB.
That inference doesn't follow divisions and products of shapes, which exporters write.
"""
