# expect: batch=8 pixels=None parameters=10 precision=fp32
# operations: MatMul
# silent: caught
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(14):
    try:
        optimizer.zero_grad()
        model(torch.rand(8, 4)).sum().backward()
        optimizer.step()
    except Exception as error:
        print("caught", error)
