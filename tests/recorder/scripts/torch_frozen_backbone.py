# expect: batch=8 pixels=16 parameters=898 precision=fp32
# operations: Conv2D MatMul ResourceApplyMomentum
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(self.backbone(x).flatten(1))


model = Net()
for param in model.backbone.parameters():
    param.requires_grad = False
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.001, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
for epoch in range(7):
    for phase in ["train", "val"]:
        model.train() if phase == "train" else model.eval()
        for _ in range(3):
            inputs, labels = torch.rand(8, 3, 16, 16), torch.randint(10, (8,))
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                loss = nn.functional.cross_entropy(model(inputs), labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
        if phase == "train":
            scheduler.step()
