#!/usr/bin/env python3
"""What deployed code gains in programs, beside what the search promised: record, tune, deploy, run.

    bench/deployed_gain.py LIST.toml [--trials 500] [--runs 5] [--only REGEX] [--json FILE] [--folder DIR]

The list names programs, as that of `mneme-survey` does, and which kernels of each are tuned:

    [[program]]
    name = "heat2d"
    command = "./main 4096 4096 40"
    directory = "heat2d"              # from the list's folder
    kernels = ["dev_lapl_iter"]       # a regular expression of each, found in its name as that of `mneme record --kernels`
    record = ["--skip", "2"]          # further options of `mneme record`; ["--max", "3", "--every", "10"]: three launches of each
    tune = ["--set", "execution.l2=warm"]   # of `mneme tune`
    deploy = ["--l2", "warm"]         # and of `mneme deploy`
    environment = {OMP_NUM_THREADS = "1"}

For each kernel one launch is recorded and tuned, or as many as `record` says, over all of which it is tuned then. An expression that fits no recorded kernel, or
several, is told with the names that there are, before anything is tuned; so is a search that ended before all trials were done. What is confirmed is deployed; then the program runs bare and with the deployed
code in turn, --runs times each for its whole time, and --timed-runs times each under CUPTI for the time of its kernels
(bench/kernel_times.c, which is compiled with `cc`). The launches that the deployed code has replaced are compared, shape by shape; "kept" is what they
gain over what was promised, by the mean of each shape's times and by their median, weighed by launches. A promise is a ratio of medians, and a launch that
takes longer than the others counts much in a mean of few, so that of few launches the median is the one to compare. "whole kernel" is what all its launches gain,
also those whose shape was not tuned. --states also measures, for the lines of JSON, what each state of the cache alone would have promised. A line of JSON for each kernel goes to --json, the table to standard output; the output of the
program is compared but for times and rates (bench/survey.py).

Needs one NVIDIA GPU, `mneme` and the Python package with what `mneme tune` needs, a C compiler, and CUPTI (CUDA_PATH, else /usr/local/cuda).
"""

import argparse
import dataclasses
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
from launch_gain import gain, promises, read_launches, said_to_have_run
from survey import Finished, first_change, say


class Failed(Exception):
    """A step that did not work, and what it said."""


def chosen(kernels, listed):
    """The recorded kernel (of `mneme ls --json`) that each regular expression is found in. Raises Failed where that is none, or several: with all names."""
    found, wrong = [], []
    for pattern in kernels:
        fitting = [one for one in listed if re.search(pattern, one["demangled"]) or re.search(pattern, one["name"])]
        found.extend(fitting[:1])
        if len(fitting) != 1:
            fits = "no recorded kernel" if not fitting else f"{len(fitting)} kernels ({', '.join(one['demangled'] for one in fitting)})"
            wrong.append(f"'{pattern}' fits {fits}")
    if wrong:
        raise Failed(f"{'; '.join(wrong)}. Nothing was tuned; `kernels` in the list has an expression for each of: {names_of(listed)}")
    return found


def names_of(listed):
    return ", ".join(sorted({one["demangled"] for one in listed})) or "none"


def not_ended(kernel, summary):
    """What is to be said of a search that ended before all its trials were done, or None."""
    done, wanted = summary["trials"], summary["wanted"]
    if wanted is None or done >= wanted or summary["exhausted"]:
        return None
    return f"the search of {kernel} ended after {done} of {wanted} trials: what it found by then is deployed"


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
        if done.status is None:
            raise Failed(f"{shlex.join(map(str, command))[:200]}: it did not end in {self.options.limit:g} s, and was ended (--limit)")
        if done.status != 0:
            raise Failed(f"{shlex.join(map(str, command))[:200]}: {done.status}: {done.reason()}")
        return done

    def run(self, tuned=None, **environment):
        front = ["mneme", "run", "--device", "cuda", "--tuned", tuned, "--"] if tuned else []
        return self.do(front + self.command, **environment)

    def launches(self, name, tuned=None):
        """The launches of all kernels, and what the run has said on standard error."""
        file = self.folder / f"{name}.times"
        done = self.run(tuned, CUDA_INJECTION64_PATH=self.library, KERNEL_TIMES_FILE=file)
        if not file.exists():
            raise Failed(f"{shlex.join(self.command)}: {self.library} told the time of no kernel: is the program's driver one that the CUPTI of CUDA_PATH knows?")
        return read_launches(file.read_text()), done.err

    def recorded(self):
        """The kernel of each regular expression, as `mneme ls --json` has it."""
        wanted = "|".join(f"(?:{kernel})" for kernel in self.kernels)
        most = [] if "--max" in self.record else ["--max", "1"]
        self.do(["mneme", "record", "--device", "cuda", "--strict", "-rdb", self.folder / "db", *most, "--kernels", wanted, *self.record, "--", *self.command])
        return chosen(self.kernels, json.loads(self.do(["mneme", "ls", "--json", self.folder / "db"]).out)["kernels"])

    def search(self, kernel, number):
        """The folder of what was found for a kernel, over all its recorded launches, and its summary."""
        results = self.folder / f"found{number}"
        timeout = ["--timeout", self.options.search_limit] if self.options.search_limit else []
        self.do(["mneme", "tune", self.folder / "db", kernel["static_hash"], "--all-instances", "--device", "cuda", "--trials", self.options.trials,
                 "--seed", "1", "--results-dir", results, *timeout, *self.tune])
        summary = json.loads((results / "summary.json").read_text())
        if remark := not_ended(kernel["demangled"], summary):
            say(f"{self.name}: {remark}")
        return results, summary

    def measure(self):
        kernels = self.recorded()
        found = [self.search(kernel, number) for number, kernel in enumerate(kernels)]
        file = self.folder / "app.tuned"
        done = self.do(["mneme", "deploy", *(results for results, _ in found), "-o", file, *self.deploy])
        say(f"{self.name}: {done.out.strip()} {done.err.strip()}")
        claims = promises(file.read_bytes())
        bare, tuned = [], []
        for _ in range(self.options.runs):
            bare.append(self.run())
            tuned.append(self.run(file))
        whole = {
            "bare_seconds": statistics.median(run.seconds for run in bare),
            "tuned_seconds": statistics.median(run.seconds for run in tuned),
            "output": first_change(bare[0].out.splitlines(), bare[1].out.splitlines(), tuned[0].out.splitlines(), []),
        }
        timed = []
        for number in range(self.options.timed_runs):
            timed.append((self.launches(f"bare{number}")[0], *self.launches(f"tuned{number}", file)))
        for kernel, (results, summary) in zip(kernels, found):
            claim = claims.get(kernel["static_hash"])
            states = self.states(results) if self.options.states else None
            yield {"program": self.name, "kernel": kernel["demangled"], "instances": len(kernel["instances"]), **self.gained(claim, timed), **whole, **self.searched(summary), "states": states}

    def states(self, results):
        """What the winner gains in each state of the cache."""
        gains = {}
        for state in ("as_it_comes", "cold", "warm"):
            file = self.folder / f"{results.name}.{state}"
            self.do(["mneme", "deploy", results, "--unconfirmed", "--l2", state, "-o", file])
            gains[state] = next(iter(promises(file.read_bytes()).values())).value
        return gains

    def gained(self, claim, timed):
        if claim is None:
            return {"promised": None}
        all_of = gain(claim, [(bare, tuned, said_to_have_run(said, claim.demangled)) for bare, tuned, said in timed])
        mean, median = all_of.of_replaced(statistics.mean), all_of.of_replaced(statistics.median)
        return {
            "promised": {"value": claim.value, "low": claim.low, "high": claim.high},
            "rule": dataclasses.asdict(claim.rule),
            "launches": all_of.launches,
            "replaced": all_of.replaced,
            "problem": all_of.problem,
            "shapes": [shape.figures(claim) for shape in all_of.shapes],
            "gained": mean,
            "gained_median": median,
            "kept": mean and mean / claim.value,
            "kept_median": median and median / claim.value,
            "whole_kernel": all_of.whole,
        }

    def searched(self, summary):
        return {
            "found": summary.get("speed_up"),
            "trials": summary.get("trials"),
            "complete": summary.get("complete"),
            "failures": summary.get("failures"),
            "config": (summary.get("best") or {}).get("config"),
        }


HEAD = ("program", "kernel", "launches replaced", "shape", "promised (95 %)", "bare, mean (median)", "deployed", "in the program", "kept, means", "kept, medians",
        "whole kernel", "bare, whole", "deployed, whole", "output")


def number(value):
    return "–" if value is None else f"{value:.3f}"


def times(shape, which):
    return f"{shape[which + '_ns_mean'] / 1e3:.2f} ({shape[which + '_ns_median'] / 1e3:.2f}) us"


def table_row(cells):
    return f"| {' | '.join(cells)} |"


def rows_of(line):
    """A row of the kernel, and where several shapes were replaced one of each."""
    claim = line["promised"]
    name = [line["program"], line["kernel"]]
    program = [f"{line['bare_seconds']:.2f} s", f"{line['tuned_seconds']:.2f} s", line["output"] or "as bare"]
    if claim is None:
        yield table_row([*name, *("–",) * 2, "left out", *("–",) * 6, *program])
        return
    shapes = line["shapes"]
    one = shapes[0] if len(shapes) == 1 else None
    yield table_row([
        *name, line["problem"] or f"{line['replaced']} of {line['launches']}", one["shape"] if one else f"{len(shapes)} shapes",
        f"{claim['value']:.3f} ({claim['low']:.3f}–{claim['high']:.3f})", times(one, "bare") if one else "–", times(one, "tuned") if one else "–",
        number(line["gained"]), number(line["kept"]), number(line["kept_median"]), number(line["whole_kernel"]), *program])
    for shape in shapes if one is None else ():
        yield table_row([*name, str(shape["launches"]), shape["shape"] + (", promised" if shape["promised_for"] else ""), "", times(shape, "bare"), times(shape, "tuned"),
                         number(shape["kept"] * claim["value"]), number(shape["kept"]), number(shape["kept_median"]), *("",) * 4])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--runs", type=int, default=5, help="whole runs of the program, bare and with deployed code in turn, at least 2")
    parser.add_argument("--timed-runs", type=int, default=2, help="runs under CUPTI, bare and with deployed code in turn")
    parser.add_argument("--states", action="store_true", help="also measure what each state of the cache alone would have promised")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs in whose name it is found")
    parser.add_argument("--limit", type=float, default=120, help="seconds that each step may take")
    parser.add_argument("--search-limit", type=float, metavar="S", help="seconds after which a search ends with what it has found; default: as long as --limit lets it")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--folder", help="where recordings and results are made, and removed in the end")
    options = parser.parse_args()
    if options.runs < 2 or options.timed_runs < 1:
        parser.error("--runs is at least 2, since the output of two bare runs tells what changes by itself, and --timed-runs at least 1")
    entries = [entry for entry in tomllib.loads(options.list.read_text())["program"] if re.search(options.only, entry["name"])]
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        library = injection(folder)
        for entry in entries:
            try:
                for line in Program(entry, options.list.resolve().parent, options, folder, library).measure():
                    rows.extend(rows_of(line))
                    say(table_row(HEAD))
                    say("\n".join(rows_of(line)))
                    if options.json:
                        with options.json.open("a") as file:
                            file.write(json.dumps(line) + "\n")
            except Failed as failure:
                say(f"{entry['name']}: {failure}")
    print(table_row(HEAD))
    print(table_row(["---"] * len(HEAD)))
    print("\n".join(rows))
    return 0 if len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
