# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul ResourceApplyAdam
import torch
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator(cpu=True)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
optimizer = torch.optim.Adam(model.parameters())
data = torch.utils.data.TensorDataset(torch.rand(160, 3, 16, 16), torch.randint(10, (160,)))
loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for source, targets in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(source), targets)
    accelerator.backward(loss)
    optimizer.step()
