# expect: status=2
# says: ended after 3 of the 7 training steps
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.rand(8, 4)).sum().backward()
    optimizer.step()
