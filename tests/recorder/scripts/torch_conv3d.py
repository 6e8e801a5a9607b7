# expect: batch=2 pixels=None parameters=242 precision=fp32
# silent: --pixels
import torch
from torch import nn

net = nn.Sequential(nn.Conv3d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for volume in torch.rand(14, 2, 1, 8, 8, 8):
    opt.zero_grad()
    net(volume).pow(2).mean().backward()
    opt.step()
