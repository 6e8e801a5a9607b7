# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import torch
from fastai.basics import DataLoaders, Learner
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(120, 3, 16, 16), torch.randint(10, (120,)))
dls = DataLoaders(DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=8))
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
learn = Learner(dls, model, loss_func=nn.CrossEntropyLoss())
learn.fit(3, 1e-3)
