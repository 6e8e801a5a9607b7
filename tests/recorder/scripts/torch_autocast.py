# expect: batch=8 pixels=16 parameters=314 precision=mixed_bf16
# operations: Conv2D Conv2DBackpropFilter MatMul
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)).to(device)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler(device, enabled=device == "cuda")
for _ in range(14):
    with torch.autocast(device_type=device, dtype=torch.bfloat16):
        output = net(torch.rand(8, 3, 16, 16, device=device))
        loss = nn.functional.cross_entropy(output, torch.randint(10, (8,), device=device))
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    opt.zero_grad(set_to_none=True)
