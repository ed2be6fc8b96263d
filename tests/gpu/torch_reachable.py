"""Kernels of PyTorch that reach their memory by lists of pointers, beside memory that they do not reach: 1 GiB on the device, 64 MiB pinned."""

import torch

torch.manual_seed(0)
unrelated = torch.rand(1 << 28, device="cuda")
pinned = torch.zeros(1 << 24).pin_memory()
# Lists of addresses as an argument by value.
tensors = [torch.rand(1000 + i, device="cuda") for i in range(100)]
torch._foreach_mul_(tensors, 2.0)
torch._foreach_addcmul_(tensors, tensors, tensors)
# Arrays of addresses in the device's memory: a factorisation and a solution of many small systems.
systems = torch.rand(64, 24, 24, device="cuda") + 24 * torch.eye(24, device="cuda")
solved = torch.linalg.solve(systems, torch.rand(64, 24, 2, device="cuda"))
inverse = torch.linalg.inv(systems)
grouped = torch.bmm(systems, inverse)
print(
    sum(t.double().sum().item() for t in tensors),
    solved.double().sum().item(),
    grouped.double().sum().item(),
    unrelated[::4096].double().sum().item(),
    pinned.sum().item(),
)
