# expect: batch=8 pixels=16 parameters=306 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import torch
import torch.nn.functional as F

w1 = torch.randn(8, 3, 3, 3, requires_grad=True)
w2 = torch.randn(10, 9, requires_grad=True)
optimizer = torch.optim.SGD([w1, w2], lr=0.01)
for _ in range(14):
    x, y = torch.rand(8, 3, 16, 16), torch.randint(10, (8,))
    h = F.relu(F.conv2d(x, w1)).mean((2, 3))
    h = torch.cat([h, torch.ones(8, 1)], 1)
    loss = F.cross_entropy(F.linear(h, w2), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
