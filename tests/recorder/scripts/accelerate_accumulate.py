# expect: batch=4 pixels=16 parameters=314 precision=mixed_bf16
# operations: Conv2D Conv2DBackpropFilter MatMul
# says: ran 2 times in one step
import torch
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, mixed_precision="bf16")
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
data = torch.utils.data.TensorDataset(torch.rand(112, 3, 16, 16), torch.randint(10, (112,)))
model, optimizer, loader = accelerator.prepare(
    net, torch.optim.AdamW(net.parameters()), torch.utils.data.DataLoader(data, batch_size=4)
)
for inputs, targets in loader:
    with accelerator.accumulate(model):
        accelerator.backward(nn.functional.cross_entropy(model(inputs), targets))
        optimizer.step()
        optimizer.zero_grad()
