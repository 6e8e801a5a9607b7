# expect: batch=8 pixels=None parameters=10 precision=fp32
# operations: MatMul
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# 2 to warm up, 3 timed, 1 for the profiler to start and 1 profiled.
for _ in range(2 + 3 + 2):
    optimizer.zero_grad()
    model(torch.rand(8, 4)).sum().backward()
    optimizer.step()
