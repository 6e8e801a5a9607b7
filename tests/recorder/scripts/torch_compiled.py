# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# says: torch.compile is off
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
model = torch.compile(net, backend="eager")
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(14):
    loss = nn.functional.cross_entropy(model(torch.rand(8, 3, 16, 16)), torch.randint(10, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
