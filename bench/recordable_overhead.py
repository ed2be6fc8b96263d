#!/usr/bin/env python3
"""What a recordable program costs over the plain one when nothing is recorded, on a GPU.

    bench/recordable_overhead.py --examples FOLDER [--runs 7]

FOLDER is `examples` of an unpacked package: each program there is built recordable (NAME) and plain (NAME-plain). Plain and
recordable runs alternate. Prints one line of JSON a program: median seconds of both and their ratio, and, for the vector add with
many tiny launches, the difference a launch in nanoseconds.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

LAUNCHES = 400000
RUNS = {"vecadd": ["50000000", "20"], "cg": ["96", "1000"], "stencil": ["2048", "400"], "reduction": ["100000000", "20"],
        "vecadd (launches)": ["256", str(LAUNCHES)]}


def seconds(command: list[str]) -> float:
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", required=True, type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    for name, arguments in RUNS.items():
        program = str(options.examples / name.split()[0])
        plain, recordable = [], []
        for _ in range(options.runs):
            plain.append(seconds([program + "-plain", *arguments]))
            recordable.append(seconds([program, *arguments]))
        line = {"program": name, "arguments": arguments, "plain_s": round(statistics.median(plain), 4),
                "recordable_s": round(statistics.median(recordable), 4),
                "ratio": round(statistics.median(recordable) / statistics.median(plain), 4),
                "plain_spread_s": round(max(plain) - min(plain), 4)}
        if "launches" in name:
            line["difference_a_launch_ns"] = round(1e9 * (min(recordable) - min(plain)) / LAUNCHES, 1)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
