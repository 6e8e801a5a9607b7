# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul ResourceApplyAdam
import torch
from torch import nn

features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
head = nn.Linear(8, 10)
net = nn.Sequential(features, head)


def train(optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(torch.rand(8, 3, 16, 16)), torch.randint(10, (8,))).backward()
        optimizer.step()


train(torch.optim.SGD(head.parameters(), lr=0.1), 3)
train(torch.optim.Adam(net.parameters(), lr=1e-4), 12)
