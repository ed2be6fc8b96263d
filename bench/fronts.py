#!/usr/bin/env python3
"""Are programs recorded alike by both fronts of a GPU, what do they take bare and recorded, and what does a launch cost that is not recorded?

    bench/fronts.py PREFIX [LIST.toml|FOUND.json…] [--device cuda|cpu] [--examples] [--only REGEX] [--part N/M] [--runs 1] [--jobs 1] [--limit SECONDS]
                    [--launches ROUNDS] [--json FOUND.json]

PREFIX is where a package was unpacked. A list is as bin/mneme-survey takes it; --examples takes the examples of the package. What an earlier run
kept by --json is taken as it is, so that a suite can be run in parts, some of it once more, and told as a whole. Each program is run bare, and then bare again, recorded by
its linked calls (--front linked) and recorded at the driver (--front driver), one launch of each kernel, in turn and --runs times. A program that was
not built for recording has no linked calls: the cells of that front are empty. Every instance is then replayed `as-built` in a process of its own. On
the CPU device, which has no driver, the front at the driver is left out.

A program that does not end by itself in --limit seconds, or ends in one bare run otherwise than in the other, is told, and left at that. Where a
recorded run ends or prints otherwise than the bare ones, the program runs bare three times more: what one of these does too is the program's own.

The table has, for each program: median seconds of a run bare and recorded, and the recorded run over the bare one; kernels and instances that each
front has, and how many of the instances verify; and how many kernels and launches are the same by both, which is told by their hashes.

Below it stands what has to hold before the driver's front can be the default (docs/adr/0058), a line each, with every exception by its program's
name: runs end and print as bare ones; the same kernels by both fronts; each kernel that has instances by its linked calls has at least as many at
the driver; all of them verify, or `mneme check` finds them not deterministic by both. Exit status: 0, or 1 when one of these does not hold.

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
SLOWER = 5  # times the limit of a bare run: what a recorded run and a replay may take
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
        """What is found of one program. `left_out`: why it cannot be compared; `own`: how its bare runs differ; `wrong`: what its recorded runs change."""
        words = shlex.split(one["command"])
        where = {"directory": one["directory"], "environment": {key: str(value) for key, value in one.get("environment", {}).items()}}
        found = {"name": one["name"], "seconds": {}, "fronts": {}, "left_out": "", "own": [], "wrong": []}
        _, bare_command = next(self.ways())

        def bare_run():
            return self.survey.Finished([*bare_command, *words], limit=self.options.limit, **where)

        with tempfile.TemporaryDirectory(prefix="mneme-fronts-") as folder:
            try:
                outputs = {"bare": [bare_run()]}
            except OSError as problem:
                return {**found, "left_out": f"cannot be run by itself: {problem}"}
            for number in range(self.options.runs):
                self.round(found, outputs, words, where, pathlib.Path(folder) / str(number))
                if found["left_out"]:
                    return found
            self.compare(found, outputs, bare_run)
            for way, runs in outputs.items():
                if way == "bare" or runs[0].status is None:
                    continue
                try:
                    found["fronts"][way] = self.front(pathlib.Path(folder) / "0" / way)
                except (OSError, ValueError, KeyError) as problem:
                    found["wrong"].append(f"{way}: its recording cannot be read: {type(problem).__name__}: {problem}")
        return found

    def round(self, found, outputs, words, where, folder):
        """One run of a program by each way. The bare run before all others warms up what files and drivers keep, and has no time."""
        folder.mkdir()
        for way, command in self.ways():
            if found["fronts"].get(way) == "none":
                continue
            options = [] if way == "bare" else ["-rdb", folder / way, "--json", folder / f"{way}.report", "--"]
            run = self.survey.Finished([*command, *options, *words], limit=self.options.limit * (1 if way == "bare" else SLOWER), **where)
            if way == "linked" and "built for Mneme" in run.err:
                found["fronts"][way] = "none"
                continue
            found["seconds"].setdefault(way, []).append(round(run.seconds, 3))
            outputs.setdefault(way, []).append(run)
            if way == "bare" and (reason := self.not_comparable(outputs["bare"])):
                found["left_out"] = reason
                return

    def not_comparable(self, bare):
        """Why recorded runs have nothing to be compared with, or an empty text."""
        statuses = [run.status for run in bare]
        if statuses[0] in (126, 127) or any(line.startswith("mneme: error: ") for line in bare[0].err.splitlines()):
            return f"cannot be run by itself: {bare[0].reason()}"
        if None in statuses:
            return f"does not end in {self.options.limit:g} s by itself"
        if len(set(statuses)) > 1:
            return f"ends by itself with exit status {' and '.join(str(status) for status in sorted(set(statuses)))}"
        return ""

    def change(self, bare, run):
        """How a run differs from the bare ones, or None."""
        if run.status is None:
            return "does not end in its time"
        if run.status != bare[0].status:
            return f"exit status {run.status} in place of {bare[0].status}: {run.reason()}"
        return self.survey.first_change(*(each.out.splitlines() for each in (bare[0], bare[1], run)), [])

    def compare(self, found, outputs, bare_run):
        """Tells what recorded runs change, and whether further bare runs do so too."""
        bare = outputs["bare"]
        changes = [(way, self.change(bare, run)) for way, runs in outputs.items() for run in runs if way != "bare"]
        changes = [f"{way}: {change}" for way, change in changes if change]
        if not changes:
            return
        further = bare[2:] + [bare_run() for _ in range(3)]
        own = next((change for run in further if (change := self.change(bare, run))), None)
        if own:
            found["own"].append(f"bare: {own}")
        else:
            found["wrong"] += changes

    def front(self, database):
        """The kernels of a database, with their instances, and whether these verify."""
        report = json.loads(database.with_suffix(".report").read_text())
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
        done = self.survey.Finished([*command, *shared], limit=SLOWER * self.options.limit)
        if done.status == 0:
            return "verified"
        if done.status != 1:
            return "not replayed: " + ("not in its time" if done.status is None else done.reason())
        check = self.survey.Finished([self.mneme, "check", f"{database}/{kernel}.json", "-rid", instance, "as-built", "--device", self.options.device, "--json"], limit=SLOWER * self.options.limit)
        where = next((line.split("not verified: ", 1)[1] for line in done.err.splitlines() if "not verified: " in line), "it is not said where")
        try:
            return f"differs: {where}" if json.loads(check.out)["deterministic"] else "not deterministic"
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


def both(found):
    """What the two fronts have of a program, or None where one of them has nothing to compare."""
    sides = [found["fronts"].get(front) for front in FRONTS]
    return sides if all(isinstance(told, dict) for told in sides) else None


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
    cells += [str(len(set(of(sides[0])) & set(of(sides[1])))) for of in (kernels_of, instances_of)] if both(found) else ["", ""]
    said = [*([found["left_out"]] if found["left_out"] else []), *found["own"], *found["wrong"]]
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


def names_of(told, kernels):
    return ", ".join(sorted(told["kernels"][kernel]["name"] for kernel, _ in kernels))


def missing_kernels(linked, driver):
    """The kernels that one of the fronts alone has, in words."""
    for told, other, front in ((linked, driver, "linked"), (driver, linked, "driver")):
        if alone := kernels_of(told) - kernels_of(other):
            passed = ", ".join(other["not_recorded"])
            yield f"{front} alone: {names_of(told, alone)}" + (f" (the other front: {passed})" if passed else "")


def fewer_instances(linked, driver):
    for kernel, one in linked["kernels"].items():
        held = len(driver["kernels"].get(kernel, {"instances": {}})["instances"])
        if held < len(one["instances"]):
            yield f"{one['name']}: {len(one['instances'])} by its linked calls, {held} at the driver"


def not_verified(linked, driver):
    """Kernels that one of the fronts has an instance of that does not verify, but those that are not deterministic by both."""
    for kernel in linked["kernels"].keys() & driver["kernels"].keys():
        one, other = (sorted(set(told["kernels"][kernel]["instances"].values())) for told in (linked, driver))
        if one != ["verified"] or other != ["verified"]:
            name = linked["kernels"][kernel]["name"]
            yield name, one == other == ["not deterministic"], f"{name}: {', '.join(one)} by its linked calls, {', '.join(other)} at the driver"


def conditions(all_found):
    """What has to hold, as (sentence, exceptions, remarks that are the programs' own). A program's lines begin with its name."""
    ran = [found for found in all_found if not found["left_out"]]
    left_out = [f"{found['name']}: {found['left_out']}" for found in all_found if found["left_out"]]
    yield f"{len(ran)} of {len(all_found)} programs end by themselves as they did before", [], left_out
    wrong = [f"{found['name']}: {said}" for found in ran for said in found["wrong"]]
    own = [f"{found['name']}: {said}" for found in ran for said in found["own"]]
    as_bare = sum(not found["wrong"] and not found["own"] for found in ran)
    yield f"{as_bare} of {len(ran)} programs end and print as bare by every front; {len(own)} more differ in their bare runs", wrong, own
    pairs = [(found["name"], *sides) for found in ran if (sides := both(found))]
    told = [f"{name}: {said}" for name, *sides in pairs for said in missing_kernels(*sides)]
    same = sum(len(kernels_of(linked) & kernels_of(driver)) for _, linked, driver in pairs)
    every = sum(len(kernels_of(linked) | kernels_of(driver)) for _, linked, driver in pairs)
    yield f"{same} of {every} kernels of {len(pairs)} programs are the same by both fronts", told, []
    fewer = [f"{name}: {said}" for name, *sides in pairs for said in fewer_instances(*sides)]
    counts = [sum(len(instances_of(sides[place])) for _, *sides in pairs) for place in (0, 1)]
    hashes = sum(len(set(instances_of(linked)) & set(instances_of(driver))) for _, linked, driver in pairs)
    yield f"{counts[0]} instances by linked calls, {counts[1]} at the driver, {hashes} of them with the same memory", fewer, []
    verified = [sum(verdict == "verified" for _, *sides in pairs for verdict in instances_of(sides[place]).values()) for place in (0, 1)]
    differing = [(f"{name}: {text}", same) for name, *sides in pairs for _, same, text in sorted(not_verified(*sides))]
    sentence = f"{verified[0]} instances verify by linked calls, {verified[1]} at the driver; {sum(same for _, same in differing)} kernels are not deterministic by both"
    yield sentence, [text for text, same in differing if not same], [text for text, same in differing if same]


def summary(all_found):
    """The lines below the table, and whether all holds."""
    lines, holds = [], True
    for sentence, exceptions, own in conditions(all_found):
        holds = holds and not exceptions
        lines += ["", f"{sentence}: " + (f"{len(exceptions)} exceptions" if exceptions else "no exception")]
        lines += [f"- {text}" for text in exceptions] + [f"- by itself: {text}" for text in own]
    return lines, holds


def more_per_launch(times):
    """How many ns more a launch takes at the driver than by linked calls, in the median."""
    linked, driver = (statistics.median(times[f"recordable, {front}"]) for front in FRONTS)
    return f"a launch that is not recorded takes {driver - linked:.0f} ns more at the driver than by linked calls (medians; at most 300 are allowed)"


def listed(options, survey):
    programs = []
    for path in options.lists:
        if path.endswith(".json"):
            continue
        _, found = survey.read_list(path, options.only)
        root = pathlib.Path(path).resolve().parent
        programs += [{**one, "directory": root / one.get("directory", ".")} for one in found]
    if options.examples:
        folder = options.prefix / "examples"
        for name, arguments in EXAMPLES.items():
            programs.append({"name": name, "command": f"{folder / name} {arguments}", "directory": folder})
    part, parts = (int(number) for number in options.part.split("/"))
    return programs[part - 1 :: parts]


def found_before(paths):
    """What earlier runs have kept: the programs, each as the last of the files has it, and ns of launches."""
    programs, times = {}, {}
    for path in paths:
        if path.endswith(".json"):
            kept = json.loads(pathlib.Path(path).read_text())
            programs.update({found["name"]: found for found in kept["programs"]})
            for way, values in kept["launch_ns"].items():
                times[way] = times.get(way, []) + values
    return list(programs.values()), times


def keep(path, all_found, times):
    """Writes what was found, whole at each moment: a run may be ended before it has come to its end."""
    if path:
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps({"programs": all_found, "launch_ns": times}, indent=1) + "\n")
        new.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", metavar="PREFIX", type=pathlib.Path)
    parser.add_argument("lists", metavar="LIST.toml|FOUND.json", nargs="*")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--examples", action="store_true", help="the examples of the package too")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs of the lists in whose name this is found")
    parser.add_argument("--part", default="1/1", metavar="N/M", help="each M-th program, from the N-th")
    parser.add_argument("--runs", type=int, default=1, help="of each program by each way (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="programs at once (default: 1; times are of a device for one program alone with 1)")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of a bare run; a recorded one and a replay may take five times that (default: 20)")
    parser.add_argument("--launches", type=int, default=0, metavar="ROUNDS", help="measure a launch that is not recorded")
    parser.add_argument("--json", type=pathlib.Path, metavar="FOUND.json", help="keep what was found here too")
    options = parser.parse_args()
    options.prefix = options.prefix.resolve()
    survey = load_survey(options.prefix)
    fronts = Fronts(options, survey)
    all_found, times = found_before(options.lists)
    if options.launches:
        for way, values in fronts.launches(options.launches).items():
            times[way] = times.get(way, []) + values
    for way, values in times.items():
        low = sorted(values)[len(values) // 4]
        print(f"{way}: {statistics.median(values):.0f} ns a launch, lower quartile {low:.0f}, least {min(values):.0f}, of {len(values)} runs", flush=True)
    if times:
        print(more_per_launch(times))
    keep(options.json, all_found, times)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        for done in concurrent.futures.as_completed([threads.submit(fronts.program, one) for one in listed(options, survey)]):
            all_found.append(done.result())
            print(row(all_found[-1]), file=sys.stderr, flush=True)
            keep(options.json, all_found, times)
    if not all_found:
        return 0
    lines, holds = summary(all_found)
    print("\n".join([*table(all_found), *lines]))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
