"""A model under torch.compile: Inductor fuses its activations, its normalisation and its softmax into Triton kernels."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(512, 1024), nn.Linear(1024, 512), nn.LayerNorm(512)

    def forward(self, x):
        x = self.norm(self.second(nn.functional.gelu(self.first(x))) + x)
        return (x * torch.sigmoid(x)).softmax(-1).cumsum(-1)


model = Model().cuda()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, wanted = torch.randn(256, 512, device="cuda"), torch.rand(256, 512, device="cuda")
for step in range(3):
    loss = nn.functional.mse_loss(compiled(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
