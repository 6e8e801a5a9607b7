# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}


def step_and_free(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in net.parameters():
    p.register_post_accumulate_grad_hook(step_and_free)
for _ in range(14):
    nn.functional.cross_entropy(net(torch.rand(8, 3, 16, 16)), torch.randint(10, (8,))).backward()
