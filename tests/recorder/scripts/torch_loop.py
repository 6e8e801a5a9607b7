# expect: batch=8 pixels=28 parameters=1469 precision=fp32 fresh
# operations: Conv2D Conv2DBackpropFilter MaxPoolGrad MatMul ResourceApplyMomentum
# command: -- --epochs 2 --lr 0.05
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.fc1 = nn.Linear(8 * 4 * 4, 10)
        self.extra = nn.Linear(8, 11)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.adaptive_avg_pool2d(F.max_pool2d(x, 2), 4)
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def train(model, device, loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % 10 == 0:
            print(f"Train Epoch: {epoch} Loss: {loss.item():.6f}")


def test(model, device, loader):
    model.eval()
    with torch.no_grad():
        for data, target in loader:
            model(data.to(device)).argmax(dim=1, keepdim=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--lr", type=float, default=1.0)
    args = parser.parse_args()
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = TensorDataset(torch.rand(100, 1, 28, 28), torch.randint(10, (100,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(1, args.epochs + 1):
        train(model, device, loader, optimizer, epoch)
        test(model, device, loader)


if __name__ == "__main__":
    main()
