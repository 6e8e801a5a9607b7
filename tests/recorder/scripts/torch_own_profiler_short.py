# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# command: --keep-running
# prints: done 2
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01)


def train(steps):
    for _ in range(steps):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.rand(8, 3, 16, 16)), torch.randint(10, (8,))).backward()
        opt.step()


traces = 0
for begin in range(2):
    train(4)
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        train(3)
    traces += len(prof.key_averages()) > 10
train(8)
print("done", traces)
