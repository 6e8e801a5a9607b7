# expect: batch=4 pixels=12 parameters=336 precision=fp32
# operations: Conv2D Conv2DBackpropFilter
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2))
criterion = nn.L1Loss()
optimizer = torch.optim.Adam(model.parameters())
for i in range(14):
    lr_images, hr_images = torch.rand(4, 3, 12, 12), torch.rand(4, 3, 24, 24)
    loss = criterion(model(lr_images), hr_images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
