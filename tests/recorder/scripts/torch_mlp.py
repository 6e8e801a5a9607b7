# expect: batch=16 pixels=None parameters=212 precision=fp32
# operations: MatMul ResourceApplyAdam
# silent: --pixels
import torch
from torch import nn

model = nn.Sequential(nn.Linear(18, 10), nn.ReLU(), nn.Linear(10, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()
for t in range(14):
    loss = loss_fn(model(torch.rand(16, 18)), torch.rand(16, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
