#!/usr/bin/env python3
"""A matrix product in Triton in several tiles: triton_matmul.py launch|autotune SIDE.

launch    launches each tile once, for `mneme record`
autotune  has Triton's autotuner find the fastest, and prints one line of JSON: what it took, and whether the winner's result is right"""

import json
import pathlib
import sys
import time

import torch
import triton

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "frameworks"))
from triton_kernels import matmul  # noqa: E402  (the folder is not on the path before)

# rows, columns, depth, warps, stages: those of Triton's own tutorial.
TILES = [(128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4), (128, 32, 32, 4, 4),
         (64, 32, 32, 2, 5), (128, 128, 64, 8, 3)]
GROUP = 8


def matrices(side):
    torch.manual_seed(0)
    a, b = (torch.randn(side, side, device="cuda").half() for _ in range(2))
    return a, b, torch.empty(side, side, device="cuda", dtype=torch.float16)


def launch(side):
    a, b, c = matrices(side)
    for rows, columns, depth, warps, stages in TILES:
        grid = (triton.cdiv(side, rows) * triton.cdiv(side, columns),)
        matmul[grid](a, b, c, side, side, side, rows=rows, columns=columns, depth=depth, group=GROUP, num_warps=warps, num_stages=stages)
    torch.cuda.synchronize()


def autotune(side):
    a, b, c = matrices(side)
    torch.cuda.synchronize()
    configurations = [triton.Config({"rows": rows, "columns": columns, "depth": depth, "group": GROUP}, num_warps=warps, num_stages=stages)
                      for rows, columns, depth, warps, stages in TILES]
    tuned = triton.autotune(configs=configurations, key=["m", "n", "k"])(matmul)
    began = time.monotonic()
    tuned[lambda meta: (triton.cdiv(side, meta["rows"]) * triton.cdiv(side, meta["columns"]),)](a, b, c, side, side, side)
    torch.cuda.synchronize()
    seconds = time.monotonic() - began
    timings = getattr(tuned, "configs_timings", None) or {}
    right = torch.allclose(c, a @ b, atol=0.25, rtol=1e-2)
    best = min((times[0] if isinstance(times, (list, tuple)) else times for times in timings.values()), default=None)
    return {"configurations": len(TILES), "observations": len(timings) or len(TILES), "seconds_measuring": seconds,
            "best": None if best is None else best * 1e6, "best_values": str(tuned.best_config),
            "note": "the winner's result is " + ("right" if right else "WRONG") + ", by a comparison of ours"}


if __name__ == "__main__":
    if sys.argv[1] == "launch":
        launch(int(sys.argv[2]))
    else:
        print(json.dumps(autotune(int(sys.argv[2]))))
