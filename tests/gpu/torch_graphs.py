"""Graphs in PyTorch: a training step that is captured once and replayed with new data, and inference from a graph that shares
its memory. Prints what was learnt and inferred."""

import hashlib

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
inputs = torch.randn(128, 256, device="cuda")
labels = torch.randint(0, 10, (128,), device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss


beside = torch.cuda.Stream()
beside.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(beside):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(beside)

optimizer.zero_grad(set_to_none=True)
training = torch.cuda.CUDAGraph()
with torch.cuda.graph(training):
    loss = step()

losses = []
for _ in range(5):
    inputs.copy_(torch.randn(128, 256, device="cuda"))
    labels.copy_(torch.randint(0, 10, (128,), device="cuda"))
    training.replay()
    losses.append(loss.item())

inference = torch.cuda.CUDAGraph()
with torch.no_grad(), torch.cuda.graph(inference, pool=training.pool()):
    answers = model(inputs).softmax(-1)
inferred = []
for _ in range(3):
    inputs.copy_(torch.randn(128, 256, device="cuda"))
    inference.replay()
    inferred.append(answers.argmax(-1).sum().item())

weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
print(losses, inferred, hashlib.sha1(weights.cpu().numpy().tobytes()).hexdigest())
