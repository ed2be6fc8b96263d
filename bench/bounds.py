#!/usr/bin/env python3
"""What bounds the other benches: the bus, the driver's start and the disk, each measured when it is asked for.

    bench/bounds.py      the GPU's, as a line of JSON: nothing where there is none

The GPU is asked by a process of its own, which is gone then: while somebody holds it, a program's driver starts in less time.
"""
import concurrent.futures
import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable

COPIED = 1 << 28


def best_rate(copy: Callable[[], int]) -> float | None:
    """GB/s, the best of six copies."""
    best = 0.0
    for _ in range(6):
        begin = time.monotonic()
        if copy() != 0:
            return None
        best = max(best, COPIED / (time.monotonic() - begin) / 1e9)
    return round(best, 2)


def measure_gpu() -> dict[str, float | None]:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return {}
    context, there, here, device = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_int()
    size = ctypes.c_size_t(COPIED)
    begin = time.monotonic()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
        return {}
    started = time.monotonic() - begin
    if driver.cuCtxSetCurrent(context) or driver.cuMemAlloc_v2(ctypes.byref(there), size):
        return {}
    begin = time.monotonic()
    if driver.cuMemAllocHost_v2(ctypes.byref(here), size):
        return {}
    pinning = (time.monotonic() - begin) / (COPIED / 2**30)
    return {"driver_s": round(started, 3), "pinning_s_a_gib": round(pinning, 3),
            "from_device_gb_s": best_rate(lambda: driver.cuMemcpyDtoH_v2(here, there, size)),
            "to_device_gb_s": best_rate(lambda: driver.cuMemcpyHtoD_v2(there, here, size))}


def gpu() -> dict[str, float | None]:
    """`driver_s`, `pinning_s_a_gib`, `from_device_gb_s` and `to_device_gb_s`, from and to pinned memory; empty without a GPU."""
    told = subprocess.run([sys.executable, __file__], stdout=subprocess.PIPE, text=True, check=False).stdout
    return json.loads(told) if told else {}


def disk_rate(folder: str, size: int) -> tuple[float, str]:
    """GB/s at which the disk takes a file of about this size, by four threads, and how it was written."""
    piece, threads = 1 << 22, 4
    size = min(max(size, 1 << 28), 1 << 31) // piece * piece
    block = mmap.mmap(-1, piece)  # aligned, as O_DIRECT wants it
    block.write(os.urandom(piece))
    path = pathlib.Path(folder, "rate")

    def write_all(flags: int) -> float:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | flags)
        try:
            begin = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda at: os.pwrite(file, block, at), range(0, size, piece)))
            os.fsync(file)
            return size / (time.monotonic() - begin) / 1e9
        finally:
            os.close(file)
            path.unlink()

    with contextlib.suppress(OSError):
        return write_all(os.O_DIRECT), "O_DIRECT"
    return write_all(0), "fsync"


if __name__ == "__main__":
    print(json.dumps(measure_gpu()))
