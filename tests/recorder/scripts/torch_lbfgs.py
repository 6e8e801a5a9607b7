# expect: batch=32 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# warns: ran 4 times in one step
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
x, y = torch.rand(32, 3, 16, 16), torch.randint(10, (32,))
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4)
criterion = nn.CrossEntropyLoss()


def closure():
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    return loss


for i in range(15):
    print(i, float(optimizer.step(closure)))
