"""A training script as somebody has it, of a network that no list has: `python train_own_network.py THREADS`."""

from __future__ import annotations

import sys

import torch
from torch import nn

BATCH_SIZE, PIXELS, CLASSES = 64, 32, 10

torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(7)
network = nn.Sequential(
    nn.Conv2d(3, 24, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(24, 24, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(24, 48, 3, padding=1),
    nn.BatchNorm2d(48),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(48 * 8 * 8, 64),
    nn.ReLU(),
    nn.Linear(64, CLASSES),
)
optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
images, labels = torch.rand(BATCH_SIZE, 3, PIXELS, PIXELS), torch.randint(CLASSES, (BATCH_SIZE,))
for _ in range(1_000):
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(images), labels).backward()
    optimizer.step()
