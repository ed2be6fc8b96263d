"""Kernels as people learn to write them in Triton: a fused softmax, a matrix product in groups, dropout from a seed, a layer norm and
attention without its matrix of scores. Each is launched as often as the argument says (default: once) and compared with PyTorch."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, columns, block: tl.constexpr):
    i = tl.arange(0, block)
    row = tl.load(x + tl.program_id(0) * columns + i, mask=i < columns, other=-float("inf"))
    row = tl.exp(row - tl.max(row, 0))
    tl.store(out + tl.program_id(0) * columns + i, row / tl.sum(row, 0), mask=i < columns)


@triton.jit
def matmul(a, b, c, m, n, k, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, group: tl.constexpr):
    down, across = tl.cdiv(m, rows), tl.cdiv(n, columns)
    program = tl.program_id(0)
    first = program // (group * across) * group
    height = min(down - first, group)
    i = (first + program % (group * across) % height) * rows + tl.arange(0, rows)
    j = program % (group * across) // height * columns + tl.arange(0, columns)
    d = tl.arange(0, depth)
    total = tl.zeros((rows, columns), dtype=tl.float32)
    for at in range(0, k, depth):
        left = tl.load(a + i[:, None] * k + (at + d)[None, :], mask=(i[:, None] < m) & ((at + d)[None, :] < k), other=0.0)
        right = tl.load(b + (at + d)[:, None] * n + j[None, :], mask=((at + d)[:, None] < k) & (j[None, :] < n), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + i[:, None] * n + j[None, :], total.to(tl.float16), mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def dropout(x, out, n, share, seed, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    kept = tl.rand(seed, i) > share
    values = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(kept, values / (1 - share), 0.0), mask=i < n)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, block: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, block)
    values = tl.load(x + row + i, mask=i < columns, other=0.0)
    centred = tl.where(i < columns, values - tl.sum(values, 0) / columns, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + epsilon)
    scaled = centred * scale * tl.load(weight + i, mask=i < columns) + tl.load(bias + i, mask=i < columns)
    tl.store(out + row + i, scaled, mask=i < columns)


@triton.jit
def attention(queries, keys, values, out, length, scale, rows: tl.constexpr, columns: tl.constexpr, width: tl.constexpr):
    head = tl.program_id(1) * length * width
    i, w = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, width)
    query = tl.load(queries + head + i[:, None] * width + w[None, :])
    greatest = tl.full((rows,), -float("inf"), tl.float32)
    total = tl.zeros((rows,), tl.float32)
    result = tl.zeros((rows, width), tl.float32)
    for at in range(0, length, columns):
        j = at + tl.arange(0, columns)
        key = tl.load(keys + head + j[None, :] * width + w[:, None])
        scores = tl.dot(query, key) * scale
        new = tl.maximum(greatest, tl.max(scores, 1))
        shares = tl.exp(scores - new[:, None])
        fading = tl.exp(greatest - new)
        total = total * fading + tl.sum(shares, 1)
        value = tl.load(values + head + j[:, None] * width + w[None, :])
        result = result * fading[:, None] + tl.dot(shares.to(tl.float16), value)
        greatest = new
    tl.store(out + head + i[:, None] * width + w[None, :], (result / total[:, None]).to(tl.float16))


def main(times):
    torch.manual_seed(0)
    x = torch.randn(4096, 1000, device="cuda")
    shares = torch.empty_like(x)
    for _ in range(times):
        softmax[(4096,)](shares, x, 1000, block=1024)
    print("softmax", torch.allclose(shares, x.softmax(1), atol=1e-6))

    a, b = torch.randn(1024, 768, device="cuda").half(), torch.randn(768, 1280, device="cuda").half()
    product = torch.empty(1024, 1280, device="cuda", dtype=torch.float16)
    for _ in range(times):
        matmul[(8 * 10,)](a, b, product, 1024, 1280, 768, rows=128, columns=128, depth=64, group=4)
    print("matmul", torch.allclose(product, a @ b, atol=0.25, rtol=1e-2))

    some = torch.empty_like(x)
    for _ in range(times):
        dropout[(triton.cdiv(x.numel(), 1024),)](x, some, x.numel(), 0.25, 7, block=1024)
    print("dropout", abs((some == 0).float().mean().item() - 0.25) < 0.01)

    weight, bias, normal = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda"), torch.empty_like(x)
    for _ in range(times):
        layer_norm[(4096,)](x, weight, bias, normal, 1000, 1e-5, block=1024)
    print("layer_norm", torch.allclose(normal, torch.nn.functional.layer_norm(x, (1000,), weight, bias), atol=1e-4))

    queries, keys, values = (torch.randn(16, 1024, 64, device="cuda").half() for _ in range(3))
    seen = torch.empty_like(queries)
    for _ in range(times):
        attention[(8, 16)](queries, keys, values, seen, 1024, 64**-0.5, rows=128, columns=64, width=64)
    print("attention", torch.allclose(seen, torch.nn.functional.scaled_dot_product_attention(queries, keys, values), atol=1e-2))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
