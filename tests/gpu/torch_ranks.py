"""Ranks that train together: each has a part of the batch, and gradients are added up over all of them by NCCL. For torchrun; rank 0 prints.

    torchrun --nproc-per-node 2 torch_ranks.py
"""

import os

import torch
from torch import distributed, nn

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
distributed.init_process_group("nccl")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs, labels = torch.randn(2, 64, 256)[rank % 2].cuda(), torch.randint(0, 10, (2, 64))[rank % 2].cuda()
for step in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    for parameter in model.parameters():
        distributed.all_reduce(parameter.grad)
        parameter.grad /= distributed.get_world_size()
    optimizer.step()
    whole = loss.detach().clone()
    distributed.all_reduce(whole)
    if rank == 0:
        print(f"step {step}: loss {whole.item() / distributed.get_world_size():.6f}")
weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).double().sum()
both = [torch.zeros_like(weights) for _ in range(distributed.get_world_size())]
distributed.all_gather(both, weights)
if rank == 0:
    print("the same weights" if all(torch.equal(one, both[0]) for one in both) else "OTHER WEIGHTS", f"{weights.item():.6f}")
distributed.destroy_process_group()
