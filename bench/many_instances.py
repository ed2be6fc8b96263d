#!/usr/bin/env python3
"""What an instance costs when its kernel has many: recording N launches with other data each, listing and showing them.

    bench/many_instances.py --mneme BIN [--counts 1000 10000 100000] [--device cpu]

BIN is an installed `mneme`. Builds a program that launches one small kernel N times, records it into a database of its own, and
prints one line of JSON for each N: seconds of wall clock and of processor time to record, and of `mneme ls` and `mneme show`.
"""

import argparse
import json
import os
import pathlib
import resource
import shlex
import subprocess
import tempfile
import time

SOURCE = r"""
#include <cstdlib>
__global__ void step(int* data, int round) { data[threadIdx.x] += round; }
int main(int, char** argv) {
  int* data = nullptr;
  if (cudaMalloc(&data, 64 * sizeof(int)) != cudaSuccess || cudaMemset(data, 0, 64 * sizeof(int)) != cudaSuccess) return 1;
  for (int round = 1; round <= std::atoi(argv[1]); ++round) step<<<1, 64>>>(data, round);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
"""


def timed(command: list[str]) -> dict[str, float]:
    """Runs it; its seconds by the clock and of processor time."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "MNEME_LOG": "warning"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": round(time.monotonic() - begin, 2), "processor": round(processor, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mneme", required=True)
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()

    def config(what: str) -> list[str]:
        return shlex.split(subprocess.run([options.mneme, "config", what], check=True, capture_output=True, text=True).stdout)

    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "many.cu"), pathlib.Path(folder, "many")
        source.write_text(SOURCE)
        build = [*config("cxx"), "-O2", *config("cxxflags"), str(source), "-o", str(program), *config("ldflags")]
        subprocess.run(build, check=True)
        for count in options.counts:
            database = pathlib.Path(folder, f"db-{count}")
            record = [options.mneme, "record", "-rdb", str(database), "--device", options.device, "--max", str(count), "--strict"]
            result: dict[str, object] = {"instances": count, "record": timed([*record, "--", str(program), str(count)])}
            (kernel,) = database.glob("*.json")
            result["ls"] = timed([options.mneme, "ls", str(database)])
            result["show"] = timed([options.mneme, "show", str(kernel)])
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
