# expect: batch=4 pixels=64 parameters=260 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# warns: The images come in a list
import random

import torch
from torch import nn


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        image = torch.rand(3, 64, random.choice([48, 64])) if index % 4 else torch.rand(3, 64, 64)
        return image, {"boxes": torch.rand(2, 4), "labels": torch.ones(2, dtype=torch.int64)}


class Detector(nn.Module):
    """As torchvision's: a list of images of their own sizes, and a dict of losses."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(8, 4)

    def forward(self, images, targets):
        batch = images[0].new_zeros(len(images), 3, 64, 64)
        for whole, image in zip(batch, images):
            whole[:, :, : image.shape[2]] = image
        boxes = torch.stack([target["boxes"][0] for target in targets])
        return {"loss_box": nn.functional.mse_loss(self.head(self.backbone(batch)), boxes)}


def collate(batch):
    return tuple(zip(*batch))


model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loader = torch.utils.data.DataLoader(Pictures(), batch_size=4, collate_fn=collate)
for images, targets in loader:
    losses = model(list(images), [dict(target) for target in targets])
    optimizer.zero_grad()
    sum(losses.values()).backward()
    optimizer.step()
