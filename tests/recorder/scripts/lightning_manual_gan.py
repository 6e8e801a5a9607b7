# expect: batch=8 pixels=16 parameters=14849 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul ResourceApplyAdam
# says: optimizers
import lightning as L
import torch
from torch import nn


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.G = nn.Sequential(nn.Linear(16, 3 * 16 * 16), nn.Tanh(), nn.Unflatten(1, (3, 16, 16)))
        self.D = nn.Sequential(nn.Conv2d(3, 8, 3), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(8 * 14 * 14, 1))

    def training_step(self, real):
        g_opt, d_opt = self.optimizers()
        fake = self.G(torch.randn(real.shape[0], 16))
        d_loss = -self.D(real).mean() + self.D(fake.detach()).mean()
        d_opt.zero_grad()
        self.manual_backward(d_loss)
        d_opt.step()
        g_opt.zero_grad()
        self.manual_backward(-self.D(fake).mean())
        g_opt.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.G.parameters()), torch.optim.Adam(self.D.parameters())


trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(GAN(), torch.utils.data.DataLoader(torch.rand(160, 3, 16, 16), batch_size=8))
