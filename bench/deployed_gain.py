#!/usr/bin/env python3
"""What deployed code gains in programs, beside what the search promised: record, tune, deploy, run.

    bench/deployed_gain.py LIST.toml [--trials 500] [--runs 5] [--only REGEX] [--json FILE] [--folder DIR]

The list names programs, as that of `mneme-survey` does, and which kernels of each are tuned:

    [[program]]
    name = "heat2d"
    command = "./main 4096 4096 40"
    directory = "heat2d"              # from the list's folder
    kernels = ["dev_lapl_iter"]       # a regular expression of each
    record = ["--skip", "2"]          # further options of `mneme record`
    tune = ["--set", "execution.l2=warm"]   # of `mneme tune`
    deploy = ["--l2", "warm"]         # and of `mneme deploy`
    environment = {OMP_NUM_THREADS = "1"}

For each kernel one launch is recorded and tuned; what is confirmed is deployed; then the program runs bare and with the deployed
code in turn, --runs times each for its whole time, and once each under CUPTI for the time of its kernels (bench/kernel_times.c,
which is compiled with `cc`). A line of JSON for each kernel goes to --json, the table to standard output. "kept" is the speed-up in the
program over what was promised; the output is compared but for times and rates (bench/survey.py).

Needs one NVIDIA GPU, `mneme` and the Python package with what `mneme tune` needs, a C compiler, and CUPTI (CUDA_PATH, else /usr/local/cuda).
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from survey import Finished, first_change, say


class Failed(Exception):
    """A step that did not work, and what it said."""


def injection(folder):
    """The library that tells the time of kernels, compiled."""
    cuda = pathlib.Path(os.environ.get("CUDA_PATH", "/usr/local/cuda"))
    source = pathlib.Path(__file__).resolve().with_name("kernel_times.c")
    library = folder / "kernel_times.so"
    cupti = next(path for path in (cuda / "extras" / "CUPTI", cuda) if (path / "include" / "cupti.h").exists())
    interface = sorted(cupti.glob("lib64/libcupti.so*"))[0]
    headers = [f"-I{cuda}/include", f"-I{cupti}/include"]
    compiler = ["cc", "-O2", "-shared", "-fPIC", *headers, source, "-o", library, interface, f"-Wl,-rpath,{interface.parent}"]
    subprocess.run(compiler, check=True)
    return library


class Program:
    def __init__(self, entry, base, options, folder, library):
        self.name = entry["name"]
        self.kernels = entry["kernels"]
        self.record, self.tune, self.deploy = (entry.get(command, []) for command in ("record", "tune", "deploy"))
        self.command = shlex.split(entry["command"])
        self.directory = base / entry.get("directory", ".")
        self.environment = entry.get("environment", {})
        self.options = options
        self.folder = folder / re.sub(r"\W+", "_", self.name)
        self.folder.mkdir()
        self.library = library

    def do(self, command, **environment):
        done = Finished(command, limit=self.options.limit, directory=self.directory, environment={**self.environment, **environment})
        if done.status != 0:
            raise Failed(f"{shlex.join(map(str, command))[:200]}: {done.status}: {done.reason()}")
        return done

    def run(self, tuned=None, **environment):
        front = ["mneme", "run", "--device", "cuda", "--tuned", tuned, "--"] if tuned else []
        return self.do(front + self.command, **environment)

    def kernel_times(self, name, tuned=None):
        """Nanoseconds of the launches of each kernel, by its mangled name."""
        file = self.folder / f"{name}.times"
        self.run(tuned, CUDA_INJECTION64_PATH=self.library, KERNEL_TIMES_FILE=file)
        times = collections.defaultdict(list)
        for line in file.read_text().splitlines():
            nanoseconds, kernel = line.split(" ", 1)
            times[kernel].append(int(nanoseconds))
        return times

    def search(self, kernel, number):
        """The folder of what was found for a kernel, or None where that is not surely faster; and its summary."""
        results = self.folder / f"found{number}"
        self.do(["mneme", "tune", self.folder / "db", kernel, "--device", "cuda", "--trials", self.options.trials, "--seed", "1",
                 "--results-dir", results, *self.tune])
        return results, json.loads((results / "summary.json").read_text())

    def measure(self):
        again = [self.run() for _ in range(2)]
        wanted = "|".join(f"(?:{kernel})" for kernel in self.kernels)
        self.do(["mneme", "record", "--device", "cuda", "--strict", "-rdb", self.folder / "db", "--max", "1", "--kernels", wanted, *self.record, "--",
                 *self.command])
        found = [self.search(kernel, number) for number, kernel in enumerate(self.kernels)]
        file = self.folder / "app.tuned"
        done = self.do(["mneme", "deploy", *(results for results, _ in found), "-o", file, *self.deploy])
        say(f"{self.name}: {done.out.strip()} {done.err.strip()}")
        promises = self.promises(file)
        seconds = {"bare": [], "tuned": []}
        for _ in range(self.options.runs):
            bare, tuned = self.run(), self.run(file)
            seconds["bare"].append(bare.seconds)
            seconds["tuned"].append(tuned.seconds)
        change = first_change(again[0].out.splitlines(), again[1].out.splitlines(), tuned.out.splitlines(), [])
        ran = [line for line in tuned.err.splitlines() if line.startswith("mneme: tuned: ")]
        times = {"bare": self.kernel_times("bare"), "tuned": self.kernel_times("tuned", file)}
        for kernel, (results, summary) in zip(self.kernels, found):
            yield self.line(kernel, promises.get(json.loads((results / "tune.json").read_text())["static_hash"]), summary, seconds, change, ran, times)

    def promises(self, file):
        """What the file promises of each kernel, by its static hash: the least of the states of the cache in which it was measured."""
        hashed = None
        found = {}
        for line in self.do(["mneme", "deploy", "--show", file]).out.splitlines():
            if line.startswith("  static hash"):
                hashed = line.split()[-1]
            elif line.startswith("  speed-up"):
                value, low, high = map(float, re.findall(r"\d+\.\d+", line)[:3])
                found[hashed] = {"value": value, "low": low, "high": high}
        return found

    def line(self, kernel, claim, summary, seconds, change, ran, times):
        def all_of(which):
            return [time for name, list_ in times[which].items() if re.search(kernel, name) for time in list_]

        bare, tuned = all_of("bare"), all_of("tuned")
        gained = sum(bare) / sum(tuned) if sum(tuned) else None
        return {
            "program": self.name,
            "kernel": kernel,
            "promised": claim,
            "found": summary.get("speed_up"),
            "launches": len(bare),
            "launches_tuned": len(tuned),
            "bare_ns": sum(bare) / max(1, len(bare)),
            "tuned_ns": sum(tuned) / max(1, len(tuned)),
            "bare_median_ns": statistics.median(bare) if bare else None,
            "tuned_median_ns": statistics.median(tuned) if tuned else None,
            "gained": gained,
            "kept": gained / claim["value"] if gained and claim else None,
            "bare_seconds": statistics.median(seconds["bare"]),
            "tuned_seconds": statistics.median(seconds["tuned"]),
            "output": change,
            "ran": [line for line in ran if re.search(kernel, line)],
            "complete": summary.get("complete"),
            "failures": summary.get("failures"),
            "config": (summary.get("best") or {}).get("config"),
        }


def row(line):
    claim = line["promised"]
    promised = f"{claim['value']:.3f} ({claim['low']:.3f}–{claim['high']:.3f})" if claim else "left out"
    kept = "–" if line["kept"] is None else f"{line['kept']:.3f}"
    gained = "–" if line["gained"] is None else f"{line['gained']:.3f}"
    return (f"| {line['program']} | {line['kernel']} | {line['launches']} | {promised} | {line['bare_ns'] / 1e3:.2f} us | {line['tuned_ns'] / 1e3:.2f} us | "
            f"{gained} | {kept} | {line['bare_seconds']:.2f} s | {line['tuned_seconds']:.2f} s | {line['output'] or 'as bare'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--runs", type=int, default=5, help="whole runs of the program, bare and with deployed code in turn")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs in whose name it is found")
    parser.add_argument("--limit", type=float, default=120, help="seconds that each step may take")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--folder", help="where recordings and results are made, and removed in the end")
    options = parser.parse_args()
    entries = [entry for entry in tomllib.loads(options.list.read_text())["program"] if re.search(options.only, entry["name"])]
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        library = injection(folder)
        for entry in entries:
            try:
                for line in Program(entry, options.list.resolve().parent, options, folder, library).measure():
                    rows.append(row(line))
                    say(rows[-1])
                    if options.json:
                        with options.json.open("a") as file:
                            file.write(json.dumps(line) + "\n")
            except Failed as failure:
                say(f"{entry['name']}: {failure}")
    print("| program | kernel | launches | promised (95 %) | bare | deployed | in the program | kept | bare, whole | deployed, whole | output |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    return 0 if len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
