# expect: batch=16 pixels=32 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# warns: accumulated over 4 batches
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.rand(200, 3, 32, 32), torch.randint(10, (200,)))
accumulate = 16 // 4
for index, (images, labels) in enumerate(torch.utils.data.DataLoader(data, batch_size=4)):
    (nn.functional.cross_entropy(model(images), labels) / accumulate).backward()
    if (index + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
