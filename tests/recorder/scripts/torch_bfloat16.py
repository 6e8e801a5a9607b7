# expect: batch=8 pixels=16 parameters=314 precision=bf16
# operations: Conv2D Conv2DBackpropFilter MatMul
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
net = net.to(torch.bfloat16)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(14):
    loss = nn.functional.cross_entropy(net(torch.rand(8, 3, 16, 16).bfloat16()), torch.randint(10, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
