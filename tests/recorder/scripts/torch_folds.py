# expect: batch=16 pixels=32 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
# silent: starts over
import torch
from torch import nn

images, labels = torch.rand(80, 3, 32, 32), torch.randint(10, (80,))
for fold in range(5):
    held_out = torch.arange(80) % 5 == fold
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(images[~held_out], labels[~held_out])
    for batch, classes in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), classes).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print("fold", fold, (model(images[held_out]).argmax(1) == labels[held_out]).float().mean())
