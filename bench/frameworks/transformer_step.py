"""Training steps of a small transformer in PyTorch: attention, layer norms and a feed-forward network in bfloat16, with AdamW.

    transformer_step.py [STEPS [FILE]]

FILE gets the seconds of each step, a line each: a step ends when the host has its loss.
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_network = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.combine = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        queries, keys, values = (part.view(shape).transpose(1, 2) for part in self.project(self.before_attention(x)).chunk(3, -1))
        seen = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.combine(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.network(self.before_network(x))


class Model(nn.Module):
    def __init__(self, tokens=1000, width=256, heads=4, blocks=2):
        super().__init__()
        self.embed, self.place = nn.Embedding(tokens, width), nn.Parameter(torch.zeros(128, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens)

    def forward(self, text):
        return self.head(self.norm(self.blocks(self.embed(text) + self.place[: text.shape[1]])))


torch.manual_seed(0)
model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
text = torch.randint(0, 1000, (8, 129), device="cuda")
seconds = []
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
    began = time.perf_counter()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        guessed = model(text[:, :-1])
        loss = functional.cross_entropy(guessed.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    lost = loss.item()
    seconds.append(time.perf_counter() - began)
    print(f"step {step}: loss {lost:.3f}")
if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as file:
        file.writelines(f"{one:.9f}\n" for one in seconds)
