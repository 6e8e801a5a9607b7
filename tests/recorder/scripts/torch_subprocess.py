# expect: status=2
# says: torchrun --no-python
import subprocess
import sys

code = """
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    model(torch.rand(8, 4)).sum().backward()
    optimizer.step()
"""
subprocess.run([sys.executable, "-c", code], check=True)
