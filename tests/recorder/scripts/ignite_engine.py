# expect: batch=8 pixels=16 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul
import torch
from ignite.engine import Events, create_supervised_trainer
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
data = torch.utils.data.TensorDataset(torch.rand(120, 3, 16, 16), torch.randint(10, (120,)))
loader = torch.utils.data.DataLoader(data, batch_size=8)
trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss())


@trainer.on(Events.EPOCH_COMPLETED)
def log(engine):
    print("epoch", engine.state.epoch, engine.state.output)


trainer.run(loader, max_epochs=2)
