# expect: batch=4 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# says: ran 4 times in one step
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
accumulation_steps = 4
for i in range(48):
    loss = nn.functional.cross_entropy(net(torch.rand(4, 3, 16, 16)), torch.randint(10, (4,))) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        opt.step()
        opt.zero_grad()
