#!/usr/bin/env python3
"""Are programs recorded alike by both fronts of a GPU, what do they take bare and recorded, and what does a launch cost that is not recorded?

    bench/fronts.py PREFIX [LIST.toml…] [--device cuda|cpu] [--examples] [--only REGEX] [--part N/M] [--runs 1] [--jobs 1] [--limit SECONDS]
                    [--launches ROUNDS] [--json FILE]

PREFIX is where a package was unpacked. A list is as bin/mneme-survey takes it; --examples takes the examples of the package. Each program is run
bare, recorded by its linked calls (--front linked) and recorded at the driver (--front driver), one launch of each kernel, in turn and --runs
times. A program that was not built for recording has no linked calls: the cells of that front are empty. Every instance is then replayed `as-built`
in a process of its own. On the CPU device, which has no driver, the front at the driver is left out.

The table has, for each program: median seconds of a run bare and recorded, and the recorded run over the bare one; kernels and instances that each
front has, and how many of the instances verify; and how many kernels and launches are the same by both, which is told by their hashes.

--launches measures a launch that is not recorded (`--kernels nosuch`), in ns in its caller: of the plain program, of the recordable one by itself,
and under each front, in turn, pinned to one processor. The median of all rounds, the lower quartile and the least.
"""

import argparse
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shlex
import shutil
import statistics
import sys
import tempfile

FRONTS = ("linked", "driver")
EXAMPLES = {
    "vecadd": "1000000 3",
    "vecadd-shared": "1000000 3",
    "cg": "32 200",
    "stencil": "256 20",
    "reduction": "1000000 3",
    "managed": "",
    "textures": "",
    "deployed": "",
}


def load_survey(prefix):
    """The module of bin/mneme-survey: it runs commands, and compares what programs print."""
    beside = pathlib.Path(__file__).with_name("survey.py")  # of a source tree
    path = str(beside if beside.exists() else prefix / "bin" / "mneme-survey")
    loader = importlib.machinery.SourceFileLoader("mneme_survey", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mneme_survey", loader))
    loader.exec_module(module)
    return module


class Fronts:
    def __init__(self, options, survey):
        self.options, self.survey = options, survey
        self.mneme = options.prefix / "bin" / "mneme"

    def ways(self):
        bare = ["run", "--device", "cpu", "--"] if self.options.device == "cpu" else None
        yield "bare", [self.mneme, *bare] if bare else []
        for front in FRONTS[: 1 if self.options.device == "cpu" else 2]:
            yield front, [self.mneme, "record", "--device", self.options.device, "--front", front, "--max", "1"]

    def program(self, one):
        """What is found of one program."""
        words = shlex.split(one["command"])
        where = {"directory": one["directory"], "environment": {key: str(value) for key, value in one.get("environment", {}).items()}}
        found = {"name": one["name"], "seconds": {}, "fronts": {}, "wrong": []}
        with tempfile.TemporaryDirectory(prefix="mneme-fronts-") as folder:
            outputs = {}
            for number in range(self.options.runs):
                for way, command in self.ways():
                    if found["fronts"].get(way) == "none":
                        continue
                    database = pathlib.Path(folder) / f"{way}-{number}"
                    options = [] if way == "bare" else ["-rdb", database, "--json", f"{database}.report", "--"]
                    run = self.survey.Finished([*command, *options, *words], limit=self.options.limit * (1 if way == "bare" else 5), **where)
                    if way == "linked" and "built for Mneme" in run.err:
                        found["fronts"][way] = "none"
                        continue
                    found["seconds"].setdefault(way, []).append(round(run.seconds, 3))
                    outputs.setdefault(way, []).append(run)
                    if run.status != outputs["bare"][0].status or run.status is None:
                        found["wrong"].append(f"{way}: exit status {run.status}: {run.reason()}")
                        return found
            self.compare_outputs(found, outputs)
            for way in outputs:
                if way != "bare":
                    found["fronts"][way] = self.front(pathlib.Path(folder) / f"{way}-0")
        return found

    def compare_outputs(self, found, outputs):
        lines = {way: [run.out.splitlines() for run in runs] for way, runs in outputs.items()}
        bare = lines.pop("bare")
        for way, runs in lines.items():
            for run in runs:
                # Where there was one bare run, numbers in its output may differ, as times do; what stands around them may not.
                if len(bare) > 1:
                    change = self.survey.first_change(bare[0], bare[1], run, [])
                else:
                    known = {self.survey.shape(line) for line in bare[0]}
                    change = next((line for line in run if self.survey.shape(line) not in known), None)
                if change:
                    found["wrong"].append(f"{way}: {change}")
                    return

    def front(self, database):
        """The kernels of a database, with their instances, and whether these verify."""
        report = json.loads(pathlib.Path(f"{database}.report").read_text())
        told = {
            "launches": report["launches"],
            "kernels": {},
            "not_recorded": [one["reason"] for one in report["not_recorded"] if not one["reason"].startswith("the kernel has as many")],
        }
        if report["recorded"] == 0:
            return told
        listing = json.loads(self.survey.Finished([self.mneme, "ls", "--json", database], limit=60).out)
        for kernel in listing["kernels"]:
            instances = {one["dynamic_hash"]: self.verified(database, kernel["static_hash"], one["dynamic_hash"]) for one in kernel["instances"]}
            told["kernels"][kernel["static_hash"]] = {"name": kernel["demangled"], "code": kernel["code"], "instances": instances}
        return told

    def verified(self, database, kernel, instance):
        shared = ["--shared-device"] if self.options.device != "cpu" else []
        command = [self.mneme, "replay", f"{database}/{kernel}.json", "-rid", instance, "as-built", "--device", self.options.device, "--iterations", "1", "--json"]
        done = self.survey.Finished([*command, *shared], limit=120)
        if done.status == 0:
            return "verified"
        if done.status != 1:
            return f"not replayed: {done.reason()}"
        check = self.survey.Finished([self.mneme, "check", f"{database}/{kernel}.json", "-rid", instance, "as-built", "--device", self.options.device, "--json"], limit=120)
        try:
            return "differs" if json.loads(check.out)["deterministic"] else "not deterministic"
        except (ValueError, KeyError, TypeError):
            return f"differs (mneme check: {check.reason()})"

    def launches(self, rounds):
        """ns of a launch that is not recorded: {way: [of each round]}, all on one processor."""
        pinned = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if shutil.which("taskset") else []
        rate = self.options.prefix / "libexec" / "mneme" / "launch_rate"
        ways = {"plain, bare": [f"{rate}-plain"], "recordable, alone": [rate]}
        with tempfile.TemporaryDirectory() as folder:
            record = [self.mneme, "record", "-rdb", f"{folder}/db", "--device", self.options.device, "--kernels", "nosuch", "--front"]
            ways.update({f"recordable, {front}": [*record, front, "--", rate] for front in FRONTS})
            ways["plain, driver"] = [*record, "driver", "--", f"{rate}-plain"]
            times = {way: [] for way in ways}
            for _ in range(rounds):
                for way, command in ways.items():
                    run = self.survey.Finished([*pinned, *command], limit=60)
                    if run.status != 0:
                        raise SystemExit(f"{way}: exit status {run.status}: {run.reason()}")
                    times[way].append(float(run.out.split()[0]))
        return times


def instances_of(told):
    return {(kernel, name): verdict for kernel, one in told["kernels"].items() for name, verdict in one["instances"].items()} if isinstance(told, dict) else {}


def kernels_of(told):
    return {(kernel, one["code"]) for kernel, one in told["kernels"].items()} if isinstance(told, dict) else set()


def row(found):
    """A line of the table."""
    seconds = {way: statistics.median(times) for way, times in found["seconds"].items()}
    cells = [found["name"]]
    for way in ("bare", *FRONTS):
        over = f" ({seconds[way] / seconds['bare']:.2f})" if way in seconds and way != "bare" else ""
        cells.append(f"{seconds[way]:.2f}{over}" if way in seconds else "")
    sides = [found["fronts"].get(front) for front in FRONTS]
    for told in sides:
        held = instances_of(told)
        cells.append(f"{len(kernels_of(told))}, {len(held)}, {sum(verdict == 'verified' for verdict in held.values())}" if isinstance(told, dict) else "")
    both = all(isinstance(told, dict) for told in sides)
    cells += [str(len(kernels_of(sides[0]) & kernels_of(sides[1]))), str(len(set(instances_of(sides[0])) & set(instances_of(sides[1]))))] if both else ["", ""]
    said = list(found["wrong"])
    for front, told in zip(FRONTS, sides):
        if isinstance(told, dict):
            said += [f"{front}: {reason}" for reason in told["not_recorded"]]
            said += [f"{front}: {told['kernels'][kernel]['name']}: {verdict}" for (kernel, _), verdict in instances_of(told).items() if verdict != "verified"]
    return "| " + " | ".join([*cells, "; ".join(said).replace("|", "\\|").replace("\n", " ")]) + " |"


def table(all_found):
    columns = ("program", "bare (s)", "linked (over bare)", "driver (over bare)", "linked: kernels, instances, verified", "driver", "same kernels", "same launches", "")
    yield f"| {' | '.join(columns)} |"
    yield "|" + " --- |" * len(columns)
    for found in sorted(all_found, key=lambda one: one["name"]):
        yield row(found)
    sums, varying = {front: [0, 0, 0] for front in FRONTS}, dict.fromkeys(FRONTS, 0)
    for found in all_found:
        for front in FRONTS:
            told = found["fronts"].get(front)
            held = instances_of(told)
            for place, more in enumerate((len(kernels_of(told)), len(held), sum(verdict == "verified" for verdict in held.values()))):
                sums[front][place] += more
            varying[front] += sum(verdict == "not deterministic" for verdict in held.values())
    yield ""
    for front, (kernels, instances, verified) in sums.items():
        yield f"{front}: {kernels} kernels, {instances} instances, {verified} verified, {varying[front]} not deterministic"
    yield f"{sum(not found['wrong'] for found in all_found)} of {len(all_found)} programs are as bare by every front"


def listed(options, survey):
    programs = []
    for path in options.lists:
        _, found = survey.read_list(path, options.only)
        root = pathlib.Path(path).resolve().parent
        programs += [{**one, "directory": root / one.get("directory", ".")} for one in found]
    if options.examples:
        folder = options.prefix / "examples"
        for name, arguments in EXAMPLES.items():
            programs.append({"name": name, "command": f"{folder / name} {arguments}", "directory": folder})
    part, parts = (int(number) for number in options.part.split("/"))
    return programs[part - 1 :: parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", metavar="PREFIX", type=pathlib.Path)
    parser.add_argument("lists", metavar="LIST.toml", nargs="*")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--examples", action="store_true", help="the examples of the package too")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs of the lists in whose name this is found")
    parser.add_argument("--part", default="1/1", metavar="N/M", help="each M-th program, from the N-th")
    parser.add_argument("--runs", type=int, default=1, help="of each program by each way (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="programs at once (default: 1; times are of a device for one program alone with 1)")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a bare run; a recorded one may take five times that (default: 20)")
    parser.add_argument("--launches", type=int, default=0, metavar="ROUNDS", help="measure a launch that is not recorded")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="keep what was found here too")
    options = parser.parse_args()
    options.prefix = options.prefix.resolve()
    survey = load_survey(options.prefix)
    fronts = Fronts(options, survey)
    all_found, times = [], {}
    if options.launches:
        times = fronts.launches(options.launches)
        for way, values in times.items():
            low = sorted(values)[len(values) // 4]
            print(f"{way}: {statistics.median(values):.0f} ns a launch, lower quartile {low:.0f}, least {min(values):.0f}, of {len(values)} runs", flush=True)
    programs = listed(options, survey)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        for found in threads.map(fronts.program, programs):
            all_found.append(found)
            print(row(found), file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps({"programs": all_found, "launch_ns": times}, indent=1) + "\n")
    if all_found:
        print("\n".join(table(all_found)))
    elif options.json:
        options.json.write_text(json.dumps({"programs": [], "launch_ns": times}, indent=1) + "\n")
    return 1 if any(found["wrong"] for found in all_found) else 0


if __name__ == "__main__":
    sys.exit(main())
