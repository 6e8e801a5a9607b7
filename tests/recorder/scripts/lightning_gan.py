# expect: batch=8 pixels=16 parameters=308 precision=fp32
# operations: Conv2DBackpropFilter ResourceApplyAdam
# warns: 2 optimizers update
import lightning as L
import torch
from torch import nn, utils


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.discriminator = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 8, 3, 2)

    def training_step(self, batch):
        (images,) = batch
        optimizer_g, optimizer_d = self.optimizers()
        z = torch.randn_like(images)
        self.toggle_optimizer(optimizer_g)
        self.manual_backward(-self.discriminator(self.generator(z)).mean())
        optimizer_g.step()
        optimizer_g.zero_grad()
        self.untoggle_optimizer(optimizer_g)
        self.toggle_optimizer(optimizer_d)
        fake = self.discriminator(self.generator(z).detach())
        self.manual_backward(fake.mean() - self.discriminator(images).mean())
        optimizer_d.step()
        optimizer_d.zero_grad()
        self.untoggle_optimizer(optimizer_d)

    def configure_optimizers(self):
        return [torch.optim.Adam(one.parameters(), lr=2e-4) for one in (self.generator, self.discriminator)], []


data = utils.data.TensorDataset(torch.rand(160, 3, 16, 16))
trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(GAN(), utils.data.DataLoader(data, batch_size=8))
