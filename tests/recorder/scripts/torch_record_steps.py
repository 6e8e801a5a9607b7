# expect: batch=8 pixels=16 parameters=314 precision=fp32 plain
# operations: Conv2D Conv2DBackpropFilter MatMul
# prints: steps 12
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from profet_recorder import record_steps

loader = DataLoader(TensorDataset(torch.rand(32, 3, 16, 16), torch.randint(10, (32,))), batch_size=8)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
steps = 0
for epoch in range(3):
    for images, labels in record_steps(loader, "profile.json", warm_up=2, timed=3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        opt.step()
        steps += 1
print("steps", steps)
