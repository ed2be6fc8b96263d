"""Generation token by token with a cache of keys and values, as inference servers do it: one step is captured into a CUDA graph, and
the graph is replayed for each token."""

import torch
from torch.nn import functional

TOKENS, WIDTH, HEADS, LENGTH, BATCH = 1000, 256, 4, 64, 4


def weight(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float16) / shape[0] ** 0.5


torch.manual_seed(0)
embed, project, combine, head = weight(TOKENS, WIDTH), weight(WIDTH, 3 * WIDTH), weight(WIDTH, WIDTH), weight(WIDTH, TOKENS)
keys = torch.zeros(BATCH, HEADS, LENGTH, WIDTH // HEADS, device="cuda", dtype=torch.float16)
values = torch.zeros_like(keys)
token = torch.zeros(BATCH, dtype=torch.long, device="cuda")
place = torch.zeros(1, dtype=torch.long, device="cuda")
places = torch.arange(LENGTH, device="cuda")


def step():
    """Writes the next tokens and their place."""
    x = embed[token]
    query, key, value = (part.view(BATCH, HEADS, 1, -1) for part in (functional.rms_norm(x, (WIDTH,)) @ project).chunk(3, -1))
    keys.index_copy_(2, place, key)
    values.index_copy_(2, place, value)
    scores = (query @ keys.transpose(2, 3)) / (WIDTH // HEADS) ** 0.5
    seen = scores.masked_fill(places > place, float("-inf")).softmax(-1) @ values
    x = x + functional.silu(seen.reshape(BATCH, WIDTH) @ combine)
    token.copy_((x @ head).argmax(-1))
    place.add_(1)


with torch.no_grad():
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    token.zero_()
    place.zero_()
    generated = []
    for _ in range(LENGTH):
        graph.replay()
        generated.append(token.tolist())
print([tokens[0] for tokens in generated], sum(map(sum, generated)))
