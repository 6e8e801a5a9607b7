# expect: status=2
# says: used neither Keras nor PyTorch
# prints: hello
print("hello")
