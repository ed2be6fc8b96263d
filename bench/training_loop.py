#!/usr/bin/env python3
"""Does a training loop take longer under a recorder that records none of its launches?

    bench/training_loop.py PREFIX [--turns 40] [--steps 25] [--processes 4] [--device cuda] [--program FILE.py] [--json FILE]

PREFIX is where a package was unpacked. Starts the transformer of bench/frameworks, or a program that takes a number of steps and a file for their
seconds and prints a line for each step as it does, twice: bare and under `mneme record --kernels nosuch`. The two take turns on the machine: one runs
--steps steps while the other one is stopped (SIGSTOP), so that what the machine does meanwhile meets both alike; which of them begins changes from
pair to pair of processes. Of each turn the median step is taken, without those in which the turn began and ended. Prints recorder over bare of turns
side by side, as the median of each pair of processes and of all, with the interval that holds it in 95 of 100 resamplings of the pairs and of
the turns of each, and the same for two neighbouring bare turns, which tells what the machine does by itself. The losses have to be the same in all
runs, if they are the same in all bare ones.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile

AT_THE_EDGE = 2  # steps of a turn that do not count, at its begin and at its end


class Loop:
    """A training loop that is stopped but for its turns."""

    def __init__(self, command, options, file):
        self.file, self.lines, self.turns = pathlib.Path(file), [], []
        arguments = [*command, sys.executable, options.program, str(options.warm_up + options.turns * options.steps), file]
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}, start_new_session=True
        )
        self.read(options.warm_up)

    def read(self, steps):
        """Lets it run until it has told of so many steps, and stops it."""
        first = len(self.lines)
        while len(self.lines) < first + steps:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"{self.process.args} ended with {self.process.wait()} after {len(self.lines)} steps: see what it has said above")
            if line.startswith("step "):
                self.lines.append(line)
        os.killpg(self.process.pid, signal.SIGSTOP)
        return first, len(self.lines)

    def take_turn(self, steps):
        os.killpg(self.process.pid, signal.SIGCONT)
        self.turns.append(self.read(steps))

    def end(self):
        """Lets it end, and returns the median seconds of a step of each turn."""
        os.killpg(self.process.pid, signal.SIGCONT)
        self.lines += [line for line in self.process.stdout if line.startswith("step ")]
        if self.process.wait() != 0:
            sys.exit(f"{self.process.args} ended with {self.process.returncode}: see what it has said above")
        seconds = [float(line) for line in self.file.read_text().split()]
        return [statistics.median(seconds[first + AT_THE_EDGE : last - AT_THE_EDGE]) for first, last in self.turns]

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def side_by_side(options, recorder, recorder_first):
    """The seconds of each turn of two loops, bare and under the recorder, and what each has printed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        commands = {"bare": [], "recorder": [*recorder, "-rdb", f"{folder}/db", "--"]}
        loops = {}
        for way, command in commands.items():
            loops[way] = Loop(command, options, f"{folder}/{way}")
            stack.callback(loops[way].kill)
        order = sorted(loops, reverse=recorder_first)
        for _ in range(options.turns):
            for way in order:
                loops[way].take_turn(options.steps)
        return {way: loop.end() for way, loop in loops.items()}, {way: "".join(loop.lines) for way, loop in loops.items()}


def interval(groups, rounds=4000):
    """The median of all values, and the bounds of 95 % of the medians where groups and the values of each are resampled."""
    chance = random.Random(1)
    medians = []
    for _ in range(rounds):
        chosen = chance.choices(groups, k=len(groups))
        medians.append(statistics.median(value for group in chosen for value in chance.choices(group, k=len(group))))
    medians.sort()
    return statistics.median(value for group in groups for value in group), medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def told(name, groups):
    middle, low, high = interval(groups)
    each = ", ".join(f"{statistics.median(group):.4f}" for group in groups)
    return f"{name}: {middle:.4f} (95 %: {low:.4f} to {high:.4f}); of each pair of processes {each}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", metavar="PREFIX", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=40, help="of each process (default: 40)")
    parser.add_argument("--steps", type=int, default=25, help="of a turn (default: 25)")
    parser.add_argument("--processes", type=int, default=4, help="pairs of them (default: 4)")
    parser.add_argument("--warm-up", type=int, default=20, help="first steps of a process, before the turns (default: 20)")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path(__file__).parent / "frameworks" / "transformer_step.py")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.steps <= 2 * AT_THE_EDGE or options.turns < 2 or options.processes < 1 or options.warm_up < 1:
        parser.error(f"a turn has more than {2 * AT_THE_EDGE} steps, and there are two turns, one pair of processes and one step before at least")
    recorder = [options.prefix / "bin" / "mneme", "record", "--device", options.device, "--kernels", "nosuch"]
    printed, turns = {"bare": set(), "recorder": set()}, {"bare": [], "recorder": []}
    for pair in range(options.processes):
        seconds, out = side_by_side(options, recorder, recorder_first=pair % 2 == 1)
        for way, groups in turns.items():
            groups.append(seconds[way])
            printed[way].add(out[way])
    ratios = [[with_it / without for without, with_it in zip(*pair)] for pair in zip(turns["bare"], turns["recorder"])]
    bare_ratios = [[after / before for before, after in itertools.pairwise(pair)] for pair in turns["bare"]]
    for way, groups in turns.items():
        values = [value for group in groups for value in group]
        print(f"{way}: median step {1e3 * statistics.median(values):.3f} ms, turns {1e3 * min(values):.3f} to {1e3 * max(values):.3f} ms")
    print(told("recorder over bare", ratios))
    print(told("bare over the bare before", bare_ratios))
    differs = len(printed["bare"]) == 1 and printed["recorder"] != printed["bare"]
    same = "the same in all runs" if len(printed["bare"]) == 1 else "not the same in bare runs either"
    print(f"output: {'DIFFERS under the recorder' if differs else same}")
    if options.json:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), "turn_s": turns, "ratios": ratios, "bare_ratios": bare_ratios}, indent=1) + "\n")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
