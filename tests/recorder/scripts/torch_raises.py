# expect: status=1
# says: RuntimeError: mat1 and mat2 shapes cannot be multiplied
# silent: profet_recorder
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for width in (4, 4, 5):
    optimizer.zero_grad()
    model(torch.rand(8, width)).sum().backward()
    optimizer.step()
