# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

if "RANK" in os.environ:
    dist.init_process_group("gloo")
else:
    dist.init_process_group("gloo", init_method=f"file://{tempfile.mktemp()}", rank=0, world_size=1)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
model = DDP(net)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(14):
    opt.zero_grad()
    nn.functional.cross_entropy(model(torch.rand(8, 3, 16, 16)), torch.randint(10, (8,))).backward()
    opt.step()
dist.destroy_process_group()
