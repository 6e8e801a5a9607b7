# expect: batch=8 pixels=28 parameters=1370 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MaxPoolGrad MatMul ResourceApplyMomentum
# command: -- --epochs 2 --lr 0.05
import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.fc1 = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(F.max_pool2d(F.relu(self.conv1(x)), 2), 4)
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--lr", type=float, default=1.0)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = TensorDataset(torch.rand(100, 1, 28, 28), torch.randint(10, (100,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        model.train()
        for data, target in loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data.to(device)), target.to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for data, target in loader:
                model(data.to(device)).argmax(dim=1, keepdim=True)
        print(f"Epoch: {epoch} Loss: {loss.item():.6f}")


if __name__ == "__main__":
    main()
