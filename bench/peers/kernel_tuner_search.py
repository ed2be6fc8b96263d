#!/usr/bin/env python3
"""Kernel Tuner's part of compare.py: every configuration of one work, by its CuPy backend, each checked against a right output.

    kernel_tuner_search.py '{"name": "vector add", "source": ..., "kernel": ..., "blocks": [...], ...}'

A compiler option holds for one call of Kernel Tuner, so that each combination of assembler level and register cap is a call. None begins
after `within` seconds. Prints one line of JSON."""

import json
import pathlib
import sys
import time

import numpy


def kernel_text(source, kernel):
    """The kernel alone, as it stands in the program.

    >>> kernel_text("int a;\\n__global__ void f(int b) {\\n  b;\\n}\\nint c;\\n", "f")
    '__global__ void f(int b) {\\n  b;\\n}\\n'
    """
    begin = source.index(f"__global__ void {kernel}(")
    return source[begin:source.index("\n}\n", begin) + 3]


def vector_add(arrays, elements):
    """Arguments, and what each of them holds when the kernel has run; None: not looked at."""
    i = numpy.arange(elements, dtype=numpy.int64)
    a, b = (i % 1000).astype(numpy.float32), (0.5 * (i % 77)).astype(numpy.float32)
    return [a, b, numpy.zeros(elements, numpy.float32), numpy.int32(elements)], [None, None, a + b, None]


def finite_elements(arrays, cells):
    """The matrix of examples/cg in CSR, made where `arrays` (CuPy or NumPy) works: the entry of two nodes is a product over the axes of
    what the linear elements of one axis add up to, stiffness once and mass twice."""
    side, h = cells + 1, 1.0 / cells
    rows = side**3
    node = arrays.arange(rows, dtype=arrays.int32)
    place = [node % side, node // side % side, node // (side * side)]
    columns, values, inside = (arrays.empty((rows, 27), dtype=kind) for kind in (arrays.int32, arrays.float64, bool))
    cells_of = [(at > 0).astype(arrays.float64) + (at < cells) for at in place]  # how many cells a node has along an axis
    for k in range(27):
        step = [k % 3 - 1, k // 3 % 3 - 1, k // 9 - 1]
        mass = [cells_of[d] / 3 if step[d] == 0 else arrays.full(rows, 1 / 6) for d in range(3)]
        stiff = [cells_of[d] if step[d] == 0 else arrays.full(rows, -1.0) for d in range(3)]
        inside[:, k] = True
        for d in range(3):
            inside[:, k] &= (place[d] + step[d] >= 0) & (place[d] + step[d] <= cells)
        gradient = stiff[0] * mass[1] * mass[2] + mass[0] * stiff[1] * mass[2] + mass[0] * mass[1] * stiff[2]
        values[:, k] = h * gradient + h**3 * mass[0] * mass[1] * mass[2]
        columns[:, k] = node + step[0] + side * (step[1] + side * step[2])
    begin = arrays.zeros(rows + 1, dtype=arrays.int32)
    begin[1:] = arrays.cumsum(inside.sum(axis=1))
    return begin, columns, values, inside


def matvec(arrays, cells):
    begin, columns, values, inside = finite_elements(arrays, cells)
    rows = len(begin) - 1
    x = arrays.sin(arrays.arange(rows, dtype=arrays.float64))
    product = arrays.zeros(rows)
    for k in range(27):
        product += arrays.where(inside[:, k], values[:, k] * x[arrays.clip(columns[:, k], 0, rows - 1)], 0.0)
    on_host = getattr(arrays, "asnumpy", numpy.asarray)
    host = [on_host(array) for array in (begin, columns[inside], values[inside], x)]
    return [numpy.int32(rows), *host, numpy.zeros(rows)], [*[None] * 5, on_host(product)]


def search(asked):
    import cupy
    from kernel_tuner import tune_kernel

    began = time.monotonic()
    make = vector_add if asked["name"] == "vector add" else matvec
    arguments, answer = make(cupy, asked["size"])
    cupy.get_default_memory_pool().free_all_blocks()
    inputs = time.monotonic() - began
    text = kernel_text(pathlib.Path(asked["source"]).read_text(), asked["kernel"])
    parameters = {"block_size_x": asked["blocks"], "blocks": asked["grids"]}
    found, problems, measuring = [], [], time.monotonic()
    steps = dict.fromkeys(("compile_time", "verification_time", "benchmark_time"), 0.0)  # as Kernel Tuner tells them, in ms
    sets = [(level, cap) for level in asked["levels"] for cap in asked["registers"]]
    for level, cap in sets:
        if time.monotonic() - began >= asked["within"]:
            problems.append(f"level {level}, registers {cap}: no time was left")
            continue
        flags = [f"--ptxas-options=-O{level}"] + ([] if cap is None else [f"--maxrregcount={cap}"])
        try:
            results, _ = tune_kernel(asked["kernel"], text, lambda values: (values["blocks"], 1, 1), arguments, parameters, grid_div_x=[],
                                     answer=answer, atol=1e-6, lang="CuPy", iterations=asked["iterations"], compiler_options=flags, quiet=True)
            for one in filter(None, results):
                for step in steps:
                    steps[step] += one.get(step, 0.0)
            found += [(numpy.median(one["times"]), {**{key: one[key] for key in parameters}, "level": level, "registers": cap})
                      for one in results if one and isinstance(one.get("time"), float)]
        except Exception as reason:  # whatever it is, the other sets go on
            problems.append(f"level {level}, registers {cap}: {type(reason).__name__}: {str(reason)[:400]}")
    seconds = time.monotonic() - measuring
    best = min(found, key=lambda one: one[0], default=(None, None))
    total = len(sets) * len(asked["blocks"]) * len(asked["grids"])
    note = f"{inputs:.2f} s of making inputs in it" + ("" if len(found) == total else f"; {len(found)} of {total} in the time")
    return {"configurations": total, "observations": len(found), "verified": len(found), "seconds_measuring": seconds, "seconds_inputs": inputs, "steps_ms": steps,
            "best": None if best[0] is None else float(best[0]) * 1e6, "best_values": best[1], "problems": problems, "note": note}


if __name__ == "__main__":
    told = search(json.loads(sys.argv[1]))
    print()
    print(json.dumps(told))
