"""The kernels of the fixtures in this folder, which Triton 3.6.0 has compiled without a GPU: python kernels.py FOLDER."""

import json
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax_kernel(out, x, stride, columns, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * stride + at, mask=inside, other=-float("inf")) * scale
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=inside)


def write(folder: pathlib.Path, kernel: triton.JITFunction, signature: dict[str, str], block: int) -> None:
    source = ASTSource(kernel, {**signature, "BLOCK": "constexpr"}, {"BLOCK": block})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    metadata = {**compiled.metadata._asdict(), "extern_libs": []}
    metadata["target"] = {"backend": "cuda", "arch": 90, "warp_size": 32}
    name = folder / kernel.__name__
    name.with_suffix(".cubin").write_bytes(compiled.asm["cubin"])
    name.with_suffix(".llir").write_text(compiled.asm["llir"])
    name.with_suffix(".ptx").write_text(compiled.asm["ptx"])
    name.with_suffix(".json").write_text(json.dumps(metadata) + "\n")


if __name__ == "__main__":
    into = pathlib.Path(sys.argv[1])
    write(into, add_kernel, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, 1024)
    write(into, softmax_kernel, {"out": "*fp32", "x": "*fp32", "stride": "i32", "columns": "i32", "scale": "fp32"}, 512)
