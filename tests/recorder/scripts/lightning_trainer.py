# expect: batch=8 pixels=28 parameters=1370 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul ResourceApplyAdam
import lightning as L
import torch
from torch import nn, utils


class LitModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10))

    def training_step(self, batch, batch_idx):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


data = utils.data.TensorDataset(torch.rand(96, 1, 28, 28), torch.randint(10, (96,)))
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(LitModel(), utils.data.DataLoader(data, batch_size=8), utils.data.DataLoader(data, batch_size=8))
