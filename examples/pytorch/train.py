"""Trains a small network in PyTorch whose layers are normalised by a kernel written in Triton.

    python3 train.py [STEPS]

docs/guide/pytorch.md goes from this program, as it is, to a faster kernel.
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm(x, weight, out, scale, width, epsilon, block: tl.constexpr):
    """A row of x over the root of the mean of its squares, times the weights. A program a row."""
    row = tl.program_id(0)
    i = tl.arange(0, block)
    values = tl.load(x + row * width + i, mask=i < width, other=0.0)
    factor = 1.0 / tl.sqrt(tl.sum(values * values, 0) / width + epsilon)
    tl.store(scale + row, factor)
    tl.store(out + row * width + i, values * factor * tl.load(weight + i, mask=i < width), mask=i < width)


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        rows, width = x.shape
        out, scale = torch.empty_like(x), torch.empty(rows, device=x.device)
        rms_norm[(rows,)](x, weight, out, scale, width, 1e-6, block=triton.next_power_of_2(width))
        ctx.save_for_backward(x, weight, scale)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x, weight, scale = ctx.saved_tensors
        normal = x * scale[:, None]
        inner = gradient * weight
        change = inner - normal * (inner * normal).mean(1, keepdim=True)
        return change * scale[:, None], (gradient * normal).sum(0)


def main(steps):
    torch.manual_seed(0)
    x = torch.randn(8192, 1024, device="cuda")
    wanted = x[:, :16].cumsum(1)
    weight = torch.ones(1024, device="cuda", requires_grad=True)
    layers = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 16)).to("cuda")
    optimiser = torch.optim.Adam([weight, *layers.parameters()], lr=1e-3)
    for step in range(steps):
        loss = torch.nn.functional.mse_loss(layers(RMSNorm.apply(x, weight)), wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step in (0, steps - 1):
            print(f"step {step}: loss {loss.item():.6f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
