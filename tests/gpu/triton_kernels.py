"""Three kernels in Triton, with their results against PyTorch's."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(out, x, columns, block: tl.constexpr):
    i = tl.arange(0, block)
    row = tl.load(x + tl.program_id(0) * columns + i, mask=i < columns, other=-float("inf"))
    row = tl.exp(row - tl.max(row, 0))
    tl.store(out + tl.program_id(0) * columns + i, row / tl.sum(row, 0), mask=i < columns)


@triton.jit
def matmul(a, b, c, m, n, k, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr):
    i = tl.program_id(0) * rows + tl.arange(0, rows)
    j = tl.program_id(1) * columns + tl.arange(0, columns)
    d = tl.arange(0, depth)
    total = tl.zeros((rows, columns), dtype=tl.float32)
    for at in range(0, k, depth):
        left = tl.load(a + i[:, None] * k + (at + d)[None, :])
        right = tl.load(b + (at + d)[:, None] * n + j[None, :])
        total += tl.dot(left, right)
    tl.store(c + i[:, None] * n + j[None, :], total.to(tl.float16))


torch.manual_seed(0)
x, y = torch.rand(98432, device="cuda"), torch.rand(98432, device="cuda")
total = torch.empty_like(x)
add[(triton.cdiv(x.numel(), 1024),)](x, y, total, x.numel(), block=1024)
rows = torch.randn(1823, 781, device="cuda")
shares = torch.empty_like(rows)
softmax[(rows.shape[0],)](shares, rows, rows.shape[1], block=1024)
a, b = torch.randn(512, 512, device="cuda", dtype=torch.float16), torch.randn(512, 512, device="cuda", dtype=torch.float16)
product = torch.empty_like(a)
matmul[(4, 4)](a, b, product, 512, 512, 512, rows=128, columns=128, depth=64)
print(torch.equal(total, x + y), torch.allclose(shares, torch.softmax(rows, 1), atol=1e-6), product.float().abs().sum().item())
