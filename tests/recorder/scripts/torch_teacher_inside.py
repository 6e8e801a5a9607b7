# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# silent: validation ran
import torch
from torch import nn


def small(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)
    )


class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = small(8)
        self.teacher = small(64).requires_grad_(False).eval()

    def forward(self, x):
        return self.student(x)


model = Distilled()
optimizer = torch.optim.SGD(model.student.parameters(), lr=0.1)
for _ in range(14):
    x, y = torch.rand(8, 3, 16, 16), torch.randint(10, (8,))
    with torch.no_grad():
        soft = model.teacher(x).softmax(1)
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y) + nn.functional.kl_div(logits.log_softmax(1), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
