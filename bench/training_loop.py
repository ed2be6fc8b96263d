#!/usr/bin/env python3
"""Does a training loop take longer under a recorder that records none of its launches?

    bench/training_loop.py PREFIX [--steps 300] [--pairs 8] [--warm-up 20] [--device cuda] [--program FILE.py] [--json FILE]

PREFIX is where a package was unpacked. Runs the transformer of bench/frameworks, or a program that takes a number of steps and a file for their
seconds as it does, bare and under `mneme record --kernels nosuch`, in turn: which of a pair comes first changes from pair to pair. Of each run the
median step is taken, without the first ones; of each pair, recorded over bare. Prints the median of these ratios, with the interval that holds it in
95 of 100 resamplings of the pairs, and the same for two bare runs of neighbouring pairs, which tells what the machine does by itself. The losses
have to be the same in all runs, if they are the same in all bare ones.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile


def step_seconds(command, program, options):
    """The seconds of each step of a run but the first, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "seconds"
        done = subprocess.run([*command, sys.executable, program, str(options.steps), file], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} {program} ended with {done.returncode}: {done.stderr[-2000:]}")
        return [float(line) for line in file.read_text().split()][options.warm_up :], done.stdout


def interval(values, rounds=10000):
    """The median, and the bounds of 95 % of the medians of resampled values."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(rounds))
    return statistics.median(values), medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def told(name, values):
    middle, low, high = interval(values)
    return f"{name}: {middle:.4f} (95 %: {low:.4f} to {high:.4f}, of {len(values)})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", metavar="PREFIX", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300, help="of a run (default: 300)")
    parser.add_argument("--pairs", type=int, default=8, help="of runs (default: 8)")
    parser.add_argument("--warm-up", type=int, default=20, help="first steps of a run that do not count (default: 20)")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path(__file__).parent / "frameworks" / "transformer_step.py")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.steps <= options.warm_up or options.pairs < 2:
        parser.error("there are more steps than --warm-up, and two pairs at least")
    printed, runs = {"bare": set(), "recorder": set()}, {"bare": [], "recorder": []}
    with tempfile.TemporaryDirectory() as folder:
        record = [options.prefix / "bin" / "mneme", "record", "-rdb", f"{folder}/db", "--device", options.device, "--kernels", "nosuch", "--"]
        ways = [("bare", []), ("recorder", record)]
        step_seconds([], options.program, options)  # what is compiled or read for the first time is, for all
        for pair in range(options.pairs):
            for way, command in ways if pair % 2 == 0 else reversed(ways):
                seconds, out = step_seconds(command, options.program, options)
                runs[way].append(seconds)
                printed[way].add(out)
    medians = {way: [statistics.median(one) for one in all_runs] for way, all_runs in runs.items()}
    ratios = [recorder / bare for bare, recorder in zip(medians["bare"], medians["recorder"])]
    bare_ratios = [after / before for before, after in zip(medians["bare"], medians["bare"][1:])]
    for way, values in medians.items():
        print(f"{way}: median step {1e3 * statistics.median(values):.3f} ms, runs {1e3 * min(values):.3f} to {1e3 * max(values):.3f} ms")
    print(told("recorder over bare", ratios))
    print(told("bare over the bare before", bare_ratios))
    differs = len(printed["bare"]) == 1 and printed["recorder"] != printed["bare"]
    same = "the same in all runs" if len(printed["bare"]) == 1 else "not the same in bare runs either"
    print(f"output: {'DIFFERS under the recorder' if differs else same}")
    if options.json:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), "step_s": medians, "ratios": ratios, "bare_ratios": bare_ratios}, indent=1) + "\n")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
