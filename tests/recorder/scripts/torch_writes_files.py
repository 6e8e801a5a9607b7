# expect: batch=8 pixels=16 parameters=314 precision=fp32 status=5
# command: --keep-running -- --out runs/a --epochs 2
# operations: Conv2D Conv2DBackpropFilter MatMul
# prints: saved runs/a/model.pt
# keeps: runs/a/model.pt
import argparse
import sys
from pathlib import Path

import torch
from torch import nn

assert Path(__file__).is_absolute() and sys.path[0] == str(Path(__file__).resolve().parent)
parser = argparse.ArgumentParser()
parser.add_argument("--out", type=Path, required=True)
parser.add_argument("--epochs", type=int, default=100)
args = parser.parse_args()
args.out.mkdir(parents=True, exist_ok=True)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
opt = torch.optim.RMSprop(net.parameters(), lr=0.01)
for epoch in range(args.epochs):
    for images in torch.rand(8, 8, 3, 16, 16):
        opt.zero_grad()
        nn.functional.cross_entropy(net(images), torch.zeros(8, dtype=torch.long)).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
torch.save(net.state_dict(), args.out / "model.pt")
print("saved", args.out / "model.pt")
sys.exit(5)
