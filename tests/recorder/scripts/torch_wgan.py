# expect: batch=8 pixels=16 parameters=14849 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul ResourceApplyRMSProp
# says: optimizers
import torch
from torch import nn

n_critic, clip_value, latent = 5, 0.01, 16
generator = nn.Sequential(nn.Linear(latent, 3 * 16 * 16), nn.Tanh(), nn.Unflatten(1, (3, 16, 16)))
critic = nn.Sequential(nn.Conv2d(3, 8, 3), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(8 * 14 * 14, 1))
optimizer_G = torch.optim.RMSprop(generator.parameters(), lr=5e-5)
optimizer_D = torch.optim.RMSprop(critic.parameters(), lr=5e-5)

loader = torch.utils.data.DataLoader(torch.rand(800, 3, 16, 16), batch_size=8)
for i, imgs in enumerate(loader):
    optimizer_D.zero_grad()
    fake_imgs = generator(torch.randn(imgs.shape[0], latent)).detach()
    loss_D = -torch.mean(critic(imgs)) + torch.mean(critic(fake_imgs))
    loss_D.backward()
    optimizer_D.step()
    for p in critic.parameters():
        p.data.clamp_(-clip_value, clip_value)
    if i % n_critic == 0:
        optimizer_G.zero_grad()
        loss_G = -torch.mean(critic(generator(torch.randn(imgs.shape[0], latent))))
        loss_G.backward()
        optimizer_G.step()
