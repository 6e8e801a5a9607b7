# expect: status=0
# says: process
import os

import torch
import torch.multiprocessing as mp
from torch import nn


def main_worker(rank, world_size):
    torch.manual_seed(rank)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        model(torch.rand(8, 4)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "localhost")
    mp.spawn(main_worker, args=(1,), nprocs=1)
