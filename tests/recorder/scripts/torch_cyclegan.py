# expect: batch=1 pixels=32 parameters=392 precision=fp32
# operations: Conv2D Conv2DBackpropFilter ResourceApplyAdam
# says: optimizers
import itertools

import torch
from torch import nn

G_AB, G_BA = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
D_A, D_B = nn.Conv2d(3, 4, 3, stride=2), nn.Conv2d(3, 4, 3, stride=2)
optimizer_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=2e-4)
optimizer_D_A = torch.optim.Adam(D_A.parameters(), lr=2e-4)
optimizer_D_B = torch.optim.Adam(D_B.parameters(), lr=2e-4)
mse, l1 = nn.MSELoss(), nn.L1Loss()
for _ in range(12):
    real_A, real_B = torch.rand(1, 3, 32, 32), torch.rand(1, 3, 32, 32)
    optimizer_G.zero_grad()
    fake_B, fake_A = G_AB(real_A), G_BA(real_B)
    loss_G = (D_B(fake_B) ** 2).mean() + (D_A(fake_A) ** 2).mean() + l1(G_BA(fake_B), real_A)
    loss_G.backward()
    optimizer_G.step()
    for D, optimizer, real, fake in ((D_A, optimizer_D_A, real_A, fake_A), (D_B, optimizer_D_B, real_B, fake_B)):
        optimizer.zero_grad()
        ((D(real) - 1) ** 2).mean().backward()
        (D(fake.detach()) ** 2).mean().backward()
        optimizer.step()
