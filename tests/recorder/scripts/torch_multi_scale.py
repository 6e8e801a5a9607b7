# expect: batch=8 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# warns: The image size varies: pixels, latency and operations
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    size = (32, 48, 40)[step % 3]
    images = nn.functional.interpolate(torch.rand(8, 3, 48, 48), size=size)
    loss = nn.functional.cross_entropy(model(images), torch.randint(10, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
