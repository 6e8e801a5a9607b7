# expect: batch=4 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, index):
        return torch.rand(3, 16, 16), index % 10


def main():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    opt = torch.optim.Adagrad(net.parameters(), lr=0.01)
    for images, labels in DataLoader(Pictures(), batch_size=4, num_workers=1, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        opt.step()


if __name__ == "__main__":
    main()
