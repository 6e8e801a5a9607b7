# expect: batch=4 pixels=64 parameters=4927618 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import timm
import timm.optim
import torch

model = timm.create_model("resnet10t", pretrained=False, num_classes=10)
optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=1e-3)
model.train()
for step in range(15):
    loss = torch.nn.functional.cross_entropy(model(torch.rand(4, 3, 64, 64)), torch.randint(10, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
