# expect: batch=8 pixels=64 parameters=13936 precision=fp32
# operations: Conv2D Conv2DBackpropInput Conv2DBackpropFilter ResourceApplyAdam
# warns: 2 optimizers update
import torch
import torch.nn as nn

nz, ngf, ndf, nc, b_size = 16, 4, 4, 3, 8
netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
    nn.BatchNorm2d(ngf * 4),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 4, ngf * 2, 8, 4, 2, bias=False),
    nn.BatchNorm2d(ngf * 2),
    nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, nc, 4, 4, 0, bias=False),
    nn.Tanh(),
)
netD = nn.Sequential(nn.Conv2d(nc, ndf, 4, 4, bias=False), nn.LeakyReLU(0.2), nn.Conv2d(ndf, 1, 16, bias=False))
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

for i in range(15):
    netD.zero_grad()
    errD_real = criterion(netD(torch.rand(b_size, nc, 64, 64)).view(-1), torch.ones(b_size))
    errD_real.backward()
    fake = netG(torch.randn(b_size, nz, 1, 1))
    errD_fake = criterion(netD(fake.detach()).view(-1), torch.zeros(b_size))
    errD_fake.backward()
    optimizerD.step()
    netG.zero_grad()
    errG = criterion(netD(fake).view(-1), torch.ones(b_size))
    errG.backward()
    optimizerG.step()
    print(f"[{i}] Loss_D: {(errD_real + errD_fake).item():.4f} Loss_G: {errG.item():.4f}")
