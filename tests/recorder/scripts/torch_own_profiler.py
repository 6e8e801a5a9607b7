# expect: status=2
# says: profiler
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=2),
    on_trace_ready=lambda p: print("trace of step", p.step_num),
) as prof:
    for step in range(25):
        loss = nn.functional.cross_entropy(model(torch.rand(4, 3, 16, 16)), torch.randint(10, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        prof.step()
print("done")
