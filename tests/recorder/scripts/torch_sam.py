# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# says: ran 2 times in one step
import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * group["rho"])
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        self.first_step()
        closure()
        self.second_step()


net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
optimizer = SAM(net.parameters(), torch.optim.SGD, lr=0.1)
for _ in range(14):
    inputs, targets = torch.rand(8, 3, 16, 16), torch.randint(10, (8,))

    def closure():
        loss = nn.functional.cross_entropy(net(inputs), targets)
        loss.backward()
        return loss

    closure()
    optimizer.step(closure)
