#!/usr/bin/env python3
"""What masking the output costs and finds: for each kernel of recorded programs, the bytes that are masked, and times without and with it.

    bench/mask.py --mneme BIN [--device auto|cuda|cpu] [--runs 3] PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]...

Each PROGRAM is built recordable. The first launch of each of its kernels is recorded and replayed. Times are medians of --runs
replays, each a process of its own: `mask` finds what is masked, once a session; `restore` precedes the run that is verified.
Prints the rows of a table.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile


def replay(options, kernel, *more):
    command = [options.mneme, "replay", "--record-db", str(kernel), "--device", options.device, "--iterations", "1", *more]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout)["result"]


def median_ms(results, stage):
    return statistics.median(result["times"][stage] for result in results) / 1e6


def row(options, program, kernel):
    document = json.loads(kernel.read_text())
    masked = [replay(options, kernel) for _ in range(options.runs)]
    plain = [replay(options, kernel, "--no-mask") for _ in range(options.runs)]
    first = masked[0]
    found = str(first["masked_bytes"]) if first["mask"] == "on" else first["mask"]
    cells = [f"{pathlib.Path(program).name} `{document['kernel']['demangled'].split('(')[0]}`", document["instances"][0]["state_bytes"], found,
             f"{median_ms(plain, 'run'):.2f}", f"{median_ms(masked, 'mask'):.1f}", f"{median_ms(plain, 'restore'):.3f}",
             f"{median_ms(masked, 'restore'):.3f}", "yes" if all(result["verified"] for result in masked) else "no"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mneme", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("programs", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    programs = [[]]
    for word in options.programs:
        programs.append([]) if word == "--" else programs[-1].append(word)
    print("| kernel | memory (bytes) | masked (bytes) | run (ms) | mask (ms) | restore, plain (ms) | with the mask (ms) | verified |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for program in filter(None, programs):
        with tempfile.TemporaryDirectory() as folder:
            record = [options.mneme, "record", "--record-db-dir", folder + "/db", "--max", "1", "--device", options.device, "--"]
            subprocess.run(record + program, check=True, stdout=subprocess.DEVNULL)
            for kernel in sorted(pathlib.Path(folder, "db").glob("[0-9a-f]*.json")):
                print(row(options, program[0], kernel), flush=True)


if __name__ == "__main__":
    main()
